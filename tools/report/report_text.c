/* SPDX-License-Identifier: BSD-3-Clause
 * Prints the report for people: what was recorded, where the time in MPI went, what was lost, what
 * it cost. */
#include "tools/json.h"
#include "tools/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RANKS_SHOWN 24
#define RANKS_EXTREME 5
#define LOG_SHOWN 40

const char *report_bytes_text(char out[24], uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double v = (double)bytes;
    unsigned u = 0;
    for (; v >= 10000 && u < 5; u++)
        v /= 1024;
    (void)snprintf(out, 24, u == 0 ? "%.0f %s" : "%.1f %s", v, units[u]);
    return out;
}

const char *report_time_text(char out[24], double ns)
{
    double a = ns < 0 ? -ns : ns;
    if (a < 1e3)
        (void)snprintf(out, 24, "%.0f ns", ns);
    else if (a < 1e6)
        (void)snprintf(out, 24, "%.2f us", ns / 1e3);
    else if (a < 1e9)
        (void)snprintf(out, 24, "%.2f ms", ns / 1e6);
    else
        (void)snprintf(out, 24, "%.3f s", ns / 1e9);
    return out;
}

static unsigned count_hosts(const struct report *r)
{
    unsigned n = 0;
    for (size_t i = 0; i < r->rank_count; i++) {
        bool new_one = r->ranks[i].host != NULL;
        for (size_t k = 0; new_one && k < i; k++)
            new_one = r->ranks[k].host == NULL || strcmp(r->ranks[k].host, r->ranks[i].host) != 0;
        n += new_one;
    }
    return n;
}

/* If the writer lives, it is just writing that row, and the next read finds it complete. */
uint64_t report_left_out(const struct report_rank *k)
{
    return k->error == NULL && k->info.state == RT_FILE_ABANDONED ? k->info.left_out : 0;
}

static bool is_by_api(const struct report_window *w)
{
    return (w->opened_by != NULL && strcmp(w->opened_by, "API") == 0) ||
           w->row.reason == RT_WINDOW_API;
}

static bool is_profiled(const struct report *r)
{
    bool found = false;
    for (size_t i = 0; i < r->rank_count; i++)
        found |= r->ranks[i].error == NULL && r->ranks[i].is_profiled;
    return found;
}

/* Returns what opens windows in a run that has no chains. */
static const char *without_chains(const struct report *r)
{
    bool counting = false, default_start = false, api = false;
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        counting |= k->error == NULL && k->is_counting_run;
        default_start |= k->error == NULL && k->default_start;
        for (size_t w = 0; w < k->window_count; w++)
            api |= is_by_api(&k->windows[w]);
    }
    if (is_profiled(r))
        return "a profile of all MPI calls, without events";
    if (counting)
        return api ? "a counting run; windows are those of regtrace_start() in the program"
                   : "a counting run, which opens no window";
    if (!default_start)
        return "no default start either (-controller-default-start 0); windows are those of "
               "regtrace_start() in the program";
    return api ? "each thread starts in a window; regtrace_stop() and regtrace_start() in the "
                 "program, or regtrace ctl, close and open windows"
               : "the whole run is one window";
}

