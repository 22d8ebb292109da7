/* SPDX-License-Identifier: BSD-3-Clause
 * Computes efficiencies from the windows of a run, and prints runs side by side. */
#include "tools/report/efficiency.h"

#include "tools/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WINDOWS_SHOWN 20
#define NAME_SHOWN 16 /* columns of a run */

/* --- figures ---------------------------------------------------------------------------------- */

static void fill(struct efficiency *e, double most_ns, int32_t most_rank, double ideal_ns,
                 double shared_ns)
{
    double mean_ns = e->processes > 0 ? shared_ns : NAN;
    e->most_useful_ns = most_ns;
    e->most_useful_rank = most_rank;
    e->parallel = mean_ns / e->length_ns;
    e->balance = mean_ns / most_ns;
    e->communication = most_ns / e->length_ns;
    e->serialisation = most_ns / ideal_ns;
    e->transfer = ideal_ns / e->length_ns;
}

/* What windows that overlap with others take on an ideal network is not known: ranks come to them
 * from others. */
static void leave_overlapping(struct efficiency_run *out, const struct ideal_window *last,
                              int64_t until, const struct ideal_window *w)
{
    if (last == NULL ||
        !windows_overlap(last->last_close - last->first_open, until, w->first_open, w->last_close))
        return;
    struct efficiency *e = &out->windows[out->window_count - 1];
    out->do_overlap = true;
    e->serialisation = e->transfer = NAN;
    e--;
    e->serialisation = e->transfer = NAN;
}

static struct efficiency window_figures(const struct ideal_window *w)
{
    struct efficiency e = {.ordinal = w->ordinal,
                           .processes = w->processes,
                           .length_ns = (double)(w->last_close - w->first_open),
                           .useful_ns = (double)w->useful,
                           .unfinished = w->unfinished,
                           .has_gaps = w->has_gaps};
    if (w->unfinished == 0)
        fill(&e, (double)w->most_useful, w->most_useful_rank, (double)w->ideal,
             e.useful_ns / e.processes);
    else /* nobody knows what the others did until its end */
        fill(&e, NAN, -1, NAN, NAN);
    return e;
}

static int fill_windows(struct efficiency_run *out, const struct report *r,
                        const struct ideal_window *w, size_t count)
{
    const struct ideal_run *run = report_ideal_run(r);
    const struct ideal_window *last = NULL;
    int64_t until = INT64_MIN;
    out->windows = calloc(count + 1, sizeof *out->windows);
    if (out->windows == NULL)
        return -ENOMEM;
    out->all = (struct efficiency){.ordinal = -1};
    for (size_t i = 0; i < count; i++) {
        if (!window_span_has(&r->windows, w[i].ordinal))
            continue;
        out->all.unfinished += w[i].unfinished;
        if (w[i].processes == 0)
            continue;
        struct efficiency *e = &out->windows[out->window_count++];
        *e = window_figures(&w[i]);
        if (r->size > 0 && e->processes < (uint32_t)r->size) { /* nobody knows what they wait for */
            e->serialisation = e->transfer = NAN;
            out->is_partial = true;
        }
        leave_overlapping(out, last, until, &w[i]);
        last = &w[i];
        until = w[i].last_close > until ? w[i].last_close : until;
        out->windows_ns += e->length_ns;
        out->finished += w[i].unfinished == 0;
        out->all.has_gaps |= e->has_gaps;
    }
    if (run == NULL || out->window_count == 0)
        return 0;
    out->all.processes = run->processes;
    out->all.length_ns = (double)run->length;
    out->all.useful_ns = (double)run->useful;
    fill(&out->all, (double)run->most_useful, run->most_useful_rank, (double)run->ideal,
         out->all.useful_ns / out->all.processes);
    if (out->is_partial)
        out->all.serialisation = out->all.transfer = NAN;
    return 0;
}

