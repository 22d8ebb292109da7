/* SPDX-License-Identifier: BSD-3-Clause
 * Test fixture: a feigned MPI library with the standard binary interface of MPI-5, for one rank. It
 * does only as much as the test of the wrappers needs. Debian has no real library of that interface
 * yet.
 *
 * Handles and constants are those of the standard's chapter "Application Binary Interface". */
#include <stdint.h>
#include <stddef.h>

struct status {
    int source, tag, error;
    int reserved[5]; /* [0]: bytes received */
};

#define WORLD 0x101
#define REQUEST_NULL 0x180
#define BYTE 0x247
#define INT 0x209 /* any four-byte type, here */
#define EXPORT __attribute__((visibility("default")))
/* MPI_X is weak and an alias of PMPI_X, as in MPI libraries. */
#define FUNCTION(name, arguments)                                                                  \
    EXPORT int MPI_##name arguments __attribute__((weak, alias("PMPI_" #name)));                   \
    int PMPI_##name arguments;                                                                     \
    EXPORT int PMPI_##name arguments

FUNCTION(Abi_get_version, (int *major, int *minor))
{
    *major = 1;
    *minor = 0;
    return 0;
}
/* If set, MPI_Init calls it, and fails if it returns. */
EXPORT void (*stub_in_init)(void);

FUNCTION(Init, (int *argc, char ***argv))
{
    (void)argc, (void)argv;
    if (stub_in_init == NULL)
        return 0;
    stub_in_init();
    return 16;
}
FUNCTION(Finalize, (void))
{
    return 0;
}
FUNCTION(Pcontrol, (int level, ...))
{
    (void)level;
    return 0;
}
FUNCTION(Query_thread, (int *level))
{
    *level = 0;
    return 0;
}
FUNCTION(Comm_rank, (uintptr_t comm, int *rank))
{
    *rank = 0;
    return comm == WORLD ? 0 : 5;
}
FUNCTION(Comm_size, (uintptr_t comm, int *size))
{
    *size = 1;
    return comm == WORLD ? 0 : 5;
}
FUNCTION(Type_size, (uintptr_t type, int *size))
{
    *size = type == BYTE ? 1 : 4;
    return 0;
}
FUNCTION(Test_cancelled, (const struct status *status, int *flag))
{
    (void)status;
    *flag = 0;
    return 0;
}
FUNCTION(Get_count_c, (const struct status *status, uintptr_t type, int64_t *count))
{
    *count = type == BYTE ? status->reserved[0] : -32766;
    return 0;
}

static void fill(struct status *status)
{
    if (status != NULL)
        *status = (struct status){.source = 0, .tag = 17, .reserved = {12}};
}

FUNCTION(Send, (const void *buffer, int count, uintptr_t type, int to, int tag, uintptr_t comm))
{
    (void)buffer, (void)count, (void)type, (void)to, (void)tag, (void)comm;
    return 0;
}
FUNCTION(Recv, (void *buffer, int count, uintptr_t type, int from, int tag, uintptr_t comm,
                struct status *status))
{
    (void)buffer, (void)count, (void)type, (void)from, (void)tag, (void)comm;
    fill(status);
    return 0;
}
FUNCTION(Irecv, (void *buffer, int count, uintptr_t type, int from, int tag, uintptr_t comm,
                 uintptr_t *request))
{
    (void)buffer, (void)count, (void)type, (void)from, (void)tag, (void)comm;
    *request = 0x12345;
    return 0;
}
FUNCTION(Wait, (uintptr_t * request, struct status *status))
{
    if (*request != REQUEST_NULL)
        fill(status);
    *request = REQUEST_NULL;
    return 0;
}
