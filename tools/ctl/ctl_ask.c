/* SPDX-License-Identifier: BSD-3-Clause
 * Asks the writers of a running program until each has answered: those on this node by sockets,
 * those on other nodes by files. */
#include "base/clock.h"
#include "tools/ctl/ctl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PAUSE_MS 50 /* between looks at answer files, and between repetitions */

struct ctl_request {
    const char *dir;
    uint64_t id;
    char text[96];
};

bool ctl_verb_is_legal(const char *verb)
{
    return strcmp(verb, "fire") == 0 || strcmp(verb, "open") == 0 || strcmp(verb, "close") == 0 ||
           strcmp(verb, "status") == 0;
}

static bool file_path(char out[PATH_MAX], const struct ctl_request *r, const struct ctl_target *t,
                      const char *ending)
{
    return snprintf(out, PATH_MAX, "%s/ctl/%s.%s", r->dir, t->name, ending) < PATH_MAX;
}

static void answer_path(char out[PATH_MAX], const struct ctl_request *r, const struct ctl_target *t)
{
    char ending[32];
    (void)snprintf(ending, sizeof ending, "answer-%" PRIx64, r->id);
    (void)file_path(out, r, t, ending);
}

static void disconnect(struct ctl_target *t)
{
    if (t->fd >= 0)
        (void)close(t->fd);
    t->fd = -1;
    t->asked = false;
}

/* Keeps the reason of a failure, in case no later request is answered. */
static void note_why(struct ctl_target *t, const char *what, const char *why)
{
    (void)snprintf(t->answer, sizeof t->answer, "%.400s: %.400s", what, why);
}

static void ask_by_socket(struct ctl_target *t, const struct ctl_request *r)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = strlen(r->text);
    if (strlen(t->socket) >= sizeof address.sun_path) {
        note_why(t, t->socket, strerror(ENAMETOOLONG));
        return;
    }
    memcpy(address.sun_path, t->socket, strlen(t->socket) + 1);
    t->got = 0;
    t->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    t->asked = t->fd >= 0 && connect(t->fd, (struct sockaddr *)&address, sizeof address) == 0 &&
               send(t->fd, r->text, n, MSG_NOSIGNAL) == (ssize_t)n;
    if (t->asked)
        return;
    note_why(t, t->socket,
             errno == ECONNREFUSED ? "Connection refused: its writer was killed" : strerror(errno));
    disconnect(t);
}

/* A rank has one request file at a time: link() fails while another client's request is there. */
static void ask_by_file(struct ctl_target *t, const struct ctl_request *r)
{
    char ending[48], temporary[PATH_MAX], path[PATH_MAX];
    (void)snprintf(ending, sizeof ending, "ask-%" PRIx64, r->id);
    if (!file_path(temporary, r, t, ending) || !file_path(path, r, t, "request")) {
        note_why(t, r->dir, strerror(ENAMETOOLONG));
        return;
    }
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write(fd, r->text, strlen(r->text)) == (ssize_t)strlen(r->text);
    if (fd >= 0)
        good &= close(fd) == 0;
    t->asked = good && link(temporary, path) == 0;
    if (!t->asked)
        note_why(t, path, errno == EEXIST ? "another request waits there" : strerror(errno));
    (void)unlink(temporary);
}

/* Removes the request file if it is ours. Another client's request stays. */
static void withdraw_file(const struct ctl_target *t, const struct ctl_request *r)
{
    char path[PATH_MAX], text[sizeof r->text];
    if (!file_path(path, r, t, "request"))
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : -1;
    if (fd >= 0)
        (void)close(fd);
    if (n == (ssize_t)strlen(r->text) && memcmp(text, r->text, (size_t)n) == 0)
        (void)unlink(path);
}

/* Takes a complete answer. An answer with "again" says that the process has not done it yet, so we
 * ask again. */
static void take_answer(struct ctl_target *t)
{
    t->answer[strcspn(t->answer, "\n")] = '\0';
    t->ok = strncmp(t->answer, "{\"ok\":true", 10) == 0;
    t->answered = strstr(t->answer, "\"again\":true") == NULL;
    t->got = 0;
    disconnect(t);
    if (t->answered)
        return;
    static const char key[] = "\"error\":\"";
    char *text = strstr(t->answer, key);
    if (text != NULL) {
        text += sizeof key - 1;
        memmove(t->answer, text, strlen(text) + 1);
        t->answer[strcspn(t->answer, "\"")] = '\0';
    }
}