/* Returns the rank's count of an event, NAN if it has none. */
static double count_of(const struct report_rank *k, bool (*is_it)(const char *name),
                       bool *in_mpi_known)
{
    for (size_t i = 0; i < k->counter_count; i++) {
        const struct report_counter *c = &k->counters[i];
        if (!is_it(c->name))
            continue;
        *in_mpi_known &= c->calls > 0 || k->calls == 0;
        return (double)(c->count - (c->in_mpi < c->count ? c->in_mpi : 0));
    }
    return NAN;
}

/* Sums an event over all ranks; NAN if a rank with windows has not counted it. */
static double counted(const struct report *r, bool (*is_it)(const char *name), bool *in_mpi_known)
{
    double sum = 0;
    for (size_t i = 0; i < r->rank_count; i++) {
        const struct report_rank *k = &r->ranks[i];
        if (k->error == NULL && k->info.is_main && k->is_in_mpi && k->window_count > 0)
            sum += count_of(k, is_it, in_mpi_known);
    }
    return sum > 0 ? sum : NAN;
}

/* Returns why nothing is known although there are windows, by `text` if need be; NULL: it is. */
static const char *what_lacks(const struct efficiency_run *run, char text[200])
{
    uint32_t known = run->all.processes, lost = run->all.unfinished;
    if (run->finished > 0)
        return NULL;
    if (lost == 0)
        return "no window has ended between MPI_Init and MPI_Finalize; record windows there";
    (void)snprintf(text, 200,
                   "the windows of %" PRIu32 " of %" PRIu32 " processes have no end: they were "
                   "killed, or their writers (regtrace recover finishes such files)",
                   lost, known + lost);
    return text;
}

int efficiency_of(struct efficiency_run *out, const struct report *r)
{
    char text[200];
    size_t count;
    const char *why_not;
    const struct ideal_window *w = report_ideal_windows(r, &count, &why_not);
    *out = (struct efficiency_run){.dir = strdup(r->dir), .in_mpi_known = true};
    out->all = (struct efficiency){.ordinal = -1, .length_ns = NAN, .useful_ns = NAN};
    fill(&out->all, NAN, -1, NAN, NAN);
    if (out->dir == NULL)
        return -ENOMEM;
    if (why_not == NULL && fill_windows(out, r, w, count) != 0)
        return -ENOMEM;
    if (why_not == NULL)
        why_not = what_lacks(out, text);
    out->why_not = why_not != NULL ? strdup(why_not) : NULL;
    if (why_not != NULL) {
        fill(&out->all, NAN, -1, NAN, NAN);
        out->all.length_ns = out->all.useful_ns = NAN;
    }
    out->instructions = counted(r, report_event_is_instructions, &out->in_mpi_known);
    out->cycles = counted(r, report_event_is_cycles, &out->in_mpi_known);
    return 0;
}

void efficiency_free(struct efficiency_run *run)
{
    free(run->dir);
    free(run->windows);
    free(run->why_not);
    *run = (struct efficiency_run){0};
}

/* How the first run compares with this one: more than 1, it takes less. NAN: not known. */
static double computation_scaling(const struct efficiency_run *first,
                                  const struct efficiency_run *run)
{
    return first->all.useful_ns / run->all.useful_ns;
}

static double ipc(const struct efficiency_run *run)
{
    return run->instructions / run->cycles;
}

/* --- as text ---------------------------------------------------------------------------------- */

static void print_share(FILE *out, double share)
{
    if (isfinite(share))
        (void)fprintf(out, " %*.1f %%", NAME_SHOWN - 2, 100 * share);
    else
        (void)fprintf(out, " %*s", NAME_SHOWN, "-");
}

#define SHARES(out, label, runs, count, expression)                                                \
    do {                                                                                           \
        (void)fprintf(out, "  %-30s", label);                                                      \
        for (size_t i_ = 0; i_ < (count); i_++) {                                                  \
            const struct efficiency_run *run = &(runs)[i_];                                        \
            print_share(out, run->why_not != NULL ? NAN : (expression));                           \
        }                                                                                          \
        (void)fputc('\n', out);                                                                    \
    } while (0)

