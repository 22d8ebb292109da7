/* SPDX-License-Identifier: BSD-3-Clause
 * The reader's side of its child process: starts, asks and ends it, and never trusts it. */
#include "writer/read/reader.h"

#include "base/poison.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAYLOAD_LIMIT (UINT64_C(1) << 36)
#define SHARED_BYTES (READER_SHARED * sizeof(struct rt_event))

int reader_patience_ms = 30000;

/* Kills the child and returns its wait status. If another signal is already ending the child, the
 * status names that signal, not SIGKILL. */
static int end_child(struct reader_link *l)
{
    int status = 0;
    if (l->child > 0) {
        (void)kill(l->child, SIGKILL);
        while (waitpid(l->child, &status, 0) < 0 && errno == EINTR)
            ;
    }
    l->child = -1;
    return status;
}

void reader_link_stop(struct reader_link *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
    (void)end_child(l);
    if (l->shared != NULL)
        (void)munmap((void *)(uintptr_t)l->shared, SHARED_BYTES);
    l->shared = NULL;
}

static int gone(struct reader_link *l, const char *how, struct rt_error *e)
{
    rt_error_set(e,
                 "%s is damaged: reading it %s; `regtrace recover` helps where its writer was "
                 "killed, otherwise "
                 "copy the file again",
                 l->path, how);
    reader_link_stop(l);
    return -EBADMSG;
}

/* Handles a child that has closed its end of the socket: it crashed, or used too much processor
 * time. */
static int ended(struct reader_link *l, struct rt_error *e)
{
    int status = end_child(l);
    bool bound = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
    return gone(l, bound ? "does not come to an end" : "crashes the HDF5 library", e);
}

static int take(struct reader_link *l, void *to, uint64_t n, struct rt_error *e)
{
    char *at = to;
    while (n > 0) {
        struct pollfd p = {.fd = l->fd, .events = POLLIN};
        int ready = poll(&p, 1, reader_patience_ms);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return gone(l, "does not come to an end", e);
        ssize_t got = recv(l->fd, at, n > (1u << 20) ? 1u << 20 : (size_t)n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ended(l, e);
        at += got;
        n -= (uint64_t)got;
    }
    return 0;
}

int reader_link_take(struct reader_link *l, struct reader_message *m, void **payload,
                     struct rt_error *e)
{
    *payload = NULL;
    int rc = take(l, m, sizeof *m, e);
    if (rc != 0)
        return rc;
    if (m->bytes > PAYLOAD_LIMIT)
        return gone(l, "goes wrong", e);
    char *data = malloc(m->bytes + 1);
    if (data == NULL) {
        rt_error_set(e, "out of memory for %s", l->path);
        return -ENOMEM;
    }
    rc = take(l, data, m->bytes, e);
    if (rc == 0 && m->kind == READER_ERROR) {
        data[m->bytes] = '\0';
        rt_error_set(e, "%s", data);
        rc = m->rc < 0 ? m->rc : -EBADMSG;
    }
    if (rc != 0) {
        free(data);
        return rc;
    }
    data[m->bytes] = '\0';
    *payload = data;
    return 0;
}

int reader_link_start(struct reader_link *l, const char *path, struct rt_error *e)
{
    int pair[2];
    *l = (struct reader_link){.child = -1, .fd = -1, .path = path};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        rt_error_set(e, "cannot read %s: %s", l->path, strerror(errno));
        return -errno;
    }
    /* No file backs this memory, so that nothing that a child does can take it away from this
     * process. */
    void *shared =
        mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        (void)close(pair[0]);
        (void)close(pair[1]);
        rt_error_set(e, "out of memory for %s", l->path);
        return -ENOMEM;
    }
    POISON_FORGET(shared, SHARED_BYTES); /* a thread's stack may have been there */
    l->shared = shared;
    l->child = fork();
    int rc = l->child < 0 ? -errno : 0;
    if (l->child == 0) {
        (void)close(pair[0]);
        reader_child_run(pair[1], shared, l->path);
    }
    /* Children that read other files must not inherit it. */
    (void)madvise(shared, SHARED_BYTES, MADV_DONTFORK);
    (void)mprotect(shared, SHARED_BYTES, PROT_READ);
    (void)close(pair[1]);
    l->fd = pair[0];
    if (rc != 0)
        rt_error_set(e, "cannot start a process to read %s: %s", l->path, strerror(-rc));
    return rc;
}

int reader_link_read(struct reader_link *l, uint64_t first, size_t count, struct rt_event *out,
                     size_t *got, struct rt_error *e)
{
    struct reader_request request = {first, count < READER_SHARED ? count : READER_SHARED};
    struct reader_message m;
    void *payload;
    uint64_t rows = 0;
    *got = 0;
    if (l->fd < 0 || send(l->fd, &request, sizeof request, MSG_NOSIGNAL) != (ssize_t)sizeof request)
        return ended(l, e);
    int rc = reader_link_take(l, &m, &payload, e);
    if (rc != 0)
        return rc;
    if (m.kind == READER_ROWS && m.bytes == sizeof rows)
        memcpy(&rows, payload, sizeof rows);
    free(payload);
    if (rows > request.count)
        return gone(l, "goes wrong", e);
    memcpy(out, l->shared, rows * sizeof *out);
    *got = (size_t)rows;
    return 0;
}
