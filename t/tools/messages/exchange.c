/* SPDX-License-Identifier: BSD-3-Clause
 * Exchanges messages of every kind in a random order, each with its number as payload. A rank logs
 * to FOLDER/log.RANK what it received: numbers of the send and of the post, sender, receiver, tag,
 * bytes. Marks 1 and 2 record the numbers in the trace. With `windows`, each rank opens and closes
 * windows by MPI_Pcontrol at times of its own choice. */
#include <regtrace.h>

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 60, MOST = 3000, THREADS = 2 };
static int rank, size, windows;
static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread long sends, posts;
static __thread int thread;

static long next_number(long *count)
{
    return ((long)rank * 10 + thread) * 1000000 + ++*count;
}
static long send_number(void)
{
    long n = next_number(&sends);
    regtrace_mark_set(1, n);
    return n;
}
static long post_number(void)
{
    long n = next_number(&posts);
    regtrace_mark_set(2, n);
    return n;
}

static void got(const void *data, long post, const MPI_Status *status)
{
    long sent;
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    memcpy(&sent, data, sizeof sent);
    pthread_mutex_lock(&lock);
    fprintf(out, "message %ld %ld %ld %d %d %d\n", sent, post, sent / 10000000, rank,
            status->MPI_TAG, bytes);
    pthread_mutex_unlock(&lock);
}

/* The same random numbers on all ranks. */
static unsigned chance(unsigned *state, unsigned below)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 8) % below;
}

