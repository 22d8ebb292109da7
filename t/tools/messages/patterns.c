/* SPDX-License-Identifier: BSD-3-Clause
 * patterns FOLDER PATTERN SEED ROUNDS EVERY TAGS BYTES [sleep]: exchanges messages of equal size in
 * one of the usual patterns, each with its number as payload, with a random amount of work between
 * them (with `sleep`: pauses, as if each rank had a processor). Each rank logs to FOLDER/log.RANK
 * what it received, as exchange.c does. EVERY is the number of rounds between the edges of windows,
 * which MPI_Pcontrol opens and closes on all ranks; 0: the program opens none. Marks 1 and 2 number
 * sends and posts. */
#include <regtrace.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 65536, AHEAD = 3, LIMIT = 24 };
static int rank, size, tags, bytes, rounds, sleeps;
static unsigned seed;
static FILE *out;
static long sends, posts;
static char room[LIMIT][MOST], data[LIMIT][MOST];
static volatile double sink;

static unsigned chance(unsigned *state, unsigned below)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 8) % below;
}

static void work(unsigned most)
{
    unsigned n = chance(&seed, most);
    if (chance(&seed, 20) == 0)
        n *= 20;
    if (sleeps)
        usleep(n * 10);
    for (unsigned i = 0; !sleeps && i < n * 40; i++)
        sink = sink + 1.0 / (i + 1);
}

static void *number_send(int i)
{
    long n = (long)rank * 10000000 + ++sends;
    regtrace_mark_set(1, n);
    memcpy(data[i], &n, sizeof n);
    return data[i];
}

static long number_post(void)
{
    long n = (long)rank * 10000000 + ++posts;
    regtrace_mark_set(2, n);
    return n;
}

static void got(int i, long post, const MPI_Status *s)
{
    long n;
    memcpy(&n, room[i], sizeof n);
    fprintf(out, "message %ld %ld %ld %d %d %d\n", n, post, n / 10000000, rank, s->MPI_TAG, bytes);
}

static void receive(int from, int tag)
{
    MPI_Status s;
    long post = number_post();
    MPI_Recv(room[0], MOST, MPI_BYTE, from, tag, MPI_COMM_WORLD, &s);
    got(0, post, &s);
}

static void both_neighbours(int round)
{
    const int at[2] = {(rank + 1) % size, (rank + size - 1) % size};
    MPI_Request r[4];
    MPI_Status s[4];
    long post[2];
    for (int i = 0; i < 2; i++) {
        post[i] = number_post();
        MPI_Irecv(room[i], MOST, MPI_BYTE, at[i], round % tags, MPI_COMM_WORLD, &r[i]);
    }
    work(200);
    for (int i = 0; i < 2; i++)
        MPI_Isend(number_send(i), bytes, MPI_BYTE, at[i], round % tags, MPI_COMM_WORLD, &r[2 + i]);
    MPI_Waitall(4, r, s);
    got(0, post[0], &s[0]);
    got(1, post[1], &s[1]);
}

static void token(int round)
{
    int tag = round % tags, right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (rank == 0)
        MPI_Send(number_send(0), bytes, MPI_BYTE, right, tag, MPI_COMM_WORLD);
    receive(left, tag);
    work(100);
    if (rank != 0)
        MPI_Send(number_send(0), bytes, MPI_BYTE, right, tag, MPI_COMM_WORLD);
}

/* Rank 0 hands out pieces of work on request. */
static void master(int round)
{
    MPI_Status s;
    if (rank != 0) {
        work(300);
        MPI_Send(number_send(0), bytes, MPI_BYTE, 0, round % tags, MPI_COMM_WORLD);
        receive(0, MPI_ANY_TAG);
        return;
    }
    for (int i = 1; i < size; i++) {
        long post = number_post();
        MPI_Recv(room[0], MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &s);
        got(0, post, &s);
        work(20);
        MPI_Send(number_send(0), bytes, MPI_BYTE, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD);
    }
}

