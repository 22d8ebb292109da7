/* SPDX-License-Identifier: BSD-3-Clause
 * Resolves the real functions, and recognizes a nested call that is the second half of its outer
 * call. */
#include "mpi/open_calls.h"
#include "mpi/wrapper.h"

#include "base/log.h"
#include "base/return_address.h"
#include "base/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

struct mpi_hooks mpi_hooks;
uint32_t mpi_recorded = 1;
uint32_t mpi_path_depth;
_Atomic uint32_t mpi_asleep;
_Atomic uint64_t mpi_completions_skipped;
void *mpi_real[MPI_REAL_ROWS][MPI_FUNCTIONS];

/* Images that hold real functions. `high` is stored last. */
struct library_images {
    uintptr_t low[4], high[4];
};
static struct library_images libraries;
/* Those with Fortran's entry points. A C call from there, inside the Fortran call of the same name,
 * is the second half of that call. */
static struct library_images fortran_libraries;
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

static bool have(const struct library_images *l, uintptr_t address)
{
    for (int i = 0; i < 4; i++)
        if (address < __atomic_load_n(&l->high[i], __ATOMIC_ACQUIRE) && address >= l->low[i])
            return true;
    return false;
}

RT_COLD static void note_image(struct library_images *l, const void *real)
{
    uintptr_t low, high;
    if (own_high == 0)
        (void)mpi_object_range(mpi_real, &own_low, &own_high);
    if (have(l, (uintptr_t)real) || !mpi_object_range(real, &low, &high))
        return;
    for (int i = 0; i < 4; i++)
        if (l->high[i] == 0) {
            l->low[i] = low;
            __atomic_store_n(&l->high[i], high, __ATOMIC_RELEASE);
            return;
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
    else
        note_image(row != 0 ? &fortran_libraries : &libraries, real);
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

bool mpi_is_library(uintptr_t address)
{
    return (address >= own_low && address < own_high) || have(&libraries, address) ||
           have(&fortran_libraries, address);
}

RT_COLD bool mpi_passes_nested(struct recorder_thread *t, unsigned function, struct mpi_origin from)
{
    if (t->in_toolkit != 0)
        return true;
    mpi_open_calls_settle(t, from.frame);
    uint32_t depth = t->open_depth;
    if (depth >= RECORDER_OPEN_CALLS)
        say_deep(t);
    if (depth == 0 || depth >= RECORDER_OPEN_CALLS)
        return depth != 0;
    uint64_t outer = t->open_calls[depth - 1];
    if ((outer & MPI_OPEN_FORTRAN) == 0 || (outer & MPI_OPEN_FUNCTION) != function)
        return false;
    uintptr_t caller = return_address_read(from.return_at);
    return (caller >= own_low && caller < own_high) || have(&fortran_libraries, caller);
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
