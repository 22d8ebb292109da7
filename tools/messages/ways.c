/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps queues of sends and receives in a hash table. Frees a queue in which nothing waits, unless
 * its sizes did not fit. */
#include "tools/messages/ways.h"

#include <errno.h>
#include <stdlib.h>

struct way {
    struct way *next; /* next in the same place of the hash table */
    struct way_key key;
    struct sent *first_sent, *last_sent;
    struct received *first_received, *last_received;
    uint32_t calls; /* sends whose calls have not ended */
    bool unlike;
};

struct ways {
    struct way **places;
    uint32_t place_count, count; /* places: a power of two */
    void (*found)(void *context, const struct way_key *key, const struct sent *s,
                  const struct received *r);
    void *context;
    struct emu_unmatched *left;
};

static uint32_t place_of(const struct ways *w, const struct way_key *k)
{
    uint64_t h = (uint64_t)k->comm << 32 | (uint32_t)k->tag;
    h = (h ^ h >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ ((uint64_t)k->sender << 32 | k->receiver)) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32) & (w->place_count - 1);
}

static struct way *find(const struct ways *w, const struct way_key *k)
{
    struct way *y = w->places[place_of(w, k)];
    while (y != NULL && (y->key.comm != k->comm || y->key.sender != k->sender ||
                         y->key.receiver != k->receiver || y->key.tag != k->tag))
        y = y->next;
    return y;
}

/* Doubles the hash table. Without memory, its chains just grow longer. */
static void spread(struct ways *w)
{
    struct ways wider = {.place_count = 2 * w->place_count};
    wider.places = calloc(wider.place_count, sizeof(struct way *));
    if (wider.places == NULL)
        return;
    for (uint32_t i = 0; i < w->place_count; i++)
        for (struct way *y = w->places[i], *next; y != NULL; y = next) {
            struct way **at = &wider.places[place_of(&wider, &y->key)];
            next = y->next;
            y->next = *at;
            *at = y;
        }
    free(w->places);
    w->places = wider.places;
    w->place_count = wider.place_count;
}

static struct way *get(struct ways *w, const struct way_key *k)
{
    struct way *y = find(w, k);
    if (y != NULL)
        return y;
    if (w->count > w->place_count && w->place_count < 1u << 24)
        spread(w);
    if ((y = calloc(1, sizeof *y)) == NULL)
        return NULL;
    y->key = *k;
    struct way **at = &w->places[place_of(w, k)];
    y->next = *at;
    *at = y;
    w->count++;
    return y;
}

static void give_back(struct ways *w, struct way *y)
{
    if (y->first_sent != NULL || y->first_received != NULL || y->unlike)
        return;
    struct way **at = &w->places[place_of(w, &y->key)];
    while (*at != y)
        at = &(*at)->next;
    *at = y->next;
    w->count--;
    free(y);
}

static void pop_sent(struct way *y)
{
    struct sent *s = y->first_sent;
    y->first_sent = s->next;
    if (y->first_sent == NULL)
        y->last_sent = NULL;
    free(s);
}

static void pop_received(struct way *y)
{
    struct received *r = y->first_received;
    y->first_received = r->next;
    if (y->first_received == NULL)
        y->last_received = NULL;
    free(r);
}

/* Matches the first send and the first receive. If one of them is concurrent, the order of threads
 * is not known: they count as unmatched, but leave the queue so that later ones keep their
 * partners. */
static void match_first(struct ways *w, struct way *y)
{
    const struct sent *s = y->first_sent;
    const struct received *r = y->first_received;
    bool concurrent = s->concurrent || r->concurrent;
    if (!concurrent && (r->bytes == RECEIVED_ANY ? s->bytes > r->room : s->bytes != r->bytes))
        y->unlike = true;
    if (!concurrent && !y->unlike) {
        w->found(w->context, &y->key, s, r);
    } else {
        enum emu_unmatched_reason why = y->unlike ? EMU_UNLIKE : EMU_CONCURRENT;
        w->left->sends[why]++;
        w->left->receives[why]++;
    }
    pop_sent(y);
    pop_received(y);
}

