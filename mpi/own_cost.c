/* SPDX-License-Identifier: BSD-3-Clause
 * Measures once, for each wrapper, how many instructions it costs a counted thread outside
 * windows. */
#include "mpi/wrapper.h"

#include <string.h>

/* No function has more arguments. */
typedef int any_function(mpi_word, mpi_word, mpi_word, mpi_word, mpi_word, mpi_word, mpi_word,
                         mpi_word, mpi_word, mpi_word, mpi_word, mpi_word, mpi_word, mpi_word,
                         mpi_word, mpi_word);

uint32_t mpi_own_cost[MPI_OWN_UNKNOWN + 1];

/* Defined by the linker if a wrapper is linked in (t/preload/inside.t has none). */
#define LINKER_MADE __attribute__((weak, visibility("hidden")))
extern const struct mpi_measured __start_regtrace_measured[] LINKER_MADE;
extern const struct mpi_measured __stop_regtrace_measured[] LINKER_MADE;

/* Fails, so that wrappers skip what they do after a success with what was made or freed. */
static int nothing(void)
{
    return 16;
}

/* Passes pointers to zeros, because wrappers may read what their pointer arguments point to. */
static uint64_t calls_for(void (*entry)(void), uint64_t (*read)(const void *), const void *context)
{
    static mpi_word zeros[64];
    any_function *volatile call = (any_function *)entry;
    const mpi_word a = (mpi_word)(uintptr_t)zeros;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        uint64_t before = read(context);
        (void)call(a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a);
        uint64_t now = read(context);
        least = now - before < least ? now - before : least;
    }
    return least;
}

void mpi_measure_own(uint64_t (*read)(const void *context), const void *context)
{
    static uint32_t found[MPI_OWN_UNKNOWN + 1];
    mpi_profile_measure(true);
    uint64_t bare = calls_for((void (*)(void))nothing, read, context);
    size_t count = ((uintptr_t)__stop_regtrace_measured - (uintptr_t)__start_regtrace_measured) /
                   sizeof(struct mpi_measured);
    for (size_t i = 0; i < count; i++) {
        const struct mpi_measured *m = &__start_regtrace_measured[i];
        void **real = &mpi_real[0][m->function];
        void *keep = __atomic_load_n(real, __ATOMIC_RELAXED);
        __atomic_store_n(real, (void *)(uintptr_t)nothing, __ATOMIC_RELAXED);
        uint64_t n = calls_for(m->entry, read, context);
        __atomic_store_n(real, keep, __ATOMIC_RELAXED);
        found[m->function] = n > bare && n - bare < 10000 ? (uint32_t)(n - bare) : 0;
    }
    mpi_profile_measure(false);
    memcpy(mpi_own_cost, found, sizeof found);
}
