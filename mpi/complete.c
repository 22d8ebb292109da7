/* SPDX-License-Identifier: BSD-3-Clause
 * Records completions: what Recv, Wait and Test tell about messages and requests that they end.
 *
 * Requests are noted before the call, because MPI sets them to MPI_REQUEST_NULL. If the program
 * ignores the status, MPI gets one of ours. This code writes to nothing that the program sees. */
#include "mpi/library.h"
#include "mpi/wrapper.h"

#include <string.h>

/* MPI_UNDEFINED, the same in all three interfaces. */
#define UNDEFINED (-32766)

/* In MPICH's error codes, the low bits are the class. */
static int error_class(int code)
{
    return mpi_abi.kind == MPI_ABI_MPICH ? code & 0x7f : code;
}

bool mpi_is_truncated(int result)
{
    return result != 0 && error_class(result) == mpi_abi.err_truncate;
}

static bool is_ignored(mpi_word status, bool fortran, bool array)
{
    if (!fortran)
        return status == (array ? mpi_abi.statuses_ignore : mpi_abi.status_ignore);
    /* C variables of the library that hold the address of Fortran's constant */
    static const char *const names[4] = {"MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE",
                                         "MPI_F08_STATUS_IGNORE", "MPI_F08_STATUSES_IGNORE"};
    static mpi_word *holders[4];
    static int looked;
    if (__atomic_load_n(&looked, __ATOMIC_ACQUIRE) == 0) {
        for (int i = 0; i < 4; i++)
            holders[i] = mpi_variable(names[i]);
        __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
    }
    for (int i = 0; i < 4; i++)
        if (holders[i] != NULL && *holders[i] == status)
            return true;
    return false;
}

static int status_int(const unsigned char *status, uint32_t offset)
{
    int v;
    memcpy(&v, status + offset, sizeof v);
    return v;
}

/* Returns the bytes received, and whether the request was cancelled, from where each library stores
 * them. */
static uint64_t status_bytes(const unsigned char *status, bool *cancelled)
{
    *cancelled = false;
    if (mpi_abi.kind == MPI_ABI_OPEN_MPI) { /* int _cancelled at 12, size_t _ucount at 16 */
        uint64_t n;
        memcpy(&n, status + 16, sizeof n);
        *cancelled = status_int(status, 12) != 0;
        return n;
    }
    /* int count_lo at 0, int count_hi_and_cancelled at 4, whose bit 0 means cancelled */
    if (mpi_abi.kind == MPI_ABI_MPICH) {
        uint32_t low = (uint32_t)status_int(status, 0), high = (uint32_t)status_int(status, 4);
        *cancelled = (high & 1) != 0;
        return low | (uint64_t)(high >> 1) << 32;
    }
    const struct mpi_library *l = mpi_library();
    int64_t n = 0;
    int flag = 0;
    if (l->Test_cancelled != NULL && l->Test_cancelled(status, &flag) == 0)
        *cancelled = flag != 0;
    if (l->Get_count_c == NULL || l->Get_count_c(status, mpi_abi.type_byte, &n) != 0 || n < 0)
        return 0;
    return (uint64_t)n;
}

static void tell_receive(struct recorder_thread *t, const struct mpi_completed *c)
{
    if (mpi_is_partitioned(c->number))
        mpi_tell_partitioned(t, EV_MPI_RECEIVE_NUMBER, &c->partitioned);
    else
        mpi_tell_receive(t, c->number, c->outside);
}

/* Records the completion in a window. For some kinds, the status tells nothing more. */
static void emit_completion(struct recorder_thread *t, uint64_t request,
                            const struct mpi_completed *c, const unsigned char *status,
                            uint64_t bytes)
{
    if (c->kind == MPI_REQUEST_OTHER || c->kind == MPI_REQUEST_SILENT) {
        if (c->kind == MPI_REQUEST_SILENT)
            mpi_tell_receive(t, c->number, true);
        (void)recorder_emit(t, EV_MPI_COMPLETE, request, mpi_peer_tag(MPI_NOBODY, MPI_NOBODY));
        return;
    }
    uint32_t source = mpi_peer((mpi_word)(int64_t)status_int(status, mpi_abi.status_source));
    uint32_t tag = mpi_tag((mpi_word)(int64_t)status_int(status, mpi_abi.status_tag));
    uint32_t cut = c->kind == MPI_REQUEST_UNKNOWN ? (uint32_t)EVENT_FLAG_CUT << 24 : 0;
    tell_receive(t, c);
    (void)recorder_emit(t, EV_MPI_COMPLETE | cut, request, mpi_peer_tag(source, tag));
    (void)recorder_emit(t, EV_MPI_BYTES | cut, request, bytes);
}

