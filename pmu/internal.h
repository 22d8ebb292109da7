/* SPDX-License-Identifier: BSD-3-Clause
 * The back ends, for pmu/ alone. */
#ifndef REGTRACE_PMU_INTERNAL_H
#define REGTRACE_PMU_INTERNAL_H

#include "pmu/pmu.h"

extern const struct pmu_backend pmu_perf;

#endif
