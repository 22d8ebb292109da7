/* SPDX-License-Identifier: BSD-3-Clause
 * Facts about the loaded MPI library that the wrappers need: constants, handles and MPI_Status. */
#ifndef REGTRACE_MPI_ABI_H
#define REGTRACE_MPI_ABI_H

#include "mpi/mpi.h"

/* Sources of the values: mpi.h of Open MPI 4 and 5 and of MPICH 3 and 4; MPI-5.0, chapter
 * "Application Binary Interface". */
struct mpi_abi {
    enum mpi_abi_kind kind;
    int any_source, any_tag, proc_null, root;
    uint64_t handle_mask; /* bits of an argument word that hold the handle */
    uint32_t handle_bytes;
    /* status_bytes: size of MPI_Status; the others: offsets in it. */
    uint32_t status_bytes, status_source, status_tag, status_error;
    int err_in_status, err_pending, err_truncate; /* error classes */
    uint64_t comm_world, comm_self, comm_null, request_null, type_null, type_byte;
    uint64_t in_place, status_ignore, statuses_ignore;
    /* Open MPI: predefined handles are addresses of variables, in the library's image or, if the
     * linker copied them into the program, in the program's. */
    uint64_t image_low[2], image_high[2];
};

/* Filled in by mpi_abi_find(); all zero before. */
extern struct mpi_abi mpi_abi RT_HIDDEN;

/* Open MPI: is this handle the address of a variable of that image? */
static inline bool mpi_abi_is_variable(uint64_t handle, int image)
{
    return handle >= mpi_abi.image_low[image] && handle < mpi_abi.image_high[image];
}

/* Finds out which library is loaded. Cheap after the first success. Not for signal handlers. */
const struct mpi_abi *mpi_abi_find(void);

/* Returns the address of a symbol of the MPI library, never of our own wrapper, or NULL if there is
 * none. Searches RTLD_NEXT, then every loaded object, to find libraries loaded with RTLD_LOCAL too.
 * Not for signal handlers. */
void *mpi_symbol(const char *name);

/* The same for variables: prefers the program's own copy, as the library itself does. */
void *mpi_variable(const char *name);

/* Finds the address range of the object that holds `address`. Returns false if there is none. */
bool mpi_object_range(const void *address, uintptr_t *low, uintptr_t *high);

#endif
