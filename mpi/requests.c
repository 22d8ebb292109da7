/* SPDX-License-Identifier: BSD-3-Clause
 * Knows which requests are receives and which are active, and the numbers of their messages: calls
 * that make and start requests note it, calls that complete them ask for it.
 *
 * The table belongs to the process. A handle in use belongs to one request, so an entry has one
 * writer at a time. An entry ends when its request completes. If the request completed outside
 * windows, the entry remains until the library gives the handle to another request, or until
 * another handle needs the place. A request without room in the table is unknown.
 *
 * Libraries return one handle for all requests that are complete when they are made (sends,
 * receives from MPI_PROC_NULL). A handle that is made twice without a completion between is shared
 * in this way, and tells nothing.
 *
 * With several threads in MPI, a handle may belong to another request as soon as the library has
 * completed the first, before the completing call is back here. So what is known of a request is
 * noted before the call that may complete it, and the entry is marked as awaited. If the handle is
 * made again then, the entry begins anew, with a number that differs from the noted one. */
#include "mpi/numbers.h"
#include "mpi/wrapper.h"

#define SLOTS 65536u /* a power of two; only used entries take memory */
#define TRIES 8u
#define CLAIMED UINT64_MAX

/* Flags beside enum mpi_request_kind. */
#define ACTIVE 8u
#define SHARED 16u
#define AWAITED 32u
#define CANCELLING 128u /* mpi_number_cancelled() must be called */
#define KINDS 0xffu
#define TIMES_SHIFT 8 /* how often the handle was made: 24 bits */
#define TIMES 0xffffff00u

#define NO_WINDOW_AT_ALL                                                                           \
    (UINT32_MAX - 1) /* of a matched probe's message: tells its number always */

/* Several threads may be in MPI at once. */
_Atomic bool mpi_concurrent;

static struct request_entry {
    _Atomic uint64_t key;      /* handle + 1; 0: free */
    _Atomic uint64_t value;    /* kinds and flags | times << 8 | window << 32 */
    _Atomic mpi_number number; /* of its message */
    uint32_t made_in;          /* the window in which it was made */
    uint32_t partitioned_comm; /* of a partitioned request: number_comm(); `comm` is 0 then */
    /* a persistent request's arguments */
    uint64_t comm;
    int32_t peer, tag;
} entries[SLOTS];

static struct request_entry *entry_at(uint64_t request, uint32_t i)
{
    uint64_t mixed = request * UINT64_C(0x9e3779b97f4a7c15);
    return &entries[((uint32_t)(mixed >> 48) + i) & (SLOTS - 1)];
}

static struct request_entry *find(uint64_t request)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        struct request_entry *e = entry_at(request, i);
        if (atomic_load_explicit(&e->key, memory_order_acquire) == request + 1)
            return e;
    }
    return NULL;
}

static void put(struct request_entry *e, uint64_t request, uint64_t value)
{
    atomic_store_explicit(&e->value, value, memory_order_relaxed);
    atomic_store_explicit(&e->key, request + 1, memory_order_release);
}

static bool are_concurrent(void)
{
    return atomic_load_explicit(&mpi_concurrent, memory_order_relaxed);
}

/* Takes the entry, so that no other thread changes or frees it until its key is stored. */
static bool claim(struct request_entry *e, uint64_t request)
{
    uint64_t key = request + 1;
    return !are_concurrent() || atomic_compare_exchange_strong(&e->key, &key, CLAIMED);
}

static uint64_t value_of(const struct recorder_thread *t, unsigned kinds)
{
    return kinds | (uint64_t)(uint32_t)t->window << 32;
}

static bool is_of_window(const struct recorder_thread *t, uint64_t value)
{
    return (uint32_t)(value >> 32) == (uint32_t)t->window;
}

/* Claims the request's entry, or else a free one, or one whose request may be over. Returns NULL if
 * there is none. */
