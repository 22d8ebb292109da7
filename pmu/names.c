/* SPDX-License-Identifier: BSD-3-Clause
 * Names of counted events: the kernel's generic ones, PAPI's for the same, and raw codes. */
#include "pmu/internal.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_MISSES(cache)                                                                        \
    ((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

/* The kernel's generic events as perf-list(1) has them, and PAPI's names for the same. */
static const struct pmu_event names[] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    {"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, CACHE_MISSES(PERF_COUNT_HW_CACHE_L1D)},
    {"LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE_MISSES(PERF_COUNT_HW_CACHE_LL)},
    {"dTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE_MISSES(PERF_COUNT_HW_CACHE_DTLB)},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"PAPI_TOT_INS", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"PAPI_TOT_CYC", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"PAPI_REF_CYC", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"PAPI_BR_MSP", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

bool pmu_event_find(const char *text, size_t length, struct pmu_event *out)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].name) == length && strncmp(names[i].name, text, length) == 0) {
            *out = names[i];
            return true;
        }
    if (text[0] != 'r' || length < 2 || length > 17 ||
        strspn(text + 1, "0123456789abcdefABCDEF") < length - 1)
        return false;
    *out = (struct pmu_event){"raw events", PERF_TYPE_RAW, strtoull(text + 1, NULL, 16)};
    return true;
}
