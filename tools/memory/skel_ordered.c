/* SPDX-License-Identifier: BSD-3-Clause
 * Replays recordings to standard output, in the order of ranks, processes, threads and windows,
 * several at a time. A process that is started when its turn has come writes to standard output
 * itself. The output of others before their turn goes to unnamed files, up to SPOOLED_MOST bytes in
 * all. Beyond that they wait. */
#include "base/sys.h"
#include "tools/memory/replay_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPOOLED_MOST (UINT64_C(1) << 30)
enum { AHEAD = 64, PIECE = 1 << 18 }; /* recordings started before their turn; bytes of a read */

/* One recording, at its position in the order. */
struct ordered_recording {
    struct skel_player player;
    bool started, ended;
    int status;       /* once ended: enum accesses_exit */
    int spool;        /* file for output before its turn; -1: no output yet */
    uint64_t spooled; /* bytes in `spool` */
    /* Output that did not fit into `spool`. While set, nothing more is read from the process before
     * its turn. */
    char *held;
    size_t held_bytes;
};

struct ordered {
    struct skel_folder *folder;
    struct ordered_recording *recordings;
    size_t current, next; /* index whose turn it is; index to start next */
    size_t running, jobs;
    uint64_t spooled; /* bytes in all spools */
    bool failed;
    char piece[PIECE];
};

int skel_put(const void *bytes, size_t n)
{
    int rc = sys_write_all(STDOUT_FILENO, bytes, n);
    if (rc == 0)
        return ACCESSES_DONE;
    if (rc == -EPIPE)
        return ACCESSES_UNREAD;
    tool_error("skel", "the output could not be written: %s", strerror(-rc));
    return ACCESSES_UNWRITTEN;
}

/* --- output before its turn ------------------------------------------------------------------- */

