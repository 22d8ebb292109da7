/* SPDX-License-Identifier: BSD-3-Clause
 * Stores stretches with their sends and receives, and matches overlapping ones when none is
 * open. */
#include "tools/messages/likely_messages.h"

#include "tools/messages/shift.h"
#include "tools/messages/recorded_until.h"

#include "base/search.h"
#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_KEPT (UINT64_C(1) << 26)
enum { LEVEL_UNKNOWN = 3, NOT_YET = -1 };

struct likely_process {
    struct likely_stretch *now; /* NULL: no window is open */
    int level, single;          /* single: NOT_YET, or whether only `stream` uses MPI */
    uint32_t stream;
};

struct likely {
    const struct comms *comms;
    void (*found)(void *context, const struct queue_key *key, const struct likely_send *s,
                  const struct likely_receive *r);
    void *context;
    struct unmatched *left;
    struct likely_process *processes;
    struct likely_stretch *first, *last;
    uint32_t open;
    uint64_t kept;
};

struct likely *likely_open(const struct comms *comms,
                           void (*found)(void *context, const struct queue_key *key,
                                         const struct likely_send *s,
                                         const struct likely_receive *r),
                           void *context, struct unmatched *left)
{
    struct likely *l = calloc(1, sizeof *l);
    if (l == NULL)
        return NULL;
    *l = (struct likely){.comms = comms, .found = found, .context = context, .left = left};
    l->processes = calloc((size_t)comms_processes(comms) + 1, sizeof *l->processes);
    if (l->processes == NULL) {
        free(l);
        return NULL;
    }
    for (uint32_t i = 0; i < comms_processes(comms); i++)
        l->processes[i] = (struct likely_process){.level = LEVEL_UNKNOWN, .single = NOT_YET};
    return l;
}

static void free_stretches(struct likely *l)
{
    for (struct likely_stretch *s = l->first, *next; s != NULL; s = next) {
        next = s->next;
        free(s->sends);
        free(s->receives);
        free(s->waits);
        free(s);
    }
    l->first = l->last = NULL;
    l->kept = 0;
}

void likely_close(struct likely *l)
{
    if (l == NULL)
        return;
    free_stretches(l);
    free(l->processes);
    free(l);
}

/* --- stretches -------------------------------------------------------------------------------- */

void likely_level(struct likely *l, uint32_t process, int level)
{
    l->processes[process].level = level;
}

/* Is this thread the only one of its process that uses MPI? Takes the first one for it. If another
 * one uses MPI, the open stretch is not fully known. */
static bool is_single(struct likely *l, const struct stream_record *r, uint32_t process)
{
    struct likely_process *p = &l->processes[process];
    if (p->single == NOT_YET) {
        p->stream = r->stream;
        p->single = whole_is_single(comms_file(l->comms, process), r->event.thread, p->level);
    }
    if (p->stream != r->stream) {
        p->single = false;
        likely_spoil(l, process);
    }
    return p->single != 0;
}

static int begin(struct likely *l, const struct stream_record *r, uint32_t process)
{
    struct likely_stretch *s = calloc(1, sizeof *s);
    if (s == NULL)
        return -ENOMEM;
    *s = (struct likely_stretch){.process = process,
                                 .stream = r->stream,
                                 .window = r->event.window,
                                 .from = r->ns,
                                 .to = r->ns,
                                 .is_open = true};
    *(l->last != NULL ? &l->last->next : &l->first) = s;
    l->last = s;
    l->processes[process].now = s;
    l->open++;
    return 0;
}

static int join_all(struct likely *l);

static int end(struct likely *l, uint32_t process)
{
    struct likely_process *p = &l->processes[process];
    p->now->is_open = false;
    p->now = NULL;
    if (--l->open != 0)
        return 0;
    int rc = join_all(l);
    free_stretches(l);
    return rc;
}

