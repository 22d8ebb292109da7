/* SPDX-License-Identifier: BSD-3-Clause
 * Chooses counters and samplers from the options of a run. `regtrace run` and the library share
 * this code, so both refuse a run with the same messages. */
#include "pmu/pmu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAMED(row) option_table[row].variable, option_table[row].option

void pmu_wanted_choose(struct pmu_wanted *w, const char *counter, bool needed)
{
    w->no_count = NULL;
    if (pmu_choose(counter, needed, &w->backend, &w->why) != 0)
        w->no_count = w->why.text;
    else if (w->backend == NULL)
        w->no_count = "REGTRACE_PMU (option -pmu) is none";
    w->no_exact = pmu_exact_reason(w->backend);
}

int pmu_wanted_count(struct pmu_wanted *w, const struct options *o, const char *counter,
                     struct rt_error *e)
{
    if (o->number[OPT_count] == 0)
        return 0;
    if (w->backend == NULL)
        pmu_wanted_choose(w, counter, true);
    if (w->backend != NULL)
        return 0;
    rt_error_set(e, "a counting run (%s, option -%s) is not possible: %s", NAMED(OPT_count),
                 w->no_count);
    return -EINVAL;
}

static int sample(const char *text, bool one_window, struct pmu_sample_spec *spec,
                  struct rt_error *e)
{
    int rc = pmu_sample_parse(text, spec, e);
    return rc != 0 ? rc : pmu_sample_probe(spec, one_window, e);
}

int pmu_wanted_sample(const struct options *o, bool one_window, struct pmu_sample_spec *spec,
                      struct rt_error *e)
{
    int rc = sample(o->text[OPT_sample], one_window, spec, e);
    if (rc != 0) {
        spec->period = 0;
        rt_error_prefix(e, "%s (option -%s)", NAMED(OPT_sample));
    }
    return rc;
}

int pmu_wanted_values(const struct options *o, bool one_window, struct pmu_sample_spec *spec,
                      struct rt_error *e)
{
    static const char *const best[] = {"cycles:62000", "task-clock:1000000", "cpu:1ms"};
    const char *asked = o->text[OPT_values_sample];
    int rc = asked[0] != '\0' ? sample(asked, one_window, spec, e) : -EINVAL;
    for (size_t i = 0; asked[0] == '\0' && rc != 0 && i < sizeof best / sizeof *best; i++)
        rc = sample(best[i], one_window, spec, e);
    if (rc != 0)
        rt_error_prefix(e, "%s (option -%s)", NAMED(OPT_values_sample));
    return rc;
}

int pmu_wanted_counters(const struct options *o, const struct pmu_backend *backend,
                        const struct pmu_sample_spec *sampled, struct pmu_counter_set *set,
                        struct rt_error *e)
{
    int rc = pmu_counters_parse(o->text[OPT_events], set, e);
    if (rc == 0)
        rc = pmu_counters_probe(set, backend, sampled, e);
    if (rc == 0 && set->count == 0 && o->number[OPT_events_mpi] != 0) {
        rt_error_set(e, "%s (option -%s) needs events to count: give %s (-%s) too",
                     NAMED(OPT_events_mpi), NAMED(OPT_events));
        rc = -EINVAL;
    }
    if (rc != 0)
        set->count = 0;
    return rc;
}