/* Sends a random number of messages to random ranks, which receive them in any order. */
static void anybody(int round)
{
    int to[64] = {0}, from[64], awaited = 0;
    MPI_Request r[LIMIT];
    int n = (int)chance(&seed, 6), k = 0;
    for (int i = 0; i < n; i++)
        to[k = (int)chance(&seed, (unsigned)size)]++;
    MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, MPI_COMM_WORLD);
    n = 0;
    for (int i = 0; i < size; i++)
        for (int j = 0; j < to[i]; j++, n++) {
            MPI_Isend(number_send(n), bytes, MPI_BYTE, i, round % tags, MPI_COMM_WORLD, &r[n]);
            work(30);
        }
    for (int i = 0; i < size; i++)
        awaited += from[i];
    for (int i = 0; i < awaited; i++) {
        MPI_Status s;
        long post = number_post();
        MPI_Recv(room[0], MOST, MPI_BYTE, MPI_ANY_SOURCE, round % tags, MPI_COMM_WORLD, &s);
        got(0, post, &s);
    }
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
}

/* Sends several messages at once and receives them much later: some are under way wherever a window
 * begins or ends. */
static void bursts(int round)
{
    MPI_Request r[LIMIT];
    int n = 1 + round % 7, right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < n; i++)
        MPI_Isend(number_send(i), bytes, MPI_BYTE, right, i % tags, MPI_COMM_WORLD, &r[i]);
    work(400);
    for (int i = 0; i < n; i++) {
        receive(left, i % tags);
        work(20);
    }
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
}

/* The receiver is always AHEAD rounds late: its messages have been there for long. */
static void ahead(int round)
{
    static MPI_Request r[AHEAD];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, at = round % AHEAD;
    if (round >= AHEAD) {
        receive(left, 0);
        MPI_Wait(&r[at], MPI_STATUS_IGNORE);
    }
    work(200);
    MPI_Isend(number_send(at), bytes, MPI_BYTE, right, 0, MPI_COMM_WORLD, &r[at]);
    for (int i = 0; round == rounds - 1 && i < AHEAD; i++) {
        receive(left, 0);
        MPI_Wait(&r[(at + 1 + i) % AHEAD], MPI_STATUS_IGNORE);
    }
}

/* Like both_neighbours(), but receives one round later. */
static void behind(int round)
{
    static MPI_Request r[2][4];
    static long post[2][2];
    const int at[2] = {(rank + 1) % size, (rank + size - 1) % size}, now = round % 2;
    MPI_Status s[4];
    for (int i = 0; i < 2; i++)
        MPI_Isend(number_send(2 * now + i), bytes, MPI_BYTE, at[i], 0, MPI_COMM_WORLD,
                  &r[now][2 + i]);
    for (int last = 0; last < 2; last++) {
        if (last == 0 ? round == 0 : round != rounds - 1)
            continue;
        int k = last == 0 ? 1 - now : now;
        work(100);
        for (int i = 0; i < 2; i++) {
            post[k][i] = number_post();
            MPI_Irecv(room[2 * k + i], MOST, MPI_BYTE, at[i], 0, MPI_COMM_WORLD, &r[k][i]);
        }
        MPI_Waitall(4, r[k], s);
        got(2 * k, post[k][0], &s[0]);
        got(2 * k + 1, post[k][1], &s[1]);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int round);
    } all[] = {{"neighbours", both_neighbours},
               {"ring", token},
               {"master", master},
               {"anybody", anybody},
               {"bursts", bursts},
               {"ahead", ahead},
               {"behind", behind}};
    char path[4096];
    void (*run)(int) = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    sleeps = argc > 8;
    if (argc < 8)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, argv[2]) == 0)
            run = all[i].run;
    snprintf(path, sizeof path, "%s/log.%d", argv[1], rank);
    seed = (unsigned)atoi(argv[3]) * 1000u + (unsigned)rank;
    rounds = atoi(argv[4]);
    int every = atoi(argv[5]);
    tags = atoi(argv[6]);
    bytes = atoi(argv[7]);
    if (run == NULL || (out = fopen(path, "w")) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < rounds; i++) {
        if (every != 0 && i % every == every / 4)
            MPI_Pcontrol(1);
        if (every != 0 && i % every == every - 1)
            MPI_Pcontrol(0);
        run(i);
        if (i % 16 == 5) {
            int one = 1, sum;
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    fclose(out);
    MPI_Finalize();
    return 0;
}