static void take_by_socket(struct ctl_target *t)
{
    ssize_t n;
    while ((n = recv(t->fd, t->answer + t->got, sizeof t->answer - 1 - t->got, 0)) > 0)
        t->got += (unsigned)n;
    int error = n < 0 ? errno : 0;
    if (error == EAGAIN || error == EINTR)
        return;
    t->answer[t->got] = '\0';
    if (strchr(t->answer, '\n') != NULL) {
        take_answer(t);
        return;
    }
    note_why(t, t->socket, error != 0 ? strerror(error) : "closed without an answer");
    t->got = 0;
    disconnect(t);
}

static void take_by_file(struct ctl_target *t, const struct ctl_request *r)
{
    char path[PATH_MAX];
    answer_path(path, r, t);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, t->answer, sizeof t->answer - 1);
    (void)close(fd);
    (void)unlink(path);
    t->answer[n > 0 ? n : 0] = '\0';
    take_answer(t);
}

/* Returns true if the process has ended: its writer has removed the .path file, and no answer will
 * come. */
static bool has_ended(const struct ctl_target *t, const struct ctl_request *r)
{
    char path[PATH_MAX];
    return !t->asked && file_path(path, r, t, "path") && access(path, F_OK) != 0 && errno == ENOENT;
}

/* Sends a request to each target that has none under way. Returns how many may still answer. */
static size_t ask_rest(struct ctl_target *t, size_t count, const struct ctl_request *r)
{
    size_t waiting = 0;
    for (size_t i = 0; i < count; i++) {
        if (t[i].answered)
            continue;
        if (!t[i].asked && t[i].by_file)
            ask_by_file(&t[i], r);
        else if (!t[i].asked)
            ask_by_socket(&t[i], r);
        if (has_ended(&t[i], r))
            (void)snprintf(t[i].answer, sizeof t[i].answer, "it has ended");
        else
            waiting++;
    }
    return waiting;
}

static void take_answers(struct ctl_target *t, size_t count, const struct ctl_request *r,
                         struct pollfd *fds)
{
    bool again = false;
    for (size_t i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = t[i].fd, .events = POLLIN};
    (void)poll(fds, count, PAUSE_MS);
    for (size_t i = 0; i < count; i++) {
        if (t[i].fd >= 0 && fds[i].revents != 0)
            take_by_socket(&t[i]);
        else if (t[i].asked && t[i].by_file)
            take_by_file(&t[i], r);
        again |= !t[i].answered && !t[i].asked;
    }
    /* Pause before the repetition, since another target's answer may have ended the first poll at
     * once. */
    if (again)
        (void)poll(NULL, 0, PAUSE_MS);
}

static void make_request(struct ctl_request *r, const char *dir, const struct ctl_question *q)
{
    char tid[32] = "";
    *r = (struct ctl_request){.dir = dir};
    if (getrandom(&r->id, sizeof r->id, 0) != (ssize_t)sizeof r->id)
        r->id = clock_monotonic_ns() ^ (uint64_t)getpid() << 40;
    r->id |= 1; /* 0 means no id */
    if (q->has_tid)
        (void)snprintf(tid, sizeof tid, " tid %" PRIu64, q->tid);
    (void)snprintf(r->text, sizeof r->text, "%s%s id %" PRIx64 "\n", q->verb, tid, r->id);
}

static void give_up(struct ctl_target *t, const struct ctl_request *r, uint64_t wait_s)
{
    char why[CTL_ANSWER_ROOM];
    bool ended = has_ended(t, r);
    if (t->asked && t->by_file)
        withdraw_file(t, r);
    if (t->got != 0) /* do not print half an answer as the reason */
        t->answer[0] = '\0';
    disconnect(t);
    if (ended)
        return;
    memcpy(why, t->answer, sizeof why);
    (void)snprintf(t->answer, sizeof t->answer, "no answer within %" PRIu64 " s%s%.900s", wait_s,
                   why[0] != '\0' ? ": " : "; its writer may be stopped, or the machine be busy",
                   why);
}

void ctl_ask(const char *dir, const struct ctl_question *q, struct ctl_target *t, size_t count)
{
    struct ctl_request r;
    struct utsname u;
    bool have_host = uname(&u) == 0;
    uint64_t limit = clock_monotonic_ns() + q->wait_s * 1000000000u;
    struct pollfd *fds = calloc(count, sizeof *fds);
    make_request(&r, dir, q);
    for (size_t i = 0; i < count; i++)
        t[i].by_file = !have_host || strcmp(u.nodename, t[i].host) != 0;
    while (fds != NULL && ask_rest(t, count, &r) != 0 && clock_monotonic_ns() < limit)
        take_answers(t, count, &r, fds);
    for (size_t i = 0; i < count; i++)
        if (!t[i].answered)
            give_up(&t[i], &r, q->wait_s);
    free(fds);
}
