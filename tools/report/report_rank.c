/* SPDX-License-Identifier: BSD-3-Clause
 * Reads one rank file for the report: its tables, then its events once, in blocks. */
#include "tools/open_run.h"
#include "base/format/event_fields.h"
#include "tools/mpi_leave.h"
#include "tools/report/calls/path_places.h"
#include "tools/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_ROWS 65536
#define STACK_DEPTH 256
/* The bits of b in an enter event that hold bytes. */
#define MOST_BYTES ((UINT64_C(1) << 48) - 1)

/* Open calls of one thread, while its events are read in order. */
struct call_stack {
    int32_t thread;
    /* may exceed STACK_DEPTH: deeper calls are counted, not timed */
    unsigned depth;
    /* events were dropped: a leave may come whose enter is lost */
    bool gap;
    uint32_t told_path;           /* call path of the next leave, by EV_MPI_CALL_PATH */
    struct report_window *window; /* the thread's open window */
    struct {
        uint32_t function;
        uint64_t clock;
        /* from its enter event; MOST_BYTES: the call has no message */
        uint64_t bytes;
    } calls[STACK_DEPTH];
};

struct rank_pass {
    struct report *report;
    struct report_rank *out;
    struct rt_rank *rank;
    struct call_stack *stacks;
    size_t stack_count;
    struct function_pass functions;
    struct path_places places;
    bool has_profile;   /* calls are taken from the profile instead */
    size_t next_window; /* of out->windows, which are in the order of their openings */
};

static bool is_periodic(const struct rt_rank *rank, const struct rt_alarm *alarm)
{
    char key[32];
    if (strcmp(alarm->type, "icount") != 0)
        return strcmp(alarm->type, "uniform") == 0;
    (void)snprintf(key, sizeof key, "chain.%d", (int)alarm->chain);
    const char *chain = rt_rank_metadata(rank, key);
    return chain != NULL && strstr(chain, ",repeat") != NULL;
}

static int by_open_row(const void *a, const void *b)
{
    const struct report_window *x = a, *y = b;
    return x->row.open_row < y->row.open_row ? -1 : x->row.open_row > y->row.open_row;
}

static int copy_tables(struct report_rank *out, const struct rt_rank *rank,
                       const struct window_span *windows)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    out->windows = calloc(t->window_count + 1, sizeof *out->windows);
    out->threads = calloc(t->thread_count + 1, sizeof *out->threads);
    out->alarms = calloc(t->alarm_count + 1, sizeof *out->alarms);
    out->functions = calloc(REPORT_FUNCTIONS, sizeof *out->functions);
    if (out->windows == NULL || out->threads == NULL || out->alarms == NULL ||
        out->functions == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < t->window_count; i++) {
        if (!window_span_has(windows, t->windows[i].ordinal))
            continue;
        struct report_window *w = &out->windows[out->window_count++];
        w->row = t->windows[i];
        w->region = strdup(rt_rank_string(rank, w->row.region));
    }
    if (out->window_count > 1)
        qsort(out->windows, out->window_count, sizeof *out->windows, by_open_row);
    for (size_t i = 0; i < t->thread_count; i++) {
        out->threads[i].row = t->threads[i];
        out->threads[i].name = strdup(rt_rank_string(rank, t->threads[i].name));
    }
    for (size_t i = 0; i < t->alarm_count; i++) {
        out->alarms[i].alarm = t->alarms[i].alarm;
        out->alarms[i].periodic = is_periodic(rank, &t->alarms[i]);
        out->alarms[i].text = strndup(t->alarms[i].text, sizeof t->alarms[i].text);
    }
    out->thread_count = t->thread_count;
    out->alarm_count = t->alarm_count;
    return 0;
}

static void copy_losses(struct report_rank *out, const struct rt_rank *rank)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    /* Its stream may hold events that no writer has stored. `regtrace recover` finds them. */
    out->lost_unknown = rt_rank_info(rank)->state == RT_FILE_ABANDONED;
    for (size_t i = 0; i < t->loss_count; i++) {
        const struct rt_loss *l = &t->losses[i];
        if (l->kind > RT_LOSS_STORAGE)
            continue;
        out->loss[l->kind] += l->count;
        if (l->kind == RT_LOSS_DROPPED || l->kind == RT_LOSS_INCOMPLETE ||
            l->kind == RT_LOSS_UNTHREADED || l->kind == RT_LOSS_STORAGE)
            out->lost_events += l->count;
        out->lost_unknown |= l->kind == RT_LOSS_CHUNKS || l->kind == RT_LOSS_STREAM_GONE ||
                             (l->kind == RT_LOSS_STORAGE && l->count == 0);
    }
}

