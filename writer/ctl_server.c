/* SPDX-License-Identifier: BSD-3-Clause
 * Serves `regtrace ctl`: turns requests into stream requests and signals, and answers them when the
 * process has done them. */
#define _GNU_SOURCE 1
#include "writer/ctl_server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_WITHIN_NS 5000000000u
#define LINE_WITHIN_NS 60000000000u
#define LINE_SOON_MS 10
#define REMIND_NS 500000000u

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
    if (bad != 0 || listen(fd, CTL_CLIENTS) != 0) {
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

void ctl_open(struct ctl_server *c, const char *dir, const struct claim *claim, uint32_t pid,
              int signal_number)
{
    struct sockaddr_un address;
    char text[PATH_MAX + 120];
    int32_t rank = claim->rank;
    *c = (struct ctl_server){.listener = -1, .signal_number = signal_number, .pid = pid};
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
    (void)snprintf(text, sizeof text, "%s\n%s\n%" PRId32 "\n", claim->host, c->socket_path,
                   claim->size);
    write_file(c->base, ".path", text);
}

static void remove_file(const char *base, const char *suffix)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s%s", base, suffix);
    (void)unlink(path);
}

static void leave_folder(struct ctl_server *c)
{
    for (int i = 0; i < CTL_CLIENTS; i++)
        if (c->clients[i].used)
            (void)close(c->clients[i].fd);
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
    (void)rmdir(c->base); /* fails while other writers use the folder */
    *slash = '/';
}

static void answer(struct ctl_server *c, const struct ctl_request *r, const char *text)
{
    char suffix[40] = ".answer";
    if (r->fd >= 0) {
        (void)!send(r->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)close(r->fd);
        return;
    }
    if (r->id != 0)
        (void)snprintf(suffix, sizeof suffix, ".answer-%" PRIx64, r->id);
    write_file(c->base, suffix, text);
}

static void answer_error(struct ctl_server *c, const struct ctl_request *r, const char *why)
{
    char text[CTL_ANSWER];
    (void)snprintf(text, sizeof text, "{\"ok\":false,\"error\":\"%s\"}\n", why);
    answer(c, r, text);
}

/* Answers with "again": the client may repeat the same request, and it may then succeed. */
static void answer_again(struct ctl_server *c, const struct ctl_request *r, const char *why)
{
    char text[CTL_ANSWER];
    (void)snprintf(text, sizeof text, "{\"ok\":false,\"again\":true,\"error\":\"%s\"}\n", why);
    answer(c, r, text);
}

/* Returns the kernel's id of the living thread with number `tid`, or 0 if there is none. */
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

static void serve_status(struct ctl_server *c, const struct stream *s, const struct ctl_request *r,
                         uint64_t events)
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
    answer(c, r, text);
}

/* Returns the kernel's id of the thread that gets the signal for a request: the named thread, or
 * the main thread if the request names none. 0: the named thread is not alive. */
static pid_t target_of(const struct ctl_server *c, const struct stream *s,
                       const struct ctl_request *r)
{
    return r->tid < 0 ? (pid_t)c->pid : kernel_tid(s, r->tid);
}

/* Sends our signal to the thread, which then looks at its requests. An extra signal does no
 * harm. */
static void interrupt(const struct ctl_server *c, pid_t thread)
{
    if (thread > 0)
        (void)syscall(SYS_tgkill, (pid_t)c->pid, thread, c->signal_number);
}

static void wait_for_process(struct ctl_pending *p, const struct ctl_request *r, uint32_t target)
{
    uint64_t now = clock_monotonic_ns();
    *p = (struct ctl_pending){.request = *r,
                              .used = true,
                              .target = target,
                              .deadline_ns = now + ANSWER_WITHIN_NS,
                              .signal_ns = now};
}

static struct ctl_known *find_known(struct ctl_server *c, uint64_t id)
{
    for (unsigned i = 0; i < CTL_KNOWN && id != 0; i++)
        if (c->known[i].id == id)
            return &c->known[i];
    return NULL;
}

static void know(struct ctl_server *c, uint64_t id, uint32_t target)
{
    if (id != 0)
        c->known[c->next_known++ % CTL_KNOWN] = (struct ctl_known){.id = id, .target = target};
}