int likely_take(struct likely *l, const struct stream_record *r, uint32_t process, bool *ended)
{
    struct likely_process *p = &l->processes[process];
    struct likely_stretch *s = p->now;
    bool mpi = EVENT_IS_MPI_ENTER(r->event.code) || EVENT_IS_MPI_LEAVE(r->event.code);
    int rc = 0;
    *ended = false;
    if (s != NULL && s->stream == r->stream) {
        if (r->event.window == s->window)
            s->to = r->ns;
        if (r->event.window != s->window || r->event.code == EV_WINDOW_CLOSE) {
            *ended = true;
            rc = end(l, process);
            s = NULL;
        }
    }
    if (rc != 0 || !mpi || r->event.window < 0 || !is_single(l, r, process))
        return rc;
    return s == NULL ? begin(l, r, process) : 0;
}

bool likely_is_open(const struct likely *l, uint32_t process, uint32_t stream)
{
    const struct likely_stretch *s = l->processes[process].now;
    return l->found != NULL && s != NULL && !s->spoilt && s->stream == stream &&
           l->kept < MOST_KEPT;
}

void likely_spoil(struct likely *l, uint32_t process)
{
    if (l->processes[process].now != NULL)
        l->processes[process].now->spoilt = true;
}

uint32_t likely_add_send(struct likely *l, uint32_t process, const struct likely_send *what)
{
    struct likely_stretch *s = l->processes[process].now;
    void *all = array_grown(s->sends, s->send_count, &s->send_room, sizeof *s->sends);
    if (all == NULL)
        return 0;
    s->sends = all;
    s->sends[s->send_count++] = *what;
    l->kept++;
    return (uint32_t)s->send_count;
}

struct likely_send *likely_sent(struct likely *l, uint32_t process, uint32_t number)
{
    struct likely_stretch *s = l->processes[process].now;
    return s != NULL && number != 0 && number <= s->send_count ? &s->sends[number - 1] : NULL;
}

uint32_t likely_add_wait(struct likely *l, uint32_t process, int64_t ns)
{
    struct likely_stretch *s = l->processes[process].now;
    void *all = array_grown(s->waits, s->wait_count + 1, &s->wait_room, sizeof *s->waits);
    if (all == NULL)
        return 0;
    s->waits = all;
    s->waits[++s->wait_count] = (struct likely_wait){.ns = ns};
    return (uint32_t)s->wait_count;
}

static struct likely_wait *wait_of(struct likely *l, uint32_t process, uint32_t wait)
{
    struct likely_stretch *s = l->processes[process].now;
    return s != NULL && wait != 0 && wait <= s->wait_count ? &s->waits[wait] : NULL;
}

void likely_complete(struct likely *l, uint32_t process, uint32_t wait)
{
    struct likely_wait *w = wait_of(l, process, wait);
    if (w != NULL)
        w->complete++;
}

void likely_unclear(struct likely *l, uint32_t process, uint32_t wait)
{
    struct likely_wait *w = wait_of(l, process, wait);
    if (w != NULL)
        w->unclear = true;
}

bool likely_add_receive(struct likely *l, uint32_t process, const struct likely_receive *what)
{
    struct likely_stretch *s = l->processes[process].now;
    void *all = array_grown(s->receives, s->receive_count, &s->receive_room, sizeof *s->receives);
    if (all == NULL)
        return false;
    s->receives = all;
    struct likely_receive *r = &s->receives[s->receive_count++];
    struct likely_wait *w = wait_of(l, process, what->wait);
    *r = *what;
    if (w != NULL) {
        r->next_of_wait = w->first;
        w->first = (uint32_t)s->receive_count;
        w->kept++;
    }
    l->kept++;
    return true;
}

/* --- queues ----------------------------------------------------------------------------------- */

/* Numbers of a stretch's sends or receives, sorted by queue and then by number. */
struct sorted {
    uint32_t *all;
    size_t count;
};

