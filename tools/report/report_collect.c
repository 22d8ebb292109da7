/* SPDX-License-Identifier: BSD-3-Clause
 * Reads a run for the report: every rank file and the log. Finds missing ranks and the common
 * origin of time. */
#include "tools/report/report.h"

#include "base/toolkit/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *report_alarm_text(const struct report_rank *rank, int32_t alarm)
{
    for (size_t i = 0; alarm != RT_NO_ALARM && i < rank->alarm_count; i++)
        if (rank->alarms[i].alarm == alarm)
            return rank->alarms[i].text;
    return NULL;
}

const char *report_window_reason(uint8_t reason)
{
    const char *text = window_reason_text(reason);
    return text != NULL ? text : "unknown";
}

const char *report_window_kind(uint16_t kind)
{
    const char *text = window_kind_text(kind);
    return text != NULL ? text : "unknown";
}

const char *report_loss_name(unsigned kind)
{
    const char *text = loss_kind_text(kind);
    return text != NULL ? text : "unknown";
}

const char *report_file_state(const struct report_rank *rank)
{
    static const char *const names[] = {"closing", "closed", "recovered", "abandoned"};
    if (rank->error != NULL)
        return "unreadable";
    if (rank->info.process_lives)
        return "live";
    return (unsigned)rank->info.state < 4 ? names[rank->info.state] : "unknown";
}

static void collect_chains(struct report *r, const struct rt_rank *rank)
{
    char key[32];
    for (unsigned i = 0; r->chain_count == i && i < 65000; i++) {
        (void)snprintf(key, sizeof key, "chain.%u", i);
        const char *text = rt_rank_metadata(rank, key);
        char **more = text != NULL ? realloc(r->chains, (i + 1) * sizeof *more) : NULL;
        if (more == NULL)
            return;
        r->chains = more;
        r->chains[i] = strdup(text);
        r->chain_count++;
    }
}

/* The traced process writes never_fired.N = index TAB text TAB reason TAB reached TAB count. */
static void collect_never_fired(struct report *r, const struct rt_rank *rank)
{
    char key[40];
    for (unsigned i = 0; i < 65000; i++) {
        (void)snprintf(key, sizeof key, "never_fired.%u", i);
        const char *value = rt_rank_metadata(rank, key);
        struct report_text_item *more =
            value != NULL ? realloc(r->never_fired, (r->never_fired_count + 1) * sizeof *more)
                          : NULL;
        if (more == NULL)
            return;
        r->never_fired = more;
        char *copy = strdup(value), *at = copy, *text = NULL;
        const char *field[5] = {"", "", "", "0", "0"};
        for (int f = 0; f < 5 && at != NULL; f++)
            field[f] = strsep(&at, "\t");
        if (strcmp(field[4], "1") == 0 || field[4][0] == '\0' || strcmp(field[3], "0") == 0)
            (void)asprintf(&text, "%s: %s", field[1], field[2]);
        else
            (void)asprintf(&text, "%s: %s (%s of %s)", field[1], field[2], field[3], field[4]);
        free(copy);
        more[r->never_fired_count++] = (struct report_text_item){rt_rank_info(rank)->rank, text};
    }
}

static void collect_log(struct report *r)
{
    char path[4200], *line = NULL;
    size_t room = 0;
    (void)snprintf(path, sizeof path, "%s/regtrace.log", r->dir);
    FILE *f = fopen_regular(path);
    while (f != NULL && getline(&line, &room, f) > 0) {
        char **more = realloc(r->log, (r->log_count + 1) * sizeof *more);
        if (more == NULL)
            break;
        r->log = more;
        line[strcspn(line, "\n")] = '\0';
        r->log[r->log_count++] = strdup(line);
    }
    free(line);
    if (f != NULL)
        (void)fclose(f);
}

static void find_size(struct report *r)
{
    for (size_t i = 0; i < r->rank_count; i++)
        if (r->ranks[i].error == NULL && r->ranks[i].info.is_main &&
            r->ranks[i].info.size > r->size)
            r->size = r->ranks[i].info.size;
}

void *report_room(size_t count, size_t bytes, const char *what)
{
    void *room = calloc(count, bytes);
    if (room == NULL)
        tool_warning("report", "no memory: %s are left out", what);
    return room;
}

static void find_missing(struct report *r)
{
    if (r->size <= 0 || r->size > 1 << 24)
        return;
    bool *seen = report_room((size_t)r->size, sizeof *seen, "missing ranks");
    r->missing = report_room((size_t)r->size, sizeof *r->missing, "missing ranks");
    for (size_t i = 0; seen != NULL && i < r->rank_count; i++)
        if (r->ranks[i].info.rank >= 0 && r->ranks[i].info.rank < r->size)
            seen[r->ranks[i].info.rank] = true;
    for (int32_t i = 0; seen != NULL && r->missing != NULL && i < r->size; i++)
        if (!seen[i])
            r->missing[r->missing_count++] = i;
    free(seen);
}

/* Makes clocks ns since the first thread of any rank began, so that ranks can be compared. */
static void apply_origin(struct report *r)
{
    r->origin_ns = INT64_MAX;
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        if (k->error != NULL || k->first_ns >= r->origin_ns)
            continue;
        r->origin_ns = k->first_ns;
        r->origin_realtime_ns = k->has_realtime ? k->first_ns + k->realtime_minus_monotonic_ns : 0;
    }
    if (r->origin_ns == INT64_MAX)
        r->origin_ns = 0;
    for (size_t i = 0; i < r->rank_count; i++)
        for (size_t w = 0; w < r->ranks[i].window_count; w++) {
            r->ranks[i].windows[w].start_ns -= r->origin_ns;
            r->ranks[i].windows[w].stop_ns -= r->origin_ns;
        }
}

