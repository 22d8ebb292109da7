/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps queues of sends and receives in a hash table. Frees a queue in which nothing waits, unless
 * its sizes did not fit. */
#include "tools/messages/queues.h"

#include <errno.h>
#include <stdlib.h>

struct queue {
    struct queue *next; /* next in the same place of the hash table */
    struct queue_key key;
    struct sent *first_sent, *last_sent;
    struct received *first_received, *last_received;
    uint32_t calls; /* sends whose calls have not ended */
    bool unlike;
};

struct queues {
    struct queue **places;
    uint32_t place_count, count; /* places: a power of two */
    void (*found)(void *context, const struct queue_key *key, const struct sent *s,
                  const struct received *r);
    void *context;
    struct unmatched *left;
};

static uint32_t place_of(const struct queues *q, const struct queue_key *k)
{
    uint64_t h = (uint64_t)k->comm << 32 | (uint32_t)k->tag;
    h = (h ^ h >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ ((uint64_t)k->sender << 32 | k->receiver)) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32) & (q->place_count - 1);
}

static struct queue *find(const struct queues *q, const struct queue_key *k)
{
    struct queue *queue = q->places[place_of(q, k)];
    while (queue != NULL && (queue->key.comm != k->comm || queue->key.sender != k->sender ||
                             queue->key.receiver != k->receiver || queue->key.tag != k->tag))
        queue = queue->next;
    return queue;
}

/* Doubles the hash table. Without memory, its chains just grow longer. */
static void spread(struct queues *q)
{
    struct queues wider = {.place_count = 2 * q->place_count};
    wider.places = calloc(wider.place_count, sizeof(struct queue *));
    if (wider.places == NULL)
        return;
    for (uint32_t i = 0; i < q->place_count; i++)
        for (struct queue *queue = q->places[i], *next; queue != NULL; queue = next) {
            struct queue **at = &wider.places[place_of(&wider, &queue->key)];
            next = queue->next;
            queue->next = *at;
            *at = queue;
        }
    free(q->places);
    q->places = wider.places;
    q->place_count = wider.place_count;
}

static struct queue *get(struct queues *q, const struct queue_key *k)
{
    struct queue *queue = find(q, k);
    if (queue != NULL)
        return queue;
    if (q->count > q->place_count && q->place_count < 1u << 24)
        spread(q);
    if ((queue = calloc(1, sizeof *queue)) == NULL)
        return NULL;
    queue->key = *k;
    struct queue **at = &q->places[place_of(q, k)];
    queue->next = *at;
    *at = queue;
    q->count++;
    return queue;
}

static void give_back(struct queues *q, struct queue *queue)
{
    if (queue->first_sent != NULL || queue->first_received != NULL || queue->unlike)
        return;
    struct queue **at = &q->places[place_of(q, &queue->key)];
    while (*at != queue)
        at = &(*at)->next;
    *at = queue->next;
    q->count--;
    free(queue);
}

static void pop_sent(struct queue *queue)
{
    struct sent *s = queue->first_sent;
    queue->first_sent = s->next;
    if (queue->first_sent == NULL)
        queue->last_sent = NULL;
    free(s);
}

static void pop_received(struct queue *queue)
{
    struct received *r = queue->first_received;
    queue->first_received = r->next;
    if (queue->first_received == NULL)
        queue->last_received = NULL;
    free(r);
}

/* Matches the first send and the first receive. If one of them is concurrent, the order of threads
 * is not known: they count as unmatched, but leave the queue so that later ones keep their
 * partners. */
static void match_first(struct queues *q, struct queue *queue)
{
    const struct sent *s = queue->first_sent;
    const struct received *r = queue->first_received;
    bool concurrent = s->concurrent || r->concurrent;
    if (!concurrent && (r->bytes == RECEIVED_ANY ? s->bytes > r->room : s->bytes != r->bytes))
        queue->unlike = true;
    if (!concurrent && !queue->unlike) {
        q->found(q->context, &queue->key, s, r);
    } else {
        enum unmatched_reason why = queue->unlike ? UNMATCHED_UNLIKE : UNMATCHED_CONCURRENT;
        q->left->sends[why]++;
        q->left->receives[why]++;
    }
    pop_sent(queue);
    pop_received(queue);
}

