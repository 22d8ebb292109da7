/* SPDX-License-Identifier: BSD-3-Clause
 * Reads a replaying process's records from its pipe and passes them on by segment. */
#include "tools/memory/skel_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 1 << 15 };

static bool is_access(const struct accesses_record *r)
{
    return r->kind == ACCESSES_READ || r->kind == ACCESSES_WRITE || r->kind == ACCESSES_BOTH;
}

static bool take_other(struct skel_records *r, const struct accesses_record *record)
{
    struct accesses_whose whose;
    if (record->kind == ACCESSES_SEGMENT && !r->inside) {
        memcpy(&whose, record, sizeof whose);
        r->inside = true;
        r->rows = 0;
        return r->use->begin(r->context, &whose);
    }
    if (record->kind == ACCESSES_END && r->inside && r->rows == record->pc) {
        r->inside = false;
        return r->use->end(r->context, record->address, record->bytes);
    }
    tool_error("skel", "the accesses of %s are not as they should be", r->recording->path);
    return false;
}

static bool take_records(struct skel_records *r, const struct accesses_record *list, size_t count)
{
    for (size_t i = 0, n; i < count; i += n + (i + n < count)) {
        for (n = 0; i + n < count && is_access(&list[i + n]); n++)
            continue;
        if (n > 0 && !r->inside) {
            tool_error("skel", "the accesses of %s belong to nothing", r->recording->path);
            return false;
        }
        r->rows += n;
        if (n > 0 && !r->use->put(r->context, list + i, n))
            return false;
        if (i + n < count && !take_other(r, &list[i + n]))
            return false;
    }
    return true;
}

/* Reads the pipe to its end. If it fails, run() closes the pipe, so that the writing process ends
 * too. */
static bool take_all(struct skel_records *r)
{
    size_t have = 0, most = RECORDS * sizeof(struct accesses_record);
    char *room = malloc(most);
    bool good = room != NULL;
    if (!good)
        tool_error("skel", "there is no memory left");
    while (good) {
        ssize_t n = read(r->in, room + have, most - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
        size_t whole = have / sizeof(struct accesses_record),
               bytes = whole * sizeof(struct accesses_record);
        good = take_records(r, (const void *)room, whole);
        memmove(room, room + bytes, have - bytes);
        have -= bytes;
    }
    free(room);
    return good;
}

static void *run(void *argument)
{
    struct skel_records *r = argument;
    r->failed = !take_all(r);
    (void)close(r->in);
    if (r->use->rest != NULL)
        r->use->rest(r->context);
    return NULL;
}

bool skel_records_start(struct skel_records *r, struct skel_player *p)
{
    r->in = p->out;
    r->inside = false;
    r->started = pthread_create(&r->thread, NULL, run, r) == 0;
    if (r->started)
        p->out = -1;
    else
        tool_error("skel", "no thread can be made");
    return r->started;
}

bool skel_records_wait(struct skel_records *r)
{
    if (!r->started)
        return false;
    (void)pthread_join(r->thread, NULL);
    r->started = false;
    return !r->failed && !r->inside;
}