static void serve_windows(struct ctl_server *c, const struct stream *s, const struct ctl_request *r)
{
    struct stream_header *h = s->header;
    struct ctl_pending *free_place = NULL;
    for (int i = 0; i < CTL_PENDING && free_place == NULL; i++)
        if (!c->pending[i].used)
            free_place = &c->pending[i];
    const struct ctl_known *known = find_known(c, r->id);
    pid_t target = target_of(c, s, r);
    uint32_t made = atomic_load(&h->requests_made);
    bool full = made - atomic_load(&h->requests_served) >= STREAM_REQUESTS;
    if (known != NULL && known->answer[0] != '\0')
        answer(c, r, known->answer);
    else if (c->signal_number <= 0)
        answer_error(c, r, "this process reserved no signal for requests");
    else if (target == 0 && known == NULL)
        answer_error(c, r, "no such thread");
    else if (free_place == NULL || (full && known == NULL))
        answer_again(c, r, "too many requests wait already; this one was not taken");
    else if (known != NULL)
        wait_for_process(free_place, r, known->target);
    else {
        struct stream_request *request = &h->requests[made % STREAM_REQUESTS];
        request->kind = r->kind;
        request->tid = r->tid;
        atomic_store(&request->result, 0);
        atomic_store(&h->requests_made, made + 1);
        interrupt(c, target);
        know(c, r->id, made + 1);
        wait_for_process(free_place, r, made + 1);
    }
}

/* Parses the line of a request. Returns false if the line is not a request. */
static bool read_request(char *line, struct ctl_request *r)
{
    static const char *const verbs[] = {
        [CTL_FIRE] = "fire", [CTL_OPEN] = "open", [CTL_CLOSE] = "close", [CTL_STATUS] = "status"};
    char *rest = NULL, *end;
    const char *word = strtok_r(line, " \r\n", &rest);
    for (unsigned i = CTL_FIRE; i <= CTL_STATUS && word != NULL; i++)
        if (strcmp(word, verbs[i]) == 0)
            r->kind = (enum ctl_kind)i;
    while (r->kind != 0 && (word = strtok_r(NULL, " \r\n", &rest)) != NULL) {
        const char *value = strtok_r(NULL, " \r\n", &rest);
        bool tid = strcmp(word, "tid") == 0;
        if (value == NULL || (!tid && strcmp(word, "id") != 0))
            return false;
        errno = 0;
        unsigned long long n = strtoull(value, &end, tid ? 10 : 16);
        if (*end != '\0' || errno != 0 || *value == '-' || (tid && n > INT_MAX))
            return false;
        if (tid)
            r->tid = (int32_t)n;
        else
            r->id = n;
    }
    return r->kind != 0;
}

static void serve_line(struct ctl_server *c, const struct stream *s, int fd, char *line,
                       uint64_t events)
{
    struct ctl_request r = {.tid = -1, .fd = fd};
    if (!read_request(line, &r))
        answer_error(c, &r, "the request is: fire, open, close or status, then tid N, then id ID");
    else if (r.kind == CTL_STATUS)
        serve_status(c, s, &r, events);
    else
        serve_windows(c, s, &r);
}

/* Reads what the client has sent so far, and serves the request once its line is complete. On a
 * busy machine the line arrives long after the connection. */
static void serve_client(struct ctl_server *c, const struct stream *s, struct ctl_client *client,
                         uint64_t events)
{
    ssize_t n;
    do {
        n = recv(client->fd, client->line + client->bytes, sizeof client->line - 1 - client->bytes,
                 MSG_DONTWAIT);
        client->bytes += n > 0 ? (unsigned)n : 0;
        client->line[client->bytes] = '\0';
    } while ((n < 0 && errno == EINTR) || (n > 0 && strchr(client->line, '\n') == NULL &&
                                           client->bytes + 1 < sizeof client->line));
    bool waits = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if (waits && clock_monotonic_ns() < client->deadline_ns)
        return;
    client->used = false;
    if (strchr(client->line, '\n') != NULL)
        serve_line(c, s, client->fd, client->line, events);
    else
        (void)close(client->fd);
}

