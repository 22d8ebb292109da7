/* SPDX-License-Identifier: BSD-3-Clause
 * Builds the chains of a run from its options. `regtrace run` and the library share this code, so
 * both refuse a run with the same messages. */
#include <errno.h>
#include <string.h>

#include "controller/language/language.h"

/* Does the run count instructions? Only then is the search for a back end worth its cost, which may
 * be a process. */
static bool counts_for_sure(const struct ctl_config *config, const struct options *o)
{
    return ctl_config_uses(config, CTL_ICOUNT) || ctl_config_uses(config, CTL_UNIFORM) ||
           o->number[OPT_count] != 0;
}

static int finish(struct ctl_builder *builder, const struct ctl_machine *machine, bool needed,
                  struct ctl_config **config, struct rt_error *err)
{
    struct ctl_capabilities capabilities = ctl_capabilities_of_build();
    if (machine == NULL)
        return ctl_builder_finish(builder, NULL, config, err);
    machine->look(machine->context, needed, &capabilities);
    return ctl_builder_finish(builder, &capabilities, config, err);
}

/* Refuses what cannot be combined with memory traces: instrumented copies have no probes at entries
 * and returns. */
static int check_memory(const struct ctl_config *config, const struct options *o,
                        struct rt_error *err)
{
    if (o->text[OPT_memory][0] == '\0' || (o->number[OPT_functions] != OPTION_FUNCTIONS_NAMED &&
                                           !ctl_config_uses(config, CTL_EXIT_FUNC)))
        return 0;
    rt_error_set(err, "memory traces (REGTRACE_MEMORY) cannot be combined with -functions, nor "
                      "with exit_func, in this build: enter_func, and alarms that name places, "
                      "are legal");
    return -ENOTSUP;
}

int ctl_config_of_options(const struct options *o, const struct ctl_machine *machine,
                          ctl_warning_function *warn, void *warn_context,
                          struct ctl_config **config, struct rt_error *err)
{
    struct ctl_builder *builder = ctl_builder_create(warn, warn_context);
    *config = NULL;
    if (builder == NULL) {
        rt_error_set(err, "no memory for the control chains");
        return -ENOMEM;
    }
    bool open = machine != NULL && strcmp(o->text[OPT_pmu], "auto") == 0;
    int rc = ctl_builder_add_options(builder, o, err);
    if (rc == 0) {
        rc = finish(builder, machine, false, config, err);
        if (rc != 0 && open && !machine->counts(machine->context))
            rc = finish(builder, machine, true, config, err);
    }
    ctl_builder_free(builder);
    if (rc == 0 && machine != NULL)
        rc = check_memory(*config, o, err);
    if (rc != 0) {
        ctl_config_free(*config);
        *config = NULL;
        return rc;
    }
    if (open && machine->counts(machine->context) && counts_for_sure(*config, o)) {
        struct ctl_capabilities unused = ctl_capabilities_of_build();
        machine->look(machine->context, true, &unused);
    }
    return rc;
}
