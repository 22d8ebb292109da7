/* SPDX-License-Identifier: BSD-3-Clause
 * partitioned_messages FOLDER SEED ROUNDS THREADS: exchanges partitioned messages, among
 * nonblocking and persistent ones with the same tags. Several partitioned requests of the same
 * communicator, ranks and tag exist at once, are made and freed again, and are started in some
 * rounds, singly or by MPI_Startall; some are waited for while they are inactive. Threads call
 * MPI_Pready and complete receives. MPI_Pcontrol opens and closes windows at random, on each rank
 * by itself, between all these steps.
 *
 * A message carries its number, and whether it was started in a window. Each rank logs to
 * FOLDER/log.RANK what it has received in a window and what was started in one: the number, sender,
 * receiver, tag and bytes. Mark 1 numbers sends in the recording. Sends of one MPI_Startall have
 * the same number, but all requests that exist at once have different sizes. */
#include <regtrace.h>

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 14, KEPT = 4, TAGS = 2, RANKS = 3, THREADS = 4, MOST = 12 * (2 + 2 * PAIRS + KEPT) };

/* The two ends of a request, on one rank or two. */
struct pair {
    bool exists, starts; /* starts: in this round */
    bool partitioned;
    int from, to, tag, bytes;
    int send_parts, receive_parts;
    MPI_Request send, receive;
    char out[MOST], in[MOST];
};

static int rank, rounds, threads;
static unsigned plan, chance; /* random numbers of all ranks, and of this one */
static bool in_window;
static long sends;
static FILE *out;
static MPI_Comm comm;
static struct pair pairs[PAIRS + KEPT]; /* the last KEPT ones are persistent, not partitioned */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meeting;
static void (*job)(int thread); /* NULL: threads end */

static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 8) % below;
}

static void edge(void)
{
    if (draw(&chance, 4) != 0)
        return;
    in_window = !in_window;
    MPI_Pcontrol(in_window);
}

/* Runs `what` in all threads. */
static void together(void (*what)(int thread))
{
    job = what;
    if (threads > 1)
        pthread_barrier_wait(&meeting);
    what(0);
    if (threads > 1)
        pthread_barrier_wait(&meeting);
}

static void *helper(void *number)
{
    /* Each thread begins in a window, which the first MPI_Pcontrol ends. */
    int version, subversion;
    MPI_Get_version(&version, &subversion);
    pthread_barrier_wait(&meeting);
    for (;;) {
        pthread_barrier_wait(&meeting);
        if (job == NULL)
            return NULL;
        job(*(int *)number);
        pthread_barrier_wait(&meeting);
    }
}

static long next_number(void)
{
    long n = (long)rank * 10000000 + ++sends;
    regtrace_mark_set(1, n);
    return n;
}

static void fill(char *data, long number)
{
    long in = in_window;
    memcpy(data, &number, sizeof number);
    memcpy(data + sizeof number, &in, sizeof in);
}

static void got(const char *data, int from, int tag, int bytes)
{
    long number, sent_in_window;
    memcpy(&number, data, sizeof number);
    memcpy(&sent_in_window, data + sizeof number, sizeof sent_in_window);
    pthread_mutex_lock(&lock);
    if (sent_in_window && in_window)
        fprintf(out, "message %ld %d %d %d %d\n", number, from, rank, tag, bytes);
    pthread_mutex_unlock(&lock);
}

/* --- requests --------------------------------------------------------------------------------- */

static void make(struct pair *p, int bytes, bool partitioned)
{
    static const int parts[] = {1, 2, 3, 4, 6, 12};
    p->exists = true;
    p->partitioned = partitioned;
    p->bytes = bytes;
    p->from = (int)draw(&plan, RANKS);
    p->to = (p->from + 1 + (int)draw(&plan, RANKS - 1)) % RANKS;
    p->tag = (int)draw(&plan, TAGS);
    p->send_parts = parts[draw(&plan, 6)];
    p->receive_parts = parts[draw(&plan, 6)];
    if (p->from == rank && partitioned)
        MPI_Psend_init(p->out, p->send_parts, bytes / p->send_parts, MPI_BYTE, p->to, p->tag, comm,
                       MPI_INFO_NULL, &p->send);
    else if (p->from == rank)
        MPI_Send_init(p->out, bytes, MPI_BYTE, p->to, p->tag, comm, &p->send);
    if (p->to == rank && partitioned)
        MPI_Precv_init(p->in, p->receive_parts, bytes / p->receive_parts, MPI_BYTE, p->from, p->tag,
                       comm, MPI_INFO_NULL, &p->receive);
    else if (p->to == rank)
        MPI_Recv_init(p->in, bytes, MPI_BYTE, p->from, p->tag, comm, &p->receive);
}