/* Settles the number of a message, and records the completion in a window. comm: of a receive
 * without a request. */
static void message_completed(struct recorder_thread *t, uint64_t request, uint64_t comm,
                              struct mpi_completed *c, const unsigned char *status)
{
    bool cancelled;
    uint64_t bytes = status_bytes(status, &cancelled);
    cancelled = cancelled && c->kind != MPI_REQUEST_SILENT;
    if (c->cancelling)
        mpi_number_cancelled(c->number, !c->receives, cancelled);
    else if (cancelled)
        mpi_number_unposted(c->number);
    else if (c->kind == MPI_REQUEST_SILENT && (c->number & NUMBER_UNDECIDED) != 0) {
        mpi_number_freed(c->number); /* nothing tells whose message it was */
        c->number = NUMBER_LOST;
    } else if (c->receives)
        c->number = mpi_number_received(comm, c->number, status_int(status, mpi_abi.status_source),
                                        status_int(status, mpi_abi.status_tag),
                                        t->recording != 0 && c->kind == MPI_REQUEST_RECEIVE);
    if (t->recording == 0)
        return;
    if (cancelled)
        (void)recorder_emit(t, EV_MPI_CANCELLED, request, 0);
    else
        emit_completion(t, request, c, status, bytes);
}

static bool is_empty(const unsigned char *status)
{
    bool cancelled;
    return status_int(status, mpi_abi.status_source) == mpi_abi.any_source &&
           status_int(status, mpi_abi.status_tag) == mpi_abi.any_tag &&
           status_bytes(status, &cancelled) == 0 && !cancelled;
}

static void request_completed(struct recorder_thread *t, uint64_t request, struct mpi_noted noted,
                              bool failed, const unsigned char *status)
{
    if (request == mpi_abi.request_null)
        return;
    struct mpi_completed c = mpi_request_completed(t, request, noted, is_empty(status));
    if (failed && c.kind != MPI_REQUEST_SILENT && c.kind != MPI_REQUEST_NONE)
        c.kind = MPI_REQUEST_OTHER;
    if (c.kind != MPI_REQUEST_NONE)
        message_completed(t, request, 0, &c, status);
}

bool mpi_many_done(int result)
{
    return result == 0 || error_class(result) == mpi_abi.err_in_status;
}

/* Handles one of many requests. If the call failed as a whole, the status tells the request's own
 * error. */
static void one_of_many(struct recorder_thread *t, const struct mpi_many *c, uint32_t i, int result,
                        const unsigned char *status)
{
    int error = result == 0 ? 0 : status_int(status, mpi_abi.status_error);
    if (error != 0 && error_class(error) == mpi_abi.err_pending)
        return;
    request_completed(t, c->requests[i], c->noted[i], error != 0, status);
    c->noted[i].value = 0;
}

/* --- one request ------------------------------------------------------------------------------ */

mpi_word mpi_one_begin(struct mpi_one *c, mpi_word request, mpi_word status, bool fortran)
{
    c->plain = request == 0;
    c->request = request != 0 ? mpi_handle_element(MPI_HANDLE_REQUEST, request, 0, fortran) : 0;
    c->noted = request != 0 ? mpi_request_await(c->request) : (struct mpi_noted){0, NO_NUMBER};
    c->comm = 0;
    c->place = request;
    c->fortran = fortran;
    c->status = status;
    if (is_ignored(status, fortran, false)) {
        memset(c->own, 0, sizeof c->own);
        c->status = (mpi_word)(uintptr_t)c->own;
    }
    return c->status;
}

/* Do completions matter to anybody? */
static bool matters(const struct recorder_thread *t)
{
    return t->recording != 0 || atomic_load_explicit(&mpi_undecided, memory_order_relaxed) != 0;
}

/* The call has failed. If the request has ended all the same, a receive of unknown source or tag
 * stays unknown. */
RT_COLD static void settle_failed(struct recorder_thread *t, const struct mpi_one *c)
{
    if (c->request == mpi_abi.request_null ||
        mpi_handle_element(MPI_HANDLE_REQUEST, c->place, 0, c->fortran) != mpi_abi.request_null)
        return;
    struct mpi_completed ended = mpi_request_completed(t, c->request, c->noted, false);
    if (ended.cancelling)
        mpi_number_cancel_freed(ended.number);
    else if (ended.receives)
        mpi_number_freed(ended.number);
}

