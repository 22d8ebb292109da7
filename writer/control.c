/* SPDX-License-Identifier: BSD-3-Clause
 * Serving `regtrace ctl`: requests become stream requests and a signal; the answer waits for the process. */
#define _GNU_SOURCE 1
#include "writer/control.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_WITHIN_NS 5000000000u

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    memcpy(address.sun_path, path, strlen(path) + 1);
    (void)unlink(path);
    mode_t old = umask(0177);
    int bad = bind(fd, (struct sockaddr *)&address, sizeof address);
    (void)umask(old);
    if (bad != 0 || listen(fd, 16) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static void write_file(const char *base, const char *suffix, const char *text)
{
    char temporary[PATH_MAX], path[PATH_MAX];
    (void)snprintf(temporary, sizeof temporary, "%s.tmp", base);
    (void)snprintf(path, sizeof path, "%s%s", base, suffix);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    ssize_t n = write(fd, text, strlen(text));
    if (close(fd) != 0 || n != (ssize_t)strlen(text) || rename(temporary, path) != 0)
        (void)unlink(temporary);
}

void control_open(struct control *c, const char *dir, const char *host, int32_t rank, uint32_t pid,
                  int signal_number)
{
    struct sockaddr_un address;
    char text[PATH_MAX + 80];
    *c = (struct control){.listener = -1, .signal_number = signal_number, .pid = pid};
    (void)snprintf(text, sizeof text, "%s/ctl", dir);
    if (mkdir(text, 0700) != 0 && errno != EEXIST)
        return;
    int n = snprintf(c->base, sizeof c->base, "%s/ctl/rank-%05d.%u", dir, rank < 0 ? 0 : rank, pid);
    if (n < 0 || n >= (int)sizeof c->base) {
        c->base[0] = '\0';
        return;
    }
    (void)snprintf(c->socket_path, sizeof c->socket_path, "%s.sock", c->base);
    if (strlen(c->socket_path) >= sizeof address.sun_path)
        (void)snprintf(c->socket_path, sizeof c->socket_path, "/tmp/regtrace-%u-%u.sock",
                       (unsigned)getuid(), pid);
    c->listener = listen_at(c->socket_path);
    if (c->listener < 0)
        return;
    (void)snprintf(text, sizeof text, "%s\n%s\n", host, c->socket_path);
    write_file(c->base, ".path", text);
}

static void remove_file(const char *base, const char *suffix)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s%s", base, suffix);
    (void)unlink(path);
}

static void leave_folder(struct control *c)
{
    if (c->listener >= 0) {
        (void)close(c->listener);
        (void)unlink(c->socket_path);
    }
    if (c->base[0] == '\0')
        return;
    remove_file(c->base, ".path");
    remove_file(c->base, ".request");
    char *slash = strrchr(c->base, '/');
    *slash = '\0';
    (void)rmdir(c->base); /* the last one out; fails while others are in it */
    *slash = '/';
}

static void answer(struct control *c, int fd, const char *text)
{
    if (fd < 0) {
        write_file(c->base, ".answer", text);
        return;
    }
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)close(fd);
}

static void answer_error(struct control *c, int fd, const char *why)
{
    char text[320];
    (void)snprintf(text, sizeof text, "{\"ok\":false,\"error\":\"%s\"}\n", why);
    answer(c, fd, text);
}

/* The kernel's id of one of our tids, 0 if there is no such thread alive. */
static pid_t kernel_tid(const struct stream *s, long tid)
{
    uint32_t n = atomic_load(&s->header->thread_count);
    for (uint32_t i = 0; i < n && i < s->header->thread_capacity; i++) {
        struct stream_thread *row = &stream_threads(s)[i];
        if (row->tid == (uint32_t)tid && atomic_load(&row->state) == THREAD_LIVE)
            return (pid_t)row->kernel_tid;
    }
    return 0;
}

static uint64_t sum_dropped(const struct stream *s)
{
    uint64_t sum = 0;
    uint32_t n = atomic_load(&s->header->thread_count);
    for (uint32_t i = 0; i < n && i < s->header->thread_capacity; i++)
        sum += atomic_load(&stream_threads(s)[i].dropped);
    return sum;
}

static void serve_status(struct control *c, const struct stream *s, int fd, uint64_t events)
{
    struct stream_header *h = s->header;
    char text[512];
    (void)snprintf(text, sizeof text,
                   "{\"ok\":true,\"rank\":%d,\"size\":%d,\"pid\":%u,\"mpi\":%u,\"armed_chains\":%u,"
                   "\"recording_threads\":%u,\"threads\":%u,\"windows\":%u,\"fired\":%" PRIu64
                   ",\"ignored\":%" PRIu64 ",\"events_stored\":%" PRIu64 ",\"dropped\":%" PRIu64
                   ",\"writer\":%u}\n",
                   atomic_load(&h->rank), atomic_load(&h->size), h->pid, atomic_load(&h->mpi_state),
                   atomic_load(&h->status_armed), atomic_load(&h->recording_threads),
                   atomic_load(&h->thread_count), atomic_load(&h->windows_opened),
                   atomic_load(&h->fired_total), atomic_load(&h->ignored_total), events,
                   sum_dropped(s), atomic_load(&h->writer_state));
    answer(c, fd, text);
}

