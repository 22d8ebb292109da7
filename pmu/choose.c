/* SPDX-License-Identifier: BSD-3-Clause
 * Chooses the back end that counts. */
#include "pmu/backend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses late:SEED:MAXIMUM. */
static int choose_late(const char *wanted, struct rt_error *err)
{
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(wanted + 5, &end, 10), maximum = 0;
    bool good = end != wanted + 5 && *end == ':';
    if (good) {
        const char *second = end + 1;
        maximum = strtoull(second, &end, 10);
        good = end != second && *end == '\0' && errno == 0 && maximum <= UINT32_MAX;
    }
    if (!good) {
        rt_error_set(err, "'%s': the tests' counter is late:SEED:MAXIMUM, both numbers", wanted);
        return -EINVAL;
    }
    pmu_late_prepare(seed, maximum);
    return 0;
}

/* Chooses papi, else perf. The kernel counts for both: papi alone fails if PAPI is missing or does
 * not know the processor. */
static int choose_auto(bool needed, const struct pmu_backend **backend, struct rt_error *err)
{
    struct rt_error papi = {{0}}, steps = {{0}};
    int rc = needed ? pmu_papi.probe(&papi) : -ENOENT;
    *backend = rc == 0 ? &pmu_papi : NULL;
    if (rc == 0)
        return 0;
    rc = pmu_perf.probe(err);
    *backend = rc == 0 ? &pmu_perf : NULL;
    if (rc != 0 && needed && strcmp(papi.text, err->text) != 0) {
        rt_error_prefix(&papi, "; by PAPI");
        size_t n = strlen(err->text);
        (void)snprintf(err->text + n, sizeof err->text - n, "%s", papi.text);
    }
    if (rc != 0 && needed && pmu_step.probe(&steps) == 0) {
        size_t n = strlen(err->text);
        (void)snprintf(err->text + n, sizeof err->text - n,
                       "; REGTRACE_PMU=step (option -pmu step) counts without one, exactly, by "
                       "single steps that make the program some 50,000 times slower");
    }
    return rc;
}

int pmu_choose(const char *wanted, bool needed, const struct pmu_backend **backend,
               struct rt_error *err)
{
    const struct pmu_backend *chosen = NULL;
    *backend = NULL;
    if (strcmp(wanted, "none") == 0)
        return 0;
    if (strcmp(wanted, "auto") == 0)
        return choose_auto(needed, backend, err);
    if (strcmp(wanted, "papi") == 0)
        chosen = &pmu_papi;
    else if (strcmp(wanted, "perf") == 0)
        chosen = &pmu_perf;
    else if (strcmp(wanted, "step") == 0)
        chosen = &pmu_step;
    else if (strncmp(wanted, "late:", 5) == 0)
        chosen = choose_late(wanted, err) == 0 ? &pmu_late : NULL;
    else
        rt_error_set(err,
                     "there is no counter back end '%s'; there are auto, papi, perf, step and none",
                     wanted);
    if (chosen == NULL)
        return -EINVAL;
    int rc = chosen->probe(err);
    if (rc == 0)
        *backend = chosen;
    return rc;
}

int pmu_check_steps(bool stepped, bool memory, bool values, struct rt_error *err)
{
    if (!stepped || (!memory && !values))
        return 0;
    rt_error_set(
        err,
        "%s cannot be combined with counting by steps (REGTRACE_PMU=step, the token exact): "
        "both need the trap flag, so choose one of them",
        memory ? "memory traces (REGTRACE_MEMORY)" : "values (REGTRACE_VALUES)");
    return -EINVAL;
}

const char *pmu_exact_reason(const struct pmu_backend *backend)
{
#if defined(__x86_64__)
    (void)backend;
    return NULL;
#else
    return backend != NULL && backend->exact
               ? NULL
               : "it needs the trap flag of x86-64, which this processor does not have";
#endif
}
