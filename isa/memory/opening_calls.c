/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the calls during which a window may open. */
#include "isa/memory/opening_calls.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 }; /* entries; for each, its function is analysed once more */

/* A call, or a jump out of its function, which acts as a call. */
struct window_call {
    uint64_t at, next, target;
    uint64_t function; /* start of the caller */
    bool jump, pointer, opens;
};

struct opening_search {
    const struct code *c;
    const struct name_list *names;
    struct address_list openers; /* sorted */
    struct window_call *calls;   /* sorted by target */
    size_t count, room;
    struct address_list todo; /* functions whose callers are wanted */
    /* functions that load the address of an opener: any of their indirect calls may call it */
    struct address_list holders;
};

static bool is_slot_of(const struct opening_search *g, uint64_t place)
{
    const char *name = image_slot_name(g->c->image, place);
    for (size_t k = 0; name != NULL && k < g->names->count; k++)
        if (strcmp(name, g->names->names[k]) == 0)
            return true;
    return false;
}

/* Includes stubs of the PLT. */
static int find_openers(struct opening_search *g)
{
    const struct image *m = g->c->image;
    for (size_t n = 0; n < m->symbol_count; n++)
        for (size_t k = 0; k < g->names->count && image_is_function(&m->symbols[n]); k++)
            if (image_name_matches(&m->symbols[n], g->names->names[k]) &&
                !code_append(&g->openers, m->symbols[n].address))
                return -ENOMEM;
    code_sort(&g->openers);
    return 0;
}

static int add(struct opening_search *g, const struct instruction *i, uint64_t function,
               bool is_opener)
{
    struct window_call *more = array_grown(g->calls, g->count, &g->room, sizeof *more);
    if (more == NULL)
        return -ENOMEM;
    g->calls = more;
    g->calls[g->count++] = (struct window_call){
        .at = i->at,
        .next = i->next,
        .target = i->target,
        .function = function,
        .jump = i->form.flow == FLOW_JUMP || i->form.flow == FLOW_JUMP_POINTER,
        .pointer = i->form.flow == FLOW_CALL_POINTER || i->form.flow == FLOW_JUMP_POINTER,
        .opens = is_opener};
    return 0;
}

static int look(struct opening_search *g, uint64_t at)
{
    struct instruction i;
    const struct code_range *r = code_range_of(g->c, at);
    if (r == NULL || !code_decode(g->c, at, &i))
        return 0;
    bool slot = i.form.relative && is_slot_of(g, i.memory);
    bool pointer = i.form.flow == FLOW_CALL_POINTER || i.form.flow == FLOW_JUMP_POINTER;
    if (pointer) {
        i.target = 0;
        return add(g, &i, r->start, slot);
    }
    if (slot && !code_append(&g->holders, r->start))
        return -ENOMEM;
    bool leaves = i.form.flow == FLOW_JUMP && (i.target < r->start || i.target >= r->end);
    if (leaves || (i.form.flow == FLOW_CALL && i.target != i.next))
        return add(g, &i, r->start, code_has(&g->openers, i.target));
    return 0;
}

static int by_target(const void *a, const void *b)
{
    const struct window_call *x = a, *y = b;
    return (x->target > y->target) - (x->target < y->target);
}

static int by_next(const void *a, const void *b)
{
    const struct opening_call *x = a, *y = b;
    return (x->next > y->next) - (x->next < y->next);
}

static size_t calls_of(const struct opening_search *g, uint64_t target)
{
    return image_search(g->calls, g->count, sizeof *g->calls, offsetof(struct window_call, target),
                        target);
}

static bool has(const struct address_list *list, uint64_t at)
{
    for (size_t k = 0; k < list->count; k++)
        if (list->at[k] == at)
            return true;
    return false;
}

/* Adds the address that the call returns to, and queues its function: the callers are wanted
 * too. */
static int take(struct opening_search *g, const struct window_call *k, struct opening_calls *out)
{
    if (!k->jump) {
        if (out->count == MOST) {
            out->cut = true;
            return 0;
        }
        out->list[out->count++] = (struct opening_call){k->at, k->next};
    }
    return has(&g->todo, k->function) || code_append(&g->todo, k->function) ? 0 : -ENOMEM;
}

static int close_over(struct opening_search *g, struct opening_calls *out)
{
    int rc = 0;
    for (size_t n = 0; n < g->count && rc == 0; n++)
        if (g->calls[n].opens ||
            (g->calls[n].pointer && code_has(&g->holders, g->calls[n].function)))
            rc = take(g, &g->calls[n], out);
    for (size_t k = 0; k < g->todo.count && rc == 0; k++) {
        uint64_t target = g->todo.at[k];
        for (size_t n = calls_of(g, target);
             rc == 0 && n < g->count && g->calls[n].target == target; n++)
            if (!g->calls[n].opens && !g->calls[n].pointer)
                rc = take(g, &g->calls[n], out);
    }
    return rc;
}

int opening_calls_find(const struct code *c, const struct name_list *openers,
                       struct opening_calls *out)
{
    struct opening_search g = {.c = c, .names = openers};
    int rc = find_openers(&g);
    *out = (struct opening_calls){.list = calloc(MOST, sizeof *out->list)};
    for (size_t k = 0; k < c->segment_count && rc == 0; k++) {
        const struct code_segment *s = &c->segments[k];
        for (uint64_t n = code_next_flagged(s, 0, CODE_START); n < s->size && rc == 0;
             n = code_next_flagged(s, n + 1, CODE_START))
            if ((s->flags[n] & CODE_UNSURE) == 0)
                rc = look(&g, s->address + n);
    }
    rc = out->list == NULL ? -ENOMEM : rc;
    if (rc == 0 && g.count != 0) {
        code_sort(&g.holders);
        qsort(g.calls, g.count, sizeof *g.calls, by_target);
        rc = close_over(&g, out);
        qsort(out->list, out->count, sizeof *out->list, by_next);
    }
    free(g.calls);
    free(g.todo.at);
    free(g.openers.at);
    free(g.holders.at);
    return rc;
}
