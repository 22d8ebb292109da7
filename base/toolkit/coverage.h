/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the counts of executed lines where a process ends without exit(3).
 *
 * Only builds that were configured with --enable-coverage count. libgcov writes at exit() alone. */
#ifndef REGTRACE_BASE_TOOLKIT_COVERAGE_H
#define REGTRACE_BASE_TOOLKIT_COVERAGE_H

#ifdef REGTRACE_COVERAGE
extern void __gcov_dump(void); /* of libgcov, which has no header */

static inline void coverage_write(void)
{
    __gcov_dump();
}
#else
static inline void coverage_write(void)
{
}
#endif

#endif