/* Takes a client that has connected. Returns false if there is none. */
static bool accept_client(const struct ctl_server *c, struct ctl_client *client)
{
    *client =
        (struct ctl_client){.fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    client->used = client->fd >= 0;
    client->deadline_ns = clock_monotonic_ns() + LINE_WITHIN_NS;
    if (client->used) /* most clients send their line at once */
        (void)poll(&(struct pollfd){.fd = client->fd, .events = POLLIN}, 1, LINE_SOON_MS);
    return client->used;
}

static void serve_socket(struct ctl_server *c, const struct stream *s, uint64_t events)
{
    if (c->listener < 0)
        return;
    /* The writer asks at each pass. For that poll() is much cheaper than accept(), which first
     * makes a socket, also if nobody has connected. */
    bool more = poll(&(struct pollfd){.fd = c->listener, .events = POLLIN}, 1, 0) > 0;
    for (int i = 0; i < CTL_CLIENTS && c->listener >= 0; i++) {
        struct ctl_client *client = &c->clients[i];
        if (!client->used && more)
            more = accept_client(c, client);
        if (client->used)
            serve_client(c, s, client, events);
    }
}

static void serve_file(struct ctl_server *c, const struct stream *s, uint64_t events)
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

/* Formats the process's result of a fire request. If no alarm waited for the request, nothing
 * fired, and the answer is an error. */
static void write_fired(char text[CTL_ANSWER], uint64_t result, int32_t tid)
{
    unsigned alarms = result >> 16 & 255, armed = result >> 8 & 255, fired = result & 255;
    char thread[48] = "the main thread (with -tid T in another)";
    if (tid >= 0)
        (void)snprintf(thread, sizeof thread, "thread %d", tid);
    if (alarms == 0)
        (void)snprintf(text, CTL_ANSWER, "{\"ok\":false,\"error\":\"%s\"}\n",
                       "nothing fired: the chains of this rank have no interactive alarm; a chain "
                       "such as start:interactive must stand in -control; open and close need "
                       "none");
    else if (fired == 0 && armed == 0)
        (void)snprintf(text, CTL_ANSWER,
                       "{\"ok\":false,\"error\":\"nothing fired: no interactive alarm waits in %s "
                       "now; a chain is over once it has fired unless it has ,repeat\"}\n",
                       thread);
    else
        (void)snprintf(text, CTL_ANSWER, "{\"ok\":true,\"fired\":%u,\"counted\":%u}\n", fired,
                       armed > fired ? armed - fired : 0);
}

static void write_result(char text[CTL_ANSWER], const struct ctl_request *r, uint64_t result)
{
    const char *was = r->kind == CTL_OPEN ? "open" : "closed";
    const char *is = r->kind == CTL_OPEN ? "opened" : "closed";
    bool changed = (result & 255) != 0;
    if (r->kind == CTL_FIRE)
        write_fired(text, result, r->tid);
    else if ((result >> 16 & 255) == 0)
        (void)snprintf(text, CTL_ANSWER, "{\"ok\":false,\"error\":\"%s\"}\n",
                       "the thread that was asked records nothing any more");
    else
        (void)snprintf(text, CTL_ANSWER, "{\"ok\":true,\"window\":\"%s%s\"}\n",
                       changed ? "" : "was ", changed ? is : was);
}

static void answer_result(struct ctl_server *c, const struct ctl_request *r, uint64_t result)
{
    char text[CTL_ANSWER];
    write_result(text, r, result);
    struct ctl_known *known = find_known(c, r->id);
    if (known != NULL)
        memcpy(known->answer, text, sizeof text);
    answer(c, r, text);
}

/* Sends the signal for a request again. The first one may be lost: the queue of signals was full,
 * or recording had not begun. */
static void remind(const struct ctl_server *c, const struct stream *s, struct ctl_pending *p,
                   uint64_t now)
{
    if (now - p->signal_ns < REMIND_NS ||
        (int32_t)(atomic_load(&s->header->requests_served) - p->target) >= 0)
        return;
    p->signal_ns = now;
    interrupt(c, target_of(c, s, &p->request));
}

/* Answers the requests that are done. `over`: the process has ended and serves no more requests. */
static void serve_pending(struct ctl_server *c, const struct stream *s, bool over)
{
    uint64_t now = clock_monotonic_ns();
    for (int i = 0; i < CTL_PENDING; i++) {
        struct ctl_pending *p = &c->pending[i];
        if (!p->used)
            continue;
        const struct stream_request *r = &s->header->requests[(p->target - 1) % STREAM_REQUESTS];
        uint64_t result = atomic_load(&r->result);
        p->used = false;
        if (result >> 32 == p->target)
            answer_result(c, &p->request, result);
        else if (over)
            answer_error(c, &p->request, "the process has ended without serving the request");
        else if (now > p->deadline_ns)
            answer_again(c, &p->request,
                         "the process did not answer within 5 s; the request stays queued");
        else {
            p->used = true;
            remind(c, s, p, now);
        }
    }
}

void ctl_serve(struct ctl_server *c, const struct stream *s, uint64_t events, bool files)
{
    serve_socket(c, s, events);
    if (files)
        serve_file(c, s, events);
    serve_pending(c, s, false);
}

void ctl_close(struct ctl_server *c, const struct stream *s)
{
    serve_pending(c, s, true);
    leave_folder(c);
}
