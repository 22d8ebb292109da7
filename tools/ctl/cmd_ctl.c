/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace ctl`: asks the writers of a running program to fire the interactive alarm, to open or
 * close windows, or to report their status. The transport is in tools/ctl/ctl.h. */
#include "base/clock.h"
#include "tools/ctl/ctl.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TARGETS 4096

struct ctl_options {
    const char *dir;
    struct ctl_question question;
    bool json, wait_given;
    struct rank_list ranks;
};

static bool read_path_file(const char *dir, struct ctl_target *t)
{
    char path[PATH_MAX + 80], size[16] = "";
    (void)snprintf(path, sizeof path, "%s/ctl/%s.path", dir, t->name);
    FILE *f = fopen(path, "re");
    bool good = f != NULL && fgets(t->host, sizeof t->host, f) != NULL &&
                fgets(t->socket, sizeof t->socket, f) != NULL;
    t->size = good && fgets(size, sizeof size, f) != NULL ? atoi(size) : -1;
    if (f != NULL)
        (void)fclose(f);
    t->host[strcspn(t->host, "\n")] = '\0';
    t->socket[strcspn(t->socket, "\n")] = '\0';
    return good;
}

static int by_rank(const void *a, const void *b)
{
    const struct ctl_target *x = a, *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->name, y->name);
}

static int find_targets(const struct ctl_options *o, struct ctl_target **out, size_t *count)
{
    char path[PATH_MAX];
    *count = 0;
    *out = calloc(TARGETS, sizeof **out);
    if (*out == NULL)
        return -ENOMEM;
    if (snprintf(path, sizeof path, "%s/ctl", o->dir) >= (int)sizeof path)
        return -ENAMETOOLONG;
    DIR *d = opendir(path);
    if (d == NULL)
        return -errno;
    for (struct dirent *entry; (entry = readdir(d)) != NULL && *count < TARGETS;) {
        struct ctl_target t = {.fd = -1};
        const char *dot = strrchr(entry->d_name, '.');
        int rank;
        unsigned pid;
        if (dot == NULL || strcmp(dot, ".path") != 0 ||
            sscanf(entry->d_name, "rank-%d.%u.", &rank, &pid) != 2 ||
            (size_t)(dot - entry->d_name) >= sizeof t.name)
            continue;
        memcpy(t.name, entry->d_name, (size_t)(dot - entry->d_name));
        t.rank = rank;
        t.pid = pid;
        if (rank_list_has(&o->ranks, rank) && read_path_file(o->dir, &t))
            (*out)[(*count)++] = t;
    }
    (void)closedir(d);
    qsort(*out, *count, sizeof **out, by_rank);
    return 0;
}

/* Prints {"ok":true,"rank":0,...} as words. A writer's answers are flat, and no text in them
 * contains a quote. */
static void print_words(const struct ctl_target *t)
{
    char text[CTL_ANSWER_ROOM];
    size_t n = 0;
    bool quoted = false;
    for (const char *p = t->answer; *p != '\0' && n + 1 < sizeof text; p++) {
        quoted ^= *p == '"';
        if (strchr("{}\"", *p) == NULL)
            text[n++] = quoted ? *p : *p == ',' ? ' ' : *p == ':' ? '=' : *p;
    }
    text[n] = '\0';
    const char *words = strncmp(text, "ok=true", 7) == 0 ? text + 7 : text;
    (void)printf("rank %d pid %u:%s%s\n", t->rank, t->pid, words[0] == ' ' ? "" : " ", words);
}

/* Prints which ranks did not carry out the request, and what the user can do. */
static void print_failures(const struct ctl_options *o, const struct ctl_target *t, size_t count,
                           size_t failed)
{
    char list[256] = "";
    size_t used = 0;
    int32_t last = -1;
    for (size_t i = 0; i < count && used < sizeof list; i++) {
        if (t[i].ok || t[i].rank == last)
            continue;
        last = t[i].rank;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", used != 0 ? "," : "",
                                 t[i].rank);
    }
    if (used >= sizeof list) /* the list is cut, but the lines above name all ranks */
        *strrchr(list, ',') = '\0';
    tool_error("ctl", "%zu of %zu processes did not %s (rank %s)%s", failed, count,
               o->question.verb, list,
               strcmp(o->question.verb, "status") == 0 ? ""
               : strcmp(o->question.verb, "fire") == 0
                   ? "; `open` or `close` brings all of them into the same state"
                   : "; it does no harm to ask again");
}

/* Returns how many ranks the request did not reach, after a message that names them. */
static size_t print_absent(const struct ctl_options *o, const struct ctl_target *t, size_t count)
{
    char list[CTL_RANKS_ROOM];
    int32_t size;
    size_t absent = ctl_absent_ranks(list, &size, o->dir, &o->ranks, t, count);
    if (absent > 0)
        tool_error("ctl",
                   "rank %s of %" PRId32 " ranks was not asked: nobody listens there. It has not "
                   "begun to record, so ask again; or it is not traced, so name the others by "
                   "-rank",
                   list, size);
    return absent;
}

static int print_answers(const struct ctl_options *o, const struct ctl_target *t, size_t count)
{
    size_t good = 0;
    for (size_t i = 0; i < count; i++) {
        good += t[i].ok;
        if (!t[i].answered)
            tool_error("ctl", "rank %d pid %u on %s: %s", t[i].rank, t[i].pid, t[i].host,
                       t[i].answer);
        else if (o->json)
            (void)printf("%s\n", t[i].answer);
        else
            print_words(&t[i]);
    }
    if (good != count && count > 1)
        print_failures(o, t, count, count - good);
    good -= print_absent(o, t, count) > 0;
    return output_finish("ctl", good == count ? TOOL_OK : TOOL_FAILURE);
}

static int take_option(struct ctl_options *o, const struct arguments *a)
{
    struct rt_error e = {{0}};
    const char *name = a->option->name;
    if (strcmp(name, "json") == 0) {
        o->json = true;
        return TOOL_OK;
    }
    if (strcmp(name, "rank") == 0) {
        if (rank_list_parse(&o->ranks, a->value, &e) == 0)
            return TOOL_OK;
        tool_error("ctl", "-rank: %s", e.text);
    } else if (strcmp(name, "tid") == 0) {
        o->question.has_tid = true;
        if (argument_number(a->value, 0, INT32_MAX, &o->question.tid) == 0)
            return TOOL_OK;
        tool_error("ctl", "-tid is \"%s\": the number of a thread is legal, from 0", a->value);
    } else {
        o->wait_given = true;
        if (argument_number(a->value, 1, 3600, &o->question.wait_s) == 0)
            return TOOL_OK;
        tool_error("ctl", "-wait is \"%s\": seconds from 1 to 3600 are legal", a->value);
    }
    return TOOL_USAGE;
}

static int read_options(struct ctl_options *o, int argc, char **argv)
{
    struct arguments a = {.command = &command_ctl, .count = argc, .words = argv, .next = 1};
    *o = (struct ctl_options){.question.wait_s = 10};
    for (enum argument_kind kind; (kind = arguments_next(&a)) != ARGUMENT_END;) {
        if (kind == ARGUMENT_DONE || kind == ARGUMENT_WRONG)
            return kind == ARGUMENT_DONE ? TOOL_OK : TOOL_USAGE;
        if (kind == ARGUMENT_OPTION && take_option(o, &a) != TOOL_OK)
            return TOOL_USAGE;
        if (kind == ARGUMENT_WORD && o->dir == NULL)
            o->dir = a.value;
        else if (kind == ARGUMENT_WORD && o->question.verb == NULL)
            o->question.verb = a.value;
        else if (kind == ARGUMENT_WORD) {
            tool_error("ctl",
                       "\"%s\" is one word too many: regtrace ctl DIR fire|open|close|status",
                       a.value);
            return TOOL_USAGE;
        }
    }
    if (o->dir == NULL || o->question.verb == NULL) {
        tool_error("ctl", "%s: regtrace ctl DIR fire|open|close|status",
                   o->dir == NULL ? "no folder is named" : "what is to be done");
        return TOOL_USAGE;
    }
    if (!ctl_verb_is_legal(o->question.verb) && ctl_verb_is_legal(o->dir)) {
        tool_error("ctl", "the folder comes first: regtrace ctl %s %s", o->question.verb, o->dir);
        return TOOL_USAGE;
    }
    if (!ctl_verb_is_legal(o->question.verb)) {
        tool_error("ctl", "\"%s\" is no request; legal are fire, open, close and status",
                   o->question.verb);
        return TOOL_USAGE;
    }
    if (o->question.has_tid && strcmp(o->question.verb, "status") == 0) {
        tool_error("ctl", "-tid goes with fire, open and close, not with status");
        return TOOL_USAGE;
    }
    return -1;
}

static bool is_known(const struct ctl_target *t, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(t[i].name, name) == 0)
            return true;
    return false;
}

/* Adds the targets that have appeared since. */
static void find_new_targets(const struct ctl_options *o, struct ctl_target *t, size_t *count)
{
    struct ctl_target *now = NULL;
    size_t n = 0;
    if (find_targets(o, &now, &n) == 0)
        for (size_t i = 0; i < n && *count < TARGETS; i++)
            if (!is_known(t, *count, now[i].name))
                t[(*count)++] = now[i];
    free(now);
}

/* Asks all targets, and waits for ranks of which none listens yet. */
static void ask_all(const struct ctl_options *o, struct ctl_target *t, size_t *count)
{
    char list[CTL_RANKS_ROOM];
    int32_t size;
    uint64_t limit = clock_monotonic_ns() + o->question.wait_s * 1000000000u;
    for (size_t asked = 0;;) {
        if (*count > asked)
            ctl_ask(o->dir, &o->question, t + asked, *count - asked);
        asked = *count;
        if (clock_monotonic_ns() >= limit ||
            ctl_absent_ranks(list, &size, o->dir, &o->ranks, t, *count) == 0)
            break;
        (void)poll(NULL, 0, 100);
        find_new_targets(o, t, count);
    }
    qsort(t, *count, sizeof *t, by_rank);
}

/* With --wait, the run may not have begun: waits until somebody listens. */
static int find_first_targets(const struct ctl_options *o, struct ctl_target **t, size_t *count)
{
    uint64_t limit = clock_monotonic_ns() + o->question.wait_s * 1000000000u;
    for (;;) {
        int rc = find_targets(o, t, count);
        bool nobody = rc == -ENOENT || (rc == 0 && *count == 0);
        if (!nobody || !o->wait_given || clock_monotonic_ns() >= limit)
            return rc;
        free(*t);
        *t = NULL;
        (void)poll(NULL, 0, 100);
    }
}

static int ctl_main(int argc, char **argv)
{
    struct ctl_options o;
    struct ctl_target *targets = NULL;
    size_t count = 0;
    int code = read_options(&o, argc, argv);
    if (code >= 0)
        return code;
    int rc = find_first_targets(&o, &targets, &count);
    if (rc != 0 && rc != -ENOENT) {
        tool_error("ctl", "%s/ctl: %s", o.dir, strerror(-rc));
        code = TOOL_FAILURE;
    } else if (count == 0) {
        bool there = access(o.dir, F_OK) == 0;
        tool_error(
            "ctl",
            there ? "no traced process of %s listens%s: it has ended, or has not begun to record "
                    "(-wait SECONDS waits for it)"
                  : "%s: no such folder%s (-wait SECONDS waits for a run that begins)",
            o.dir, there && o.ranks.count > 0 ? " among the ranks asked for" : "");
        code = TOOL_FAILURE;
    } else {
        ask_all(&o, targets, &count);
        code = print_answers(&o, targets, count);
    }
    free(targets);
    return code;
}

static const struct command_option ctl_options[] = {
    {"rank", "LIST", "only these ranks, for example 0-3,8", 'r'},
    {"tid", "T", "fire, open, close: for this thread alone (our number; 0 is the main thread)",
     't'},
    {"json", NULL, "the answers as JSON, one object a line", 0},
    {"wait", "SECONDS", "how long to wait for answers (default 10), and for a run to begin", 0},
    {NULL, NULL, NULL, 0},
};

const struct command command_ctl = {
    .name = "ctl",
    .summary = "open and close windows of a running program, fire its interactive alarms, or ask "
               "how it is doing",
    .synopsis = "[--rank LIST] [--tid T] [--json] [--wait SECONDS] DIR fire|open|close|status",
    .description =
        "DIR is the folder of a run that is going on. Each request returns when all ranks asked "
        "for have done it.\n\n"
        "open opens a window for every thread of a rank; threads that have a window open stay in "
        "it. close closes every window of a rank. Both work with any chains, and do nothing where "
        "the windows are so already: they can be repeated without harm. If an interactive alarm "
        "of the main thread waits to start (stop) a window, open (close) fires it first, so that "
        "its chain goes on. With --tid, open and close are for that thread alone.\n\n"
        "fire makes one firing of the alarm \"interactive\" in each rank: one request, one event "
        "of each alarm that waits for it in the main thread, or in thread T. fired says how many "
        "alarms fired, counted how many have count and are still to fire. Where no alarm waits, "
        "since the chain is over or has none of type interactive, that is an error: a chain that "
        "is to fire more than once has \",repeat\".\n\n"
        "status prints what each rank's writer knows: chains still armed, threads that record, "
        "windows, events stored and dropped.\n\n"
        "ctl repeats the request to a rank that does not answer until --wait is over; the rank "
        "executes it once. For a rank that has not begun to record, ctl waits as long; for a run "
        "of "
        "which nobody listens yet, only if --wait is given. It names the ranks that did not "
        "answer, with the reason. A rank that has ended does not count as "
        "missing. Where some ranks of a job are not traced, --rank names the others.\n\n"
        "The writer of each process listens on a Unix socket that only its user may open; ranks "
        "on other nodes are reached through request files in DIR/ctl.",
    .options = ctl_options,
    .examples =
        "regtrace run -o trace -control start:interactive:bcast,stop:interactive:bcast,repeat -- "
        "./app &\n"
        "regtrace ctl trace open\nregtrace ctl trace close\nregtrace ctl trace fire\n"
        "regtrace ctl trace status --rank 0",
    .exits = "0 every rank asked has answered that it did it, 1 otherwise (with fire also where "
             "no alarm waited in one of them), 2 wrong usage.",
    .main = ctl_main,
};