void mpi_one_end(struct recorder_thread *t, const struct mpi_one *c, bool done)
{
    const unsigned char *status = (const unsigned char *)(uintptr_t)c->status;
    /* The message of a matched probe may have been found outside the window. */
    struct mpi_completed plain = {.kind = MPI_REQUEST_RECEIVE,
                                  .number = c->noted.number,
                                  .receives = true,
                                  .outside = c->comm == 0};
    if (c->plain && done)
        message_completed(t, 0, c->comm, &plain, status);
    else if (c->plain)
        return;
    else if (!done || !matters(t)) {
        mpi_request_awaited(c->request, c->noted);
        if (!done && matters(t))
            settle_failed(t, c);
    } else
        request_completed(t, c->request, c->noted, false, status);
}

void mpi_receive_begin(struct mpi_one *c, mpi_number number, uint64_t comm)
{
    c->noted.number = number;
    c->comm = comm;
}

void mpi_receive_end(struct recorder_thread *t, const struct mpi_one *c, int result)
{
    const unsigned char *status = (const unsigned char *)(uintptr_t)c->status;
    if (result == 0)
        mpi_one_end(t, c, true);
    else if (mpi_is_truncated(result))
        (void)mpi_number_received(c->comm, c->noted.number,
                                  status_int(status, mpi_abi.status_source),
                                  status_int(status, mpi_abi.status_tag), false);
    else if ((c->noted.number & NUMBER_UNDECIDED) != 0)
        mpi_number_unposted(c->noted.number);
}

void mpi_receive_failed(mpi_number number, int result)
{
    if ((number & NUMBER_UNDECIDED) == 0 && !mpi_is_truncated(result))
        mpi_number_unposted(number);
}

void mpi_sendrecv_failed(mpi_number sent, mpi_number number, int result)
{
    if (!mpi_is_truncated(result))
        mpi_number_lost(sent);
    mpi_receive_failed(number, result);
}

/* A message handle as a key in the table of requests, among which no such handles are. */
static uint64_t message_key(uint64_t message)
{
    return message ^ UINT64_C(1) << 63;
}

void mpi_probed(const struct recorder_thread *t, const struct mpi_one *c, uint64_t comm,
                uint64_t message)
{
    const unsigned char *status = (const unsigned char *)(uintptr_t)c->status;
    mpi_number n = mpi_number_receive(comm, status_int(status, mpi_abi.status_source),
                                      status_int(status, mpi_abi.status_tag));
    if (n != NO_NUMBER)
        mpi_request_made(t, t->window, message_key(message), MPI_REQUEST_RECEIVE, n);
}

mpi_number mpi_message_number(uint64_t message)
{
    if (mpi_numbering == 0)
        return NO_NUMBER;
    struct mpi_noted noted = mpi_request_noted(message_key(message));
    const mpi_number n = noted.number;
    noted.number = NO_NUMBER;
    if (noted.value != 0)
        mpi_request_freed(message_key(message), noted);
    return n;
}

/* --- many requests ---------------------------------------------------------------------------- */

/* Provides room for n requests and statuses: in *c, or else in the thread's scratch memory. */
static bool take_room(struct mpi_many *c, uint32_t n)
{
    c->requests = c->few_requests;
    c->noted = c->few_noted;
    c->statuses = c->few_statuses;
    if (n <= MPI_STATUSES)
        return true;
    size_t bytes = (size_t)n * (sizeof c->requests[0] + sizeof c->noted[0] + mpi_abi.status_bytes);
    c->scratch = recorder_scratch_take(&recorder_self, bytes);
    if (c->scratch == NULL) {
        atomic_fetch_add_explicit(&mpi_completions_skipped, n, memory_order_relaxed);
        return false;
    }
    c->requests = c->scratch->room;
    c->noted = (struct mpi_noted *)(c->requests + n);
    c->statuses = (unsigned char *)(c->noted + n);
    return true;
}

void mpi_many_free(const struct mpi_many *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        mpi_request_awaited(c->requests[i], c->noted[i]);
    if (c->scratch != NULL)
        recorder_scratch_give(&recorder_self, c->scratch);
}

static void note_requests(struct mpi_many *c, mpi_word count, mpi_word requests, bool fortran)
{
    int n = (int)count;
    c->array = requests;
    c->scratch = NULL;
    c->n = n > 0 && requests != 0 && take_room(c, (uint32_t)n) ? (uint32_t)n : 0;
    for (uint32_t i = 0; i < c->n; i++) {
        c->requests[i] = mpi_handle_element(MPI_HANDLE_REQUEST, requests, i, fortran);
        c->noted[i] = mpi_request_await(c->requests[i]);
    }
}