static void end(struct pair *p)
{
    if (p->exists && p->from == rank)
        MPI_Request_free(&p->send);
    if (p->exists && p->to == rank)
        MPI_Request_free(&p->receive);
    p->exists = false;
}

/* Frees some partitioned requests and makes others. Their sizes differ by their places, and from
 * the sizes of those that were there before. */
static void renew(int round)
{
    for (int i = 0; i < PAIRS; i++)
        if (draw(&plan, 8) == 0)
            end(&pairs[i]);
    for (int i = 0; i < PAIRS; i++)
        if (!pairs[i].exists && draw(&plan, 3) == 0) {
            edge();
            make(&pairs[i], 12 * (2 + 2 * i + round % 2), true);
        }
}

static void renew_communicator(void)
{
    MPI_Comm next;
    for (int i = 0; i < PAIRS + KEPT; i++)
        end(&pairs[i]);
    MPI_Comm_dup(comm, &next);
    MPI_Comm_free(&comm);
    comm = next;
    for (int i = PAIRS; i < PAIRS + KEPT; i++)
        make(&pairs[i], 12 * (2 + PAIRS + i), false);
}

/* --- a round ---------------------------------------------------------------------------------- */

static bool sends_now(const struct pair *p)
{
    return p->exists && p->starts && p->from == rank;
}

static bool receives_now(const struct pair *p)
{
    return p->exists && p->starts && p->to == rank;
}

/* Persistent requests that are not partitioned are started in the same order at both ends. */
static void start_receives(void)
{
    MPI_Request several[PAIRS + KEPT];
    int at[PAIRS + KEPT], n = 0;
    for (int i = 0; i < PAIRS + KEPT; i++)
        if (receives_now(&pairs[i])) {
            if (!pairs[i].partitioned || draw(&chance, 3) != 0) {
                MPI_Start(&pairs[i].receive);
            } else {
                at[n] = i;
                several[n++] = pairs[i].receive;
            }
            edge();
        }
    MPI_Startall(n, several);
    for (int i = 0; i < n; i++)
        pairs[at[i]].receive = several[i];
}

static void start_sends(void)
{
    MPI_Request several[PAIRS];
    int at[PAIRS], n = 0;
    for (int k = 0; k < PAIRS + KEPT; k++) {
        int i = k < PAIRS ? PAIRS - 1 - k : k; /* partitioned ones in another order */
        if (sends_now(&pairs[i]) && pairs[i].partitioned && draw(&chance, 3) == 0) {
            at[n] = i;
            several[n++] = pairs[i].send;
        } else if (sends_now(&pairs[i])) {
            fill(pairs[i].out, next_number());
            MPI_Start(&pairs[i].send);
            edge();
        }
    }
    long number = next_number();
    for (int i = 0; i < n; i++)
        fill(pairs[at[i]].out, number);
    MPI_Startall(n, several);
    for (int i = 0; i < n; i++)
        pairs[at[i]].send = several[i];
}

static void ready(int thread)
{
    for (int i = 0; i < PAIRS; i++) {
        const struct pair *p = &pairs[i];
        if (!sends_now(p))
            continue;
        if (thread == 0 && p->send_parts % 4 == 0) { /* the first of these in one call */
            int list[3] = {2, 0, 1};
            if (p->send_parts == 4)
                MPI_Pready_list(3, list, p->send);
            else
                MPI_Pready_range(0, 2, p->send);
        }
        for (int part = p->send_parts % 4 == 0 ? 3 : 0; part < p->send_parts; part++)
            if (part % threads == thread)
                MPI_Pready(part, p->send);
    }
}

static void complete(int thread)
{
    for (int i = 0; i < PAIRS + KEPT; i++) {
        struct pair *p = &pairs[i];
        if (!receives_now(p) || i % threads != thread)
            continue;
        int flag = 0;
        if (p->partitioned)
            MPI_Parrived(p->receive, p->receive_parts - 1, &flag);
        for (flag = 0; i % 2 && !flag;)
            MPI_Test(&p->receive, &flag, MPI_STATUS_IGNORE);
        if (i % 2 == 0)
            MPI_Wait(&p->receive, MPI_STATUS_IGNORE);
        got(p->in, p->from, p->tag, p->bytes);
        if (threads == 1)
            edge();
    }
}

