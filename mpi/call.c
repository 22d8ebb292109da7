/* SPDX-License-Identifier: BSD-3-Clause
 * Resolves the real functions, and recognizes a nested call that is the second half of its outer
 * call. */
#include "mpi/open_calls.h"
#include "mpi/wrapper.h"

#include "base/log.h"
#include "base/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

struct mpi_hooks mpi_hooks;
uint32_t mpi_recorded = 1;
_Atomic uint32_t mpi_asleep;
_Atomic uint64_t mpi_completions_skipped;
void *mpi_real[MPI_REAL_ROWS][MPI_FUNCTIONS];

/* Objects that hold Fortran's entry points. A C call from there, inside the Fortran call of the
 * same name, is the second half of that call. */
static uintptr_t fortran_low[2], fortran_high[2];
/* Our own object. If a stub ends in a jump to the C function, the caller is our Fortran wrapper. */
static uintptr_t own_low, own_high;

static int absent_function(void)
{
    /* MPI_ERR_OTHER of Open MPI and of the standard interface; an error class with MPICH too. */
    return 16;
}

/* Stands in for MPIX_Query_cuda_support and similar functions that the library lacks. Their result
 * is the answer, not an error code: 0 means no support. */
static int absent_answer(void)
{
    return 0;
}

RT_COLD static void note_fortran(const void *real)
{
    if (own_high == 0)
        (void)mpi_object_range(mpi_real, &own_low, &own_high);
    for (int i = 0; i < 2; i++) {
        if ((uintptr_t)real >= fortran_low[i] && (uintptr_t)real < fortran_high[i])
            return;
        if (fortran_high[i] == 0) {
            uintptr_t low, high;
            if (mpi_object_range(real, &low, &high)) {
                fortran_low[i] = low;
                __atomic_store_n(&fortran_high[i], high, __ATOMIC_RELEASE);
            }
            return;
        }
    }
}

RT_COLD void *mpi_resolve(unsigned row, unsigned function, const char *name)
{
    int keep = errno;
    (void)mpi_abi_find();
    void *real = mpi_symbol(name);
    if (real == NULL) {
        char twin[128] = "P";
        twin[0] = name[0] == 'm' ? 'p' : 'P';
        size_t n = strlen(name);
        if (n < sizeof twin - 1) {
            memcpy(twin + 1, name, n + 1);
            real = mpi_symbol(twin);
        }
    }
    if (real == NULL)
        real = (void *)(uintptr_t)(strncmp(name, "MPIX_Query_", 11) == 0 ? absent_answer
                                                                         : absent_function);
    else if (row != 0)
        note_fortran(real);
    __atomic_store_n(&mpi_real[row][function], real, __ATOMIC_RELEASE);
    errno = keep;
    return real;
}

RT_COLD static void say_deep(const struct recorder_thread *t)
{
    static _Atomic bool told;
    _Static_assert(RECORDER_OPEN_CALLS == 10, "the text has this number");
    if (t->recording && mpi_recorded && !atomic_exchange(&told, true))
        log_line(LOG_WARNING, "MPI calls are nested more than 10 deep: the inner ones are not "
                              "recorded");
}

RT_COLD bool mpi_passes_nested(struct recorder_thread *t, unsigned function, const void *caller,
                               uintptr_t frame)
{
    if (t->in_toolkit != 0)
        return true;
    mpi_open_calls_settle(t, frame);
    uint32_t depth = t->open_depth;
    if (depth >= RECORDER_OPEN_CALLS)
        say_deep(t);
    if (depth == 0 || depth >= RECORDER_OPEN_CALLS)
        return depth != 0;
    uint64_t outer = t->open_calls[depth - 1];
    if ((outer & MPI_OPEN_FORTRAN) == 0 || (outer & MPI_OPEN_FUNCTION) != function)
        return false;
    uintptr_t from = (uintptr_t)caller;
    if (from >= own_low && from < own_high)
        return true;
    for (int i = 0; i < 2; i++)
        if (from >= fortran_low[i] && from < fortran_high[i])
            return true;
    return false;
}

/* --- strings ---------------------------------------------------------------------------------- */

/* Reads up to the end of a page, so that an unreadable next page does not make the whole read
 * fail. */
static long read_piece(uint64_t address, char *to, size_t n)
{
    size_t in_page = 4096 - (size_t)(address & 4095);
    return sys_read_self((uintptr_t)address, to, n < in_page ? n : in_page);
}

long mpi_read_string(uint64_t address, char *buffer, size_t n)
{
    if (n == 0)
        return -1;
    size_t used = 0;
    while (used < n - 1) {
        long got = read_piece(address + used, buffer + used, n - 1 - used);
        if (got <= 0)
            break;
        for (long i = 0; i < got; i++)
            if (buffer[used + (size_t)i] == '\0')
                return (long)used + i;
        used += (size_t)got;
    }
    buffer[used] = '\0';
    return used == n - 1 ? (long)used : -1;
}
