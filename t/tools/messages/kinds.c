/* SPDX-License-Identifier: BSD-3-Clause
 * Exchanges messages of the rarer kinds, each with its number as payload, to the right and from the
 * left. Each rank logs to FOLDER/log.RANK what it received, as exchange.c does: numbers of the send
 * and of the post, sender, receiver, tag, bytes. Marks 1 and 2 record the numbers in the trace.
 * With `killed`, the last rank ends by SIGKILL, and the others send to it. */
#include <regtrace.h>

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 6, MOST = 256, ROUNDS = 10 };
static int rank, size;
static FILE *out;
static long sends, posts;
static char sent[N][MOST], room[N][MOST];
static long posted[N];

static void number_send(int i)
{
    long n = (long)rank * 10000000 + ++sends;
    regtrace_mark_set(1, n);
    memcpy(sent[i], &n, sizeof n);
}

static void number_post(int i)
{
    posted[i] = (long)rank * 10000000 + ++posts;
    regtrace_mark_set(2, posted[i]);
}

static void got(int i, const MPI_Status *s)
{
    long n;
    int bytes;
    MPI_Get_count(s, MPI_BYTE, &bytes);
    memcpy(&n, room[i], sizeof n);
    fprintf(out, "message %ld %ld %ld %d %d %d\n", n, posted[i], n / 10000000, rank, s->MPI_TAG,
            bytes);
}

/* This rank's neighbours in a communicator, which may order the ranks in any way. */
struct side {
    MPI_Comm comm;
    int left, right;
};

static struct side side_of(MPI_Comm comm)
{
    int me, n, inter;
    MPI_Comm_test_inter(comm, &inter);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &n);
    return inter ? (struct side){comm, me, me}
                 : (struct side){comm, (me + n - 1) % n, (me + 1) % n};
}

static void post(const struct side *c, MPI_Request *r, int i, int source, int tag)
{
    number_post(i);
    MPI_Irecv(room[i], MOST, MPI_BYTE, source, tag, c->comm, r);
}

/* Receives are posted before the sends: ready sends need that. */
static void sends_of_all_kinds(const struct side *c, int round)
{
    MPI_Request r[N], s[N] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                              MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[N];
    int tag = round % 2;
    for (int i = 0; i < N; i++)
        post(c, &r[i], i, c->left, tag);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < N; i++) {
        int bytes = 8 + (i + round) % 3, to = c->right;
        number_send(i);
        switch ((i + round) % N) {
        case 0: MPI_Rsend(sent[i], bytes, MPI_BYTE, to, tag, c->comm); break;
        case 1: MPI_Ibsend(sent[i], bytes, MPI_BYTE, to, tag, c->comm, &s[i]); break;
        case 2: MPI_Irsend(sent[i], bytes, MPI_BYTE, to, tag, c->comm, &s[i]); break;
        case 3: MPI_Ssend(sent[i], bytes, MPI_BYTE, to, tag, c->comm); break;
        case 4: /* freed while it may be active: another request soon gets its handle */
            MPI_Isend(sent[i], bytes, MPI_BYTE, to, tag, c->comm, &s[i]);
            MPI_Request_free(&s[i]);
            break;
        default: MPI_Issend(sent[i], bytes, MPI_BYTE, to, tag, c->comm, &s[i]); break;
        }
    }
    for (int left = N; round % 3 == 0 && left > 0;) {
        int n, at[N];
        MPI_Waitsome(N, r, &n, at, status);
        for (int i = 0; i < n; i++)
            got(at[i], &status[i]);
        left -= n;
    }
    for (int left = N; round % 3 == 1 && left > 0;) {
        int n, at[N];
        MPI_Testsome(N, r, &n, at, status);
        for (int i = 0; i < n; i++)
            got(at[i], &status[i]);
        left -= n;
    }
    for (int left = N; round % 3 == 2 && left > 0;) {
        int done = 0, at;
        MPI_Testany(N, r, &at, &done, status);
        if (done && at != MPI_UNDEFINED)
            got(at, status);
        left -= done;
    }
    for (int done = 0; !done;)
        MPI_Testall(N, s, &done, MPI_STATUSES_IGNORE);
}