static void match(struct queues *q, struct queue *queue)
{
    while (queue->first_sent != NULL) {
        const struct sent *s = queue->first_sent;
        if (!s->over || !s->settled)
            break;
        if (s->dropped)
            pop_sent(queue);
        else if (queue->first_received != NULL)
            match_first(q, queue);
        else
            break;
    }
    give_back(q, queue);
}

struct queues *queues_open(void (*found)(void *context, const struct queue_key *key,
                                         const struct sent *s, const struct received *r),
                           void *context, struct unmatched *left)
{
    struct queues *q = calloc(1, sizeof *q);
    if (q == NULL)
        return NULL;
    *q = (struct queues){.place_count = 1024, .found = found, .context = context, .left = left};
    if ((q->places = calloc(q->place_count, sizeof(struct queue *))) == NULL) {
        free(q);
        return NULL;
    }
    return q;
}

void queues_close(struct queues *q)
{
    if (q == NULL)
        return;
    for (uint32_t i = 0; i < q->place_count; i++)
        for (struct queue *queue = q->places[i], *next; queue != NULL; queue = next) {
            next = queue->next;
            while (queue->first_sent != NULL)
                pop_sent(queue);
            while (queue->first_received != NULL)
                pop_received(queue);
            free(queue);
        }
    free(q->places);
    free(q);
}

struct sent *queues_send(struct queues *q, const struct queue_key *key, const struct sent *what)
{
    struct sent *s = malloc(sizeof *s);
    struct queue *queue = s != NULL ? get(q, key) : NULL;
    if (queue == NULL) {
        free(s);
        return NULL;
    }
    *s = *what;
    s->queue = queue;
    s->next = NULL;
    for (struct sent *other = queue->calls != 0 ? queue->first_sent : NULL; other != NULL;
         other = other->next)
        if (!other->over && other->stream != s->stream)
            other->concurrent = s->concurrent = true;
    queue->calls++;
    *(queue->last_sent != NULL ? &queue->last_sent->next : &queue->first_sent) = s;
    queue->last_sent = s;
    return s;
}

void queues_over(struct queues *q, struct sent *s, int64_t ns)
{
    s->over = true;
    s->end_ns = ns;
    s->queue->calls--;
    match(q, s->queue);
}

void queues_settle(struct queues *q, struct sent *s, bool dropped)
{
    s->settled = true;
    s->dropped = dropped;
    match(q, s->queue);
}

int queues_receive(struct queues *q, const struct queue_key *key, const struct received *what)
{
    struct received *r = malloc(sizeof *r);
    struct queue *queue = r != NULL ? get(q, key) : NULL;
    if (queue == NULL) {
        free(r);
        return -ENOMEM;
    }
    *r = *what;
    r->next = NULL;
    *(queue->last_received != NULL ? &queue->last_received->next : &queue->first_received) = r;
    queue->last_received = r;
    match(q, queue);
    return 0;
}

bool queues_expects(const struct queues *q, const struct queue_key *key, bool a_receive)
{
    const struct queue *queue = find(q, key);
    return queue != NULL && (a_receive ? queue->first_sent != NULL : queue->first_received != NULL);
}

void queues_settle_all(struct queues *q, bool (*whole)(const void *context, uint32_t sender),
                       const void *context)
{
    for (uint32_t i = 0; i < q->place_count; i++)
        for (struct queue *queue = q->places[i], *next; queue != NULL; queue = next) {
            next = queue->next;
            for (struct sent *s = queue->first_sent; s != NULL; s = s->next)
                s->settled |= s->over && !s->cancelling && whole(context, queue->key.sender);
            match(q, queue);
        }
}

void queues_end(struct queues *q)
{
    for (uint32_t i = 0; i < q->place_count; i++)
        for (const struct queue *queue = q->places[i]; queue != NULL; queue = queue->next) {
            for (const struct sent *s = queue->first_sent; s != NULL; s = s->next)
                q->left->sends[queue->unlike           ? UNMATCHED_UNLIKE
                               : s->over && s->settled ? UNMATCHED_ALONE
                                                       : UNMATCHED_UNFINISHED] += !s->dropped;
            for (const struct received *r = queue->first_received; r != NULL; r = r->next)
                q->left->receives[queue->unlike ? UNMATCHED_UNLIKE : UNMATCHED_ALONE]++;
        }
}
