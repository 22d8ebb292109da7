/* SPDX-License-Identifier: BSD-3-Clause
 * Finds functions by a regular expression on their names: their first instructions, or the places
 * to which they return when this image calls them. */
#include "isa/plan/site.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

/* Parts of the C run-time library's start and end, in every program: no user looks for them. */
static bool is_startup_code(const char *name)
{
    static const char *const names[] = {
        "_start",
        "_init",
        "_fini",
        "_dl_relocate_static_pie",
        "frame_dummy",
        "register_tm_clones",
        "atexit",
        "deregister_tm_clones",
        "__do_global_dtors_aux",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool name_fits(const struct request *q, const char *name)
{
    return image_name_fits(&q->regex, name) && !is_startup_code(name);
}

/* Returns whether the request selects this function. An indirect function is no match: it only
 * chooses among functions when the program is loaded. */
static bool is_meant(const struct request *q, const struct image *m, const struct image_symbol *s)
{
    return s->origin != IMAGE_PLT && image_is_function(s) && s->type != STT_GNU_IFUNC &&
           !image_is_sanitizer(m, s->address) && name_fits(q, s->name);
}

void pattern_enters(struct plan *p, const struct request *q)
{
    const struct image *m = p->code->image;
    for (size_t i = 0; i < m->symbol_count && !p->no_memory; i++)
        if (is_meant(q, m, &m->symbols[i]) && code_at(p->code, m->symbols[i].address) != NULL)
            plan_add_site(p, m->symbols[i].address, 0);
    if (p->site_count == 0 && q->kind == REQUEST_FUNCTIONS)
        (void)plan_say(p, "it matches the name of no function; inlined functions have no entry");
}

/* A function without a name matches by its address. */
void pattern_starts(struct plan *p, const struct request *q)
{
    char unnamed[32];
    pattern_enters(p, q);
    for (size_t k = 0; k < p->code->range_count && !p->no_memory; k++) {
        const struct code_range *r = &p->code->ranges[k];
        uint64_t start = r->start;
        (void)snprintf(unnamed, sizeof unnamed, "0x%" PRIx64, start);
        if (code_is_sure(p->code, start) && !image_is_sanitizer(p->code->image, start) &&
            !image_has_name(p->code->image, start) &&
            !image_has_stubs(p->code->image, r->start, r->end) &&
            regexec(&q->regex, unnamed, 0, NULL, 0) == 0)
            plan_add_site(p, start, 0);
    }
}

/* The names of selected functions that are called through stubs and slots. */
struct pattern_names {
    const char **at;
    size_t count;
    bool all; /* all names that match, for functions of other images */
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_named(const struct request *q, const struct pattern_names *n, const char *name)
{
    return n->all
               ? name_fits(q, name)
               : n->count != 0 && bsearch(&name, n->at, n->count, sizeof *n->at, by_text) != NULL;
}

/* Collects the selected functions of this image. */
static void find_own(struct plan *p, const struct request *q, struct pattern_names *own)
{
    const struct image *m = p->code->image;
    own->at = calloc(m->symbol_count + 1, sizeof *own->at);
    p->no_memory = own->at == NULL;
    for (size_t i = 0; i < m->symbol_count && !p->no_memory; i++) {
        if (!is_meant(q, m, &m->symbols[i]))
            continue;
        own->at[own->count++] = m->symbols[i].name;
        p->no_memory = !code_append(&p->callees, m->symbols[i].address);
    }
    if (!p->no_memory)
        qsort(own->at, own->count, sizeof *own->at, by_text);
}

/* Collects the stubs that lead to them. */
static void find_stubs(struct plan *p, const struct request *q, const struct pattern_names *names)
{
    const struct image *m = p->code->image;
    for (size_t i = 0; i < m->symbol_count && !p->no_memory; i++)
        if (m->symbols[i].origin == IMAGE_PLT && is_named(q, names, m->symbols[i].name))
            p->no_memory = !code_append(&p->callees, m->symbols[i].address);
    code_sort(&p->callees);
}

static bool calls_one(const struct plan *p, const struct request *q, const struct instruction *i,
                      const void *names)
{
    const char *slot = NULL;
    if (image_is_sanitizer(p->code->image, i->at))
        return false;
    if (i->form.flow == FLOW_CALL)
        return code_has(&p->callees, i->target);
    if (i->form.flow == FLOW_CALL_POINTER && i->form.relative)
        slot = image_slot_name(p->code->image, i->memory);
    return slot != NULL && is_named(q, names, slot);
}

void pattern_returns(struct plan *p, const struct request *q)
{
    struct pattern_names names = {.all = q->kind == REQUEST_STUBS};
    if (!names.all)
        find_own(p, q, &names);
    find_stubs(p, q, &names);
    plan_add_after_calls(p, q, calls_one, &names);
    free(names.at);
}
