/* SPDX-License-Identifier: BSD-3-Clause
 * The functions in C of point-to-point messages, which are logged (call_log.h). */
#include "call_log.h"

#include <stdlib.h>
#include <string.h>

#define SEND(name)                                                                                 \
    int name(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)            \
    {                                                                                              \
        if (!log_enter())                                                                          \
            return NEXT(name)(buf, n, type, to, tag, comm);                                        \
        log_send(comm, to, tag);                                                                   \
        int rc = NEXT(name)(buf, n, type, to, tag, comm);                                          \
        log_inside = 0;                                                                            \
        return rc;                                                                                 \
    }
SEND(MPI_Send)
SEND(MPI_Bsend)
SEND(MPI_Ssend)
SEND(MPI_Rsend)

#define SEND_REQUEST(name, is_persistent)                                                          \
    int name(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,            \
             MPI_Request *request)                                                                 \
    {                                                                                              \
        struct request r = {.comm = comm, .peer = to, .tag = tag, .persistent = is_persistent};    \
        if (!log_enter())                                                                          \
            return NEXT(name)(buf, n, type, to, tag, comm, request);                               \
        if (!(is_persistent))                                                                      \
            r.id = log_send(comm, to, tag);                                                        \
        int rc = NEXT(name)(buf, n, type, to, tag, comm, request);                                 \
        log_keep(C_KEY(*request), r);                                                              \
        log_inside = 0;                                                                            \
        return rc;                                                                                 \
    }
SEND_REQUEST(MPI_Isend, false)
SEND_REQUEST(MPI_Ibsend, false)
SEND_REQUEST(MPI_Issend, false)
SEND_REQUEST(MPI_Irsend, false)
SEND_REQUEST(MPI_Send_init, true)
SEND_REQUEST(MPI_Bsend_init, true)
SEND_REQUEST(MPI_Ssend_init, true)
SEND_REQUEST(MPI_Rsend_init, true)

#define RECEIVE_REQUEST(name, is_persistent)                                                       \
    int name(void *buf, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,                \
             MPI_Request *request)                                                                 \
    {                                                                                              \
        struct request r = {.comm = comm,                                                          \
                            .peer = from,                                                          \
                            .tag = tag,                                                            \
                            .receives = true,                                                      \
                            .persistent = is_persistent};                                          \
        if (!log_enter())                                                                          \
            return NEXT(name)(buf, n, type, from, tag, comm, request);                             \
        if (!(is_persistent))                                                                      \
            r.id = log_receive(comm, from);                                                        \
        int rc = NEXT(name)(buf, n, type, from, tag, comm, request);                               \
        log_keep(C_KEY(*request), r);                                                              \
        log_inside = 0;                                                                            \
        return rc;                                                                                 \
    }
RECEIVE_REQUEST(MPI_Irecv, false)
RECEIVE_REQUEST(MPI_Recv_init, true)

int MPI_Recv(void *buf, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *s)
{
    MPI_Status own, *status = s != MPI_STATUS_IGNORE ? s : &own;
    if (!log_enter())
        return NEXT(MPI_Recv)(buf, n, type, from, tag, comm, s);
    long id = log_receive(comm, from);
    int rc = NEXT(MPI_Recv)(buf, n, type, from, tag, comm, status);
    log_done(id, comm, status);
    log_inside = 0;
    return rc;
}

/* A function of its own, as calls with statuses on their stack cannot be passed on by a jump. */
#define EXCHANGE(name, declared, passed)                                                           \
    static __attribute__((noinline)) int logged_##name declared                                    \
    {                                                                                              \
        MPI_Status own;                                                                            \
        log_send(comm, to, tag);                                                                   \
        long id = log_receive(comm, from);                                                         \
        s = s != MPI_STATUS_IGNORE ? s : &own;                                                     \
        int rc = NEXT(name) passed;                                                                \
        log_done(id, comm, s);                                                                     \
        log_inside = 0;                                                                            \
        return rc;                                                                                 \
    }                                                                                              \
    int name declared                                                                              \
    {                                                                                              \
        if (!log_enter())                                                                          \
            return NEXT(name) passed;                                                              \
        return logged_##name passed;                                                               \
    }
EXCHANGE(MPI_Sendrecv,
         (const void *a, int n, MPI_Datatype t, int to, int tag, void *b, int m, MPI_Datatype u,
          int from, int from_tag, MPI_Comm comm, MPI_Status *s),
         (a, n, t, to, tag, b, m, u, from, from_tag, comm, s))
EXCHANGE(MPI_Sendrecv_replace,
         (void *a, int n, MPI_Datatype t, int to, int tag, int from, int from_tag, MPI_Comm comm,
          MPI_Status *s),
         (a, n, t, to, tag, from, from_tag, comm, s))

