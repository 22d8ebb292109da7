/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers of messages that MPI_Cancel may take back: it may come too late. */
#include "mpi/number_keys.h"
#include "mpi/wrapper.h"

bool mpi_number_cancelling(mpi_number *n, bool a_send)
{
    uint32_t comm;
    int32_t source, tag;
    if ((*n & NUMBER_UNDECIDED) != 0)
        undecided_cancelling(*n);
    if (*n == NO_NUMBER || *n == NUMBER_LOST || (*n & NUMBER_UNDECIDED) != 0)
        return false;
    if (!a_send) {
        number_key_of(*n, &comm, &source, &tag);
        if (number_give_back(*n)) {
            *n = undecided_post(comm, source, tag, true);
            return false;
        }
        number_doubt(*n, true);
    }
    atomic_fetch_add(&mpi_undecided, 1);
    return true;
}

void mpi_number_cancelled(mpi_number n, bool a_send, bool is_over)
{
    atomic_fetch_sub(&mpi_undecided, 1);
    if (a_send && is_over)
        mpi_number_unsent(n);
    else if (!a_send && is_over)
        number_count_unnumbered(); /* later receives have numbers that are too large */
    else if (!a_send)
        number_doubt(n, false);
}

void mpi_number_cancel_freed(mpi_number n)
{
    atomic_fetch_sub(&mpi_undecided, 1);
    mpi_number_lost(n);
}