static void match(struct ways *w, struct way *y)
{
    while (y->first_sent != NULL) {
        const struct sent *s = y->first_sent;
        if (!s->over || !s->settled)
            break;
        if (s->dropped)
            pop_sent(y);
        else if (y->first_received != NULL)
            match_first(w, y);
        else
            break;
    }
    give_back(w, y);
}

struct ways *ways_open(void (*found)(void *context, const struct way_key *key, const struct sent *s,
                                     const struct received *r),
                       void *context, struct emu_unmatched *left)
{
    struct ways *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    *w = (struct ways){.place_count = 1024, .found = found, .context = context, .left = left};
    if ((w->places = calloc(w->place_count, sizeof(struct way *))) == NULL) {
        free(w);
        return NULL;
    }
    return w;
}

void ways_close(struct ways *w)
{
    if (w == NULL)
        return;
    for (uint32_t i = 0; i < w->place_count; i++)
        for (struct way *y = w->places[i], *next; y != NULL; y = next) {
            next = y->next;
            while (y->first_sent != NULL)
                pop_sent(y);
            while (y->first_received != NULL)
                pop_received(y);
            free(y);
        }
    free(w->places);
    free(w);
}

struct sent *ways_send(struct ways *w, const struct way_key *key, const struct sent *what)
{
    struct sent *s = malloc(sizeof *s);
    struct way *y = s != NULL ? get(w, key) : NULL;
    if (y == NULL) {
        free(s);
        return NULL;
    }
    *s = *what;
    s->way = y;
    s->next = NULL;
    for (struct sent *other = y->calls != 0 ? y->first_sent : NULL; other != NULL;
         other = other->next)
        if (!other->over && other->stream != s->stream)
            other->concurrent = s->concurrent = true;
    y->calls++;
    *(y->last_sent != NULL ? &y->last_sent->next : &y->first_sent) = s;
    y->last_sent = s;
    return s;
}

void ways_over(struct ways *w, struct sent *s, int64_t ns)
{
    s->over = true;
    s->end_ns = ns;
    s->way->calls--;
    match(w, s->way);
}

void ways_settle(struct ways *w, struct sent *s, bool dropped)
{
    s->settled = true;
    s->dropped = dropped;
    match(w, s->way);
}

int ways_receive(struct ways *w, const struct way_key *key, const struct received *what)
{
    struct received *r = malloc(sizeof *r);
    struct way *y = r != NULL ? get(w, key) : NULL;
    if (y == NULL) {
        free(r);
        return -ENOMEM;
    }
    *r = *what;
    r->next = NULL;
    *(y->last_received != NULL ? &y->last_received->next : &y->first_received) = r;
    y->last_received = r;
    match(w, y);
    return 0;
}

bool ways_expects(const struct ways *w, const struct way_key *key, bool a_receive)
{
    const struct way *y = find(w, key);
    return y != NULL && (a_receive ? y->first_sent != NULL : y->first_received != NULL);
}

void ways_settle_all(struct ways *w, bool (*whole)(const void *context, uint32_t sender),
                     const void *context)
{
    for (uint32_t i = 0; i < w->place_count; i++)
        for (struct way *y = w->places[i], *next; y != NULL; y = next) {
            next = y->next;
            for (struct sent *s = y->first_sent; s != NULL; s = s->next)
                s->settled |= s->over && !s->cancelling && whole(context, y->key.sender);
            match(w, y);
        }
}

void ways_end(struct ways *w)
{
    for (uint32_t i = 0; i < w->place_count; i++)
        for (const struct way *y = w->places[i]; y != NULL; y = y->next) {
            for (const struct sent *s = y->first_sent; s != NULL; s = s->next)
                w->left->sends[y->unlike               ? EMU_UNLIKE
                               : s->over && s->settled ? EMU_ALONE
                                                       : EMU_UNFINISHED] += !s->dropped;
            for (const struct received *r = y->first_received; r != NULL; r = r->next)
                w->left->receives[y->unlike ? EMU_UNLIKE : EMU_ALONE]++;
        }
}