static void persistent(const struct side *c)
{
    MPI_Request r[2 * N];
    MPI_Status s[2 * N];
    int bytes = 40;
    for (int i = 0; i < N; i++)
        MPI_Recv_init(room[i], MOST, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : c->left, 5, c->comm, &r[i]);
    MPI_Send_init(sent[0], bytes, MPI_BYTE, c->right, 5, c->comm, &r[N]);
    MPI_Bsend_init(sent[1], bytes, MPI_BYTE, c->right, 5, c->comm, &r[N + 1]);
    MPI_Ssend_init(sent[2], bytes, MPI_BYTE, c->right, 5, c->comm, &r[N + 2]);
    MPI_Rsend_init(sent[3], bytes, MPI_BYTE, c->right, 5, c->comm, &r[N + 3]);
    MPI_Send_init(sent[4], bytes, MPI_BYTE, c->right, 5, c->comm, &r[N + 4]);
    MPI_Send_init(sent[5], bytes, MPI_BYTE, c->right, 5, c->comm, &r[N + 5]);
    for (int times = 0; times < 3; times++) {
        /* All requests of one call have one number: the payload says which send it was. */
        number_post(0);
        for (int i = 1; i < N; i++)
            posted[i] = posted[0];
        MPI_Startall(N, r);
        MPI_Barrier(MPI_COMM_WORLD);
        number_send(0);
        for (int i = 1; i < N; i++)
            memcpy(sent[i], sent[0], sizeof(long));
        MPI_Startall(N, r + N);
        MPI_Waitall(2 * N, r, s);
        for (int i = 0; i < N; i++)
            got(i, &s[i]);
    }
    for (int i = 0; i < 2 * N; i++)
        MPI_Request_free(&r[i]);
}

/* A cancelled receive, and a send that is cancelled too late. Neither MPI library cancels sends:
 * matching.c alone tests that. */
static void cancelled(const struct side *c)
{
    MPI_Request s, r[2];
    MPI_Status status;
    int gone;
    number_post(0);
    MPI_Irecv(room[0], MOST, MPI_BYTE, c->left, 6, c->comm, &r[0]);
    MPI_Cancel(&r[0]);
    MPI_Wait(&r[0], &status);
    MPI_Test_cancelled(&status, &gone);
    if (!gone) /* the cancel must succeed: nothing was sent yet */
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    post(c, &r[1], 1, c->left, 6);
    number_send(1);
    MPI_Issend(sent[1], 24, MPI_BYTE, c->right, 6, c->comm, &s);
    MPI_Cancel(&s);
    MPI_Wait(&r[1], &status);
    got(1, &status);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
}

static void probed(const struct side *c)
{
    MPI_Request s[2], r;
    MPI_Status status;
    MPI_Message m[2];
    int found;
    for (int i = 0; i < 2; i++) {
        number_send(i);
        MPI_Isend(sent[i], 48, MPI_BYTE, c->right, 8, c->comm, &s[i]);
    }
    for (int i = 0; i < 2; i++)
        for (found = 0; !found;) {
            number_post(i);
            MPI_Improbe(i ? MPI_ANY_SOURCE : c->left, 8, c->comm, &found, &m[i], &status);
        }
    for (int i = 1; i >= 0; i--) {
        MPI_Imrecv(room[i], MOST, MPI_BYTE, &m[i], &r);
        MPI_Wait(&r, &status);
        got(i, &status);
    }
    MPI_Waitall(2, s, MPI_STATUSES_IGNORE);
}

#if MPI_VERSION >= 4
/* MPICH 4.0 does not say what such a request has received: the order of messages says it. */
static void both_ways(const struct side *c)
{
    MPI_Request r;
    MPI_Status s;
    int bytes;
    for (int i = 0; i < 2; i++) {
        number_send(0);
        number_post(0);
        memcpy(room[0], sent[0], sizeof(long));
        if (i == 0)
            MPI_Isendrecv(sent[0], 33, MPI_BYTE, c->right, 9, room[0], MOST, MPI_BYTE, c->left, 9,
                          c->comm, &r);
        else
            MPI_Isendrecv_replace(room[0], 34, MPI_BYTE, c->right, 9, c->left, 9, c->comm, &r);
        MPI_Wait(&r, &s);
#ifdef MPICH_VERSION
        s.MPI_TAG = 9;
        MPI_Status_set_elements(&s, MPI_BYTE, 33 + i);
#endif
        MPI_Get_count(&s, MPI_BYTE, &bytes);
        if (bytes != 33 + i)
            MPI_Abort(MPI_COMM_WORLD, 4);
        got(0, &s);
    }
}