static struct request_entry *make(const struct recorder_thread *t, uint64_t request)
{
    struct request_entry *e = find(request);
    if (e != NULL && !claim(e, request))
        e = NULL;
    for (uint32_t i = 0; e == NULL && i < 2 * TRIES; i++) {
        struct request_entry *other = entry_at(request, i % TRIES);
        uint64_t key = atomic_load_explicit(&other->key, memory_order_relaxed);
        uint64_t value = atomic_load_explicit(&other->value, memory_order_relaxed);
        /* Outside windows completions are not seen, so any of these may be over. */
        bool decided =
            (atomic_load_explicit(&other->number, memory_order_relaxed) & NUMBER_UNDECIDED) == 0;
        bool stale = (value & (MPI_REQUEST_PERSISTENT | SHARED)) == 0 &&
                     (!is_of_window(t, value) || (t->recording == 0 && decided));
        bool usable = i < TRIES ? key == 0 : key != CLAIMED && stale;
        if (usable && atomic_compare_exchange_strong(&other->key, &key, CLAIMED)) {
            /* keep `times`: a request noted earlier under this handle still has another number */
            atomic_store_explicit(&other->value, value & TIMES, memory_order_relaxed);
            e = other;
        }
    }
    return e;
}

/* Do several requests share this handle? Libraries have such handles for requests that are complete
 * when they are made: Open MPI's is a variable, MPICH's is of the kind "builtin". */
static bool is_predefined(uint64_t request)
{
    if (mpi_abi.kind == MPI_ABI_MPICH)
        return request >> 30 == 1;
    return mpi_abi.kind == MPI_ABI_OPEN_MPI &&
           (mpi_abi_is_variable(request, 0) || mpi_abi_is_variable(request, 1));
}

/* While a partitioned receive is active, its completion outside windows matters: MPICH (4.0.2)
 * leaves the status of the last completion to a wait for an inactive one, so the status does not
 * tell whether such a wait completes it. */
static void close_partitioned(unsigned kinds)
{
    if ((kinds & (ACTIVE | MPI_REQUEST_RECEIVE)) == (ACTIVE | MPI_REQUEST_RECEIVE))
        mpi_undecided_add(-MPI_PARTITIONED_ACTIVE);
}

bool mpi_any_matters(mpi_word count, mpi_word requests, bool fortran)
{
    if ((uint32_t)atomic_load_explicit(&mpi_undecided, memory_order_relaxed) != 0)
        return true;
    for (int i = 0; requests != 0 && i < (int)count; i++) {
        const struct request_entry *e =
            find(mpi_handle_element(MPI_HANDLE_REQUEST, requests, (uint64_t)i, fortran));
        if (e != NULL &&
            (atomic_load_explicit(&e->value, memory_order_relaxed) & MPI_REQUEST_RECEIVE) != 0 &&
            mpi_is_partitioned(atomic_load_explicit(&e->number, memory_order_relaxed)))
            return true;
    }
    return false;
}

static struct request_entry *note(const struct recorder_thread *t, int32_t window, uint64_t request,
                                  unsigned kinds, mpi_number number)
{
    struct request_entry *e = make(t, request);
    if (e == NULL) {
        mpi_number_freed(number); /* nothing tells when it completes */
        return NULL;
    }
    uint64_t before = atomic_load_explicit(&e->value, memory_order_relaxed);
    unsigned times = ((unsigned)before + (1u << TIMES_SHIFT)) & TIMES;
    if ((kinds & MPI_REQUEST_PERSISTENT) == 0) {
        bool twice = t->recording != 0 && (before & ACTIVE) != 0 && is_of_window(t, before) &&
                     (before & (MPI_REQUEST_PERSISTENT | AWAITED)) == 0;
        kinds |= ACTIVE | (twice ? SHARED : (unsigned)(before & SHARED));
    }
    mpi_number had = atomic_load_explicit(&e->number, memory_order_relaxed);
    if (RT_UNLIKELY(mpi_is_partitioned(had))) /* the library has given its handle anew */
        close_partitioned((unsigned)before);
    /* Its end was not seen, nor is it being waited for: the library has given its handle anew. */
    if (RT_UNLIKELY((had & NUMBER_UNDECIDED) != 0) && (before & (ACTIVE | AWAITED)) == ACTIVE)
        mpi_number_freed(had);
    atomic_store_explicit(&e->number, number, memory_order_relaxed);
    e->made_in = (uint32_t)window;
    put(e, request, kinds | times | (uint64_t)(uint32_t)window << 32);
    return e;
}

void mpi_request_made(const struct recorder_thread *t, int32_t window, uint64_t request,
                      unsigned kinds, mpi_number number)
{
    if (t->recording == 0 && is_predefined(request)) /* other requests have this handle as well */
        return;
    (void)note(t, window, request, kinds, number);
}

void mpi_request_of_probe(uint64_t request)
{
    struct request_entry *e = find(request);
    if (e != NULL)
        e->made_in = NO_WINDOW_AT_ALL;
}

