/* SPDX-License-Identifier: BSD-3-Clause
 * wildcards FOLDER SEED ROUNDS THREADS: exchanges messages that are received in every way in which
 * their sender or tag is known only at the end: several open receives from any source or with any
 * tag, completed in any order, some of them cancelled; matched probes; persistent receives; between
 * other receives of the same messages. Each thread has a communicator of its own, which it makes
 * anew now and then. MPI_Pcontrol opens and closes windows at random, on each rank by itself, while
 * receives are open.
 *
 * A message carries its number, and whether it was sent in a window. Each rank logs to
 * FOLDER/log.RANK what it has received in a window and what was sent in one: the number, sender,
 * receiver, tag and bytes. Mark 1 numbers sends in the recording. */
#include <regtrace.h>

#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, TAGS = 3, RANKS = 16 };

struct payload {
    long number;
    long in_window;
    char rest[240];
};

struct open {
    MPI_Request request;
    int source, tag; /* what the receive asks for */
    bool persistent;
    struct payload *data;
};

struct worker {
    pthread_t id;
    int number;
    unsigned chance; /* a state of its own */
    MPI_Comm comm;
    long sends;
    struct open open[MOST];
    int count;
    int left[RANKS][TAGS]; /* messages of this round that have not been received */
    int total;
    struct payload out[MOST];
    MPI_Request sent[MOST];
};

static int rank, size, rounds, threads;
static unsigned seed;
static bool in_window;
static FILE *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meeting;

static unsigned draw(unsigned *state, unsigned below)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 8) % below;
}

static void got(struct worker *w, const struct payload *p, const MPI_Status *s)
{
    int bytes;
    MPI_Get_count(s, MPI_BYTE, &bytes);
    w->left[s->MPI_SOURCE][s->MPI_TAG]--;
    w->total--;
    pthread_mutex_lock(&lock);
    if (p->in_window && in_window)
        fprintf(out, "message %ld %ld %d %d %d\n", p->number, p->number / 10000000, rank,
                s->MPI_TAG, bytes);
    pthread_mutex_unlock(&lock);
}

static void send_all(struct worker *w, int per_rank, unsigned plan)
{
    int n = 0;
    for (int to = 0; to < size; to++)
        for (int i = 0; i < per_rank; i++, n++) {
            struct payload *p = &w->out[n];
            int tag = (int)draw(&plan, TAGS);
            p->number = (long)rank * 10000000 + w->number * 1000000 + ++w->sends;
            p->in_window = in_window;
            regtrace_mark_set(1, p->number);
            MPI_Isend(p, (int)(16 + draw(&w->chance, 200)), MPI_BYTE, to, tag, w->comm,
                      &w->sent[n]);
        }
}

/* What will come in this round: all ranks follow the same plan. */
static void expect(struct worker *w, int per_rank, unsigned plan)
{
    memset(w->left, 0, sizeof w->left);
    w->total = 0;
    for (int from = 0; from < size; from++) {
        unsigned again = plan;
        for (int to = 0; to < size; to++)
            for (int i = 0; i < per_rank; i++) {
                int tag = (int)draw(&again, TAGS);
                w->left[from][tag] += to == rank;
                w->total += to == rank;
            }
    }
}

static void post(struct worker *w)
{
    struct open *o = &w->open[w->count++];
    unsigned how = draw(&w->chance, 8);
    o->source = how & 1 ? (int)draw(&w->chance, (unsigned)size) : MPI_ANY_SOURCE;
    o->tag = how & 2 ? (int)draw(&w->chance, TAGS) : MPI_ANY_TAG;
    o->persistent = how == 4;
    o->data = malloc(sizeof *o->data);
    if (o->persistent) {
        MPI_Recv_init(o->data, sizeof *o->data, MPI_BYTE, o->source, o->tag, w->comm, &o->request);
        MPI_Start(&o->request);
    } else {
        MPI_Irecv(o->data, sizeof *o->data, MPI_BYTE, o->source, o->tag, w->comm, &o->request);
    }
}

/* The others keep the order of posting. Requests of MPI may not be moved in memory while they are
 * open, but their buffers are elsewhere (data). */
static void remove_open(struct worker *w, int at)
{
    if (w->open[at].persistent)
        MPI_Request_free(&w->open[at].request);
    free(w->open[at].data);
    w->count--;
    memmove(&w->open[at], &w->open[at + 1], (size_t)(w->count - at) * sizeof *w->open);
}

/* Is no later receive open that takes messages of the same source and tag? Only then a cancelled
 * receive leaves the numbers of others as they are. */
static bool is_last(const struct worker *w, int at)
{
    const struct open *o = &w->open[at];
    for (int i = at + 1; i < w->count; i++)
        if (w->open[i].source == o->source && w->open[i].tag == o->tag)
            return false;
    return true;
}

