/* SPDX-License-Identifier: BSD-3-Clause
 * The few facts about the loaded MPI library that the wrappers need: constants, handles and
 * MPI_Status. */
#ifndef REGTRACE_MPI_ABI_H
#define REGTRACE_MPI_ABI_H

#include "mpi/mpi.h"

/* Values: Open MPI 4 and 5 mpi.h, MPICH 3 and 4 mpi.h, MPI-5.0 "Application Binary Interface"
 * chapter. */
struct mpi_abi {
    enum mpi_abi_kind kind;
    int any_source, any_tag, proc_null, root;
    uint64_t handle_mask; /* the bits of an argument word that are the handle */
    uint32_t handle_bytes;
    uint32_t status_bytes, status_source, status_tag, status_error; /* offsets */
    int err_in_status, err_pending;                                 /* error classes */
    uint64_t comm_world, comm_self, comm_null, request_null, type_null, type_byte;
    uint64_t in_place, status_ignore, statuses_ignore;
    /* Open MPI: predefined handles are addresses of variables, in the library's image or, where the
     * linker made the program a copy of them, in the program's. */
    uint64_t image_low[2], image_high[2];
};

/* Filled by mpi_abi_find(); all zero before. */
extern struct mpi_abi mpi_abi RT_HIDDEN;

/* Look which library is loaded; cheap once found. Not from signal handlers. */
const struct mpi_abi *mpi_abi_find(void);

/* The address of a symbol of the MPI library (never our own wrapper), NULL if there is none:
 * RTLD_NEXT, then every loaded object, so that libraries loaded RTLD_LOCAL are found as well. Not
 * from signal handlers. */
void *mpi_symbol(const char *name);

/* The same for variables: the program's own copy goes first, as it does for the library itself. */
void *mpi_variable(const char *name);

/* The address range of the object that holds `address`; false if there is none. */
bool mpi_object_range(const void *address, uintptr_t *low, uintptr_t *high);

#endif