/* A message that a probe has found is received by the one call that names it. */
static struct {
    MPI_Message message;
    long id;
    MPI_Comm comm;
} probed[64];

static void found_message(MPI_Message message, MPI_Comm comm, int from)
{
    for (int i = 0; i < 64; i++)
        if (probed[i].comm == 0) {
            probed[i].message = message;
            probed[i].comm = comm;
            probed[i].id = log_receive(comm, from);
            return;
        }
    abort();
}

static long take_message(MPI_Message message, MPI_Comm *comm)
{
    for (int i = 0; i < 64; i++)
        if (probed[i].comm != 0 && probed[i].message == message) {
            *comm = probed[i].comm;
            probed[i].comm = 0;
            return probed[i].id;
        }
    return 0;
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *s)
{
    if (!log_enter())
        return NEXT(MPI_Mprobe)(from, tag, comm, message, s);
    int rc = NEXT(MPI_Mprobe)(from, tag, comm, message, s);
    found_message(*message, comm, from);
    log_inside = 0;
    return rc;
}
int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *s)
{
    if (!log_enter())
        return NEXT(MPI_Improbe)(from, tag, comm, flag, message, s);
    int rc = NEXT(MPI_Improbe)(from, tag, comm, flag, message, s);
    if (*flag)
        found_message(*message, comm, from);
    log_inside = 0;
    return rc;
}
int MPI_Mrecv(void *buf, int n, MPI_Datatype type, MPI_Message *message, MPI_Status *s)
{
    MPI_Status own, *status = s != MPI_STATUS_IGNORE ? s : &own;
    MPI_Comm comm = 0;
    if (!log_enter())
        return NEXT(MPI_Mrecv)(buf, n, type, message, s);
    long id = take_message(*message, &comm);
    int rc = NEXT(MPI_Mrecv)(buf, n, type, message, status);
    log_done(id, comm, status);
    log_inside = 0;
    return rc;
}
int MPI_Imrecv(void *buf, int n, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
    struct request r = {.receives = true};
    if (!log_enter())
        return NEXT(MPI_Imrecv)(buf, n, type, message, request);
    r.id = take_message(*message, &r.comm);
    int rc = NEXT(MPI_Imrecv)(buf, n, type, message, request);
    log_keep(C_KEY(*request), r);
    log_inside = 0;
    return rc;
}

static void start(uint64_t key)
{
    struct request *r = log_find(key);
    if (r != NULL)
        r->id = r->receives ? log_receive(r->comm, r->peer) : log_send(r->comm, r->peer, r->tag);
}
int MPI_Start(MPI_Request *request)
{
    if (!log_enter())
        return NEXT(MPI_Start)(request);
    start(C_KEY(*request));
    int rc = NEXT(MPI_Start)(request);
    log_inside = 0;
    return rc;
}
/* One by one, so that each send has a mark of its own. */
int MPI_Startall(int n, MPI_Request *all)
{
    int rc = MPI_SUCCESS;
    if (log_inside > 0)
        return NEXT(MPI_Startall)(n, all);
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++)
        rc = MPI_Start(&all[i]);
    return rc;
}

/* --- waits and tests -------------------------------------------------------------------------- */

/* Handles as they are before the call, and statuses if the program wants none. */
enum { MOST = 8192 };
static MPI_Request before[MOST];
static MPI_Status own_statuses[MOST];

static MPI_Status *prepare(int n, const MPI_Request *all, MPI_Status *s)
{
    if (n > MOST)
        abort();
    memcpy(before, all, (size_t)n * sizeof *all);
    return s != MPI_STATUSES_IGNORE && s != MPI_STATUS_IGNORE ? s : own_statuses;
}
#define COMPLETE(n, all, statuses, call, after)                                                    \
    do {                                                                                           \
        if (!log_enter())                                                                          \
            return call;                                                                           \
        (statuses) = prepare(n, all, statuses);                                                    \
        int rc_ = call;                                                                            \
        after;                                                                                     \
        log_inside = 0;                                                                            \
        return rc_;                                                                                \
    } while (0)
static void all_done(int n, const MPI_Status *s)
{
    for (int i = 0; i < n; i++)
        log_completed(C_KEY(before[i]), &s[i]);
}
static void some_done(int n, const int *indices, const MPI_Status *s)
{
    for (int i = 0; i < n && n != MPI_UNDEFINED; i++)
        log_completed(C_KEY(before[indices[i]]), &s[i]);
}