void mpi_request_made_persistent(const struct recorder_thread *t, int32_t window, uint64_t request,
                                 unsigned kinds, uint64_t comm, int peer, int tag)
{
    struct request_entry *e = note(t, window, request, kinds | MPI_REQUEST_PERSISTENT, NO_NUMBER);
    if (e == NULL)
        return;
    e->comm = comm;
    e->peer = peer;
    e->tag = tag;
}

void mpi_request_made_partitioned(const struct recorder_thread *t, int32_t window, uint64_t request,
                                  unsigned kinds, const struct mpi_partitioned *p)
{
    struct request_entry *e = note(t, window, request, kinds | MPI_REQUEST_PERSISTENT, p->number);
    if (e == NULL) {
        if (p->number != NO_NUMBER)
            mpi_partitioned_lost();
        return;
    }
    e->comm = 0;
    e->partitioned_comm = p->comm;
    e->peer = p->peer;
    e->tag = p->tag;
}

static struct mpi_partitioned partitioned_of(const struct request_entry *e, mpi_number n)
{
    return (struct mpi_partitioned){
        .comm = e->partitioned_comm, .peer = e->peer, .tag = e->tag, .number = n};
}

/* Returns the number of the request's message. */
static mpi_number start_partitioned(struct recorder_thread *t, const struct request_entry *e,
                                    unsigned kinds, mpi_number before)
{
    const struct mpi_partitioned p = partitioned_of(e, mpi_partitioned_next(before));
    close_partitioned(kinds); /* its completion was not seen */
    if (p.number == NO_NUMBER)
        mpi_partitioned_lost();
    else if ((kinds & MPI_REQUEST_RECEIVE) != 0)
        mpi_undecided_add(MPI_PARTITIONED_ACTIVE);
    else if (t->recording != 0)
        mpi_tell_partitioned(t, EV_MPI_SEND_NUMBER, &p);
    return p.number;
}

void mpi_request_started(struct recorder_thread *t, uint64_t request)
{
    struct request_entry *e = find(request);
    uint64_t value = e != NULL ? atomic_load_explicit(&e->value, memory_order_relaxed) : 0;
    if ((value & MPI_REQUEST_PERSISTENT) == 0)
        return;
    mpi_number n = NO_NUMBER, before = atomic_load_explicit(&e->number, memory_order_relaxed);
    if (mpi_is_partitioned(before)) {
        n = start_partitioned(t, e, (unsigned)value, before);
    } else if (e->comm != 0 && (value & MPI_REQUEST_RECEIVE) != 0) {
        n = mpi_number_receive(e->comm, e->peer, e->tag);
    } else if (e->comm != 0) {
        n = mpi_number_send(e->comm, e->peer, e->tag);
        mpi_tell_send(t, n, e->made_in != (uint32_t)t->window);
    }
    atomic_store_explicit(&e->number, n, memory_order_relaxed);
    atomic_store_explicit(&e->value, value_of(t, (unsigned)(value & ~CANCELLING) | ACTIVE),
                          memory_order_relaxed);
}

void mpi_request_cancelling(uint64_t request)
{
    struct request_entry *e = find(request);
    uint64_t value = e != NULL ? atomic_load_explicit(&e->value, memory_order_relaxed) : 0;
    if ((value & SHARED) != 0 || is_predefined(request) ||
        (value & (ACTIVE | CANCELLING)) != ACTIVE)
        return;
    mpi_number n = atomic_load_explicit(&e->number, memory_order_relaxed);
    if (mpi_is_partitioned(n)) { /* not by the standard: nobody knows what its starts are then */
        close_partitioned((unsigned)value);
        mpi_partitioned_lost();
        atomic_store_explicit(&e->number, NO_NUMBER, memory_order_relaxed);
        return;
    }
    bool asks = mpi_number_cancelling(&n, (value & MPI_REQUEST_RECEIVE) == 0);
    atomic_store_explicit(&e->number, n, memory_order_relaxed);
    if (asks)
        (void)atomic_fetch_or(&e->value, CANCELLING);
}

/* --- notes before a completion ---------------------------------------------------------------- */

struct mpi_noted mpi_request_noted(uint64_t request)
{
    const struct request_entry *e = find(request);
    struct mpi_noted noted = {0, NO_NUMBER};
    if (e != NULL) {
        noted.value = atomic_load_explicit(&e->value, memory_order_acquire);
        noted.number = atomic_load_explicit(&e->number, memory_order_relaxed);
    }
    return noted;
}

