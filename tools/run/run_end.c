/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of `regtrace run` after the program has ended: the folder, the lines of the log, or why
 * nothing was recorded. */
#include "base/format/memory_recording.h"
#include "base/toolkit/map.h"
#include "tools/run/run.h"
#include "writer/writer.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOG_LINES 40

static unsigned count_rank_files(const char *folder, bool *indexed)
{
    unsigned n = 0;
    *indexed = false;
    DIR *d = opendir(folder);
    for (struct dirent *entry; d != NULL && (entry = readdir(d)) != NULL;) {
        size_t length = strlen(entry->d_name);
        bool h5 = length > 3 && strcmp(entry->d_name + length - 3, ".h5") == 0;
        n += h5 && strncmp(entry->d_name, "rank-", 5) == 0;
        *indexed |= strcmp(entry->d_name, "regtrace.h5") == 0;
    }
    if (d != NULL)
        (void)closedir(d);
    return n;
}

/* Waits for files to be complete; returns the number of rank files. Ranks that are being killed,
 * and their writers, outlive mpirun for a moment. regtrace.h5 appears when the last writer has
 * closed its file. */
static unsigned wait_for_writers(const char *folder, uint64_t seconds, struct rt_processes *p)
{
    bool indexed = false;
    unsigned n;
    for (uint64_t i = 0;; i++) {
        /* before we count the files, so that we do not miss a file that appears */
        rt_run_processes(folder, p);
        n = count_rank_files(folder, &indexed);
        bool more = p->closing > 0 || p->starting > 0 || p->file_follows > 0 || (n > 0 && !indexed);
        if (!more || i >= seconds * 20)
            break;
        (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    return n;
}

/* Prints the lines of the run's log, and sets *error if one of them is an error. Returns their
 * number. */
static unsigned print_log(const char *folder, bool *error)
{
    char path[PATH_MAX + 32], *line = NULL;
    size_t room = 0;
    unsigned lines = 0, said = 0;
    (void)snprintf(path, sizeof path, "%s/regtrace.log", folder);
    FILE *f = fopen_regular(path);
    while (f != NULL && getline(&line, &room, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        *error = *error || strstr(line, " error: ") != NULL;
        if (run_has_said(line))
            said++;
        else if (lines++ < LOG_LINES)
            (void)fprintf(stderr, "regtrace: %s\n", line);
    }
    if (lines > LOG_LINES)
        (void)fprintf(stderr, "regtrace: ... %u more lines in %s\n", lines - LOG_LINES, path);
    free(line);
    if (f != NULL)
        (void)fclose(f);
    return lines + said;
}

/* Prints a path quoted for a shell. */
static void print_quoted(const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:,@%=";
    if (path[strspn(path, plain)] == '\0') {
        (void)fputs(path, stderr);
        return;
    }
    (void)fputc('\'', stderr);
    for (; *path != '\0'; path++)
        (void)(*path == '\'' ? fputs("'\\''", stderr) : fputc(*path, stderr));
    (void)fputc('\'', stderr);
}

static void print_command(const char *command, const char *folder)
{
    (void)fprintf(stderr, "regtrace: see it with: regtrace %s ", command);
    print_quoted(folder);
    (void)fputc('\n', stderr);
}

/* Returns the likely reason, by the options, why nothing was recorded; "": none. */
static const char *nothing_reason(const struct options *o, unsigned chains)
{
    if (o->number[OPT_count] != 0)
        return "";
    if (chains > 0)
        return "no window opened, since nothing that the chains wait for came; or ";
    if (option_is_profile(o))
        return "the program made no MPI call, and -mode profile records nothing else; or ";
    if (o->number[OPT_default_start] == 0)
        return "without a chain, -controller-default-start 0 opens no window unless the program "
               "calls regtrace_start(): give -control CHAIN, or leave it out; or ";
    return o->number[OPT_record_mpi] != 0
               ? "without a chain the whole run is one window, and the program made no MPI call, "
                 "entered no named region and received no signal in it: -sample cpu:10ms shows "
                 "where any program is, -functions . what functions it enters (x86-64); or "
               : "without a chain the whole run is one window, and the program entered no named "
                 "region and received no signal in it (-mpi 0 leaves MPI calls out); or ";
}

/* Returns the option that keeps this program from being traced; NULL: none. */
static const struct option_row *leaves_out(const struct options *o, const char *program)
{
    const char *include = o->text[OPT_include], *exclude = o->text[OPT_exclude];
    if (program != NULL && exclude[0] != '\0' && option_matches(exclude, program) == 1)
        return &option_table[OPT_exclude];
    if (program != NULL && include[0] != '\0' && option_matches(include, program) == 0)
        return &option_table[OPT_include];
    return NULL;
}

/* If a launcher failed, writes to `out` how it ended and where its message is; else "". Returns
 * `out`. */
static const char *launcher_end(const struct run_end *end, char out[512])
{
    bool signalled = WIFSIGNALED(end->status);
    out[0] = '\0';
    if (end->launcher != NULL && end->status > 0)
        (void)snprintf(out, 512,
                       "%.300s ended with %s %d; if it could not start the ranks, its own message "
                       "above says why. If it did: ",
                       end->launcher, signalled ? "signal" : "status",
                       signalled ? WTERMSIG(end->status) : WEXITSTATUS(end->status));
    return out;
}

/* The status TOOL_USAGE may come from the library: it refused an option or a chain, and has printed
 * why. */
static void print_nothing(const struct run_end *end)
{
    const struct options *o = end->options;
    const char *program = end->program;
    bool refused =
        end->status >= 0 && WIFEXITED(end->status) && WEXITSTATUS(end->status) == TOOL_USAGE;
    bool killed = end->launcher == NULL && end->status > 0 && WIFSIGNALED(end->status);
    const struct option_row *row = leaves_out(o, program);
    char launcher[512];
    if (row != NULL)
        (void)fprintf(stderr,
                      "regtrace: nothing was recorded: -%s \"%s\" leaves %s out (it is compared "
                      "with the base name of the program), and nothing else that is traced "
                      "recorded anything\n",
                      row->option, o->text[row - option_table], program);
    else
        (void)fprintf(stderr,
                      "regtrace: nothing was recorded: %s%s%sno traced program ran (regtrace "
                      "doctor PROGRAM says whether it can be)\n",
                      launcher_end(end, launcher),
                      killed    ? "the program was ended by a signal before it had anything to "
                                  "record; or "
                      : refused ? "the program was not started, if a line above says so; else "
                                : "",
                      nothing_reason(o, end->chains));
}

static bool has_accesses(const char *folder)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/" MEMORY_FOLDER, folder);
    return n > 0 && n < (int)sizeof path && access(path, F_OK) == 0;
}

/* Prints that the folder that the user asked for was in use, so that this run has another one. */
static void print_taken(const struct run_end *end)
{
    if (end->taken != NULL)
        (void)fprintf(stderr, "regtrace: %s is %s and was left as it is\n", end->taken,
                      end->taken_why);
}

/* Says that no chain has opened a window. The files alone look as if all were well. */
static void print_no_window(const struct run_end *end)
{
    struct rt_index_totals totals;
    struct rt_index_row *rows = NULL;
    if (end->chains == 0 || option_is_profile(end->options) ||
        end->options->number[OPT_count] != 0 ||
        rt_index_read(end->folder, &totals, &rows, NULL) != 0)
        return;
    free(rows);
    if (totals.rows > 0 && totals.rows != UINT64_MAX && totals.windows == 0)
        (void)fputs("regtrace: but no window opened: nothing that the chains wait for happened "
                    "(regtrace report names the alarms that never fired)\n",
                    stderr);
}

static void print_unfinished(const char *folder, unsigned processes)
{
    if (processes == 0)
        return;
    (void)fprintf(
        stderr,
        "regtrace: %u process%s not completely recorded: the writer ended early (killed, or "
        "no space was left). Complete it with: regtrace recover ",
        processes, processes == 1 ? " is" : "es are");
    print_quoted(folder);
    (void)fputc('\n', stderr);
}

void run_print_end(const struct run_end *end)
{
    const char *folder = end->folder;
    const struct options *o = end->options;
    struct rt_processes p;
    unsigned files = wait_for_writers(folder, o->number[OPT_exit_wait], &p);
    bool error = false;
    unsigned lines = end->quiet ? 0 : print_log(folder, &error);
    if (files == 0 && lines == 0 && p.living == 0 && p.unfinished == 0 && end->remove_if_empty)
        (void)rt_run_remove_empty(folder);
    if (end->quiet)
        return;
    if (files > 0) {
        print_taken(end);
        (void)fprintf(stderr, "regtrace: %u process%s recorded in %s\n", files,
                      files == 1 ? "" : "es", folder);
        if (p.living == 0)
            print_no_window(end);
        print_command("report", folder);
        if (o->text[OPT_values][0] != '\0')
            print_command("values", folder);
        if (o->text[OPT_memory][0] != '\0')
            print_command("skel replay", folder);
    } else if (p.living > 0) {
        (void)fprintf(stderr,
                      "regtrace: nothing has been recorded yet; traced processes that still run: "
                      "%u (regtrace ctl %s status asks them)\n",
                      p.living, folder);
    } else if (has_accesses(folder)) {
        print_taken(end);
        (void)fprintf(stderr,
                      "regtrace: there is no file of events in %s, but memory accesses, as far as "
                      "they could be written\n",
                      folder);
        print_command("skel replay", folder);
    } else if (p.unfinished == 0 && !error) { /* else the error is the reason */
        print_nothing(end);
    }
    print_unfinished(folder, p.unfinished);
}
