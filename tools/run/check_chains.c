/* SPDX-License-Identifier: BSD-3-Clause
 * Parses the chains of a run, as the library will, and checks counters before anything starts. */
#include "controller/controller.h"
#include "pmu/pmu.h"
#include "tools/run/run.h"

#include <string.h>

#define SAID_KEPT 16

static char *said[SAID_KEPT];

static void print_warning(void *context, const char *text)
{
    (void)context;
    tool_warning("run", "%s", text);
    for (size_t i = 0; i < SAID_KEPT; i++)
        if (said[i] == NULL) {
            said[i] = strdup(text);
            break;
        }
}

bool run_has_said(const char *line)
{
    size_t length = strlen(line);
    for (size_t i = 0; i < SAID_KEPT && said[i] != NULL; i++) {
        size_t n = strlen(said[i]);
        if (n <= length && strcmp(line + length - n, said[i]) == 0)
            return true;
    }
    return false;
}

static struct pmu_wanted counter;

static void look_at_machine(void *context, bool needed, struct ctl_capabilities *out)
{
    const struct options *o = context;
    pmu_wanted_choose(&counter, o->text[OPT_pmu], needed);
    out->unavailable_reason[CTL_ICOUNT] = counter.no_count;
    out->exact_reason = counter.no_exact;
}

static bool machine_counts(void *context)
{
    (void)context;
    return counter.backend != NULL;
}

int run_check_count(const struct options *o, struct rt_error *e)
{
    return pmu_wanted_count(&counter, o, o->text[OPT_pmu], e);
}

/* The library makes the same check when it starts. */
static int check_steps(const struct options *o, const struct ctl_config *config, struct rt_error *e)
{
    const struct pmu_backend *counts = counter.backend;
    return pmu_check_steps(counts != NULL && (counts->steps || ctl_config_has_exact(config)),
                           o->text[OPT_memory][0] != '\0', o->text[OPT_values][0] != '\0', e);
}

int run_parse_chains(const struct options *o, bool only_language, bool quiet,
                     struct ctl_config **config, struct rt_error *e)
{
    const struct ctl_machine machine = {look_at_machine, machine_counts, (void *)(uintptr_t)o};
    int rc = ctl_config_of_options(o, only_language ? NULL : &machine, quiet ? NULL : print_warning,
                                   NULL, config, e);
    if (rc == 0 && !only_language) {
        rc = check_steps(o, *config, e);
        if (rc != 0)
            ctl_config_free(*config);
    }
    return rc;
}

int run_check_counters(const struct options *o, bool one_window, struct rt_error *e)
{
    struct pmu_sample_spec spec;
    struct pmu_counter_set set;
    int rc = pmu_wanted_sample(o, one_window, &spec, e);
    return rc != 0 ? rc : pmu_wanted_counters(o, counter.backend, &spec, &set, e);
}

const char *run_event_codes(const struct identity *id)
{
    static char text[16 << 10];
    return pmu_names_give(id->boot_id, text, sizeof text) ? text : NULL;
}