struct report_thread *report_find_thread(const struct report_rank *k, int32_t thread)
{
    for (size_t i = 0; i < k->thread_count; i++)
        if (k->threads[i].row.thread == thread)
            return &k->threads[i];
    return NULL;
}

/* If other threads have joined the window, returns the row of the thread that opened it. */
static const struct rt_window *firing_row(const struct rt_rank_tables *t, const struct rt_window *w)
{
    for (size_t i = 0; !w->firing && i < t->window_count; i++)
        if (t->windows[i].ordinal == w->ordinal && t->windows[i].firing)
            return &t->windows[i];
    return w;
}

/* Returns what opened a window that no alarm opened, according to the last row of /fired before
 * it. */
static const char *opener(const struct rt_rank_tables *t, const struct rt_window *w)
{
    const struct rt_fired *last = NULL;
    if (w->start_alarm != RT_NO_ALARM)
        return NULL;
    w = firing_row(t, w);
    for (size_t i = 0; i < t->fired_count; i++)
        if (t->fired[i].thread == w->thread && t->fired[i].row <= w->open_row &&
            (last == NULL || t->fired[i].row > last->row))
            last = &t->fired[i];
    if (last != NULL && (last->flags & 16u) != 0)
        return "default start";
    return last != NULL && (last->flags & 32u) != 0 ? "API" : "unknown";
}

static void place_windows(struct report_rank *out, const struct rt_rank *rank)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    for (size_t i = 0; i < out->window_count; i++) {
        struct report_window *w = &out->windows[i];
        w->start_ns = rt_rank_ns(rank, w->row.start_clock);
        w->has_stop = w->row.stop_clock != 0;
        w->stop_ns = w->has_stop ? rt_rank_ns(rank, w->row.stop_clock) : 0;
        w->opened_by = opener(t, &w->row);
        struct report_thread *thread = report_find_thread(out, w->row.thread);
        if (w->has_stop && thread != NULL)
            thread->window_ns += (double)(w->stop_ns - w->start_ns);
    }
}

static void place_threads(struct report_rank *out, const struct rt_rank *rank)
{
    out->first_ns = INT64_MAX;
    out->is_part = rt_rank_metadata(rank, "split.window") != NULL;
    for (size_t i = 0; i < out->thread_count; i++) {
        const struct rt_thread *row = &out->threads[i].row;
        if (row->started != 0 && rt_rank_ns(rank, row->started) < out->first_ns)
            out->first_ns = rt_rank_ns(rank, row->started);
        if (row->started != 0 && row->ended > row->started && !out->is_part)
            out->threads[i].life_ns = rt_rank_span_ns(rank, row->ended - row->started);
        out->dropped += row->dropped;
        out->waits += row->waits;
        out->interrupted += row->interrupted;
        out->wait_ns += rt_rank_span_ns(rank, row->wait_ticks);
        out->own_ns += rt_rank_span_ns(rank, row->own_ticks);
    }
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    if (t->calibration_count > 0) {
        out->has_realtime = true;
        out->realtime_minus_monotonic_ns =
            (int64_t)(t->calibration[0].realtime_ns - t->calibration[0].monotonic_ns);
        if (out->first_ns == INT64_MAX)
            out->first_ns = rt_rank_ns(rank, t->calibration[0].ticks);
    }
    const char *skipped = rt_rank_metadata(rank, "mpi_completions_skipped");
    out->completions_skipped = skipped != NULL ? strtoull(skipped, NULL, 10) : 0;
    const char *unnumbered = rt_rank_metadata(rank, "mpi_messages_unnumbered");
    out->unnumbered = unnumbered != NULL ? strtoull(unnumbered, NULL, 10) : 0;
    const char *cost = rt_rank_metadata(rank, "event_cost_ticks");
    double ticks = cost != NULL ? strtod(cost, NULL) : 0;
    if (ticks > 0 && ticks < 1e6)
        out->event_cost_ns = ticks * rt_rank_span_ns(rank, 1000000000) / 1e9;
}

