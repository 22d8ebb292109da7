/* SPDX-License-Identifier: BSD-3-Clause
 * The back ends, for pmu/ alone. */
#ifndef REGTRACE_PMU_INTERNAL_H
#define REGTRACE_PMU_INTERNAL_H

#include "pmu/pmu.h"

extern const struct pmu_backend pmu_perf, pmu_step, pmu_late;

/* Skids of 0 to `maximum` instructions, by that seed. */
void pmu_late_prepare(uint64_t seed, uint64_t maximum);

#endif