static void print_head(FILE *out, const struct report *r)
{
    uint64_t events = 0, lost = 0, texts = 0, left_out = 0;
    bool unknown = false;
    char span[48];
    const char *program = NULL;
    for (size_t i = 0; i < r->rank_count; i++) {
        events += r->ranks[i].events;
        lost += r->ranks[i].lost_events;
        texts += r->ranks[i].loss[RT_LOSS_STRINGS];
        left_out += report_left_out(&r->ranks[i]);
        unknown |= r->ranks[i].lost_unknown;
        if (program == NULL && r->ranks[i].error == NULL)
            program = r->ranks[i].program;
    }
    (void)fprintf(out, "%s\n  program ", r->dir);
    text_write_plain(out, program != NULL ? program : "?");
    (void)fprintf(out, ", %zu file%s", r->rank_count, r->rank_count == 1 ? "" : "s");
    if (r->size > 0)
        (void)fprintf(out, " of %" PRId32 " rank%s", r->size, r->size == 1 ? "" : "s");
    unsigned hosts = count_hosts(r);
    (void)fprintf(out, " on %u host%s", hosts, hosts == 1 ? "" : "s");
    if (r->origin_realtime_ns != 0) {
        char when[64];
        time_t t = (time_t)(r->origin_realtime_ns / 1000000000);
        struct tm tm;
        if (gmtime_r(&t, &tm) != NULL &&
            strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm) > 0)
            (void)fprintf(out, ", started %s", when);
    }
    (void)fprintf(out, "\n  %" PRIu64 " events recorded%s%s, %" PRIu64 " lost%s%s\n", events,
                  r->windows.given ? " in " : "",
                  r->windows.given ? window_span_text(span, &r->windows) : "", lost,
                  unknown ? " and an unknown number more" : "",
                  r->windows.given ? " in the whole run" : "");
    if (r->profile.functions != NULL)
        (void)fprintf(out, "  profile of %" PRIu64 " MPI calls of the whole run\n",
                      r->profile.calls + r->profile.lost);
    if (left_out > 0)
        (void)fprintf(out,
                      "  %" PRIu64 " more left out until regtrace recover: their writer was "
                      "killed while it stored them\n",
                      left_out);
    if (texts > 0)
        (void)fprintf(out,
                      "  %" PRIu64 " texts (names of regions, ...) lost: there were too many "
                      "different ones, and their events say \"(string table full)\"\n",
                      texts);
    for (size_t i = 0; i < r->chain_count; i++) {
        (void)fprintf(out, "  chain %zu: ", i + 1);
        text_write_plain(out, r->chains[i]);
        (void)fputc('\n', out);
    }
    if (r->chain_count == 0)
        (void)fprintf(out, "  no chains: %s\n", without_chains(r));
}

/* Returns true if the run is a profile alone, which knows neither windows nor what was received. */
static bool is_only_profile(const struct report_rank *k)
{
    return k->is_profiled && k->window_count == 0;
}

/* Writes how long the rank was in windows, and which share of that in MPI: not known as long as a
 * window is open. */
static void window_texts(char window[24], char share[24], const struct report_rank *k)
{
    bool is_open = false;
    for (size_t i = 0; i < k->window_count; i++)
        is_open |= !k->windows[i].has_stop;
    if (is_open && !k->has_profile)
        (void)snprintf(share, 24, "-");
    else
        (void)snprintf(share, 24, "%.1f%%",
                       k->mpi_window_ns > 0 ? 100 * k->mpi_ns / k->mpi_window_ns : 0.0);
    if (is_only_profile(k))
        (void)snprintf(window, 24, "-");
    else if (is_open)
        (void)snprintf(window, 24, "open");
    else
        (void)report_time_text(window, k->window_ns);
}

static void print_rank(FILE *out, const struct report_rank *k)
{
    char name[48], window[24], share[24], mpi[24], bytes[24], received[24] = "-", lost[32];
    report_rank_name(name, k);
    if (k->error != NULL) {
        (void)fprintf(out, "  %-16s not readable: %s\n", name, k->error);
        return;
    }
    if (!is_only_profile(k))
        (void)report_bytes_text(received, k->received);
    (void)snprintf(lost, sizeof lost, "%" PRIu64 "%s", k->lost_events, k->lost_unknown ? "+?" : "");
    window_texts(window, share, k);
    (void)fprintf(out, "  %-16s %11" PRIu64 " %8s %8zu %11s %11s %7s %10" PRIu64 " %11s %11s  %s",
                  name, k->events, lost, k->window_count, window, report_time_text(mpi, k->mpi_ns),
                  share, k->calls, report_bytes_text(bytes, k->bytes), received,
                  report_file_state(k));
    if (k->end_reason[0] != '\0')
        (void)fprintf(out, ", %s", k->end_reason);
    (void)fputc('\n', out);
}

static bool is_odd(const struct report_rank *k)
{
    return k->error != NULL || k->lost_events > 0 || k->lost_unknown || !k->info.is_main ||
           strcmp(k->end_reason, "finished") != 0;
}

/* If there are many ranks, shows the unusual ones, and those with the most and the least time in
 * MPI. */
static bool is_shown(const struct report *r, size_t i)
{
    const struct report_rank *k = &r->ranks[i];
    size_t longer = 0, shorter = 0;
    if (is_odd(k))
        return true;
    for (size_t o = 0; o < r->rank_count; o++) {
        longer += r->ranks[o].mpi_ns > k->mpi_ns;
        shorter += r->ranks[o].mpi_ns < k->mpi_ns;
    }
    return longer < RANKS_EXTREME || shorter < RANKS_EXTREME;
}