static void serve_fire(struct control *c, const struct stream *s, int fd, const char *rest)
{
    struct stream_header *h = s->header;
    int32_t tid = -1;
    pid_t target = (pid_t)c->pid;
    char *end = NULL;
    if (strncmp(rest, " tid ", 5) == 0) {
        long n = strtol(rest + 5, &end, 10);
        target = *end != '\0' || n < 0 || n > INT_MAX ? 0 : kernel_tid(s, n);
        tid = (int32_t)n;
    } else if (*rest != '\0') {
        answer_error(c, fd, "the request is: fire, fire tid N, or status");
        return;
    }
    struct control_pending *free_place = NULL;
    for (int i = 0; i < CONTROL_PENDING && free_place == NULL; i++)
        if (!c->pending[i].used)
            free_place = &c->pending[i];
    uint32_t made = atomic_load(&h->requests_made);
    if (c->signal_number <= 0)
        answer_error(c, fd, "this process reserved no signal for requests");
    else if (target == 0)
        answer_error(c, fd, "no such thread");
    else if (free_place == NULL || made - atomic_load(&h->requests_served) >= STREAM_REQUESTS)
        answer_error(c, fd, "too many requests wait already");
    else {
        struct stream_request *r = &h->requests[made % STREAM_REQUESTS];
        r->kind = 1;
        r->tid = tid;
        atomic_store(&r->result, 0);
        atomic_store(&h->requests_made, made + 1);
        (void)syscall(SYS_tgkill, (pid_t)c->pid, target, c->signal_number);
        *free_place =
            (struct control_pending){.fd = fd,
                                     .used = true,
                                     .target = made + 1,
                                     .tid = tid,
                                     .deadline_ns = clock_monotonic_ns() + ANSWER_WITHIN_NS};
    }
}

static void serve_line(struct control *c, const struct stream *s, int fd, char *line,
                       uint64_t events)
{
    line[strcspn(line, "\r\n")] = '\0';
    if (strcmp(line, "status") == 0)
        serve_status(c, s, fd, events);
    else if (strncmp(line, "fire", 4) == 0)
        serve_fire(c, s, fd, line + 4);
    else
        answer_error(c, fd, "the request is: fire, fire tid N, or status");
}

static void serve_socket(struct control *c, const struct stream *s, uint64_t events)
{
    for (int i = 0; i < 16 && c->listener >= 0; i++) {
        int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return;
        struct timeval patience = {.tv_usec = 200000};
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        char line[128];
        ssize_t n = recv(fd, line, sizeof line - 1, 0);
        if (n <= 0) {
            (void)close(fd);
            continue;
        }
        line[n] = '\0';
        serve_line(c, s, fd, line, events);
    }
}

static void serve_file(struct control *c, const struct stream *s, uint64_t events)
{
    char path[PATH_MAX], line[128];
    if (c->base[0] == '\0')
        return;
    (void)snprintf(path, sizeof path, "%s.request", c->base);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    ssize_t n = read(fd, line, sizeof line - 1);
    (void)close(fd);
    (void)unlink(path);
    line[n > 0 ? n : 0] = '\0';
    serve_line(c, s, -1, line, events);
}

/* What a request did, as the process says. It did nothing where no alarm waited for it: an error. */
static void answer_result(struct control *c, int fd, uint64_t result, int32_t tid)
{
    unsigned alarms = result >> 16 & 255, armed = result >> 8 & 255, fired = result & 255;
    char text[256], thread[48] = "the main thread (with -tid T in another)";
    if (tid >= 0)
        (void)snprintf(thread, sizeof thread, "thread %d", tid);
    if (alarms == 0) {
        answer_error(c, fd,
                     "nothing fired: the chains of this rank have no interactive alarm; a chain "
                     "such as start:interactive must stand in -control");
    } else if (fired == 0 && armed == 0) {
        (void)snprintf(text, sizeof text,
                       "nothing fired: no interactive alarm waits in %s now; a chain is over once "
                       "it has fired unless it has ,repeat",
                       thread);
        answer_error(c, fd, text);
    } else {
        (void)snprintf(text, sizeof text, "{\"ok\":true,\"fired\":%u,\"counted\":%u}\n", fired,
                       armed > fired ? armed - fired : 0);
        answer(c, fd, text);
    }
}

/* over: the process has ended, so nobody serves what is left. */
static void serve_pending(struct control *c, const struct stream *s, bool over)
{
    uint64_t now = clock_monotonic_ns();
    for (int i = 0; i < CONTROL_PENDING; i++) {
        struct control_pending *p = &c->pending[i];
        if (!p->used)
            continue;
        const struct stream_request *r = &s->header->requests[(p->target - 1) % STREAM_REQUESTS];
        uint64_t result = atomic_load(&r->result);
        if (result >> 32 == p->target)
            answer_result(c, p->fd, result, p->tid);
        else if (over)
            answer_error(c, p->fd, "the process has ended without serving the request");
        else if (now > p->deadline_ns)
            answer_error(c, p->fd,
                         "the process did not answer within 5 s; the request stays queued");
        else
            continue;
        p->used = false;
    }
}

void control_serve(struct control *c, const struct stream *s, uint64_t events, bool files)
{
    serve_socket(c, s, events);
    if (files)
        serve_file(c, s, events);
    serve_pending(c, s, false);
}

void control_close(struct control *c, const struct stream *s)
{
    serve_pending(c, s, true);
    leave_folder(c);
}
