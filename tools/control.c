/* SPDX-License-Identifier: BSD-3-Clause
 * The chains of a run as the library will read them, parsed before anything starts. */
#include "controller/controller.h"
#include "pmu/pmu.h"
#include "tools/run.h"

#include <errno.h>
#include <string.h>

#define SAID_KEPT 16

static char *said[SAID_KEPT];

static void print_warning(void *context, const char *text)
{
    (void)context;
    message_warning("run", "%s", text);
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

static const struct pmu_backend *chosen;

static const struct ctl_capabilities *build_capabilities(const struct options *o, bool needed)
{
    static struct rt_error why;
    static struct ctl_capabilities capabilities;
    capabilities = ctl_capabilities_of_build();
    if (pmu_choose(o->text[OPT_pmu], needed, &chosen, &why) != 0)
        capabilities.unavailable_reason[CTL_ICOUNT] = why.text;
    else if (chosen == NULL)
        capabilities.unavailable_reason[CTL_ICOUNT] = "-pmu is none";
    capabilities.exact_reason = pmu_exact_reason(chosen);
    return &capabilities;
}

int run_check_count(const struct options *o, struct rt_error *e)
{
    struct rt_error why = {{0}};
    if (o->number[OPT_count] == 0)
        return 0;
    if (pmu_choose(o->text[OPT_pmu], true, &chosen, &why) == 0 && chosen != NULL)
        return 0;
    rt_error_set(e, "a counting run (-count) is not possible: %s",
                 why.text[0] != '\0' ? why.text : "-pmu is none");
    return -EINVAL;
}

int run_parse_chains(const struct options *o, bool only_language, bool quiet,
                     struct ctl_config **config, struct rt_error *e)
{
    struct ctl_builder *b = ctl_builder_create(quiet ? NULL : print_warning, NULL);
    if (b == NULL) {
        rt_error_set(e, "no memory for the control chains");
        return -ENOMEM;
    }
    int rc = ctl_builder_add_options(b, o, "-control", e);
    /* As the library does it: preload/constructor.c. */
    bool choice = !only_language && strcmp(o->text[OPT_pmu], "auto") == 0;
    if (rc == 0) {
        rc = ctl_builder_finish(b, only_language ? NULL : build_capabilities(o, false), config, e);
        if (rc != 0 && choice && chosen == NULL)
            rc = ctl_builder_finish(b, build_capabilities(o, true), config, e);
    }
    ctl_builder_free(b);
    if (rc == 0 && choice && chosen != NULL &&
        (ctl_config_uses(*config, CTL_ICOUNT) || ctl_config_uses(*config, CTL_UNIFORM)))
        (void)build_capabilities(o, true);
    return rc;
}

int run_check_counters(const struct options *o, bool one_window, struct rt_error *e)
{
    struct pmu_sample_spec spec;
    int rc = pmu_sample_parse(o->text[OPT_sample], &spec, e);
    if (rc == 0)
        rc = pmu_sample_probe(&spec, one_window, e);
    if (rc != 0)
        rt_error_prefix(e, "REGTRACE_SAMPLE (option -sample)");
    struct pmu_counter_set set;
    if (rc == 0)
        rc = pmu_counters_parse(o->text[OPT_events], &set, e);
    if (rc == 0 && set.count == 0 && o->number[OPT_events_mpi] != 0) {
        rt_error_set(e, "-events-mpi needs events to count: give -events too");
        rc = -EINVAL;
    }
    return rc != 0 ? rc : pmu_counters_probe(&set, chosen, &spec, e);
}

const char *run_event_codes(const struct identity *id)
{
    static char text[16 << 10];
    return pmu_names_give(id->boot_id, text, sizeof text) ? text : NULL;
}