/* Returns the rank in the name of a file that cannot be opened, or -1. */
static int32_t rank_of_name(const char *file)
{
    return strncmp(file, "rank-", 5) == 0 ? (int32_t)strtol(file + 5, NULL, 10) : -1;
}

static void collect_file(struct report *r, const struct rt_run *run, size_t i, struct progress *p)
{
    struct report_rank *out = &r->ranks[r->rank_count];
    struct rt_rank *rank = NULL;
    struct rt_error why = {{0}};
    memset(out, 0, sizeof *out);
    int rc = rt_rank_open(&rank, run, i, &why);
    out->file = strdup(rt_run_file(run, i)); /* after opening: the file may have been renamed */
    if (rc == 0)
        rc = report_read_rank(r, out, rank, p, &why);
    if (rc == 0) {
        collect_chains(r, rank);
        collect_never_fired(r, rank);
    } else {
        out->error = strdup(why.text[0] != '\0' ? why.text : strerror(-rc));
        out->info.rank = rank != NULL ? out->info.rank : rank_of_name(out->file);
        r->failed++;
    }
    rt_rank_close(rank);
    r->rank_count++;
}

/* Drops ranks outside the list, which were read to find the origin and the missing ranks. */
static void keep_ranks(struct report *r, const struct rank_list *ranks);

/* Refuses a span in which no rank has a window: that is a mistake, not an empty report. */
static int require_windows(const struct report *r, struct rt_error *e)
{
    char text[48];
    size_t windows = 0;
    for (size_t i = 0; i < r->rank_count; i++)
        windows += r->ranks[i].window_count;
    if (!r->windows.given || windows > 0 || r->failed > 0)
        return 0;
    rt_error_set(e, "%s of -window is not in %s; `regtrace report --all` lists those that are",
                 window_span_text(text, &r->windows), r->dir);
    return -ENOENT;
}

int report_observe(const struct report *r, int32_t rank, const struct report_piece *piece)
{
    bool wanted = r->observer != NULL && rank_list_has(r->rank_list, rank);
    return wanted ? r->observer->take(r->observer->context, piece) : 0;
}

int report_collect(struct report *r, const struct rt_run *run, const struct rank_list *ranks,
                   const struct window_span *windows, struct rt_error *e)
{
    return report_collect_observed(r, run, ranks, windows, NULL, e);
}

int report_collect_observed(struct report *r, const struct rt_run *run,
                            const struct rank_list *ranks, const struct window_span *windows,
                            const struct report_observer *observer, struct rt_error *e)
{
    struct progress p;
    *r = (struct report){.size = -1, .windows = *windows, .rank_list = ranks, .observer = observer};
    size_t count = rt_run_count(run);
    r->dir = strdup(rt_run_dir(run));
    r->ranks = calloc(count + 1, sizeof *r->ranks);
    if (r->dir == NULL || r->ranks == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    char what[64];
    progress_begin(&p, "");
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(what, sizeof what, "reading file %zu of %zu", i + 1, count);
        p.what = what;
        collect_file(r, run, i, &p);
    }
    progress_end(&p);
    struct rt_processes processes;
    rt_run_processes(r->dir, &processes);
    r->living = processes.living;
    find_size(r);
    if (!rt_run_is_one_file(run))
        find_missing(r);
    apply_origin(r);
    collect_log(r);
    for (size_t i = 0; i < r->addresses.count; i++)
        (void)addresses_name(&r->addresses, (uint32_t)i);
    keep_ranks(r, ranks);
    if (r->rank_count == 0) {
        rt_error_set(e, "none of the ranks asked for (-rank) is in %s", r->dir);
        return -ENOENT;
    }
    return require_windows(r, e);
}

static void free_rank(struct report_rank *k)
{
    for (size_t i = 0; k->threads != NULL && i < k->thread_count; i++)
        free(k->threads[i].name);
    for (size_t i = 0; k->alarms != NULL && i < k->alarm_count; i++)
        free(k->alarms[i].text);
    for (size_t i = 0; k->windows != NULL && i < k->window_count; i++)
        free(k->windows[i].region);
    free(k->windows);
    free(k->threads);
    free(k->alarms);
    free(k->functions);
    free(k->program_functions);
    free(k->file);
    free(k->host);
    free(k->program);
    free(k->end_reason);
    free(k->error);
}

static void keep_ranks(struct report *r, const struct rank_list *ranks)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->rank_count; i++) {
        if (!rank_list_has(ranks, r->ranks[i].info.rank)) {
            r->failed -= r->ranks[i].error != NULL;
            free_rank(&r->ranks[i]);
        } else {
            r->ranks[kept++] = r->ranks[i];
        }
    }
    r->rank_count = kept;
}

static void free_texts(char **texts, size_t n)
{
    for (size_t i = 0; texts != NULL && i < n; i++)
        free(texts[i]);
    free(texts);
}

void report_free(struct report *r)
{
    for (size_t i = 0; r->ranks != NULL && i < r->rank_count; i++)
        free_rank(&r->ranks[i]);
    for (size_t i = 0; i < REPORT_FUNCTIONS; i++)
        free(r->names[i]);
    for (size_t i = 0; i < r->never_fired_count; i++)
        free(r->never_fired[i].text);
    addresses_free(&r->addresses);
    call_sites_free(&r->call_sites);
    call_tree_free(&r->call_tree);
    report_profile_free(&r->profile);
    report_free_waits(r);
    free_texts(r->chains, r->chain_count);
    free_texts(r->log, r->log_count);
    free(r->never_fired);
    free(r->missing);
    free(r->ranks);
    free(r->dir);
    memset(r, 0, sizeof *r);
}
