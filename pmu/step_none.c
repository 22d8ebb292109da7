/* SPDX-License-Identifier: BSD-3-Clause
 * Empty stepping functions for processors other than x86-64, where no back end steps. */
#include "pmu/backend.h"

#define UNUSED __attribute__((unused))
void pmu_step_own_text(UNUSED uintptr_t from, UNUSED uintptr_t to)
{
}
void pmu_step_entries(UNUSED uintptr_t from, UNUSED uintptr_t to)
{
}
void pmu_go(UNUSED struct pmu_thread *t)
{
}
bool pmu_stop(UNUSED struct pmu_thread *t)
{
    return false;
}
struct pmu_inside pmu_program_begin(UNUSED struct pmu_thread *t)
{
    return (struct pmu_inside){0};
}
void pmu_program_end(UNUSED struct pmu_thread *t, UNUSED struct pmu_inside inside)
{
}
enum pmu_trap pmu_step_trap(UNUSED struct pmu_thread *t, UNUSED const siginfo_t *info,
                            UNUSED void *context)
{
    return PMU_TRAP_FOREIGN;
}
struct pmu_inside pmu_step_settle(UNUSED struct pmu_thread *t, UNUSED void *context)
{
    return (struct pmu_inside){0};
}
enum pmu_trap pmu_step_resume(UNUSED struct pmu_thread *t, UNUSED void *context,
                              UNUSED struct pmu_inside inside)
{
    return PMU_TRAP_DONE;
}
void pmu_step_places(UNUSED struct pmu_places places)
{
}
bool pmu_step_is_on(UNUSED const struct pmu_thread *t, UNUSED const void *context)
{
    return false;
}
enum pmu_trap pmu_step_at_place(UNUSED struct pmu_thread *t, UNUSED void *context)
{
    return PMU_TRAP_DONE;
}
void pmu_step_block(UNUSED struct pmu_thread *t, UNUSED bool blocked)
{
}
enum pmu_trap pmu_step_over_int3(UNUSED struct pmu_thread *t, UNUSED void *context)
{
    return PMU_TRAP_DONE;
}
enum pmu_trap pmu_step_go_on(UNUSED struct pmu_thread *t, UNUSED void *context)
{
    return PMU_TRAP_DONE;
}
bool pmu_step_lets_through(UNUSED struct pmu_thread *t, UNUSED const siginfo_t *info)
{
    return true;
}
