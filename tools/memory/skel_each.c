/* SPDX-License-Identifier: BSD-3-Clause
 * Replays each recording of a folder once, several at a time; they end in any order. */
#include "tools/memory/replay_process.h"

#include <poll.h>
#include <stdlib.h>

enum { MOST = 256 };

struct running {
    struct skel_player player;
    size_t number;
};

struct each {
    struct skel_folder *folder;
    const struct skel_use *use;
    struct running running[MOST];
    size_t count, next;
    int status;
};

static void note(struct each *e, int status)
{
    if (status != ACCESSES_DONE && e->status != ACCESSES_UNREAD && e->status != ACCESSES_UNWRITTEN)
        e->status = status;
}

static void start(struct each *e, size_t number)
{
    struct running *r = &e->running[e->count];
    const struct skel_play how = {.folder = e->folder,
                                  .recording = e->folder->list[number],
                                  .format = e->use->format,
                                  .out = e->use->opens(e->use->context, number)};
    if (how.out < SKEL_PIPE) {
        note(e, ACCESSES_UNWRITTEN);
    } else if (!skel_player_start(&r->player, &how)) {
        note(e, ACCESSES_FAILED);
    } else {
        r->number = number;
        e->count++;
        if (!e->use->begins(e->use->context, number, &r->player))
            note(e, ACCESSES_UNWRITTEN);
    }
}

static void end(struct each *e, size_t k)
{
    struct running *r = &e->running[k];
    int status = skel_player_wait(&r->player, e->folder->list[r->number]);
    note(e, e->use->ended(e->use->context, r->number, status));
    *r = e->running[--e->count];
}

static void wait_for_some(struct each *e)
{
    struct pollfd list[MOST];
    for (size_t k = 0; k < e->count; k++)
        list[k] = (struct pollfd){.fd = e->running[k].player.control, .events = POLLIN};
    if (poll(list, e->count, -1) > 0)
        for (size_t k = e->count; k-- > 0;)
            if (list[k].revents != 0)
                end(e, k);
}

static bool goes_on(const struct each *e)
{
    return e->status == ACCESSES_DONE || e->status == ACCESSES_FAILED;
}

int skel_each(struct skel_folder *f, const struct skel_use *u)
{
    struct each *e = calloc(1, sizeof *e);
    if (e == NULL) {
        tool_error("skel", "there is no memory left");
        return ACCESSES_FAILED;
    }
    e->folder = f;
    e->use = u;
    size_t jobs = skel_jobs(f->options, MOST);
    while (goes_on(e) && (e->next < f->count || e->count > 0)) {
        while (goes_on(e) && e->next < f->count && e->count < jobs)
            start(e, e->next++);
        if (e->count > 0)
            wait_for_some(e);
    }
    while (e->count > 0) {
        struct running *r = &e->running[--e->count];
        skel_player_stop(&r->player);
        (void)u->ended(u->context, r->number, ACCESSES_FAILED);
    }
    int status = e->status;
    free(e);
    return status;
}