static int compare_ways(const struct queue_key *a, const struct queue_key *b)
{
    if (a->comm != b->comm)
        return a->comm < b->comm ? -1 : 1;
    if (a->sender != b->sender)
        return a->sender < b->sender ? -1 : 1;
    if (a->receiver != b->receiver)
        return a->receiver < b->receiver ? -1 : 1;
    return (a->tag > b->tag) - (a->tag < b->tag);
}

static int by_send_way(const void *a, const void *b, void *stretch)
{
    const struct likely_stretch *s = stretch;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int queue = compare_ways(&s->sends[x].key, &s->sends[y].key);
    return queue != 0 ? queue : (x > y) - (x < y);
}

static int by_receive_way(const void *a, const void *b, void *stretch)
{
    const struct likely_stretch *s = stretch;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int queue = compare_ways(&s->receives[x].key, &s->receives[y].key);
    return queue != 0 ? queue : (x > y) - (x < y);
}

static int sort_sends(struct sorted *o, struct likely_stretch *s)
{
    o->count = 0;
    o->all = calloc(s->send_count + 1, sizeof *o->all);
    if (o->all == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < s->send_count; i++)
        if (!s->sends[i].dropped)
            o->all[o->count++] = (uint32_t)i;
    qsort_r(o->all, o->count, sizeof *o->all, by_send_way, s);
    return 0;
}

static int sort_receives(struct sorted *o, struct likely_stretch *s)
{
    o->count = s->receive_count;
    o->all = calloc(o->count + 1, sizeof *o->all);
    if (o->all == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < o->count; i++)
        o->all[i] = (uint32_t)i;
    qsort_r(o->all, o->count, sizeof *o->all, by_receive_way, s);
    return 0;
}

/* Returns the first send of that queue, and sets *count to the number of its sends. */
static const uint32_t *sends_of(const struct likely_stretch *s, const struct sorted *o,
                                const struct queue_key *key, size_t *count)
{
    size_t n, at;
    SEARCH_FIRST(n, o->count, compare_ways(&s->sends[o->all[n]].key, key) < 0);
    for (at = n; at < o->count && compare_ways(&s->sends[o->all[at]].key, key) == 0;)
        at++;
    *count = at - n;
    return o->all + n;
}

/* --- matching --------------------------------------------------------------------------------- */

struct likely_runs {
    struct shift_run *all;
    size_t count, room;
};

/* Sets *error to the possible clock error between two stretches. Returns false if the clocks of
 * their nodes were not compared. */
static bool error_between(const struct likely *l, const struct likely_stretch *a,
                          const struct likely_stretch *b, int64_t *error)
{
    const struct rt_rank_info *x = rt_rank_info(comms_file(l->comms, a->process));
    const struct rt_rank_info *y = rt_rank_info(comms_file(l->comms, b->process));
    *error = 0;
    if (strcmp(x->host, y->host) == 0)
        return true;
    *error = llabs(x->clock_error_ns) + llabs(y->clock_error_ns);
    return *error != 0;
}

/* Finds the runs of all queues into the stretch `to`. */
static int find_runs(const struct likely *l, struct likely_stretch *to, const struct sorted *in,
                     const struct sorted *sends, struct likely_runs *runs)
{
    for (size_t i = 0, n; i < in->count; i += n) {
        const struct queue_key *key = &to->receives[in->all[i]].key;
        for (n = 1; i + n < in->count && compare_ways(&to->receives[in->all[i + n]].key, key) == 0;)
            n++;
        size_t k = 0;
        for (struct likely_stretch *from = l->first; from != NULL; from = from->next, k++) {
            struct shift_run run = {
                .from = from, .to = to, .receives = in->all + i, .receive_count = n};
            if (from->process != key->sender || from->spoilt || from->from >= to->to ||
                to->from >= from->to || !error_between(l, from, to, &run.error_ns))
                continue;
            run.sends = sends_of(from, &sends[k], key, &run.send_count);
            if (run.send_count == 0)
                continue;
            void *all = array_grown(runs->all, runs->count, &runs->room, sizeof *runs->all);
            if (all == NULL)
                return -ENOMEM;
            runs->all = all;
            shift_bound(&run);
            runs->all[runs->count++] = run;
        }
    }
    return 0;
}