static void of_four(const struct side *c)
{
    MPI_Request r;
    MPI_Status s;
    number_post(0);
    MPI_Irecv_c(room[0], MOST, MPI_BYTE, c->left, 9, c->comm, &r);
    number_send(0);
    MPI_Send_c(sent[0], 35, MPI_BYTE, c->right, 9, c->comm);
    MPI_Wait(&r, &s);
    got(0, &s);
    number_send(0);
    MPI_Isend_c(sent[0], 36, MPI_BYTE, c->right, 9, c->comm, &r);
    number_post(0);
    MPI_Recv_c(room[0], MOST, MPI_BYTE, c->left, 9, c->comm, &s);
    got(0, &s);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}
#endif

/* Messages within an MPI call of the program: the function of a reduction sends to its own rank. */
static void nested(void *in, void *inout, int *n, MPI_Datatype *type)
{
    MPI_Request r;
    MPI_Status s;
    (void)type;
    memcpy(inout, in, (size_t)*n * sizeof(int));
    number_post(0);
    MPI_Irecv(room[0], MOST, MPI_BYTE, 0, 10, MPI_COMM_SELF, &r);
    number_send(0);
    MPI_Send(sent[0], 20, MPI_BYTE, 0, 10, MPI_COMM_SELF);
    MPI_Wait(&r, &s);
    got(0, &s);
}

static void killed(void)
{
    MPI_Request r[4];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3 && rank == 0; i++) {
        number_send(0);
        MPI_Isend(sent[0], 8 + i, MPI_BYTE, size - 1, 3, MPI_COMM_WORLD, &r[i]);
    }
    if (rank == 0) {
        MPI_Irecv(room[3], MOST, MPI_BYTE, size - 1, 4, MPI_COMM_WORLD, &r[3]);
        MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    }
    if (rank == size - 1) {
        MPI_Status s;
        number_post(0);
        MPI_Recv(room[0], MOST, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &s);
        got(0, &s);
        fclose(out);
        MPI_Barrier(MPI_COMM_WORLD);
        raise(SIGKILL);
    }
    fclose(out);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* here the launcher ends the ranks */
    _exit(1);
}

int main(int argc, char **argv)
{
    static char buffer[1 << 20];
    char path[4096];
    MPI_Comm comms[6];
    MPI_Group world, some;
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/log.%d", argv[1], rank);
    if ((out = fopen(path, "w")) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (argc > 2)
        killed();
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, rank < 2 ? (const int[]){1, 0} : (const int[]){3, 2}, &some);
    MPI_Comm_create_group(MPI_COMM_WORLD, some, rank < 2, &comms[0]);
    MPI_Intercomm_create(comms[0], 0, MPI_COMM_WORLD, rank < 2 ? 3 : 1, 5, &comms[1]);
    MPI_Comm_dup(comms[1], &comms[2]);
    MPI_Comm_dup(MPI_COMM_SELF, &comms[3]);
    comms[4] = MPI_COMM_SELF;
    comms[5] = MPI_COMM_WORLD;
    for (int round = 0; round < ROUNDS * 6; round++) {
        const struct side c = side_of(comms[round % 6]);
        sends_of_all_kinds(&c, round / 6);
        persistent(&c);
        if (c.comm != MPI_COMM_SELF && c.comm != comms[3])
            cancelled(&c);
        probed(&c);
#if MPI_VERSION >= 4
        of_four(&c);
        both_ways(&c);
#endif
    }
    int one = 1, all;
    MPI_Op_create(nested, 1, &op);
    MPI_Allreduce(&one, &all, 1, MPI_INT, op, MPI_COMM_WORLD);
    fclose(out);
    MPI_Finalize();
    return 0;
}