struct mpi_noted mpi_request_await(uint64_t request)
{
    struct request_entry *e = are_concurrent() ? find(request) : NULL;
    struct mpi_noted noted = {0, NO_NUMBER};
    if (e == NULL)
        return noted;
    uint64_t value = atomic_load_explicit(&e->value, memory_order_acquire);
    while ((value & (MPI_REQUEST_PERSISTENT | AWAITED | SHARED)) == 0 && value != 0 &&
           !atomic_compare_exchange_weak(&e->value, &value, value | AWAITED))
        ;
    bool plain = (value & (MPI_REQUEST_PERSISTENT | SHARED)) == 0 && value != 0;
    noted.value = plain ? value | AWAITED : value;
    noted.number = atomic_load_explicit(&e->number, memory_order_relaxed);
    return noted;
}

void mpi_request_awaited(uint64_t request, struct mpi_noted noted)
{
    struct request_entry *e = (noted.value & AWAITED) != 0 ? find(request) : NULL;
    if (e != NULL)
        (void)atomic_compare_exchange_strong(&e->value, &noted.value,
                                             noted.value & ~(uint64_t)AWAITED);
}

/* Removes the entry, unless the handle belongs to another request by now. */
static void forget(struct request_entry *e, uint64_t request, uint64_t noted)
{
    if (e == NULL || atomic_load_explicit(&e->value, memory_order_relaxed) != noted ||
        !claim(e, request))
        return;
    bool same = atomic_load_explicit(&e->value, memory_order_relaxed) == noted;
    atomic_store_explicit(&e->key, same ? 0 : request + 1, memory_order_release);
}

void mpi_request_freed(uint64_t request, struct mpi_noted noted)
{
    if (mpi_is_partitioned(noted.number))
        close_partitioned((unsigned)noted.value);
    else if ((noted.value & ACTIVE) != 0 && (noted.value & MPI_REQUEST_RECEIVE) != 0)
        mpi_number_freed(noted.number);
    if ((noted.value & CANCELLING) != 0)
        mpi_number_cancel_freed(noted.number);
    forget(find(request), request, noted.value);
}

struct mpi_completed mpi_request_completed(const struct recorder_thread *t, uint64_t request,
                                           struct mpi_noted noted, bool empty)
{
    struct request_entry *e = find(request);
    if (!are_concurrent())
        noted = mpi_request_noted(request);
    uint64_t value = noted.value;
    struct mpi_completed c = {.kind = empty ? MPI_REQUEST_NONE : MPI_REQUEST_UNKNOWN};
    if (value == 0)
        return c;
    bool here = is_of_window(t, value), persistent = (value & MPI_REQUEST_PERSISTENT) != 0;
    bool receive = (value & MPI_REQUEST_RECEIVE) != 0;
    bool partitioned = e != NULL && mpi_is_partitioned(noted.number);
    if (!here && !persistent && (mpi_numbering == 0 || is_predefined(request)))
        return c;
    if (!persistent && (value & SHARED) == 0)
        forget(e, request, value);
    else if (e != NULL && !are_concurrent())
        atomic_store_explicit(&e->value, value & ~(uint64_t)ACTIVE, memory_order_relaxed);
    else if (e != NULL)
        (void)atomic_compare_exchange_strong(&e->value, &value, value & ~(uint64_t)ACTIVE);
    c.kind = MPI_REQUEST_NONE;
    bool was_seen = here || (partitioned && receive); /* ACTIVE is up to date */
    if (persistent && (was_seen ? (value & ACTIVE) == 0 : receive && empty))
        return c;
    if (partitioned) {
        close_partitioned((unsigned)value);
        c.partitioned = partitioned_of(e, noted.number);
    }
    c.kind = MPI_REQUEST_OTHER;
    if ((value & SHARED) != 0)
        return c;
    c.number = noted.number;
    c.cancelling = (value & CANCELLING) != 0;
    c.receives = receive;
    c.outside = !here || e == NULL || e->made_in != (uint32_t)t->window;
    if ((value & MPI_REQUEST_SILENT) != 0)
        c.kind = MPI_REQUEST_SILENT;
    else if (receive)
        c.kind = MPI_REQUEST_RECEIVE;
    return c;
}
