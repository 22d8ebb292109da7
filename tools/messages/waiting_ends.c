/* SPDX-License-Identifier: BSD-3-Clause
 * Stores ends of messages in a hash table with chains. */
#include "tools/messages/waiting_ends.h"

#include <errno.h>
#include <stdlib.h>

struct node {
    struct node *next;
    struct message_end end;
};

struct waiting_ends {
    struct node **places;
    size_t room, count; /* room: a power of two */
};

static size_t place_of(const struct waiting_ends *w, const struct message_identity *k)
{
    uint64_t h = (uint64_t)k->comm << 32 | (uint32_t)k->tag;
    h = (h ^ h >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ ((uint64_t)k->sender << 32 | k->receiver)) * UINT64_C(0xd6e8feb86659fd93);
    h = (h ^ k->number ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h >> 32) & (w->room - 1);
}

static bool same(const struct message_identity *a, const struct message_identity *b)
{
    return a->comm == b->comm && a->sender == b->sender && a->receiver == b->receiver &&
           a->tag == b->tag && a->number == b->number;
}

struct waiting_ends *waiting_open(void)
{
    struct waiting_ends *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NULL;
    w->room = 1024;
    if ((w->places = calloc(w->room, sizeof(struct node *))) == NULL) {
        free(w);
        return NULL;
    }
    return w;
}

void waiting_close(struct waiting_ends *w)
{
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->room; i++)
        for (struct node *x = w->places[i], *next; x != NULL; x = next) {
            next = x->next;
            free(x);
        }
    free(w->places);
    free(w);
}

/* Doubles the table. Without memory, its chains just grow longer. */
static void spread(struct waiting_ends *w)
{
    struct waiting_ends wider = {.room = 2 * w->room};
    wider.places = calloc(wider.room, sizeof(struct node *));
    if (wider.places == NULL)
        return;
    for (size_t i = 0; i < w->room; i++)
        for (struct node *x = w->places[i], *next; x != NULL; x = next) {
            struct node **at = &wider.places[place_of(&wider, &x->end.identity)];
            next = x->next;
            x->next = *at;
            *at = x;
        }
    free(w->places);
    w->places = wider.places;
    w->room = wider.room;
}

/* Returns the pointer that links to the end, or NULL. */
static struct node **find(const struct waiting_ends *w, const struct message_identity *k,
                          bool a_send)
{
    struct node **at = &w->places[place_of(w, k)];
    while (*at != NULL && ((*at)->end.is_send != a_send || !same(&(*at)->end.identity, k)))
        at = &(*at)->next;
    return *at != NULL ? at : NULL;
}

static void take_out(struct waiting_ends *w, struct node **at)
{
    struct node *x = *at;
    *at = x->next;
    w->count--;
    free(x);
}

int waiting_meet(struct waiting_ends *w, const struct message_end *end, struct message_end *other,
                 bool *met)
{
    struct node **at = find(w, &end->identity, !end->is_send);
    *met = at != NULL;
    if (at != NULL) {
        *other = (*at)->end;
        take_out(w, at);
        return 0;
    }
    if (w->count > w->room)
        spread(w);
    struct node *x = malloc(sizeof *x);
    if (x == NULL)
        return -ENOMEM;
    struct node **place = &w->places[place_of(w, &end->identity)];
    *x = (struct node){.next = *place, .end = *end};
    *place = x;
    w->count++;
    return 0;
}

bool waiting_remove_send(struct waiting_ends *w, const struct message_identity *identity,
                         struct message_end *send)
{
    struct node **at = find(w, identity, true);
    if (at == NULL)
        return false;
    if (send != NULL)
        *send = (*at)->end;
    take_out(w, at);
    return true;
}

void waiting_each(const struct waiting_ends *w,
                  void (*take)(void *context, const struct message_end *end), void *context)
{
    for (size_t i = 0; i < w->room; i++)
        for (const struct node *x = w->places[i]; x != NULL; x = x->next)
            take(context, &x->end);
}