static int make_spool(const struct ordered *o)
{
    char path[PATH_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/spool", o->folder->builds.temporary);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    (void)unlink(path);
    return fd;
}

/* Appends the first n bytes of o->piece to the recording's spool. If the disk is full, holds the
 * rest in memory. Returns false if there is no memory. */
static bool keep(struct ordered *o, struct ordered_recording *p, size_t n)
{
    if (p->spool < 0)
        p->spool = make_spool(o);
    size_t done = 0;
    while (p->spool >= 0 && done < n) {
        ssize_t wrote = pwrite(p->spool, o->piece + done, n - done, (off_t)p->spooled);
        if (wrote <= 0)
            break;
        done += (size_t)wrote;
        p->spooled += (uint64_t)wrote;
        o->spooled += (uint64_t)wrote;
    }
    if (done == n)
        return true;
    p->held_bytes = n - done;
    p->held = malloc(p->held_bytes);
    if (p->held != NULL)
        memcpy(p->held, o->piece + done, p->held_bytes);
    return p->held != NULL;
}

/* Writes the recording's spooled output to standard output, as its turn has come. */
static int put_kept(struct ordered *o, struct ordered_recording *p)
{
    int status = ACCESSES_DONE;
    for (uint64_t at = 0; at < p->spooled && status == ACCESSES_DONE;) {
        ssize_t n = pread(p->spool, o->piece, PIECE, (off_t)at);
        if (n <= 0) {
            tool_error("skel", "what was kept in %s cannot be read: %s",
                       o->folder->builds.temporary, n < 0 ? strerror(errno) : "it is gone");
            return ACCESSES_UNWRITTEN;
        }
        status = skel_put(o->piece, (size_t)n);
        at += (uint64_t)n;
    }
    if (status == ACCESSES_DONE && p->held != NULL)
        status = skel_put(p->held, p->held_bytes);
    o->spooled -= p->spooled;
    if (p->spool >= 0)
        (void)close(p->spool);
    free(p->held);
    p->spool = -1;
    p->spooled = 0;
    p->held = NULL;
    return status;
}

/* --- processes -------------------------------------------------------------------------------- */

static void start_more(struct ordered *o)
{
    while (o->running < o->jobs && o->next < o->folder->count &&
           (o->next == o->current || (o->spooled < SPOOLED_MOST && o->next - o->current < AHEAD))) {
        struct ordered_recording *p = &o->recordings[o->next];
        const struct skel_play how = {.folder = o->folder,
                                      .recording = o->folder->list[o->next],
                                      .format = o->folder->options->format,
                                      .out = o->next == o->current ? STDOUT_FILENO : SKEL_PIPE};
        p->started = skel_player_start(&p->player, &how);
        p->ended = !p->started;
        p->status = ACCESSES_FAILED;
        o->running += p->started;
        o->next++;
    }
}

static void end(struct ordered *o, size_t i)
{
    struct ordered_recording *p = &o->recordings[i];
    p->status = skel_player_wait(&p->player, o->folder->list[i]);
    p->ended = true;
    o->running--;
}

/* Reads output of place i, or notes that its process has ended. */
static int take(struct ordered *o, size_t i)
{
    struct ordered_recording *p = &o->recordings[i];
    ssize_t n = p->player.out >= 0 ? read(p->player.out, o->piece, PIECE) : 0;
    if (n < 0 && errno == EINTR)
        return ACCESSES_DONE;
    if (n <= 0)
        return end(o, i), ACCESSES_DONE;
    if (i == o->current)
        return skel_put(o->piece, (size_t)n);
    if (keep(o, p, (size_t)n))
        return ACCESSES_DONE;
    tool_error("skel", "there is no memory left");
    return ACCESSES_UNWRITTEN;
}

static bool may_read(const struct ordered *o, size_t i)
{
    const struct ordered_recording *p = &o->recordings[i];
    return i == o->current || (p->held == NULL && o->spooled < SPOOLED_MOST);
}

static int wait_for_some(struct ordered *o)
{
    struct pollfd list[AHEAD + 1];
    size_t whose[AHEAD + 1], n = 0;
    for (size_t i = o->current; i < o->next; i++) {
        const struct ordered_recording *p = &o->recordings[i];
        if (p->ended || !may_read(o, i))
            continue;
        whose[n] = i;
        list[n++] = (struct pollfd){.fd = p->player.out >= 0 ? p->player.out : p->player.control,
                                    .events = POLLIN};
    }
    int status = ACCESSES_DONE, ready = poll(list, n, -1);
    for (size_t k = 0; k < n && ready > 0 && status == ACCESSES_DONE; k++)
        if (list[k].revents != 0)
            status = take(o, whose[k]);
    return status;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Advances `current` over all recordings that have ended. */
static int go_on(struct ordered *o)
{
    int status = ACCESSES_DONE;
    while (status == ACCESSES_DONE && o->current < o->next) {
        struct ordered_recording *p = &o->recordings[o->current];
        status = put_kept(o, p);
        if (status != ACCESSES_DONE || !p->ended)
            break;
        o->failed = o->failed || p->status != ACCESSES_DONE;
        if (p->status == ACCESSES_UNREAD || p->status == ACCESSES_UNWRITTEN)
            status = p->status;
        o->current++;
    }
    return status;
}

static void stop(struct ordered *o)
{
    for (size_t i = o->current; i < o->next; i++) {
        if (o->recordings[i].started && !o->recordings[i].ended)
            skel_player_stop(&o->recordings[i].player);
        if (o->recordings[i].spool >= 0)
            (void)close(o->recordings[i].spool);
        free(o->recordings[i].held);
    }
}

int skel_ordered(struct skel_folder *f)
{
    struct ordered *o = calloc(1, sizeof *o);
    struct ordered_recording *recordings = calloc(f->count, sizeof *recordings);
    int status = o != NULL && recordings != NULL ? ACCESSES_DONE : ACCESSES_FAILED;
    if (status != ACCESSES_DONE) {
        tool_error("skel", "there is no memory left");
    } else {
        o->folder = f;
        o->recordings = recordings;
        o->jobs = skel_jobs(f->options, AHEAD);
        for (size_t i = 0; i < f->count; i++)
            recordings[i].spool = -1;
        while (status == ACCESSES_DONE && o->current < f->count) {
            start_more(o);
            status = go_on(o);
            if (status == ACCESSES_DONE && o->running > 0)
                status = wait_for_some(o);
        }
        stop(o);
        if (status == ACCESSES_DONE && o->failed)
            status = ACCESSES_FAILED;
    }
    free(recordings);
    free(o);
    return status;
}