static void print_heads(FILE *out, const struct efficiency_run *runs, size_t count)
{
    char text[24];
    (void)fprintf(out, "  %-30s", "");
    for (size_t i = 0; i < count; i++) {
        const char *name = runs[i].dir;
        size_t n = strlen(name);
        (void)fprintf(out, " %*s", NAME_SHOWN, n > NAME_SHOWN ? name + n - NAME_SHOWN : name);
    }
    (void)fprintf(out, "\n  %-30s", "processes");
    for (size_t i = 0; i < count; i++) {
        const struct efficiency *e = &runs[i].all;
        (void)snprintf(text, sizeof text, "%" PRIu32, e->processes);
        if (runs[i].why_not != NULL && e->unfinished > 0)
            (void)snprintf(text, sizeof text, "%" PRIu32 " of %" PRIu32, e->processes,
                           e->processes + e->unfinished);
        (void)fprintf(out, " %*s", NAME_SHOWN, text);
    }
    (void)fprintf(out, "\n  %-30s", "length of the windows");
    for (size_t i = 0; i < count; i++)
        (void)fprintf(
            out, " %*s", NAME_SHOWN,
            isfinite(runs[i].all.length_ns) ? report_time_text(text, runs[i].all.length_ns) : "-");
    (void)fputc('\n', out);
}

static void print_scaling(FILE *out, const struct efficiency_run *runs, size_t count)
{
    const struct efficiency_run *first = &runs[0];
    SHARES(out, "computation scaling", runs, count, computation_scaling(first, run));
    SHARES(out, "  instruction scaling", runs, count, first->instructions / run->instructions);
    SHARES(out, "  IPC scaling", runs, count, ipc(run) / ipc(first));
    SHARES(out, "global efficiency", runs, count,
           run->all.parallel * computation_scaling(first, run));
    (void)fputs("  Scaling is relative to the first run, and means something if all solve the same "
                "problem.\n",
                out);
}

static void print_windows(FILE *out, const struct efficiency_run *run, bool all)
{
    char text[24];
    (void)fprintf(out, "\n%s\n  %8s %9s %11s %9s %9s %9s %9s %9s\n", run->dir, "window",
                  "processes", "length", "parallel", "balance", "comm.", "serial.", "transfer");
    for (size_t i = 0; i < run->window_count && (all || i < WINDOWS_SHOWN); i++) {
        const struct efficiency *e = &run->windows[i];
        const double shares[] = {e->parallel, e->balance, e->communication, e->serialisation,
                                 e->transfer};
        (void)fprintf(out, "  %8" PRId32 " %9" PRIu32 " %11s", e->ordinal, e->processes,
                      report_time_text(text, e->length_ns));
        for (size_t k = 0; k < sizeof shares / sizeof *shares; k++)
            if (isfinite(shares[k]))
                (void)fprintf(out, " %7.1f %%", 100 * shares[k]);
            else
                (void)fprintf(out, " %9s", "-");
        (void)fprintf(out, "%s%s\n", e->has_gaps ? "  events were dropped" : "",
                      e->unfinished > 0 ? "  a process was killed" : "");
    }
    if (!all && run->window_count > WINDOWS_SHOWN)
        (void)fprintf(out, "  ... %zu more windows (-all shows them)\n",
                      run->window_count - WINDOWS_SHOWN);
}

static void print_remarks(FILE *out, const struct efficiency_run *runs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (runs[i].why_not != NULL)
            (void)fprintf(out, "%s: not known: %s\n", runs[i].dir, runs[i].why_not);
        else if (runs[i].all.has_gaps)
            (void)fprintf(out, "%s: events were dropped: its figures are too low\n", runs[i].dir);
        if (runs[i].do_overlap) {
            char windows[24], passed[24];
            (void)fprintf(out,
                          "%s: windows overlap in time (%s of windows in %s), as ranks do not wait "
                          "for each other\n  between them: figures of single windows mean little, "
                          "those of all together hold\n",
                          runs[i].dir, report_time_text(windows, runs[i].windows_ns),
                          report_time_text(passed, runs[i].all.length_ns));
        }
        if (runs[i].why_not == NULL && runs[i].is_partial)
            (void)fprintf(
                out,
                "%s: serialisation and transfer are not told apart where not all ranks of "
                "the world have the window\n",
                runs[i].dir);
        if (runs[i].why_not == NULL && runs[i].all.unfinished > 0)
            (void)fprintf(out,
                          "%s: left out are %" PRIu32 " processes in windows without an end: they "
                          "were killed\n",
                          runs[i].dir, runs[i].all.unfinished);
        if (!runs[i].in_mpi_known && isfinite(runs[i].instructions))
            (void)fprintf(out,
                          "%s: instructions and cycles are those in MPI too (-events-mpi 1 counts "
                          "them apart)\n",
                          runs[i].dir);
    }
}

