/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace report`: shows the run at a glance, or as JSON. */
#include "tools/messages/messages.h"
#include "tools/report/efficiency.h"
#include "tools/report/report_options.h"
#include "tools/open_run.h"
#include "tools/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int take_option(struct report_options *o, const struct arguments *a)
{
    struct rt_error e = {{0}};
    const char *name = a->option->name;
    if (strcmp(name, "json") == 0)
        o->json = true;
    else if (strcmp(name, "all") == 0)
        o->all = true;
    else if (strcmp(name, "hot") == 0)
        o->hot = true;
    else if (strcmp(name, "tree") == 0)
        o->tree = true;
    else if (strcmp(name, "pprof") == 0)
        o->pprof = true;
    else if (strcmp(name, "speedscope") == 0)
        o->speedscope = true;
    else if (strcmp(name, "efficiency") == 0)
        o->efficiency = true;
    else if (strcmp(name, "critical-path") == 0)
        o->critical_path = true;
    else if (strcmp(name, "folded") == 0)
        o->folded = true;
    else if (strcmp(name, "rank") == 0 && rank_list_parse(&o->ranks, a->value, &e) != 0)
        tool_error("report", "-rank: %s", e.text);
    else if (strcmp(name, "window") == 0 && window_span_parse(&o->windows, a->value, &e) != 0)
        tool_error("report", "-window: %s", e.text);
    else if (strcmp(name, "total") == 0 && a->value[0] == '\0')
        tool_error("report", "-total is empty: the folder of a run is legal");
    else if (strcmp(name, "total") == 0)
        o->whole = a->value;
    else if (strcmp(name, "top") == 0 && argument_number(a->value, 0, 1000000, &o->top) != 0)
        tool_error("report", "-top is \"%s\": a whole number is legal, 0 for all", a->value);
    else if (strcmp(name, "wait") == 0 && argument_number(a->value, 0, 86400, &o->wait) != 0)
        tool_error("report", "-wait is \"%s\": seconds from 0 to 86400 are legal", a->value);
    else if (strcmp(name, "messages") == 0 && !messages_choose(a->value))
        tool_error("report", "-messages is \"%s\": all and none are legal", a->value);
    else
        return TOOL_OK;
    return a->option->value == NULL || o->whole == a->value ? TOOL_OK : TOOL_USAGE;
}

/* Returns how many of the options are given that show something else than the report. */
static int views(const struct report_options *o)
{
    return o->hot + o->tree + o->pprof + o->speedscope + o->efficiency + o->critical_path;
}

static int read_options(struct report_options *o, int argc, char **argv, int *code)
{
    struct arguments a = {.command = &command_report, .count = argc, .words = argv, .next = 1};
    *o = (struct report_options){.top = 20, .wait = 30};
    for (enum argument_kind kind; (kind = arguments_next(&a)) != ARGUMENT_END;) {
        *code = kind == ARGUMENT_DONE ? TOOL_OK : TOOL_USAGE;
        if (kind == ARGUMENT_DONE || kind == ARGUMENT_WRONG)
            return 1;
        if (kind == ARGUMENT_OPTION && (*code = take_option(o, &a)) != TOOL_OK)
            return 1;
        if (kind == ARGUMENT_WORD && o->paths == REPORT_FOLDERS) {
            tool_error("report", "%d folders at once are enough; \"%s\" is one more",
                       REPORT_FOLDERS, a.value);
            return 1;
        }
        if (kind == ARGUMENT_WORD)
            o->path[o->paths++] = a.value;
    }
    *code = TOOL_USAGE;
    if (o->paths == 0)
        tool_error("report", "no folder is named: regtrace report DIR");
    else if ((o->json || o->pprof || o->speedscope || o->folded) && o->paths > 1 && !o->efficiency)
        tool_error("report",
                   "--json, --pprof, --speedscope and --folded take one folder at a time; \"%s\" "
                   "is a second one",
                   o->path[1]);
    else if (views(o) > 1 || (o->folded && views(o) > o->hot) ||
             (o->json && (o->folded || views(o) > o->hot + o->efficiency)))
        tool_error("report", "one of --hot, --tree, --pprof, --speedscope, --efficiency and "
                             "--critical-path at a time; --json goes with --hot and --efficiency, "
                             "--folded with --hot");
    else
        return 0;
    return 1;
}

/* Reads the run of -total, which gives the true totals. */
static int read_whole(const struct report_options *o, struct report *whole)
{
    static const struct rank_list every;
    static const struct window_span all;
    struct rt_error e = {{0}};
    struct rt_run *run = tool_open_run("report", o->whole, o->wait);
    int rc = run == NULL ? TOOL_FAILURE : TOOL_OK;
    if (rc == TOOL_OK && report_collect(whole, run, &every, &all, &e) != 0) {
        tool_error("report", "-total: %s", e.text);
        rc = TOOL_FAILURE;
    }
    if (rc == TOOL_OK && whole->failed == whole->rank_count) {
        tool_error("report", "-total: %s", whole->ranks[0].error);
        rc = TOOL_FAILURE;
    }
    for (size_t i = 0; i < whole->rank_count && rc == TOOL_OK; i++)
        if (whole->ranks[i].error != NULL)
            tool_warning("report", "-total: %s: %s", whole->ranks[i].file, whole->ranks[i].error);
    rt_run_close(run);
    return rc;
}

static void print_one(const struct report_options *o, struct report *r, const struct report *whole)
{
    struct report_estimate estimate;
    const struct report_estimate *e =
        report_estimate(r, o->whole != NULL ? whole : NULL, &estimate) ? &estimate : NULL;
    if (o->whole != NULL && e == NULL)
        tool_warning("report",
                     "-total has no use: no window of %s stands for a whole run "
                     "(uniform, or a regions file)",
                     r->dir);
    if (r->failed == r->rank_count && !o->json) /* the errors say why */
        return;
    if ((o->folded || o->pprof || o->speedscope) && r->call_tree.keys.count == 0)
        tool_warning("report", "%s: no MPI call was recorded: %s", r->dir, report_why_no_call(r));
    if (o->json)
        report_print_json(stdout, r, e);
    else if (o->folded)
        call_tree_print_folded(stdout, r);
    else if ((o->pprof && call_tree_print_pprof(stdout, r) != 0) ||
             (o->speedscope && call_tree_print_speedscope(stdout, r) != 0))
        tool_error("report", "no memory");
    else if (o->pprof || o->speedscope)
        return;
    else if (o->critical_path)
        report_print_critical_path(stdout, r, (size_t)o->top, o->all);
    else if (o->tree)
        call_tree_print(stdout, r, (size_t)o->top);
    else
        report_print_text(stdout, r, e, (size_t)o->top, o->all);
}

/* Returns TOOL_FAILURE if a file could not be read. */
static int print_errors(const struct report *r)
{
    for (size_t i = 0; i < r->rank_count; i++)
        if (r->ranks[i].error != NULL)
            tool_error("report", "%s: %s", r->ranks[i].file, r->ranks[i].error);
    return r->failed > 0 ? TOOL_FAILURE : TOOL_OK;
}

static int report_one(const struct report_options *o, const char *path)
{
    static struct report r, whole;
    struct rt_error e = {{0}};
    struct rt_run *run = tool_open_run("report", path, o->wait);
    if (run == NULL)
        return TOOL_FAILURE;
    int code = o->whole != NULL ? read_whole(o, &whole) : TOOL_OK;
    if (code != TOOL_OK) {
        report_free(&whole);
        rt_run_close(run);
        return code;
    }
    if (report_collect(&r, run, &o->ranks, &o->windows, &e) != 0) {
        tool_error("report", "%s", e.text);
        code = TOOL_FAILURE;
    } else {
        report_collect_waits(&r, run, &o->ranks, 2);
        print_one(o, &r, &whole);
    }
    if (print_errors(&r) != TOOL_OK)
        code = TOOL_FAILURE;
    report_free(&r);
    report_free(&whole);
    rt_run_close(run);
    return code;
}

/* Returns true if *out is filled in. Sets *code to TOOL_FAILURE if anything could not be read. */
static bool efficiency_one(const struct report_options *o, const char *path,
                           struct efficiency_run *out, int *code)
{
    static struct report r;
    struct rt_error e = {{0}};
    struct rt_run *run = tool_open_run("report", path, o->wait);
    int rc = run != NULL ? report_collect(&r, run, &o->ranks, &o->windows, &e) : -ENOENT;
    if (run != NULL && rc != 0)
        tool_error("report", "%s", e.text);
    if (print_errors(&r) != TOOL_OK)
        *code = TOOL_FAILURE;
    bool found = rc == 0 && r.failed < r.rank_count;
    if (found) {
        report_collect_waits(&r, run, &o->ranks, 1);
        rc = efficiency_of(out, &r);
        if (rc != 0)
            tool_error("report", "no memory");
    }
    if (rc != 0)
        *code = TOOL_FAILURE;
    report_free(&r);
    rt_run_close(run);
    return found && rc == 0;
}

/* Shows all runs side by side. */
static int report_efficiency(const struct report_options *o)
{
    struct efficiency_run *runs = calloc(o->paths, sizeof *runs);
    size_t count = 0;
    int code = runs != NULL ? TOOL_OK : TOOL_FAILURE;
    for (size_t i = 0; i < o->paths && runs != NULL; i++)
        if (efficiency_one(o, o->path[i], &runs[count], &code))
            count++;
    if (count > 0)
        o->json ? efficiency_json(stdout, runs, count)
                : efficiency_print(stdout, runs, count, o->all);
    for (size_t i = 0; i < count; i++)
        efficiency_free(&runs[i]);
    free(runs);
    return code;
}

static int report_main(int argc, char **argv)
{
    static struct report_options o;
    int code;
    if (read_options(&o, argc, argv, &code) != 0)
        return code;
    if (o.efficiency)
        return output_finish("report", report_efficiency(&o));
    code = TOOL_OK;
    for (size_t i = 0; i < o.paths; i++) {
        if (i > 0)
            (void)fputc('\n', stdout);
        if ((o.hot ? report_hot : report_one)(&o, o.path[i]) != TOOL_OK)
            code = TOOL_FAILURE;
    }
    return output_finish("report", code);
}

static const struct command_option report_options[] = {
    {"json", NULL, "one JSON object instead of tables", 0},
    {"rank", "LIST", "only these ranks, for example 0-3,8", 'r'},
    {"hot", NULL, "where the samples of REGTRACE_SAMPLE fell: functions and source lines", 0},
    {"tree", NULL,
     "time in MPI by call path: the tree of calls from main on (-callpath of the run)", 0},
    {"folded", NULL,
     "time in MPI by call path in microseconds, or with --hot the samples, as folded stacks for "
     "flamegraph.pl (https://github.com/brendangregg/FlameGraph), speedscope and others; regtrace "
     "page has a flame graph of its own",
     0},
    {"pprof", NULL, "time in MPI by call path as a profile for pprof, to standard output", 0},
    {"speedscope", NULL,
     "time in MPI and waits by call path as a file for speedscope, to standard output", 0},
    {"efficiency", NULL,
     "how well the run uses its processes: load balance, serialisation, transfer; of several runs "
     "side by side, with scaling",
     0},
    {"critical-path", NULL,
     "the sequence of activities that decides how long windows take, by activity, rank and window",
     0},
    {"window", "N[-M]",
     "only the windows with these ordinals: their events, calls, times, waits for other ranks, and "
     "the messages that are sent in them; what is lost, waits for the writer and own overhead of "
     "the slow path are those of the whole run",
     'w'},
    {"total", "DIR",
     "a run of the same program whose totals stand beside the estimates: a counting run (regtrace "
     "run --count), or one recorded from start to end",
     0},
    {"top", "N",
     "how many functions, call sites, paths or causes of waits are shown, the longest first; 0 for "
     "all (default 20)",
     0},
    {"messages", "WHICH",
     "all (the default) or none: none leaves the messages out, and with them who waits for a "
     "sender",
     0},
    {"all", NULL, "every window and every rank, however many", 'a'},
    {"wait", "SECONDS", "how long to wait for writers of processes that have ended (default 30)",
     0},
    {NULL, NULL, NULL, 0},
};

const struct command command_report = {
    .name = "report",
    .summary = "show a run: windows, time in MPI by function and rank, losses, own overhead",
    .synopsis = "[--hot | --tree | --pprof | --speedscope | --efficiency | --critical-path] "
                "[--folded] [--json] "
                "[--rank LIST] [--window N[-M]] [--total DIR] [--top N] [--messages WHICH] [--all] "
                "[--wait SECONDS] DIR...",
    .description =
        "Each DIR is the folder of a run, its regtrace.h5, or one rank file (--json takes one). "
        "Files whose process has "
        "ended but whose "
        "writer still works are waited for; files of a program that still runs are shown as far as "
        "they are. "
        "regtrace.h5 is built if it is missing and every file is closed.\n\n"
        "Times are ns on the clock of rank 0's node since the first thread of any rank began to be "
        "traced; the "
        "clock offsets of nodes are applied. Time in MPI is that of outermost calls, inside "
        "windows only; nested "
        "calls (made by callbacks and by the library itself) are counted, but not timed again. "
        "A line has the share of local queries (MPI_Wtime, MPI_Comm_rank ...) in it if that is "
        "more "
        "than 1 %. Bytes are those "
        "given to the calls, 0 for MPI_PROC_NULL; received are those of completed receives. The "
        "imbalance is the "
        "longest rank's time "
        "divided by the mean over all ranks. Work of ranks outside MPI is what they did in windows "
        "of the same ordinal, those first in which most is lost by waiting for the longest. "
        "The table by call site has the function and source line that each MPI function was called "
        "in, of all ranks together: time, what of it was waiting for other ranks, the rank with "
        "the longest time. Names and lines are looked up now, in the images as they are on this "
        "machine; lines need debug information (-g).\n\n"
        "The report shows waits if two ranks or more call MPI and all files are closed: late "
        "senders, "
        "late receivers of MPI_Ssend, and in collective calls the time until the last rank came; "
        "messages and calls are matched whatever the windows are, and what has no partner in "
        "windows "
        "is counted with the reason. This is another pass over all events. "
        "Two further tables have which ranks made others wait, and what they did meanwhile: an MPI "
        "call without its own waiting, a function that the run recorded, or the time between two "
        "calls, as far as it took longer than for the "
        "waiting rank since both were at the same time last. Direct costs are waits for this "
        "rank, propagated ones waits for ranks that were late because they had waited for it. All "
        "costs together are the time of all waits of all ranks (Scalasca's delay costs), which can "
        "exceed the length of the run. What the rank that came late did while it was in no window "
        "is not recorded, and has a row of its own.\n\n"
        "--critical-path shows instead which activities decide how long windows take: from the "
        "last end of a window backward, and at a wait on to the rank that came late. Windows of "
        "one ordinal are one phase; those that overlap in time with windows of other ordinals are "
        "one "
        "phase together; those that not all ranks have, MPI_Init and MPI_Finalize are "
        "left out. Imbalance is by how much the activity is longer than its mean over ranks, "
        "without waiting.\n\n"
        "--tree shows instead the time in MPI by call path, from main on, as far as the run "
        "recorded callers (-callpath, REGTRACE_CALLPATH; 1, the default, is the call site alone). "
        "It has the -top paths with most time. --folded writes "
        "a line \"main, a.c:9;work, a.c:5;MPI_Send MICROSECONDS\" for each path, and with --hot a "
        "line "
        "\"main;work PERIODS\" for each stack of functions. A path begins with \"[cut]\" if it has "
        "further callers: it is deeper than -callpath, or one cannot be found. Calls from one "
        "line of a function are one row. Stacks leave out regtrace's wrappers of MPI calls and "
        "threads; a sample in regtrace itself is in \"[regtrace]\".\n\n"
        "--efficiency shows POP's figures of the main threads in windows, of several DIRs side by "
        "side. Useful time is that outside MPI. Parallel efficiency is its mean over the "
        "processes, "
        "by the length of the window; load balance that mean by the most of a process. "
        "Communication efficiency, the most by the length, is serialisation (waiting for data that "
        "others make) times transfer: the run is replayed on an ideal network, on which messages "
        "and collective calls take no time. MPI_Init and MPI_Finalize are left out. Transfer "
        "includes "
        "large messages that wait until their receiver is ready. All windows "
        "together: a process has the useful time of all its windows, and the length is the time in "
        "which some process is in one. Serialisation and transfer of a window that overlaps in "
        "time with one of another ordinal are not known. "
        "Computation scaling is the useful time of the first run by that of this one (the same "
        "problem on more processes); instruction and IPC scaling need runs with -events "
        "instructions,cycles -events-mpi 1. --efficiency --json has runs: dir, why_not (null: "
        "known), processes, length_ns, useful_ns, most_useful_ns and most_useful_rank (the process "
        "that has most of it), parallel_efficiency, load_balance, "
        "communication_efficiency, serialisation, transfer, unfinished_processes (killed in a "
        "window), dropped, windows_ns (lengths of all windows, more than length_ns where windows "
        "overlap), computation_scaling, "
        "instruction_scaling, ipc_scaling, null where unknown, and windows with the same of each "
        "ordinal.\n\n"
        "Where the run recorded functions of the program (REGTRACE_FUNCTIONS), a table has their "
        "calls and times: total with the functions that they call, of a recursion the outermost "
        "instance; self without.\n\n"
        "Of a counting run (regtrace run --count) the instructions of each thread are shown; of "
        "more than 48 threads (without -all) those of each rank.\n\n"
        "Events (REGTRACE_EVENTS) are shown with rates: each per second of the time that threads "
        "were in windows, and those whose name says that they count misses per 1000 instructions, "
        "where instructions are counted too.\n\n"
        "--hot shows samples instead, of all ranks together: each function's own share and, where "
        "the run "
        "recorded callers (-callpath, -sample-depth), its share with what it calls; then source "
        "lines, where the "
        "program has them (-g). Names are looked up now, in the images as they are on this "
        "machine, C++ names in readable form. --hot --json has: sample (as "
        "asked), "
        "period, unit, samples, periods (the sum of what the samples stand for), "
        "periods_in_windows, functions "
        "(function, "
        "image, self and with_callees in periods) and lines (line, image, self).\n\n"
        "Where windows stand for a whole run, an estimate of it is shown beside the true totals. "
        "Windows of regions with a multiplier (LoopPoint) are added up, each times its multiplier. "
        "Windows of regions with a weight (PinPoints) give values per instruction, which are "
        "weighted and multiplied with the instructions of their thread; windows of uniform, and "
        "those that icount opens in a repeated chain, the same, all alike. The instructions of a "
        "thread are those that its counter saw from start "
        "to end, else those of -total. Warm-up, prolog and epilog windows, and those cut off by "
        "the end, are left out. A true total is \"not measured\" if nothing counted between "
        "windows.\n\n"
        "--json has: dir, size (ranks of the world, null unknown), origin_monotonic_ns and "
        "origin_realtime_ns (what "
        "start_ns 0 is), events and lost (sums), chains (list of texts), ranks, windows, "
        "windows_over_ranks (of each ordinal that more than one rank has, of threads that call "
        "MPI: duration_ns, outside_mpi_ns, mpi_share, mpi_calls, mpi_bytes, instructions, each "
        "with ranks, mean, least, least_rank, most, most_rank, null where unknown), waits (null "
        "where fewer than two ranks call MPI or files still grow; else for each kind and function "
        "waits, total_ns, longest_ns, and longest_begin_ns, longest_window, rank and for_rank of "
        "the "
        "longest; waits_why_not says why the files have none), waits_by_rank (rank, "
        "waited_ns, others_waited_ns, and what the rank has cost others: direct_ns, "
        "propagated_ns), "
        "messages (from, to, messages, bytes), "
        "message_sites (arrays of from, to, node of call_tree, messages, bytes), "
        "late_calls (the calls that other ranks waited for, by rank, kind and call path: function, "
        "call_path (places from the outermost one on: caller, line, inlined, image, "
        "return_offset), waits, cost_ns, longest_ns, longest_begin_ns, "
        "longest_window, longest_rank, node of call_tree), "
        "delays (rank, waits, direct_ns, propagated_ns, as in late_calls the wait that it had the "
        "largest part in, and the activity: kind (MPI: call has "
        "function, call_path and node; between: from and to have them; region; function, with "
        "called_in; unrecorded: not recorded until the window's opening, MPI_Init or dropped "
        "events)), "
        "delays_unknown_ns (waits whose cause is not known), critical_path (length_ns, activities "
        "with path_ns, mean_ns, imbalance_ns, and likewise their longest stretch on the path, "
        "ranks with path_ns, windows with ordinal, last_ordinal (another one where windows "
        "overlap), processes, "
        "partial (not all ranks have it), start_ns, stop_ns, crossings (from rank to rank), "
        "broken (waits at which the path could not cross), rank and rank_ns of the rank with "
        "most of it, dropped), "
        "unmatched_sends, unmatched_receives, unmatched_collectives (null where waits is), rates "
        "(of "
        "all ranks: instructions_per_cycle, cycles_per_second, branch_misses_percent, null where "
        "not counted), mpi (of each function, over the main processes of ranks and all others that "
        "call MPI: name, calls, bytes, time_ns, mean_ns, max_ns, max_rank, max_world where its "
        "world is not the first, "
        "imbalance), "
        "call_sites (MPI calls by function and call site, all ranks together, the longest total_ns "
        "first: function, caller, line, inlined (the function that is inlined there), image, "
        "return_offset, null where unknown, calls, total_ns, "
        "waits, waited_ns, longest_ns and rank of the rank with the longest time, bytes), "
        "call_tree (nodes with their parent, null at the outermost: places as in call_path, with "
        "starts_program for those before main; and below them MPI functions: function, calls, "
        "bytes, total_ns, waited_ns, and as in late_calls the longest wait), "
        "program_functions (of a run with "
        "REGTRACE_FUNCTIONS, all ranks together, the longest self_ns first: function, null where "
        "unknown, image, offset, calls, cut, total_ns, self_ns), "
        "estimate (null where no window stands for the whole run; else methods, windows, threads, "
        "threads_uncounted, windows_unfinished, weights, and instructions, time_ns, mpi_ns, "
        "mpi_calls, each with estimate and total, null where unknown), "
        "missing (ranks of "
        "the world without a file), never_fired, log. ranks is a list of objects, one a file, with "
        "rank, file, "
        "state (live, closing, closed, recovered, abandoned, unreadable), main, size, host, pid, "
        "program, "
        "end_reason, events (recorded), lost, lost_unknown, lost_by_kind, windows (how many), "
        "fired, ignored, "
        "window_ns (without open_windows: those without an end), open_windows, mpi_calls, mpi_ns, "
        "mpi_bytes, mpi_bytes_received, unmatched, "
        "completions_unknown (requests made outside the window in which they complete: nobody "
        "knows whether "
        "they are receives, so they are not in mpi_bytes_received), messages_unnumbered (how often "
        "messages of a partner and tag could not be numbered any more: "
        "a table was full, or a receive was freed or cancelled), completions_skipped (requests "
        "whose completion could not be recorded for lack of "
        "memory), interrupted (system calls that our signals broke off with EINTR), overhead, "
        "functions, counters (of REGTRACE_EVENTS: event, count, windows, running_per_mille, "
        "in_mpi, per_second, per_1000_instructions), rates and "
        "threads (their instructions are null where not counted; "
        "overhead.slow_path_ns is null in files of regtrace split, which do "
        "not know it); a file that "
        "cannot be read has rank, file, state and error alone. windows is a list of objects with "
        "rank, thread, ordinal, chain (number from 0, null for the default start and the API), "
        "chain_text, kind, region, weight, multiplier (null: none), mpi_calls, mpi_ns, "
        "start_ns, stop_ns, start_icount, stop_icount, start_requested, stop_requested (all four "
        "absolute for the "
        "thread, null where unknown or nothing was requested), start_alarm and stop_alarm (texts "
        "of the alarms that "
        "fired, null where none did), start_alarm_index, stop_alarm_index, opened_by, closed_by, "
        "bcast, firing, "
        "truncated, main, pid.",
    .options = report_options,
    .examples =
        "regtrace report regtrace-app-*\nregtrace report --json trace | python3 -m json.tool\n"
        "regtrace report --rank 0-3 --top 5 trace\nregtrace report --hot trace\n"
        "regtrace report --tree trace\nregtrace report --critical-path trace\nregtrace report "
        "--efficiency trace-1 trace-2 "
        "trace-4\nregtrace report --folded trace | flamegraph.pl >mpi.svg",
    .exits = "0 fine, 1 a file could not be read (the rest is shown), 2 wrong usage.",
    .main = report_main,
};