static void print_ranks(FILE *out, const struct report *r, bool all)
{
    size_t shown = 0;
    all |= r->rank_count <= RANKS_SHOWN;
    (void)fprintf(out, "\nBy rank (MPI share: of the %s of the threads that call MPI)\n",
                  r->profile.functions != NULL ? "lives" : "windows");
    (void)fprintf(out, "  %-16s %11s %8s %8s %11s %11s %7s %10s %11s %11s  %s\n", "rank", "events",
                  "lost", "windows", "in windows", "in MPI", "share", "calls", "bytes", "received",
                  "file");
    for (size_t i = 0; i < r->rank_count; i++) {
        if (!all && !is_shown(r, i))
            continue;
        print_rank(out, &r->ranks[i]);
        shown++;
    }
    if (shown < r->rank_count)
        (void)fprintf(
            out,
            "  ... %zu more ranks that finished, lost nothing and lie between (-all shows them)\n",
            r->rank_count - shown);
}

static void problems_head(FILE *out, bool *head)
{
    if (!*head)
        (void)fputs("\nWorth knowing\n", out);
    *head = true;
}

/* Ranks as people write them, "0-3,8": call span_add() for each in order, then span_write(). */
struct rank_span {
    int32_t first, last;
    unsigned count;
    bool cut;
    char text[160];
};

static void span_write(struct rank_span *s)
{
    char piece[32];
    size_t n = strlen(s->text);
    if (s->cut)
        return;
    s->cut = n + sizeof piece + 8 > sizeof s->text;
    if (s->cut)
        (void)snprintf(piece, sizeof piece, "...");
    else if (s->first == s->last)
        (void)snprintf(piece, sizeof piece, "%" PRId32, s->first);
    else
        (void)snprintf(piece, sizeof piece, "%" PRId32 "-%" PRId32, s->first, s->last);
    (void)snprintf(s->text + n, sizeof s->text - n, "%s%s", n > 0 ? "," : "", piece);
}

static void span_add(struct rank_span *s, int32_t rank)
{
    if (s->count > 0 && (rank == s->last || rank == s->last + 1)) {
        s->count += rank != s->last;
        s->last = rank;
        return;
    }
    if (s->count > 0)
        span_write(s);
    s->first = s->last = rank;
    s->count++;
}

static bool is_killed(const struct report_rank *k)
{
    return k->error == NULL && strcmp(k->end_reason, "killed") == 0;
}

static void print_ranks_with(FILE *out, const struct report *r, bool *head,
                             bool (*has)(const struct report_rank *k), const char *one,
                             const char *many)
{
    struct rank_span s = {.count = 0};
    for (size_t i = 0; i < r->rank_count; i++)
        if (has(&r->ranks[i]))
            span_add(&s, r->ranks[i].info.rank);
    if (s.count == 0)
        return;
    span_write(&s);
    problems_head(out, head);
    (void)fprintf(out, "  rank%s %s %s\n", s.count > 1 ? "s" : "", s.text,
                  s.count > 1 ? many : one);
}