static struct call_stack *stack_of(struct rank_pass *p, int32_t thread)
{
    for (size_t i = 0; i < p->stack_count; i++)
        if (p->stacks[i].thread == thread)
            return &p->stacks[i];
    struct call_stack *more = realloc(p->stacks, (p->stack_count + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    p->stacks = more;
    more += p->stack_count++;
    more->thread = thread;
    more->depth = 0;
    more->gap = false;
    more->told_path = 0;
    more->window = NULL;
    return more;
}

static void take_enter(struct rank_pass *p, struct call_stack *s, const struct rt_event *ev,
                       uint32_t f)
{
    struct report_calls *c = &p->out->functions[f];
    bool nested = s->depth > 0;
    if (s->depth < STACK_DEPTH) {
        s->calls[s->depth].function = f;
        s->calls[s->depth].clock = ev->clock;
        s->calls[s->depth].bytes = (int32_t)EVENT_GET(ev, EV_MPI_ENTER, peer) != -2
                                       ? EVENT_GET(ev, EV_MPI_ENTER, bytes)
                                       : MOST_BYTES;
    }
    s->depth++;
    c->calls++;
    c->nested += nested;
    c->cut += (ev->flags & EVENT_FLAG_CUT) != 0;
    if (nested)
        return;
    bool nobody = (int32_t)EVENT_GET(ev, EV_MPI_ENTER, peer) == -2; /* MPI_PROC_NULL: no message */
    uint64_t bytes = nobody ? 0 : EVENT_GET(ev, EV_MPI_ENTER, bytes);
    c->bytes += bytes;
    p->out->calls++;
    p->out->bytes += bytes;
    struct report_thread *thread = report_find_thread(p->out, ev->thread);
    if (thread != NULL)
        thread->calls++;
    if (s->window == NULL) /* a damaged file: no row of /windows opens here */
        return;
    s->window->calls++;
    s->window->bytes += bytes;
}

/* Adds bytes that were unknown at the enter event. The leave event's b holds the call's total. */
static void take_late_bytes(struct rank_pass *p, struct call_stack *s, const struct rt_event *ev,
                            uint32_t f)
{
    uint64_t all = EVENT_GET(ev, EV_MPI_LEAVE, bytes);
    if ((ev->flags & EVENT_FLAG_PATH) != 0 || all <= s->calls[0].bytes)
        return;
    p->out->functions[f].bytes += all - s->calls[0].bytes;
    p->out->bytes += all - s->calls[0].bytes;
    if (s->window != NULL)
        s->window->bytes += all - s->calls[0].bytes;
    s->calls[0].bytes = all;
}

/* Adds an outermost call to its call site and its call path. */
static int take_site(struct rank_pass *p, const struct call_stack *s, uint32_t path, int32_t window,
                     double ns)
{
    struct path_place place;
    struct report *r = p->report;
    uint32_t function = s->calls[0].function;
    uint64_t bytes = s->calls[0].bytes != MOST_BYTES ? s->calls[0].bytes : 0;
    if (p->has_profile || !rank_list_has(r->rank_list, p->out->info.rank))
        return 0;
    int rc = path_places_find(&p->places, r, p->rank, path, &place);
    if (rc == 0)
        rc = call_sites_add_calls(&r->call_sites, p->out->info.rank, function, place.item, 1, ns,
                                  bytes);
    if (rc == 0)
        rc = call_tree_add_calls(&r->call_tree, place.node, function, 1, ns, bytes);
    const struct report_piece piece = {.kind = PIECE_MPI,
                                       .window = window,
                                       .function = function,
                                       .path = place.node,
                                       .ns = ns,
                                       .amount = bytes};
    return rc == 0 ? report_observe(r, p->out->info.rank, &piece) : rc;
}

static int take_leave(struct rank_pass *p, struct call_stack *s, const struct rt_event *ev,
                      uint32_t f)
{
    uint32_t path = mpi_leave_path(ev, &s->told_path);
    /* An exception or longjmp() out of a call skips leaves: drop the calls above the matching
     * enter. */
    unsigned depth = s->depth < STACK_DEPTH ? s->depth : STACK_DEPTH;
    while (depth > 0 && s->calls[depth - 1].function != f)
        depth--;
    if (depth == 0) {
        p->out->unmatched += !s->gap;
        return 0;
    }
    if (s->depth <= STACK_DEPTH)
        p->out->unmatched += s->depth - depth;
    s->depth = depth - 1;
    p->out->functions[f].cut += (ev->flags & EVENT_FLAG_CUT) != 0;
    if (s->depth > 0)
        return 0;
    take_late_bytes(p, s, ev, f);
    double ns = ev->clock >= s->calls[0].clock
                    ? rt_rank_span_ns(p->rank, ev->clock - s->calls[0].clock)
                    : 0;
    p->out->functions[f].time_ns += ns;
    p->out->mpi_ns += ns;
    struct report_thread *thread = report_find_thread(p->out, ev->thread);
    if (thread != NULL)
        thread->mpi_ns += ns;
    if (s->window != NULL)
        s->window->mpi_ns += ns;
    return take_site(p, s, path, ev->window, ns);
}

/* Returns the window that the event in this row of /events opens, or NULL. */
static struct report_window *opened_here(struct rank_pass *p, uint64_t row)
{
    const struct report_rank *k = p->out;
    while (p->next_window < k->window_count && k->windows[p->next_window].row.open_row < row)
        p->next_window++;
    bool here = p->next_window < k->window_count && k->windows[p->next_window].row.open_row == row;
    return here ? &k->windows[p->next_window] : NULL;
}

static int take_counter(struct rank_pass *p, const struct call_stack *s, const struct rt_event *ev)
{
    if (ev->code == EV_MPI_COUNTER) {
        if (s->depth > 0) /* else its enter was dropped */
            report_counters_take(p->out, p->rank, ev, s->window,
                                 &p->out->functions[s->calls[0].function]);
        return 0;
    }
    report_counters_take(p->out, p->rank, ev, s->window, NULL);
    const struct report_piece piece = {
        .kind = PIECE_COUNTER,
        .window = ev->window,
        .name = rt_rank_string(p->rank, (uint32_t)EVENT_GET(ev, EV_COUNTER, event)),
        .amount = ev->b};
    return report_observe(p->report, p->out->info.rank, &piece);
}

/* The report itself has no samples (hot.h). */
static int take_sample(struct rank_pass *p, const struct rt_event *ev)
{
    struct report_piece piece = {
        .kind = PIECE_SAMPLE, .window = ev->window, .amount = EVENT_GET(ev, EV_SAMPLE, periods)};
    int rc = addresses_find(&p->report->addresses, ev->a, ev->clock, &piece.item);
    return rc == 0 ? report_observe(p->report, p->out->info.rank, &piece) : rc;
}

static int take_event(struct rank_pass *p, const struct rt_event *ev, uint64_t row)
{
    p->out->is_in_mpi |= ev->code == EV_MPI_READY;
    if (!window_span_has(&p->report->windows, ev->window))
        return 0;
    p->out->events++;
    bool unknown = (ev->flags & EVENT_FLAG_CUT) != 0;
    if (ev->code == EV_MPI_BYTES && !unknown)
        p->out->received += ev->b;
    p->out->completions_unknown += ev->code == EV_MPI_COMPLETE && unknown;
    if (report_functions_take(p->report, p->out, &p->functions, p->rank, ev) != 0)
        return -ENOMEM;
    if (ev->code == EV_MEMORY)
        report_memory_take(p->out, ev);
    if (ev->code == EV_SAMPLE && p->report->observer != NULL)
        return take_sample(p, ev);
    bool counted = ev->code == EV_MPI_COUNTER || ev->code == EV_COUNTER;
    bool gap = ev->code == EV_DROPPED || ev->code == EV_WINDOW_OPEN || ev->code == EV_WINDOW_CLOSE;
    bool enter = EVENT_IS_MPI_ENTER(ev->code);
    bool told = ev->code == EV_MPI_CALL_PATH;
    if (!gap && !enter && !counted && !told && !EVENT_IS_MPI_LEAVE(ev->code))
        return 0;
    struct call_stack *s = stack_of(p, ev->thread);
    if (s == NULL)
        return -ENOMEM;
    if (counted)
        return take_counter(p, s, ev);
    uint32_t f = EVENT_MPI_FUNCTION(ev->code);
    if (told) {
        s->told_path = (uint32_t)EVENT_GET(ev, EV_MPI_CALL_PATH, path);
    } else if (gap) {
        /* Cut leaves precede a window's close, so a longjmp() skipped the leaves of calls that are
         * still open. */
        s->gap = ev->code == EV_DROPPED;
        p->out->unmatched += s->gap ? 0 : s->depth;
        s->depth = 0;
        s->told_path = 0;
        if (ev->code != EV_DROPPED)
            s->window = ev->code == EV_WINDOW_OPEN ? opened_here(p, row) : NULL;
    } else if (enter) {
        report_name_function(p->report, p->rank, ev->code);
        take_enter(p, s, ev, f);
    } else {
        return take_leave(p, s, ev, f);
    }
    return 0;
}

static int pass_over_events(struct rank_pass *p, struct progress *progress, struct rt_error *e)
{
    struct rt_event *block = calloc(BLOCK_ROWS, sizeof *block);
    int rc = block != NULL ? 0 : -ENOMEM;
    size_t got = 1;
    for (uint64_t row = 0; rc == 0 && got > 0; row += got) {
        rc = rt_rank_read_events(p->rank, row, BLOCK_ROWS, block, &got, e);
        for (size_t i = 0; rc == 0 && i < got; i++)
            rc = take_event(p, &block[i], row + i);
        progress_update(progress, row, p->out->info.event_count);
    }
    if (rc == -ENOMEM)
        rt_error_set(e, "no memory");
    free(block);
    free(p->stacks);
    path_places_free(&p->places);
    report_functions_end(&p->functions);
    return rc;
}

static bool option_is(const struct rt_rank *rank, const char *key, char value)
{
    const char *text = rt_rank_metadata(rank, key);
    return text != NULL && text[0] == value && text[1] == '\0';
}

static bool option_is_given(const struct rt_rank *rank, const char *key)
{
    const char *text = rt_rank_metadata(rank, key);
    return text != NULL && text[0] != '\0' && strcmp(text, "0") != 0;
}

int report_read_rank(struct report *r, struct report_rank *out, struct rt_rank *rank,
                     struct progress *progress, struct rt_error *e)
{
    const struct rt_rank_info *info = rt_rank_info(rank);
    out->info = *info;
    out->host = strdup(info->host);
    out->program = strdup(info->program);
    out->end_reason = strdup(info->end_reason);
    if (out->host == NULL || out->program == NULL || out->end_reason == NULL ||
        copy_tables(out, rank, &r->windows) != 0) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    copy_losses(out, rank);
    place_threads(out, rank);
    place_windows(out, rank);
    out->counts_events = option_is_given(rank, "option.events");
    out->has_functions = option_is_given(rank, "option.functions");
    out->names_work = out->has_functions || option_is_given(rank, "option.sample");
    out->is_counting_run = option_is(rank, "option.count", '1');
    out->default_start = !option_is(rank, "option.default_start", '0');
    const char *mode = rt_rank_metadata(rank, "option.mode");
    out->records_mpi = !option_is(rank, "option.record_mpi", '0');
    out->is_in_mpi = info->confirmed;
    out->is_profiled = mode != NULL && strcmp(mode, "profile") == 0;
    struct rank_pass p = {
        .report = r, .out = out, .rank = rank, .has_profile = report_has_profile(r, rank)};
    if (addresses_begin_rank(&r->addresses, rank) != 0) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    int rc = pass_over_events(&p, progress, e);
    if (rc == 0 && p.has_profile && (rc = report_profile_take(r, out, rank)) != 0)
        rt_error_set(e, "no memory");
    out->is_in_mpi |= out->calls > 0;
    for (size_t i = 0; i < out->thread_count; i++) {
        out->window_ns += out->threads[i].window_ns;
        if (out->threads[i].calls > 0)
            out->mpi_window_ns +=
                p.has_profile ? out->threads[i].life_ns : out->threads[i].window_ns;
    }
    return rc;
}