static void send_one(char *data, int bytes, int to, int tag, MPI_Comm comm, unsigned how)
{
    MPI_Request r;
    long n = send_number();
    memcpy(data, &n, sizeof n);
    switch (how) {
    case 0: MPI_Send(data, bytes, MPI_BYTE, to, tag, comm); return;
    case 1: MPI_Bsend(data, bytes, MPI_BYTE, to, tag, comm); return;
    case 2: MPI_Issend(data, bytes, MPI_BYTE, to, tag, comm, &r); break;
    case 3:
        MPI_Send_init(data, bytes, MPI_BYTE, to, tag, comm, &r);
        MPI_Start(&r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Request_free(&r);
        return;
    default: MPI_Isend(data, bytes, MPI_BYTE, to, tag, comm, &r); break;
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* Sends to the right and receives from the left. Receives are posted before the sends, with tags in
 * another order; some use wildcards, and some are cancelled. */
static void posted_first(MPI_Comm comm, unsigned *state)
{
    enum { N = 6 };
    static char data[2 * N + 1][MOST];
    int me, n, bytes[N], tags[N];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    MPI_Request r[N + 1];
    MPI_Status s[N];
    long post[N];
    int right = (me + 1) % n, left = (me + n - 1) % n;
    for (int i = 0; i < N; i++) {
        bytes[i] = 8 + (int)chance(state, MOST - 8);
        tags[i] = (int)chance(state, 3);
    }
    unsigned any = chance(state, 3), how = chance(state, 5);
    post_number();
    MPI_Irecv(data[2 * N], MOST, MPI_BYTE, left, 77, comm, &r[N]);
    for (int i = 0; i < N; i++) {
        post[i] = post_number();
        MPI_Irecv(data[i], MOST, MPI_BYTE, any == 1 ? MPI_ANY_SOURCE : left,
                  any == 2 ? MPI_ANY_TAG : tags[i], comm, &r[i]);
    }
    for (int i = 0; i < N; i++)
        send_one(data[N + i], bytes[i], right, tags[i], comm, how == 0 ? 4 : how);
    if (how < 3)
        MPI_Waitall(N, r, s);
    for (int done = 0, at; how >= 3 && done < N; done++) {
        MPI_Status one;
        MPI_Waitany(N, r, &at, &one);
        s[at] = one;
    }
    for (int i = 0; i < N; i++)
        got(data[i], post[i], &s[i]);
    MPI_Cancel(&r[N]);
    MPI_Wait(&r[N], MPI_STATUS_IGNORE);
}

static void sent_first(MPI_Comm comm, unsigned *state)
{
    char data[MOST], room[MOST];
    int me, n;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    int right = (me + 1) % n, left = (me + n - 1) % n;
    for (int i = 0; i < 4; i++) {
        int bytes = 8 + (int)chance(state, 900), tag = (int)chance(state, 3);
        unsigned how = chance(state, 5);
        MPI_Status s;
        MPI_Message m;
        MPI_Request r;
        long post = 0, number = 0;
        if (how < 3)
            send_one(data, bytes, right, tag, comm, how == 2 ? 1 : how);
        if (how >= 3) {
            number = send_number();
            memcpy(data, &number, sizeof number);
        }
        post = post_number();
        if (how == 0)
            MPI_Recv(room, MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &s);
        if (how == 1 || how == 2) {
            MPI_Mprobe(left, how == 1 ? MPI_ANY_TAG : tag, comm, &m, &s);
            if (how == 1)
                MPI_Mrecv(room, MOST, MPI_BYTE, &m, &s);
            else {
                MPI_Imrecv(room, MOST, MPI_BYTE, &m, &r);
                MPI_Wait(&r, &s);
            }
        }
        if (how == 3)
            MPI_Sendrecv(data, bytes, MPI_BYTE, right, tag, room, MOST, MPI_BYTE, left, tag, comm,
                         &s);
        if (how == 4) {
            MPI_Sendrecv_replace(data, bytes, MPI_BYTE, right, tag, left, tag, comm, &s);
            memcpy(room, data, sizeof number);
        }
        got(room, post, &s);
    }
    MPI_Send(data, 4, MPI_BYTE, MPI_PROC_NULL, 1, comm);
}

/* Two threads of each rank exchange messages at once, each with its own tag. */
static void *work(void *number)
{
    char data[64], room[64];
    thread = *(int *)number;
    for (int i = 0; i < 20; i++) {
        MPI_Request r;
        MPI_Status s;
        long post = post_number();
        MPI_Irecv(room, 64, MPI_BYTE, (rank + size - 1) % size, 100 + thread, MPI_COMM_WORLD, &r);
        send_one(data, 8 + i, (rank + 1) % size, 100 + thread, MPI_COMM_WORLD, 0);
        MPI_Wait(&r, &s);
        got(room, post, &s);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static char room[1 << 20];
    int level, numbers[THREADS] = {1, 2};
    char path[4096];
    MPI_Comm comms[4], inter;
    unsigned state = 7, own = 1;
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/log.%d", argv[1], rank);
    windows = argc > 2;
    own += (unsigned)rank * 7919;
    if ((out = fopen(path, "w")) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Buffer_attach(room, sizeof room);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(comms[1], rank % 2, -rank, &comms[2]);
    MPI_Intercomm_create(comms[2], 0, MPI_COMM_WORLD, rank % 2 ? size - 2 : size - 1, 5, &inter);
    MPI_Intercomm_merge(inter, rank % 2, &comms[3]);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm comm = comms[chance(&state, 4)];
        if (windows && chance(&own, 4) == 0)
            MPI_Pcontrol((int)chance(&own, 2));
        if (chance(&state, 2) == 0)
            posted_first(comm, &state);
        else
            sent_first(comm, &state);
    }
    char data[16], data2[16];
    int me;
    MPI_Comm_rank(inter, &me);
    MPI_Status s;
    for (int i = 0; i < 3; i++) {
        MPI_Request r;
        long post = post_number();
        MPI_Irecv(data2, 16, MPI_BYTE, me, 9, inter, &r);
        send_one(data, 8 + i, me, 9, inter, 0);
        MPI_Wait(&r, &s);
        got(data2, post, &s);
    }
    for (int i = 0; level == MPI_THREAD_MULTIPLE && i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &numbers[i]);
    for (int i = 0; level == MPI_THREAD_MULTIPLE && i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fclose(out);
    MPI_Finalize();
    return 0;
}