static int by_text(const void *a, const void *b)
{
    const struct report_text_item *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order != 0 ? order : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void print_missing(FILE *out, const struct report *r, bool *head)
{
    struct rank_span s = {.count = 0};
    for (size_t i = 0; i < r->missing_count; i++)
        span_add(&s, r->missing[i]);
    if (s.count == 0)
        return;
    span_write(&s);
    problems_head(out, head);
    (void)fprintf(out, "  no file of rank%s %s%s: never started, not traced, or nothing recorded\n",
                  s.count > 1 ? "s" : "", s.text, r->living > 0 ? " so far" : "");
}

/* Prints one line for each alarm, with all ranks on which it did not fire. */
static void print_never_fired(FILE *out, const struct report *r, bool *head)
{
    struct report_text_item *items =
        report_room(r->never_fired_count + 1, sizeof *items, "alarms that never fired");
    if (items == NULL || r->never_fired_count == 0) {
        free(items);
        return;
    }
    memcpy(items, r->never_fired, r->never_fired_count * sizeof *items);
    qsort(items, r->never_fired_count, sizeof *items, by_text);
    problems_head(out, head);
    for (size_t i = 0; i < r->never_fired_count;) {
        struct rank_span s = {.count = 0};
        const char *text = items[i].text;
        for (; i < r->never_fired_count && strcmp(items[i].text, text) == 0; i++)
            span_add(&s, items[i].rank);
        span_write(&s);
        (void)fprintf(out, "  never fired (rank%s %s): %s\n", s.count > 1 ? "s" : "", s.text, text);
    }
    free(items);
}

static void print_count(FILE *out, const struct report_rank *k, uint64_t count, const char *what,
                        bool *head)
{
    if (count == 0)
        return;
    problems_head(out, head);
    (void)fprintf(out, "  rank %" PRId32 ": %" PRIu64 " %s\n", k->info.rank, count, what);
}

static void print_problems(FILE *out, const struct report *r)
{
    bool head = false;
    print_missing(out, r, &head);
    print_ranks_with(out, r, &head, is_killed, "was killed: the file is complete up to then",
                     "were killed: their files are complete up to then");
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        if (k->error != NULL)
            continue;
        if (k->info.state == RT_FILE_ABANDONED) {
            problems_head(out, &head);
            (void)fprintf(out, "  %s was left by its writer: regtrace recover %s finishes it\n",
                          k->file, r->dir);
        }
        print_count(out, k, k->unmatched, "MPI calls without their other end", &head);
        print_count(out, k, k->completions_unknown,
                    "requests that completed were made outside their window; what they may have "
                    "received is not counted",
                    &head);
        print_count(out, k, k->unnumbered,
                    "times messages of a partner and tag could not be numbered any more (a table "
                    "was full, or a receive was freed or cancelled): they are not matched",
                    &head);
        print_count(out, k, k->completions_skipped,
                    "requests were waited for in calls whose completions could not be recorded: no "
                    "memory",
                    &head);
    }
    if (r->profile.lost > 0) {
        problems_head(out, &head);
        (void)fprintf(out,
                      "  %" PRIu64 " calls are in no table: the profile has no room for so many "
                      "threads and functions\n",
                      r->profile.lost);
    }
    print_never_fired(out, r, &head);
    for (size_t i = 0; i < r->log_count && i < LOG_SHOWN; i++)
        (void)fprintf(out, "%s  %s\n", i == 0 ? "\nregtrace.log\n" : "", r->log[i]);
    if (r->log_count > LOG_SHOWN)
        (void)fprintf(out, "  ... %zu more lines\n", r->log_count - LOG_SHOWN);
}

/* Prints one line for each program whose lines were looked up, but that has no debug information.
 * Libraries seldom have any, and nobody misses their lines. */
static void print_lacking_lines(FILE *out, const struct report *r)
{
    const struct addresses *a = &r->addresses;
    for (size_t i = 0; i < a->image_count; i++) {
        bool is_program = false;
        for (size_t k = 0; k < r->rank_count; k++)
            is_program |= r->ranks[k].error == NULL && r->ranks[k].program != NULL &&
                          strcmp(r->ranks[k].program, a->images[i].shown) == 0;
        if (is_program && a->images[i].lacks_lines)
            (void)fprintf(out,
                          "No source lines of %s: it has no debug information (compile with "
                          "-g).\n",
                          a->images[i].shown);
    }
}

static void print_windows(FILE *out, const struct report *r, bool all)
{
    bool only_profile = r->rank_count > 0;
    for (size_t i = 0; i < r->rank_count; i++)
        only_profile &= r->ranks[i].error != NULL || is_only_profile(&r->ranks[i]);
    if (only_profile && is_profiled(r))
        (void)fputs(
            "\nA profile without windows: it has the sums of all MPI calls, but no messages "
            "and waits (-control records windows beside it).\n",
            out);
    else
        report_print_windows(out, r, all);
}

void report_print_text(FILE *out, struct report *r, const struct report_estimate *estimate,
                       size_t top, bool all)
{
    print_head(out, r);
    print_windows(out, r, all);
    if (estimate != NULL)
        report_print_estimate(out, estimate);
    report_instructions_print(out, r, all);
    report_print_mpi(out, r, top);
    report_profile_print(out, r, top);
    call_sites_print(out, r, top);
    report_uneven_print(out, r, all);
    report_waits_print(out, r, top);
    report_functions_print(out, r, top);
    addresses_print_lacks(out, &r->addresses);
    print_lacking_lines(out, r);
    report_counters_print(out, r, top);
    report_memory_print(out, r);
    print_ranks(out, r, all);
    report_overhead_print(out, r);
    print_problems(out, r);
}
