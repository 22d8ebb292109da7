/* SPDX-License-Identifier: BSD-3-Clause
 * MPI_Wtime and MPI_Wtick. They are alone in this file because a double is returned in a vector
 * register; the other wrappers can then be built without vector registers. */
#include "mpi/wrapper.h"

typedef double real_clock(void);

#define CLOCK(row, name, function, entry)                                                          \
    double name(void);                                                                             \
    MPI_ENTRY double name(void)                                                                    \
    {                                                                                              \
        struct recorder_thread *t = &recorder_self;                                                \
        const unsigned own = MPI_OWN_BEGIN(t);                                                     \
        real_clock *real = (real_clock *)mpi_real_function(row, MPI_NUMBER_##function, #name);     \
        double result;                                                                             \
        if (MPI_PASSES(t, MPI_NUMBER_##function)) {                                                \
            result = MPI_REAL(t->counted != 0, real());                                            \
        } else {                                                                                   \
            struct mpi_plain call = mpi_open_plain(t, entry);                                      \
            result = MPI_REAL(t->counted != 0, real());                                            \
            mpi_close_plain(t, entry, call);                                                       \
        }                                                                                          \
        MPI_OWN_END(own);                                                                          \
        return result;                                                                             \
    }

#define NAMES(low, upper)                                                                          \
    MPI_EXPORT double low(void) __attribute__((alias(#low "_")));                                  \
    MPI_EXPORT double low##__(void) __attribute__((alias(#low "_")));                              \
    MPI_EXPORT double upper(void) __attribute__((alias(#low "_")));

CLOCK(0, MPI_Wtime, Wtime, MPI_NUMBER_Wtime)
CLOCK(0, MPI_Wtick, Wtick, MPI_NUMBER_Wtick)
CLOCK(1, mpi_wtime_, Wtime, (MPI_NUMBER_Wtime | MPI_OPEN_FORTRAN))
CLOCK(1, mpi_wtick_, Wtick, (MPI_NUMBER_Wtick | MPI_OPEN_FORTRAN))
CLOCK(2, mpi_wtime_f08_, Wtime, (MPI_NUMBER_Wtime | MPI_OPEN_FORTRAN))
CLOCK(2, mpi_wtick_f08_, Wtick, (MPI_NUMBER_Wtick | MPI_OPEN_FORTRAN))
NAMES(mpi_wtime, MPI_WTIME)
NAMES(mpi_wtick, MPI_WTICK)