/* Cancels a receive; it may have got a message all the same. */
static void cancel(struct worker *w, int at)
{
    MPI_Status s;
    int cancelled;
    struct open *o = &w->open[at];
    MPI_Cancel(&o->request);
    MPI_Wait(&o->request, &s);
    MPI_Test_cancelled(&s, &cancelled);
    if (!cancelled)
        got(w, o->data, &s);
    remove_open(w, at);
}

static int remaining(const struct worker *w, const struct open *o)
{
    int n = 0;
    for (int from = 0; from < size; from++)
        for (int tag = 0; tag < TAGS; tag++)
            if ((o->source == MPI_ANY_SOURCE || o->source == from) &&
                (o->tag == MPI_ANY_TAG || o->tag == tag))
                n += w->left[from][tag];
    return n;
}

static void probe(struct worker *w)
{
    MPI_Message message;
    MPI_Status s;
    struct payload data;
    int found;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, w->comm, &found, &message, &s);
    if (!found)
        return;
    MPI_Mrecv(&data, sizeof data, MPI_BYTE, &message, &s);
    got(w, &data, &s);
}

/* One step of a round: posts, completes, probes or cancels at random. */
static void step(struct worker *w)
{
    unsigned what = draw(&w->chance, 12);
    if (what < 4 && w->count < 8 && w->count < w->total) {
        post(w);
    } else if (what == 4) {
        probe(w);
    } else if (what == 5 && w->count > 0 && draw(&w->chance, 4) == 0) {
        int at = (int)draw(&w->chance, (unsigned)w->count);
        if (is_last(w, at))
            cancel(w, at);
    } else if (what == 6 && w->count == 0 && w->total > 0) {
        struct payload data;
        MPI_Status s;
        MPI_Recv(&data, sizeof data, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, w->comm, &s);
        got(w, &data, &s);
    } else if (w->count > 0) { /* any of them, not the first */
        int at = (int)draw(&w->chance, (unsigned)w->count), done;
        MPI_Status s;
        MPI_Test(&w->open[at].request, &done, &s);
        if (done) {
            got(w, w->open[at].data, &s);
            remove_open(w, at);
        }
    }
    /* A receive for which nothing is left to come would wait for ever. */
    for (int i = w->count - 1; i >= 0; i--)
        if (remaining(w, &w->open[i]) == 0)
            cancel(w, i);
}

/* All threads of the rank are here: a window may open or close. */
static void edge(struct worker *w)
{
    if (threads > 1)
        pthread_barrier_wait(&meeting);
    if (w->number == 0 && draw(&w->chance, 3) == 0) {
        in_window = !in_window;
        MPI_Pcontrol(in_window);
    }
    if (threads > 1)
        pthread_barrier_wait(&meeting);
}

static void *work(void *argument)
{
    struct worker *w = argument;
    unsigned common = seed * 77u + (unsigned)w->number; /* the same on all ranks */
    /* Each thread begins in a window. The first MPI_Pcontrol ends them all. */
    int version, subversion;
    MPI_Get_version(&version, &subversion);
    if (threads > 1)
        pthread_barrier_wait(&meeting);
    if (w->number == 0)
        MPI_Pcontrol(0);
    for (int round = 0; round < rounds; round++) {
        int per_rank = 1 + (int)draw(&common, 3);
        unsigned plan = draw(&common, 1u << 20);
        bool anew = draw(&common, 10) == 0;
        expect(w, per_rank, plan);
        edge(w);
        for (int i = 0; i < 3 && w->count < w->total; i++)
            post(w);
        send_all(w, per_rank, plan);
        edge(w); /* while receives are open */
        while (w->total > 0 || w->count > 0)
            step(w);
        edge(w);
        MPI_Waitall(size * per_rank, w->sent, MPI_STATUSES_IGNORE);
        MPI_Barrier(w->comm);
        if (anew) {
            MPI_Comm next;
            MPI_Comm_dup(w->comm, &next);
            MPI_Comm_free(&w->comm);
            w->comm = next;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[4];
    char path[4096];
    int level;
    if (argc < 5)
        return 2;
    seed = (unsigned)atoi(argv[2]);
    rounds = atoi(argv[3]);
    threads = atoi(argv[4]);
    MPI_Init_thread(NULL, NULL, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/log.%d", argv[1], rank);
    out = fopen(path, "w");
    if (out == NULL || size > RANKS || threads > 4 || (threads > 1 && level < MPI_THREAD_MULTIPLE))
        MPI_Abort(MPI_COMM_WORLD, 1);
    pthread_barrier_init(&meeting, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        workers[i].number = i;
        workers[i].chance = seed * 1000u + (unsigned)(rank * 10 + i);
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 1; i < threads; i++)
        pthread_create(&workers[i].id, NULL, work, &workers[i]);
    work(&workers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(workers[i].id, NULL);
    fclose(out);
    MPI_Finalize();
    return 0;
}