/* Notes which run each receive is in. A receive in the runs of two stretches of its sender is in
 * none. */
static void place(const struct likely_runs *runs, struct shift_place *places, bool *twice)
{
    for (size_t k = 0; k < runs->count; k++)
        for (size_t i = 0; i < runs->all[k].receive_count; i++) {
            uint32_t r = runs->all[k].receives[i];
            twice[r] = twice[r] || places[r].run != NULL;
            places[r] = (struct shift_place){twice[r] ? NULL : &runs->all[k], i};
        }
}

static void tell(struct likely *l, const struct shift_run *run)
{
    const int64_t n = (int64_t)run->receive_count, m = (int64_t)run->send_count;
    for (int64_t i = run->most < 0 ? -run->most : 0; i < n && i + run->most < m; i++) {
        struct likely_receive *r = &run->to->receives[run->receives[i]];
        struct likely_send *s = &run->from->sends[run->sends[i + run->most]];
        if (r->used || s->dropped)
            continue;
        r->used = s->dropped = true; /* so that count_left() skips them */
        l->found(l->context, &r->key, s, r);
    }
}

static int join_into(struct likely *l, struct likely_stretch *to, const struct sorted *sends)
{
    struct sorted in = {NULL, 0};
    struct likely_runs runs = {NULL, 0, 0};
    struct shift_place *places = calloc(to->receive_count + 1, sizeof *places);
    bool *twice = calloc(to->receive_count + 1, sizeof *twice);
    int rc = places != NULL && twice != NULL ? sort_receives(&in, to) : -ENOMEM;
    if (rc == 0)
        rc = find_runs(l, to, &in, sends, &runs);
    if (rc == 0)
        place(&runs, places, twice);
    for (size_t k = 0; rc == 0 && k < runs.count; k++)
        shift_judge(&runs.all[k], places);
    for (size_t k = 0; rc == 0 && k < runs.count; k++)
        if (runs.all[k].sure)
            tell(l, &runs.all[k]);
    free(runs.all);
    free(places);
    free(twice);
    free(in.all);
    return rc;
}

static void count_left(struct likely *l)
{
    for (const struct likely_stretch *s = l->first; s != NULL; s = s->next) {
        for (size_t i = 0; i < s->send_count; i++)
            l->left->sends[s->sends[i].why] += !s->sends[i].dropped;
        for (size_t i = 0; i < s->receive_count; i++)
            l->left->receives[s->receives[i].why] += !s->receives[i].used;
    }
}

/* Marks a stretch as not fully known if the cancelling of a send has not ended in it: the message
 * may or may not have been sent. */
static void spoil_cancelling(struct likely_stretch *s)
{
    for (size_t i = 0; i < s->send_count; i++)
        s->spoilt |=
            s->sends[i].cancelling && !s->sends[i].dropped && s->sends[i].done_ns == INT64_MAX;
}

static int join_all(struct likely *l)
{
    size_t count = 0, k = 0;
    for (const struct likely_stretch *s = l->first; s != NULL; s = s->next)
        count++;
    struct sorted *sends = calloc(count + 1, sizeof *sends);
    int rc = sends != NULL ? 0 : -ENOMEM;
    for (struct likely_stretch *s = l->first; rc == 0 && s != NULL; s = s->next) {
        spoil_cancelling(s);
        rc = sort_sends(&sends[k++], s);
    }
    for (struct likely_stretch *s = l->first; rc == 0 && s != NULL; s = s->next)
        if (!s->spoilt && s->receive_count != 0)
            rc = join_into(l, s, sends);
    for (k = 0; sends != NULL && k < count; k++)
        free(sends[k].all);
    free(sends);
    count_left(l);
    return rc;
}

int likely_end(struct likely *l)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < comms_processes(l->comms); i++)
        if (l->processes[i].now != NULL)
            rc = end(l, i);
    return rc;
}