void efficiency_print(FILE *out, const struct efficiency_run *runs, size_t count, bool all)
{
    (void)fputs(
        "Efficiency of the main threads in windows (indented rows are the factors of the row "
        "above)\n",
        out);
    print_heads(out, runs, count);
    SHARES(out, "parallel efficiency", runs, count, run->all.parallel);
    SHARES(out, "  load balance", runs, count, run->all.balance);
    SHARES(out, "  communication efficiency", runs, count, run->all.communication);
    SHARES(out, "    serialisation", runs, count, run->all.serialisation);
    SHARES(out, "    transfer", runs, count, run->all.transfer);
    if (count > 1)
        print_scaling(out, runs, count);
    print_remarks(out, runs, count);
    for (size_t i = 0; i < count; i++)
        if (runs[i].window_count > 1)
            print_windows(out, &runs[i], all);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void json_efficiency(struct json *j, const struct efficiency *e)
{
    json_uint(j, "processes", e->processes);
    json_real(j, "length_ns", e->length_ns);
    json_real(j, "useful_ns", e->useful_ns);
    json_real(j, "most_useful_ns", e->most_useful_ns);
    json_int_if(j, "most_useful_rank", e->most_useful_rank >= 0, e->most_useful_rank);
    json_real(j, "parallel_efficiency", e->parallel);
    json_real(j, "load_balance", e->balance);
    json_real(j, "communication_efficiency", e->communication);
    json_real(j, "serialisation", e->serialisation);
    json_real(j, "transfer", e->transfer);
    json_uint(j, "unfinished_processes", e->unfinished);
    json_bool(j, "dropped", e->has_gaps);
}

static void json_run(struct json *j, const char *key, const struct efficiency_run *first,
                     const struct efficiency_run *run, size_t most_rows)
{
    json_object_begin(j, key);
    json_text(j, "dir", run->dir);
    json_text(j, "why_not", run->why_not);
    json_efficiency(j, &run->all);
    json_real(j, "windows_ns", run->why_not == NULL ? run->windows_ns : NAN);
    json_real(j, "computation_scaling", computation_scaling(first, run));
    json_real(j, "instruction_scaling", first->instructions / run->instructions);
    json_real(j, "ipc_scaling", ipc(run) / ipc(first));
    if (run->window_count > most_rows) {
        json_null(j, "windows");
        json_object_end(j);
        return;
    }
    json_array_begin(j, "windows");
    for (size_t i = 0; i < run->window_count; i++) {
        json_object_begin(j, NULL);
        json_compact(j);
        json_int(j, "ordinal", run->windows[i].ordinal);
        json_efficiency(j, &run->windows[i]);
        json_object_end(j);
    }
    json_array_end(j);
    json_object_end(j);
}

void efficiency_json_run(struct json *j, const struct efficiency_run *run, size_t most_rows)
{
    json_run(j, "efficiency", run, run, most_rows);
}

void efficiency_json(FILE *out, const struct efficiency_run *runs, size_t count)
{
    struct json j = {.out = out, .indented = true};
    json_object_begin(&j, NULL);
    json_array_begin(&j, "runs");
    for (size_t i = 0; i < count; i++)
        json_run(&j, NULL, &runs[0], &runs[i], SIZE_MAX);
    json_array_end(&j);
    json_object_end(&j);
}