int MPI_Wait(MPI_Request *r, MPI_Status *s)
{
    COMPLETE(1, r, s, NEXT(MPI_Wait)(r, s), all_done(1, s));
}
int MPI_Waitall(int n, MPI_Request all[], MPI_Status s[])
{
    COMPLETE(n, all, s, NEXT(MPI_Waitall)(n, all, s), all_done(n, s));
}
int MPI_Waitany(int n, MPI_Request all[], int *index, MPI_Status *s)
{
    COMPLETE(n, all, s, NEXT(MPI_Waitany)(n, all, index, s),
             some_done(*index != MPI_UNDEFINED, index, s));
}
int MPI_Waitsome(int n, MPI_Request all[], int *count, int indices[], MPI_Status s[])
{
    COMPLETE(n, all, s, NEXT(MPI_Waitsome)(n, all, count, indices, s),
             some_done(*count, indices, s));
}
int MPI_Test(MPI_Request *r, int *flag, MPI_Status *s)
{
    COMPLETE(1, r, s, NEXT(MPI_Test)(r, flag, s), all_done(*flag, s));
}
int MPI_Testall(int n, MPI_Request all[], int *flag, MPI_Status s[])
{
    COMPLETE(n, all, s, NEXT(MPI_Testall)(n, all, flag, s), all_done(*flag ? n : 0, s));
}
int MPI_Testany(int n, MPI_Request all[], int *index, int *flag, MPI_Status *s)
{
    COMPLETE(n, all, s, NEXT(MPI_Testany)(n, all, index, flag, s),
             some_done(*flag && *index != MPI_UNDEFINED, index, s));
}
int MPI_Testsome(int n, MPI_Request all[], int *count, int indices[], MPI_Status s[])
{
    COMPLETE(n, all, s, NEXT(MPI_Testsome)(n, all, count, indices, s),
             some_done(*count, indices, s));
}
int MPI_Request_free(MPI_Request *request)
{
    struct request *r = log_inside == 0 ? log_find(C_KEY(*request)) : NULL;
    if (r != NULL)
        r->used = false;
    return NEXT(MPI_Request_free)(request);
}

/* --- communicators that the program makes ----------------------------------------------------- */

#define MAKES(name, declared, passed, made, like)                                                  \
    int name declared                                                                              \
    {                                                                                              \
        if (log_inside > 0)                                                                        \
            return NEXT(name) passed;                                                              \
        log_inside = 1;                                                                            \
        int rc = NEXT(name) passed;                                                                \
        if (rc == MPI_SUCCESS)                                                                     \
            log_comm(*(made), like);                                                               \
        log_inside = 0;                                                                            \
        return rc;                                                                                 \
    }
MAKES(MPI_Comm_dup, (MPI_Comm c, MPI_Comm *n), (c, n), n, *n)
MAKES(MPI_Comm_dup_with_info, (MPI_Comm c, MPI_Info i, MPI_Comm *n), (c, i, n), n, *n)
MAKES(MPI_Comm_idup, (MPI_Comm c, MPI_Comm *n, MPI_Request *r), (c, n, r), n, c)
MAKES(MPI_Comm_split, (MPI_Comm c, int color, int key, MPI_Comm *n), (c, color, key, n), n, *n)
MAKES(MPI_Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info i, MPI_Comm *n),
      (c, type, key, i, n), n, *n)
MAKES(MPI_Comm_create, (MPI_Comm c, MPI_Group g, MPI_Comm *n), (c, g, n), n, *n)
MAKES(MPI_Comm_create_group, (MPI_Comm c, MPI_Group g, int tag, MPI_Comm *n), (c, g, tag, n), n, *n)
MAKES(MPI_Cart_create,
      (MPI_Comm c, int d, const int dims[], const int periods[], int reorder, MPI_Comm *n),
      (c, d, dims, periods, reorder, n), n, *n)
MAKES(MPI_Cart_sub, (MPI_Comm c, const int remain[], MPI_Comm *n), (c, remain, n), n, *n)
MAKES(MPI_Intercomm_create, (MPI_Comm c, int l, MPI_Comm p, int r, int tag, MPI_Comm *n),
      (c, l, p, r, tag, n), n, *n)
MAKES(MPI_Intercomm_merge, (MPI_Comm c, int high, MPI_Comm *n), (c, high, n), n, *n)
MAKES(MPI_Dist_graph_create_adjacent,
      (MPI_Comm c, int in, const int s[], const int sw[], int o, const int d[], const int dw[],
       MPI_Info i, int reorder, MPI_Comm *n),
      (c, in, s, sw, o, d, dw, i, reorder, n), n, *n)

/* The program's own windows would come between those of this library. */
int MPI_Pcontrol(const int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}
