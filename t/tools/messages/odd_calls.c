/* SPDX-License-Identifier: BSD-3-Clause
 * odd_calls FOLDER WHAT: calls that seldom happen, and a log of the messages, FOLDER/log.RANK, as
 * the program messages prints them. Each message of a run has another size. WHAT:
 *   freed    the communicator of open receives is freed
 *   idup     communicators of MPI_Comm_idup, and those made from them
 *   ports    communicators of MPI_Comm_accept and MPI_Comm_connect
 *   failed   collective calls that fail, before ones that do not
 *   thread   one thread posts a receive, another one waits for it
 *   session  MPI_Session_init after MPI_Init, if the library has it */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static FILE *out;
static char buffer[65536];

/* Call it where the receive is complete. from, to: ranks in the world. */
static void logged(int from, int to, int tag, int bytes)
{
    fprintf(out, "message 0 0 %d %d %d %d\n", from, to, tag, bytes);
}

static int next_size(void)
{
    static int bytes = 10;
    return bytes++;
}

/* Rank `from` sends to rank `to` of a communicator that has the world's ranks. */
static void pass(MPI_Comm comm, int from, int to, int tag)
{
    const int bytes = next_size();
    if (rank == from)
        MPI_Send(buffer, bytes, MPI_BYTE, to, tag, comm);
    if (rank != to)
        return;
    MPI_Recv(buffer, bytes, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
    logged(from, to, tag, bytes);
}

/* --- freed ------------------------------------------------------------------------------------ */

static void freed(void)
{
    for (int i = 0; i < 20; i++) {
        MPI_Comm comm;
        MPI_Request request = MPI_REQUEST_NULL;
        const int bytes = next_size();
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (i % 4 == 1)
            pass(comm, 1, 0, i); /* the number of the next message is not its key's first */
        /* A third of them take any source: their numbers are open as long as they are. */
        if (rank == 0)
            MPI_Irecv(buffer, bytes, MPI_BYTE, i % 3 == 0 ? MPI_ANY_SOURCE : 1, i, comm, &request);
        if (rank == 1)
            MPI_Isend(buffer, bytes, MPI_BYTE, 0, i, comm, &request);
        MPI_Comm_free(&comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 0)
            logged(1, 0, i, bytes);
    }
}

/* --- idup ------------------------------------------------------------------------------------- */

static MPI_Comm idup(MPI_Comm comm)
{
    MPI_Comm made;
    MPI_Request request;
    MPI_Comm_idup(comm, &made, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return made;
}

static void idups(void)
{
    MPI_Comm two[2], again, split;
    MPI_Request requests[2];
    MPI_Pcontrol(rank == 1 ? 0 : 1); /* one rank makes them outside windows */
    MPI_Comm_idup(MPI_COMM_WORLD, &two[0], &requests[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &two[1], &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Pcontrol(1);
    for (int i = 0; i < 3; i++) {
        pass(two[0], 0, 1, i);
        pass(two[1], 0, 1, i);
        pass(two[1], 1, 2, i);
    }
    again = idup(two[1]);
    MPI_Comm_dup(two[0], &split);
    pass(again, 2, 0, 5);
    pass(split, 2, 0, 5);
    MPI_Comm_free(&two[0]);
    MPI_Comm_free(&two[1]);
    two[0] = idup(MPI_COMM_WORLD); /* may have a handle that was used before */
    pass(two[0], 0, 1, 0);
    MPI_Comm_free(&two[0]);
    MPI_Comm_free(&again);
    MPI_Comm_free(&split);
    /* Groups of their own: one call makes several communicators. */
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &split);
    again = idup(split);
    if (rank % 2 == 0) {
        const int bytes = next_size();
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 9, again);
        else
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 9, again, MPI_STATUS_IGNORE);
        if (rank == 2)
            logged(0, 2, 9, bytes);
    }
    MPI_Barrier(again);
    MPI_Comm_free(&again);
    MPI_Comm_free(&split);
}

/* --- ports ------------------------------------------------------------------------------------ */

/* Rank 0 accepts rank 1, twice. */
static void ports(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm comm[2];
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 2 && rank < 2; i++)
        if (rank == 0)
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm[i]);
        else
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &comm[i]);
    for (int i = 0; i < 6 && rank < 2; i++) {
        const int bytes = next_size();
        if (rank == 1)
            MPI_Send(buffer, bytes, MPI_BYTE, 0, 3, comm[i % 2]);
        else
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 3, comm[i % 2], MPI_STATUS_IGNORE);
        if (rank == 0)
            logged(1, 0, 3, bytes);
    }
    for (int i = 0; i < 2 && rank < 2; i++)
        MPI_Comm_disconnect(&comm[i]);
    if (rank == 0)
        MPI_Close_port(port);
}

/* --- failed ----------------------------------------------------------------------------------- */

/* Rank 1 comes to each call later, so that the others wait. */
static void late(void)
{
    if (rank == 1)
        usleep(20000);
}

static void failed(void)
{
    MPI_Comm comm;
    int x = 1, y;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++) {
        late();
        MPI_Bcast(&x, 1, MPI_INT, 77, comm); /* another function than the next one */
        late();
        MPI_Barrier(comm);
        late();
        MPI_Allreduce(&x, &y, -1, MPI_INT, MPI_SUM, comm); /* the same function */
        late();
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, comm);
        if (rank == 2) /* in one rank alone */
            MPI_Reduce(&x, &y, -1, MPI_INT, MPI_SUM, 0, comm);
        late();
        MPI_Barrier(comm);
    }
    MPI_Comm_free(&comm);
}

/* --- thread ----------------------------------------------------------------------------------- */

static MPI_Request shared;

static void *wait_for_it(void *unused)
{
    MPI_Wait(&shared, MPI_STATUS_IGNORE);
    return unused;
}

static void thread(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_t other;
        const int bytes = next_size();
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Irecv(buffer, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &shared);
            if (pthread_create(&other, NULL, wait_for_it, NULL) != 0)
                abort();
            pthread_join(other, NULL);
            logged(1, 0, i, bytes);
        }
        late();
        if (rank == 1)
            MPI_Send(buffer, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD);
    }
}

/* --- session ---------------------------------------------------------------------------------- */

static void session(void)
{
    pass(MPI_COMM_WORLD, 0, 1, 1);
#if MPI_VERSION >= 4
    MPI_Session one, two;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &one);
    pass(MPI_COMM_WORLD, 1, 2, 1);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &two);
    MPI_Session_finalize(&one);
    pass(MPI_COMM_WORLD, 0, 1, 1);
    MPI_Session_finalize(&two);
#endif
    pass(MPI_COMM_WORLD, 2, 0, 1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"freed", freed},   {"idup", idups},    {"ports", ports},
               {"failed", failed}, {"thread", thread}, {"session", session}};
    char path[4096];
    int level;
    if (argc != 3)
        return 2;
    MPI_Init_thread(&argc, &argv,
                    strcmp(argv[2], "thread") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/log.%d", argv[1], rank);
    if ((out = fopen(path, "w")) == NULL || size != 3)
        return 2;
    MPI_Barrier(MPI_COMM_WORLD);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(argv[2], all[i].name) == 0)
            all[i].run();
    fclose(out);
    MPI_Finalize();
    return 0;
}
