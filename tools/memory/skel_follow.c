/* SPDX-License-Identifier: BSD-3-Clause
 * Replays recordings while the program still runs. A process replays a recording as long as it has
 * an open segment. For the others, a look at their files now and then is enough. */
#include "base/clock.h"
#include "tools/memory/replay_process.h"
#include "writer/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIVE_NS UINT64_C(300000000)  /* between checks whether processes of the run live */
#define BEGIN_NS UINT64_C(5000000000) /* how long to wait for a run that is being started */
enum { PAUSE_MS = 100 };

struct followed {
    struct skel_player player; /* pid -1: no process runs */
    uint64_t from;             /* place in its log of the next segment */
    bool failed;               /* never started again */
};

struct follow {
    struct skel_folder *folder;
    const struct skel_use *use;
    char lock[PATH_MAX + 32];
    struct followed *list; /* parallel to folder->list */
    size_t count, running;
    struct pollfd *polled;
    uint64_t began_ns, looked_ns;
    bool dead, over; /* no process lived at the last check; at the last two */
    int status;
};

static void note(struct follow *w, int status)
{
    if (status != ACCESSES_DONE && w->status != ACCESSES_UNREAD && w->status != ACCESSES_UNWRITTEN)
        w->status = status;
}

static bool goes_on(const struct follow *w)
{
    return w->status == ACCESSES_DONE || w->status == ACCESSES_FAILED;
}

/* --- living processes ------------------------------------------------------------------------- */

/* A run that records has files at the latest one second after its start. */
static bool has_begun(const struct follow *w)
{
    struct rt_run *run;
    struct rt_error e;
    if (w->folder->count > 0)
        return true;
    if (rt_run_open(&run, w->folder->options->path, &e) != 0)
        return false;
    rt_run_close(run);
    return true;
}

/* Between two programs of a process (exec), no process may seem to live for a moment. So the run is
 * over only after two such checks in succession. */
static void look_alive(struct follow *w)
{
    struct rt_processes p;
    uint64_t now = clock_monotonic_ns();
    if (w->over || (w->looked_ns != 0 && now - w->looked_ns < ALIVE_NS))
        return;
    w->looked_ns = now;
    rt_run_processes(w->folder->options->path, &p);
    bool dead = p.living == 0 && (has_begun(w) || now - w->began_ns > BEGIN_NS);
    w->over = dead && w->dead;
    w->dead = dead;
}

/* --- recordings ------------------------------------------------------------------------------- */

static bool grow(struct follow *w)
{
    size_t count = w->folder->count;
    struct followed *list = realloc(w->list, (count + 1) * sizeof *list);
    struct pollfd *polled = realloc(w->polled, (count + 1) * sizeof *polled);
    w->list = list != NULL ? list : w->list;
    w->polled = polled != NULL ? polled : w->polled;
    if (list == NULL || polled == NULL) {
        tool_error("skel", "there is no memory left");
        note(w, ACCESSES_UNWRITTEN);
        return false;
    }
    for (; w->count < count; w->count++)
        w->list[w->count] = (struct followed){.player = {.pid = -1}};
    return true;
}

static bool has_more(const struct followed *x, const char *path)
{
    uint64_t closed = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool more = fd >= 0 &&
                pread(fd, &closed, sizeof closed, offsetof(struct memory_head, closed)) ==
                    (ssize_t)sizeof closed &&
                closed > x->from;
    if (fd >= 0)
        (void)close(fd);
    return more;
}

static void start(struct follow *w, size_t i)
{
    struct followed *x = &w->list[i];
    struct skel_recording *r = w->folder->list[i];
    (void)skel_recording_refresh(r);
    struct skel_play how = {.folder = w->folder,
                            .recording = r,
                            .format = w->use->format,
                            .out = w->use->opens(w->use->context, i),
                            .follows = true,
                            .from = x->from};
    if (how.out >= 0)
        how.lock = w->lock;
    if (how.out < SKEL_PIPE) {
        note(w, ACCESSES_UNWRITTEN);
    } else if (!skel_player_start(&x->player, &how)) {
        x->failed = true;
        note(w, ACCESSES_FAILED);
    } else {
        w->running++;
        if (!w->use->begins(w->use->context, i, &x->player))
            note(w, ACCESSES_UNWRITTEN);
        if (w->over)
            skel_player_is_over(&x->player);
    }
}

static void end(struct follow *w, size_t i)
{
    struct followed *x = &w->list[i];
    x->from = x->player.from;
    int status = skel_player_wait(&x->player, w->folder->list[i]);
    status = w->use->ended(w->use->context, i, status);
    x->failed = status != ACCESSES_DONE;
    w->running--;
    note(w, status);
}

/* Returns how many processes it started. */
static size_t start_more(struct follow *w)
{
    size_t started = 0;
    if (skel_folder_look(w->folder, !w->over) != TOOL_OK)
        note(w, ACCESSES_FAILED);
    if (!grow(w))
        return 0;
    for (size_t i = 0; i < w->count && goes_on(w); i++) {
        struct followed *x = &w->list[i];
        if (x->player.pid > 0 || x->failed || !has_more(x, w->folder->list[i]->path))
            continue;
        start(w, i);
        started++;
    }
    return started;
}

static void hear(struct follow *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->count; i++)
        if (w->list[i].player.pid > 0)
            w->polled[n++] = (struct pollfd){.fd = w->list[i].player.control, .events = POLLIN};
    int ready = poll(w->polled, n, PAUSE_MS);
    n = 0;
    for (size_t i = 0; i < w->count && ready > 0 && goes_on(w); i++) {
        struct skel_player *p = &w->list[i].player;
        if (p->pid > 0 && w->polled[n++].revents != 0 &&
            !skel_player_hear(p, w->folder, w->folder->list[i]))
            end(w, i);
    }
}

static void tell_over(struct follow *w)
{
    for (size_t i = 0; w->over && i < w->count; i++)
        skel_player_is_over(&w->list[i].player);
}

int skel_follow(struct skel_folder *f, const struct skel_use *u)
{
    struct follow w = {.folder = f, .use = u, .began_ns = clock_monotonic_ns()};
    (void)snprintf(w.lock, sizeof w.lock, "%s/lock", f->builds.temporary);
    for (bool last = false; goes_on(&w) && !last;) {
        look_alive(&w);
        tell_over(&w);
        /* If the run was over before start_more(), the files now hold everything. */
        last = start_more(&w) == 0 && w.over && w.running == 0;
        if (!last)
            hear(&w);
    }
    for (size_t i = 0; i < w.count; i++)
        if (w.list[i].player.pid > 0) {
            skel_player_stop(&w.list[i].player);
            (void)u->ended(u->context, i, ACCESSES_FAILED);
        }
    (void)unlink(w.lock);
    free(w.polled);
    free(w.list);
    return w.status;
}