/* One thread completes receives by calls on many requests, among which are inactive ones. */
static void complete_all(int thread)
{
    MPI_Request all[PAIRS + KEPT];
    int left = 0, done, at[PAIRS + KEPT];
    for (int i = 0; i < PAIRS + KEPT && thread == 0; i++) {
        bool is_mine = pairs[i].exists && pairs[i].to == rank;
        all[i] = is_mine ? pairs[i].receive : MPI_REQUEST_NULL;
        left += receives_now(&pairs[i]);
    }
    while (left > 0) {
        if (draw(&chance, 2) == 0) {
            done = 1;
            MPI_Waitany(PAIRS + KEPT, all, at, MPI_STATUS_IGNORE);
        } else {
            MPI_Waitsome(PAIRS + KEPT, all, &done, at, MPI_STATUSES_IGNORE);
        }
        for (int i = 0; i < done; i++)
            got(pairs[at[i]].in, pairs[at[i]].from, pairs[at[i]].tag, pairs[at[i]].bytes);
        left -= done;
        edge();
    }
}

/* Waits for requests that are not active. */
static void idle(void)
{
    int flag;
    for (int i = 0; i < PAIRS + KEPT; i++)
        if (pairs[i].exists && pairs[i].to == rank && draw(&chance, 3) == 0) {
            edge();
            if (i % 2)
                MPI_Wait(&pairs[i].receive, MPI_STATUS_IGNORE);
            else
                MPI_Test(&pairs[i].receive, &flag, MPI_STATUS_IGNORE);
        }
}

/* Nonblocking messages of the same tags are sent and received while the others are active. */
static void play(int round)
{
    static char data[RANKS][TAGS][16], to[RANKS][TAGS][16];
    MPI_Request receives[RANKS][TAGS], sent[RANKS][TAGS];
    renew(round);
    for (int i = 0; i < PAIRS + KEPT; i++)
        pairs[i].starts = draw(&plan, 3) != 0;
    edge();
    for (int r = 0; r < RANKS; r++)
        for (int tag = 0; tag < TAGS; tag++)
            MPI_Irecv(data[r][tag], 16, MPI_BYTE, r, tag, comm, &receives[r][tag]);
    start_receives();
    edge();
    for (int r = 0; r < RANKS; r++)
        for (int tag = 0; tag < TAGS; tag++) {
            fill(to[r][tag], next_number());
            MPI_Isend(to[r][tag], 16, MPI_BYTE, r, tag, comm, &sent[r][tag]);
        }
    start_sends();
    edge();
    together(ready);
    edge();
    for (int r = 0; r < RANKS; r++)
        for (int tag = 0; tag < TAGS; tag++) {
            MPI_Wait(&receives[r][tag], MPI_STATUS_IGNORE);
            got(data[r][tag], r, tag, 16);
        }
    edge();
    together(draw(&chance, 2) ? complete : complete_all);
    for (int i = 0; i < PAIRS + KEPT; i++)
        if (sends_now(&pairs[i]))
            MPI_Wait(&pairs[i].send, MPI_STATUS_IGNORE);
    MPI_Waitall(RANKS * TAGS, &sent[0][0], MPI_STATUSES_IGNORE);
    idle();
    MPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    static pthread_t ids[THREADS];
    static int numbers[THREADS];
    char path[4096];
    int level, size;
    if (argc < 5)
        return 2;
    unsigned seed = (unsigned)atoi(argv[2]);
    rounds = atoi(argv[3]);
    threads = atoi(argv[4]);
    MPI_Init_thread(NULL, NULL, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/log.%d", argv[1], rank);
    out = fopen(path, "w");
    if (out == NULL || size != RANKS || threads > THREADS ||
        (threads > 1 && level < MPI_THREAD_MULTIPLE))
        MPI_Abort(MPI_COMM_WORLD, 1);
    plan = seed * 77u;
    chance = seed * 1000u + (unsigned)rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    pthread_barrier_init(&meeting, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++) {
        numbers[i] = i;
        pthread_create(&ids[i], NULL, helper, &numbers[i]);
    }
    if (threads > 1)
        pthread_barrier_wait(&meeting);
    MPI_Pcontrol(0);
    for (int round = 0; round < rounds; round++) {
        if (round % 16 == 0)
            renew_communicator();
        play(round);
    }
    for (int i = 0; i < PAIRS + KEPT; i++)
        end(&pairs[i]);
    job = NULL;
    if (threads > 1)
        pthread_barrier_wait(&meeting);
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    fclose(out);
    MPI_Finalize();
    return 0;
}
