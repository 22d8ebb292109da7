/* SPDX-License-Identifier: BSD-3-Clause
 * Three ranks that wait for each other by construction. Each writes to ARGUMENT.RANK when it came
 * to its calls and when it left them: a line "LABEL BEFORE AFTER", in ns of CLOCK_MONOTONIC; "slept
 * NS", by how much it delayed itself; and "sent TO MESSAGES BYTES". */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { RANKS = 3, LATE_MS = 200 };

static FILE *out;
static int rank;
static long messages[RANKS], bytes[RANKS];

static int64_t now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void be_late(int who)
{
    struct timespec t = {.tv_nsec = LATE_MS * 1000000L};
    int64_t before = now();
    if (rank != who)
        return;
    (void)nanosleep(&t, NULL);
    (void)fprintf(out, "slept %lld\n", (long long)(now() - before));
}

#define TIMED(label, call)                                                                         \
    do {                                                                                           \
        int64_t before = now();                                                                    \
        call;                                                                                      \
        (void)fprintf(out, "%s %lld %lld\n", label, (long long)before, (long long)now());          \
    } while (0)

/* Brings the ranks together, so that earlier delays do not affect the next part. */
static void together(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void sends(int to, int count)
{
    messages[to]++;
    bytes[to] += count * (long)sizeof(int);
}

static void late_senders(int *data)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    together();
    be_late(0);
    if (rank == 0)
        TIMED("recv", (sends(1, 10), MPI_Send(data, 10, MPI_INT, 1, 1, MPI_COMM_WORLD)));
    if (rank == 1)
        TIMED("recv",
              MPI_Recv(data, 10, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    together();
    be_late(2);
    if (rank == 1) {
        MPI_Irecv(data, 20, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(data + 20, 20, MPI_INT, 2, 2, MPI_COMM_WORLD, &requests[1]);
        TIMED("waitall", MPI_Waitall(2, requests, statuses));
    } else {
        TIMED("waitall", (sends(1, 5), MPI_Send(data, 5, MPI_INT, 1, 2, MPI_COMM_WORLD)));
    }
    together();
    be_late(1); /* the message is there long before: the receiver does not wait for its sender */
    if (rank == 0)
        TIMED("early", (sends(1, 1), MPI_Send(data, 1, MPI_INT, 1, 3, MPI_COMM_WORLD)));
    if (rank == 1)
        TIMED("early", MPI_Recv(data, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    together();
    be_late(2);
    if (rank != 1)
        TIMED("sendrecv", (sends(2 - rank, 3),
                           MPI_Sendrecv(data, 3, MPI_INT, 2 - rank, 4, data + 20, 3, MPI_INT,
                                        2 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE)));
}

static void late_receiver(int *data)
{
    together();
    be_late(2);
    if (rank == 0)
        TIMED("ssend", (sends(2, 7), MPI_Ssend(data, 7, MPI_INT, 2, 5, MPI_COMM_WORLD)));
    if (rank == 2)
        TIMED("ssend", MPI_Recv(data, 7, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void late_at_collectives(int *data)
{
    int sum[8];
    together();
    be_late(1);
    TIMED("barrier", MPI_Barrier(MPI_COMM_WORLD));
    together();
    be_late(2);
    TIMED("allreduce", MPI_Allreduce(data, sum, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    together();
    be_late(0);
    TIMED("root", MPI_Bcast(data, 4, MPI_INT, 0, MPI_COMM_WORLD));
    together();
    be_late(2); /* no rank waits for the last rank of the tree */
    TIMED("leaf", MPI_Bcast(data, 4, MPI_INT, 0, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    static int data[40];
    char name[4096];
    int size, is_up;
    MPI_Initialized(&is_up);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    (void)snprintf(name, sizeof name, "%s.%d", argc > 1 ? argv[1] : "waits", rank);
    out = fopen(name, "w");
    if (out == NULL || size != RANKS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    late_senders(data);
    late_receiver(data);
    late_at_collectives(data);
    for (int i = 0; i < RANKS; i++)
        (void)fprintf(out, "sent %d %ld %ld\n", i, messages[i], bytes[i]);
    (void)fclose(out);
    MPI_Finalize();
    return 0;
}
