/* SPDX-License-Identifier: BSD-3-Clause
 * The functions that the mini-applications in Fortran call, which are logged (call_log.h). All
 * arguments are addresses. mpi_f08 passes the same ones; its types hold an integer. */
#include "call_log.h"

#define FORTRAN_SEND(name)                                                                         \
    void name(void *buf, void *n, void *type, const int *to, const int *tag, const int *comm,      \
              void *ierror);                                                                       \
    void name(void *buf, void *n, void *type, const int *to, const int *tag, const int *comm,      \
              void *ierror)                                                                        \
    {                                                                                              \
        (void)log_enter();                                                                         \
        log_send(PMPI_Comm_f2c(*comm), *to, *tag);                                                 \
        NEXT(name)(buf, n, type, to, tag, comm, ierror);                                           \
        log_inside = 0;                                                                            \
    }
FORTRAN_SEND(mpi_send_f08_)
FORTRAN_SEND(mpi_send_f08ts_)

#define FORTRAN_REQUEST(name, is_receive)                                                          \
    void name(void *buf, void *n, void *type, const int *peer, const int *tag, const int *comm,    \
              int *request, void *ierror);                                                         \
    void name(void *buf, void *n, void *type, const int *peer, const int *tag, const int *comm,    \
              int *request, void *ierror)                                                          \
    {                                                                                              \
        MPI_Comm c = PMPI_Comm_f2c(*comm);                                                         \
        struct request r = {.comm = c, .peer = *peer, .tag = *tag, .receives = is_receive};        \
        (void)log_enter();                                                                         \
        r.id = (is_receive) ? log_receive(c, *peer) : log_send(c, *peer, *tag);                    \
        NEXT(name)(buf, n, type, peer, tag, comm, request, ierror);                                \
        log_keep(FORTRAN_KEY(*request), r);                                                        \
        log_inside = 0;                                                                            \
    }
FORTRAN_REQUEST(mpi_isend_, false)
FORTRAN_REQUEST(mpi_irecv_, true)
FORTRAN_REQUEST(mpi_irecv_f08_, true)
FORTRAN_REQUEST(mpi_irecv_f08ts_, true)

#define FORTRAN_WAIT(name, declared, passed, count, all)                                           \
    void name declared;                                                                            \
    void name declared                                                                             \
    {                                                                                              \
        (void)log_enter();                                                                         \
        int n = (count), keys[64];                                                                 \
        for (int i = 0; i < n; i++)                                                                \
            keys[i] = (all)[i];                                                                    \
        NEXT(name) passed;                                                                         \
        for (int i = 0; i < n; i++)                                                                \
            log_completed(FORTRAN_KEY(keys[i]), NULL);                                             \
        log_inside = 0;                                                                            \
    }
FORTRAN_WAIT(mpi_waitall_, (const int *n_, int *all, void *s, void *ierror), (n_, all, s, ierror),
             *n_, all)
FORTRAN_WAIT(mpi_wait_f08_, (int *all, void *s, void *ierror), (all, s, ierror), 1, all)

void mpi_sendrecv_(void *a, void *n, void *t, const int *to, const int *tag, void *b, void *m,
                   void *u, const int *from, const int *from_tag, const int *comm, void *s,
                   void *ierror);
void mpi_sendrecv_(void *a, void *n, void *t, const int *to, const int *tag, void *b, void *m,
                   void *u, const int *from, const int *from_tag, const int *comm, void *s,
                   void *ierror)
{
    MPI_Comm c = PMPI_Comm_f2c(*comm);
    (void)log_enter();
    log_send(c, *to, *tag);
    long id = log_receive(c, *from);
    NEXT(mpi_sendrecv_)(a, n, t, to, tag, b, m, u, from, from_tag, comm, s, ierror);
    log_done_known(id, c, *from, *from_tag);
    log_inside = 0;
}

void mpi_comm_dup_f08_(const int *comm, int *made, void *ierror);
void mpi_comm_dup_f08_(const int *comm, int *made, void *ierror)
{
    log_inside = 1;
    NEXT(mpi_comm_dup_f08_)(comm, made, ierror);
    MPI_Comm c = PMPI_Comm_f2c(*made);
    log_comm(c, c);
    log_inside = 0;
}

/* As MPI_Pcontrol in C. */
void mpi_pcontrol_(const int *level);
void mpi_pcontrol_(const int *level)
{
    (void)level;
}
