/* SPDX-License-Identifier: BSD-3-Clause
 * A list in the order of posting. Searches go through it from the begin, as it holds only what is
 * open at one time. */
#include "tools/messages/posted_receives.h"

#include <stdlib.h>

struct posted *posted_add(struct posted_list *l, const struct posted *what)
{
    struct posted *p = malloc(sizeof *p);
    if (p == NULL)
        return NULL;
    *p = *what;
    p->previous = l->last;
    p->next = NULL;
    *(l->last != NULL ? &l->last->next : &l->first) = p;
    l->last = p;
    return p;
}

static void take_out(struct posted_list *l, struct posted *p)
{
    *(p->previous != NULL ? &p->previous->next : &l->first) = p->next;
    *(p->next != NULL ? &p->next->previous : &l->last) = p->previous;
    l->matched -= p->matched;
}

void posted_remove(struct posted_list *l, struct posted *p)
{
    take_out(l, p);
    free(p);
}

/* Did two threads post them at the same time? */
static bool overlap(const struct posted *a, const struct posted *b)
{
    return a->stream != b->stream && a->ns < b->end_ns && b->ns < a->end_ns;
}

static bool same_way(const struct posted *a, const struct posted *b)
{
    return a->comm == b->comm && a->source == b->source && a->tag == b->tag;
}

void posted_match(struct posted_list *l, struct posted *p)
{
    p->matched = true;
    l->matched++;
    if (p->end_ns > p->received_ns)
        p->end_ns = p->received_ns;
    for (struct posted *other = l->matched > 1 ? l->first : NULL; other != NULL;
         other = other->next)
        if (other != p && other->matched && same_way(other, p) && overlap(other, p))
            other->concurrent = p->concurrent = true;
}

/* Can the open receive still turn out to have taken a message of p's key? */
static bool could(const struct posted *open, const struct posted *p)
{
    return open->comm == p->comm && (open->source == POSTED_ANY || open->source == p->source) &&
           (open->tag == POSTED_ANY || open->tag == p->tag);
}

static bool has_to_wait(const struct posted_list *l, const struct posted *p)
{
    bool before = true;
    for (const struct posted *other = l->first; other != NULL; other = other->next) {
        if (other == p) {
            before = false;
        } else if (other->matched) {
            if (before && same_way(other, p))
                return true;
        } else if ((before || overlap(other, p)) && could(other, p)) {
            return true;
        }
        if (!before && other->ns >= p->end_ns)
            break;
    }
    return false;
}

struct posted *posted_next(struct posted_list *l)
{
    uint32_t left = l->matched;
    for (struct posted *p = l->first; p != NULL && left != 0; p = p->next) {
        if (!p->matched)
            continue;
        left--;
        if (has_to_wait(l, p))
            continue;
        take_out(l, p);
        return p;
    }
    return NULL;
}

void posted_free(struct posted_list *l)
{
    for (struct posted *p = l->first, *next; p != NULL; p = next) {
        next = p->next;
        free(p);
    }
    *l = (struct posted_list){0};
}
