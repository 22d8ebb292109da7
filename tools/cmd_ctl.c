/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace ctl`: asks the writers of a running program to fire the interactive alarm, or for their status.
 *
 * The protocol is writer/control.h's: DIR/ctl/NAME.path names host and socket of a writer; other nodes are
 * reached by DIR/ctl/NAME.request and NAME.answer in the shared folder. */
#include "base/clock.h"
#include "tools/tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define TARGETS 4096
#define NAME_ROOM 64
#define ANSWER_ROOM 1024

struct target {
    char name[NAME_ROOM]; /* rank-NNNNN.PID */
    int32_t rank;
    uint32_t pid;
    char host[80], socket[PATH_MAX];
    int fd; /* -1: by files */
    bool asked, answered, ok;
    char answer[ANSWER_ROOM];
};

struct wishes {
    const char *dir, *verb;
    bool json, has_tid;
    uint64_t tid, wait;
    struct rank_list ranks;
};

static bool read_path_file(const char *dir, struct target *t)
{
    char path[PATH_MAX + 80];
    (void)snprintf(path, sizeof path, "%s/ctl/%s.path", dir, t->name);
    FILE *f = fopen(path, "re");
    bool good = f != NULL && fgets(t->host, sizeof t->host, f) != NULL &&
                fgets(t->socket, sizeof t->socket, f) != NULL;
    if (f != NULL)
        (void)fclose(f);
    t->host[strcspn(t->host, "\n")] = '\0';
    t->socket[strcspn(t->socket, "\n")] = '\0';
    return good;
}

static int by_rank(const void *a, const void *b)
{
    const struct target *x = a, *y = b;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->name, y->name);
}

static int find_targets(const struct wishes *w, struct target **out, size_t *count)
{
    char path[PATH_MAX];
    *count = 0;
    *out = calloc(TARGETS, sizeof **out);
    if (*out == NULL)
        return -ENOMEM;
    if (snprintf(path, sizeof path, "%s/ctl", w->dir) >= (int)sizeof path)
        return -ENAMETOOLONG;
    DIR *d = opendir(path);
    if (d == NULL)
        return -errno;
    for (struct dirent *entry; (entry = readdir(d)) != NULL && *count < TARGETS;) {
        struct target t = {.fd = -1};
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
        if (rank_list_has(&w->ranks, rank) && read_path_file(w->dir, &t))
            (*out)[(*count)++] = t;
    }
    (void)closedir(d);
    qsort(*out, *count, sizeof **out, by_rank);
    return 0;
}

static bool ask_by_socket(struct target *t, const char *request)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(t->socket) >= sizeof address.sun_path)
        return false;
    memcpy(address.sun_path, t->socket, strlen(t->socket) + 1);
    t->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_sec = 5};
    if (t->fd < 0)
        return false;
    (void)setsockopt(t->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(t->fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        send(t->fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request))
        return true;
    (void)snprintf(t->answer, sizeof t->answer, "%s: %s", t->socket, strerror(errno));
    (void)close(t->fd);
    t->fd = -1;
    return false;
}

/* One request file a rank at a time: link() refuses while another client's waits there. */
static bool ask_by_file(const char *dir, struct target *t, const char *request)
{
    char temporary[PATH_MAX + 160], path[PATH_MAX + 160];
    (void)snprintf(temporary, sizeof temporary, "%s/ctl/%s.ask-%ld", dir, t->name, (long)getpid());
    (void)snprintf(path, sizeof path, "%s/ctl/%s.answer", dir, t->name);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/ctl/%s.request", dir, t->name);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write(fd, request, strlen(request)) == (ssize_t)strlen(request);
    if (fd >= 0)
        good &= close(fd) == 0;
    good = good && link(temporary, path) == 0;
    if (!good)
        (void)snprintf(t->answer, sizeof t->answer, "%.400s: %s", path, strerror(errno));
    (void)unlink(temporary);
    return good;
}

static bool take_by_socket(struct target *t, uint64_t limit)
{
    size_t used = 0;
    while (used + 1 < sizeof t->answer) {
        uint64_t now = clock_monotonic_ns();
        uint64_t left = now < limit ? limit - now : 1000;
        struct timeval patience = {.tv_sec = (time_t)(left / 1000000000u),
                                   .tv_usec = (suseconds_t)(left % 1000000000u / 1000) + 1};
        (void)setsockopt(t->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ssize_t n = recv(t->fd, t->answer + used, sizeof t->answer - 1 - used, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    t->answer[used] = '\0';
    (void)close(t->fd);
    t->fd = -1;
    return used > 0;
}

static bool take_by_file(const char *dir, struct target *t, uint64_t limit)
{
    char path[PATH_MAX + 160];
    (void)snprintf(path, sizeof path, "%s/ctl/%s.answer", dir, t->name);
    do {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd >= 0 ? read(fd, t->answer, sizeof t->answer - 1) : -1;
        if (fd >= 0)
            (void)close(fd);
        if (n > 0) {
            t->answer[n] = '\0';
            (void)unlink(path);
            return true;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    } while (clock_monotonic_ns() < limit);
    (void)snprintf(path, sizeof path, "%s/ctl/%s.request", dir, t->name);
    (void)unlink(path);
    return false;
}

static void ask_all(const struct wishes *w, struct target *t, size_t count)
{
    struct utsname u;
    char request[64];
    bool have_host = uname(&u) == 0;
    if (w->has_tid)
        (void)snprintf(request, sizeof request, "%s tid %llu\n", w->verb,
                       (unsigned long long)w->tid);
    else
        (void)snprintf(request, sizeof request, "%s\n", w->verb);
    for (size_t i = 0; i < count; i++)
        t[i].asked = have_host && strcmp(u.nodename, t[i].host) == 0
                         ? ask_by_socket(&t[i], request)
                         : ask_by_file(w->dir, &t[i], request);
    uint64_t limit = clock_monotonic_ns() + w->wait * 1000000000u;
    for (size_t i = 0; i < count; i++) {
        if (!t[i].asked)
            continue;
        t[i].answered =
            t[i].fd >= 0 ? take_by_socket(&t[i], limit) : take_by_file(w->dir, &t[i], limit);
        t[i].answer[strcspn(t[i].answer, "\n")] = '\0';
        t[i].ok = t[i].answered && strncmp(t[i].answer, "{\"ok\":true", 10) == 0;
        if (!t[i].answered)
            (void)snprintf(t[i].answer, sizeof t[i].answer, "no answer within %llu s",
                           (unsigned long long)w->wait);
    }
}

/* {"ok":true,"rank":0,...} as words: the writer's own answers are flat, and no text in them holds a quote. */
static void print_words(const struct target *t)
{
    char text[ANSWER_ROOM];
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

static int print_answers(const struct wishes *w, const struct target *t, size_t count)
{
    size_t good = 0;
    for (size_t i = 0; i < count; i++) {
        good += t[i].ok;
        if (!t[i].answered)
            message_error("ctl", "rank %d pid %u on %s: %s", t[i].rank, t[i].pid, t[i].host,
                          t[i].answer);
        else if (w->json)
            (void)printf("%s\n", t[i].answer);
        else
            print_words(&t[i]);
    }
    return output_finish("ctl", good == count ? TOOL_OK : TOOL_FAILURE);
}

static int take_option(struct wishes *w, const struct arguments *a)
{
    struct rt_error e = {{0}};
    const char *name = a->option->name;
    if (strcmp(name, "json") == 0) {
        w->json = true;
        return TOOL_OK;
    }
    if (strcmp(name, "rank") == 0) {
        if (rank_list_parse(&w->ranks, a->value, &e) == 0)
            return TOOL_OK;
        message_error("ctl", "-rank: %s", e.text);
    } else if (strcmp(name, "tid") == 0) {
        w->has_tid = true;
        if (argument_number(a->value, 0, INT32_MAX, &w->tid) == 0)
            return TOOL_OK;
        message_error("ctl", "-tid is \"%s\": the number of a thread is legal, from 0", a->value);
    } else {
        if (argument_number(a->value, 1, 3600, &w->wait) == 0)
            return TOOL_OK;
        message_error("ctl", "-wait is \"%s\": seconds from 1 to 3600 are legal", a->value);
    }
    return TOOL_USAGE;
}

static int read_wishes(struct wishes *w, int argc, char **argv)
{
    struct arguments a = {.command = &command_ctl, .count = argc, .words = argv, .next = 1};
    *w = (struct wishes){.wait = 10};
    for (enum argument_kind kind; (kind = arguments_next(&a)) != ARGUMENT_END;) {
        if (kind == ARGUMENT_DONE || kind == ARGUMENT_WRONG)
            return kind == ARGUMENT_DONE ? TOOL_OK : TOOL_USAGE;
        if (kind == ARGUMENT_OPTION && take_option(w, &a) != TOOL_OK)
            return TOOL_USAGE;
        if (kind == ARGUMENT_WORD && w->dir == NULL)
            w->dir = a.value;
        else if (kind == ARGUMENT_WORD && w->verb == NULL)
            w->verb = a.value;
        else if (kind == ARGUMENT_WORD) {
            message_error("ctl", "\"%s\" is one word too many: regtrace ctl DIR fire|status",
                          a.value);
            return TOOL_USAGE;
        }
    }
    if (w->dir == NULL || w->verb == NULL) {
        message_error("ctl", "%s: regtrace ctl DIR fire|status",
                      w->dir == NULL ? "no folder is named" : "what is to be done");
        return TOOL_USAGE;
    }
    if (strcmp(w->verb, "fire") != 0 && strcmp(w->verb, "status") != 0) {
        message_error("ctl", "\"%s\" is no request; legal are fire and status", w->verb);
        return TOOL_USAGE;
    }
    if (w->has_tid && strcmp(w->verb, "fire") != 0) {
        message_error("ctl", "-tid goes with fire alone");
        return TOOL_USAGE;
    }
    return -1;
}

static int ctl_main(int argc, char **argv)
{
    struct wishes w;
    struct target *targets = NULL;
    size_t count = 0;
    int code = read_wishes(&w, argc, argv);
    if (code >= 0)
        return code;
    int rc = find_targets(&w, &targets, &count);
    if (rc != 0 && rc != -ENOENT) {
        message_error("ctl", "%s/ctl: %s", w.dir, strerror(-rc));
        code = TOOL_FAILURE;
    } else if (count == 0) {
        bool there = access(w.dir, F_OK) == 0;
        message_error(
            "ctl",
            there ? "no traced process of %s listens%s: it has ended, or has not begun to record"
                  : "%s: no such folder%s",
            w.dir, there && w.ranks.count > 0 ? " among the ranks asked for" : "");
        code = TOOL_FAILURE;
    } else {
        ask_all(&w, targets, count);
        code = print_answers(&w, targets, count);
    }
    free(targets);
    return code;
}

static const struct command_option ctl_options[] = {
    {"rank", "LIST", "only these ranks, for example 0-3,8", 'r'},
    {"tid", "T", "with fire: in this thread (our number; default: the main thread)", 't'},
    {"json", NULL, "the answers as JSON, one object a line", 0},
    {"wait", "SECONDS", "how long to wait for answers (default 10)", 0},
    {NULL, NULL, NULL, 0},
};

const struct command command_ctl = {
    .name = "ctl",
    .summary = "fire the interactive alarm in a running program, or ask how it is doing",
    .synopsis = "[--rank LIST] [--tid T] [--json] [--wait SECONDS] DIR fire|status",
    .description = "DIR is the folder of a run that is going on. fire makes one firing of the "
                   "alarm \"interactive\" in each "
                   "rank asked for and returns when the ranks have done it: one request, one "
                   "event of each alarm that waits for it in that thread. fired says how many "
                   "alarms fired, counted how many have count and are still to fire. Where no "
                   "alarm waits, since the chain is over or has none of type interactive, that "
                   "is an error: a chain that is to fire more than once has \",repeat\". "
                   "status prints "
                   "what each rank's writer knows: chains still armed, threads that record, "
                   "windows, events stored and dropped.\n\n"
                   "The writer of each process listens on a Unix socket that only its user may "
                   "open; ranks on other nodes are "
                   "reached through request files in DIR/ctl.",
    .options = ctl_options,
    .examples =
        "regtrace run -o trace -control start:interactive:bcast,stop:interactive:bcast -- ./app &\n"
        "regtrace ctl trace fire\nregtrace ctl trace status --rank 0",
    .exits = "0 every process asked has answered that it did it, 1 otherwise (with fire also where "
             "no alarm waited in one of them), 2 wrong usage.",
    .main = ctl_main,
};