mpi_word mpi_many_begin(struct mpi_many *c, mpi_word count, mpi_word requests, mpi_word statuses,
                        bool fortran)
{
    note_requests(c, count, requests, fortran);
    c->status = statuses;
    c->own = c->n != 0 && is_ignored(statuses, fortran, true);
    if (c->own) {
        memset(c->statuses, 0, (size_t)c->n * mpi_abi.status_bytes);
        c->status = (mpi_word)(uintptr_t)c->statuses;
    }
    return c->status;
}

static const unsigned char *status_at(const struct mpi_many *c, uint32_t i)
{
    return (const unsigned char *)(uintptr_t)c->status + (size_t)i * mpi_abi.status_bytes;
}

void mpi_many_end(struct recorder_thread *t, const struct mpi_many *c, int result)
{
    for (uint32_t i = 0; i < c->n && matters(t); i++)
        one_of_many(t, c, i, result, status_at(c, i));
}

/* Returns which request an index means. Fortran's indices count from 1, but mpi_f08 of MPICH 4.0
 * returns C's from MPI_Waitany: if the request counted from 1 is still active and its successor has
 * just ended, MPI means the successor. */
static int index_of(const struct mpi_many *c, int index, bool fortran)
{
    int at = index - (fortran ? 1 : 0);
    uint32_t next = (uint32_t)(at + 1);
    if (!fortran || at + 1 < 0 || next >= c->n || c->requests[next] == mpi_abi.request_null)
        return at;
    bool here = at >= 0 && c->requests[at] != mpi_abi.request_null &&
                mpi_handle_element(MPI_HANDLE_REQUEST, c->array, (uint64_t)at, true) ==
                    mpi_abi.request_null;
    bool after =
        mpi_handle_element(MPI_HANDLE_REQUEST, c->array, next, true) == mpi_abi.request_null;
    return !here && after ? at + 1 : at;
}

void mpi_some_end(struct recorder_thread *t, const struct mpi_many *c, int result, mpi_word done,
                  mpi_word indices, bool fortran)
{
    int n = mpi_read_int(done);
    for (int i = 0; i < n && indices != 0 && matters(t); i++) {
        int at = index_of(c, ((const int *)(uintptr_t)indices)[i], fortran);
        if (at >= 0 && (uint32_t)at < c->n && (uint32_t)i < c->n)
            one_of_many(t, c, (uint32_t)at, result, status_at(c, (uint32_t)i));
    }
}

mpi_word mpi_any_begin(struct mpi_many *c, struct mpi_one *one, mpi_word count, mpi_word requests,
                       mpi_word status, bool fortran)
{
    note_requests(c, count, requests, fortran);
    return mpi_one_begin(one, 0, status, fortran);
}

void mpi_any_end(struct recorder_thread *t, const struct mpi_many *c, struct mpi_one *one,
                 mpi_word index, bool fortran)
{
    int at = mpi_read_int(index);
    if (at == UNDEFINED)
        return;
    at = index_of(c, at, fortran);
    if (at < 0 || (uint32_t)at >= c->n)
        return;
    one->plain = false;
    one->request = c->requests[at];
    one->noted = c->noted[at];
    c->noted[at].value = 0;
    mpi_one_end(t, one, true);
}

/* --- messages of matched probes --------------------------------------------------------------- */

void mpi_message_taken(struct recorder_thread *t, uint64_t message)
{
    if (t->recording != 0)
        (void)recorder_emit(t, EV_MPI_MESSAGE, message, 0);
}

void mpi_receives(struct recorder_thread *t, uint64_t source_tag, uint64_t room)
{
    if (t->recording != 0)
        (void)recorder_emit(t, EV_MPI_RECEIVE, source_tag, room);
}

/* --- persistent requests ---------------------------------------------------------------------- */

void mpi_started(struct recorder_thread *t, mpi_word count, mpi_word requests, bool fortran)
{
    int n = (int)count;
    for (int i = 0; i < n && requests != 0; i++) {
        uint64_t request = mpi_handle_element(MPI_HANDLE_REQUEST, requests, (uint64_t)i, fortran);
        mpi_request_started(t, request);
        if (t->recording != 0)
            (void)recorder_emit(t, EV_MPI_STARTED, request, 0);
    }
}
