/* SPDX-License-Identifier: BSD-3-Clause
 * A library between regtrace's wrappers and the MPI library. Logs when a wrapper calls MPI, and
 * when MPI returns to it: the wrapper records the call's begin before, and its end afterwards. */
#include "logged.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

struct logged *logged_now;

void *logged_map(const char *path, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    void *map = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return map != MAP_FAILED ? map : NULL;
}

#define INSIDE(call)                                                                               \
    struct logged *c = logged_now;                                                                 \
    if (c != NULL)                                                                                 \
        c->inside = logged_ns();                                                                   \
    int rc = call;                                                                                 \
    if (c != NULL)                                                                                 \
        c->leaves = logged_ns();                                                                   \
    return rc

int MPI_Send(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    INSIDE(PMPI_Send(data, n, type, to, tag, comm));
}

int MPI_Ssend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    INSIDE(PMPI_Ssend(data, n, type, to, tag, comm));
}

int MPI_Recv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *s)
{
    INSIDE(PMPI_Recv(data, n, type, from, tag, comm, s));
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    INSIDE(PMPI_Waitall(n, requests, statuses));
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    INSIDE(PMPI_Allreduce(from, to, n, type, op, comm));
}

int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    INSIDE(PMPI_Bcast(data, n, type, root, comm));
}

int MPI_Barrier(MPI_Comm comm)
{
    INSIDE(PMPI_Barrier(comm));
}

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *s)
{
    INSIDE(PMPI_Probe(from, tag, comm, s));
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *s)
{
    INSIDE(PMPI_Mprobe(from, tag, comm, message, s));
}

int MPI_Iallreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    INSIDE(PMPI_Iallreduce(from, to, n, type, op, comm, request));
}

int MPI_Wait(MPI_Request *request, MPI_Status *s)
{
    INSIDE(PMPI_Wait(request, s));
}
