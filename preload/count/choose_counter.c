/* SPDX-License-Identifier: BSD-3-Clause
 * Chooses the counter of instructions before main: the one that the options name, or one that the
 * chains or a counting run need. */
#include "preload/count/counting.h"
#include "preload/process.h"

#include <stdio.h>
#include <string.h>

extern char **environ;

bool threads_are_stepped, counters_interrupt;

static struct pmu_wanted counter;

/* Returns the name of the requested counter. T_REGTRACE_LATE=SEED:MAXIMUM is for tests: `step` then
 * interrupts up to MAXIMUM instructions late, as processors do. */
static const char *wanted_counter(void)
{
    static char text[64];
    const char *wanted = process.options.text[OPT_pmu],
               *late = identity_env(environ, "T_REGTRACE_LATE");
    if (late == NULL || strcmp(wanted, "step") != 0)
        return wanted;
    (void)snprintf(text, sizeof text, "late:%s", late);
    return text;
}

static void look_at_machine(void *context, bool needed, struct ctl_capabilities *out)
{
    (void)context;
    pmu_wanted_choose(&counter, wanted_counter(), needed);
    out->unavailable_reason[CTL_ICOUNT] = counter.no_count;
    out->exact_reason = counter.no_exact;
}

static bool machine_counts(void *context)
{
    (void)context;
    return counter.backend != NULL;
}

const struct ctl_machine *counting_machine(void)
{
    static const struct ctl_machine machine = {look_at_machine, machine_counts, NULL};
    return &machine;
}

/* Does the run count instructions: does an alarm need the count, or is it a counting run? */
static bool counts_for_sure(void)
{
    return ctl_config_uses(process.config, CTL_ICOUNT) ||
           ctl_config_uses(process.config, CTL_UNIFORM) || process.options.number[OPT_count] != 0;
}

int counting_prepare(struct rt_error *e)
{
    int rc = pmu_wanted_count(&counter, &process.options, wanted_counter(), e);
    const struct pmu_backend *chosen = process.pmu = counter.backend;
    if (rc != 0 || chosen == NULL)
        return rc;
    /* A chosen counter counts every thread, whether an alarm needs it or not. */
    threads_are_stepped = chosen->steps || ctl_config_has_exact(process.config);
    counters_interrupt |= chosen->kernels && counts_for_sure();
    return pmu_check_steps(threads_are_stepped, process.options.text[OPT_memory][0] != '\0',
                           process.options.text[OPT_values][0] != '\0', e);
}

bool counting_wants_signal(int signo)
{
    return (signo == SIGTRAP && threads_are_stepped) || (signo == SIGIO && counters_interrupt);
}
