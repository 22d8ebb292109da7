/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the places that a request names: by the names of functions, or by the properties of
 * instructions. */
#include "isa/plan/site.h"

#include "base/names/nearest.h"

#include <inttypes.h>

/* --- by name ------------------------------------------------------------------------------ */

/* Adds the functions whose addresses the resolver of an indirect function computes. */
static void add_implementations(struct plan *p, const struct image_symbol *s,
                                void (*add)(struct plan *, const struct image_symbol *, uint8_t))
{
    const struct code *c = p->code;
    unsigned found = 0;
    for (size_t i = 0; i < c->lea_count; i++) {
        const struct lea *l = &c->lea_list[i];
        const uint8_t *f = code_at(c, l->value);
        if (l->at - s->address >= s->size || f == NULL || (*f & CODE_ENTRY) == 0)
            continue;
        const struct code_range *r = code_range_of(c, l->value);
        struct image_symbol one = {.address = l->value,
                                   .size = r != NULL ? r->end - l->value : 0,
                                   .name = s->name,
                                   .type = STT_FUNC};
        add(p, &one, ISA_SITE_INDIRECT);
        found++;
    }
    (void)plan_say(p, "'%s' is chosen when the program is loaded, from %u functions here", s->name,
                   found);
}

static void say_no_such_name(struct plan *p, const struct request *q, bool called)
{
    struct near_names near = {.wanted = q->name};
    char text[400];
    if (called) {
        (void)plan_say(p, "'%s' is called here, but is in another image", q->name);
        return;
    }
    image_name_nearest(p->code->image, q->kind == REQUEST_SYMBOL, &near);
    near_names_text(&near, text, sizeof text);
    (void)plan_say(p, "no function '%s'%s", q->name, text);
}

static void say_inlined(struct plan *p, const struct request *q)
{
    char text[300];
    unsigned places = image_name_inlined(p->code->image, q->name, text, sizeof text);
    if (places != 0)
        (void)plan_say(p, "'%s' was inlined at %u place%s and has no entry; use instead: %s",
                       q->name, places, places == 1 ? "" : "s", text);
}

/* Returns main's address if main is requested and known without a symbol; otherwise 0. */
static uint64_t unnamed_main(const struct plan *p, const struct request *q)
{
    uint64_t main = strcmp(q->name, "main") == 0 ? code_find_main(p->code) : 0;
    return main != 0 && code_is_sure(p->code, main) ? main : 0;
}

static void for_named(struct plan *p, const struct request *q,
                      void (*add)(struct plan *, const struct image_symbol *, uint8_t))
{
    const struct image *m = p->code->image;
    bool found = false, called = false;
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct image_symbol *s = &m->symbols[i];
        bool counts = image_is_function(s) || (q->kind == REQUEST_SYMBOL && s->type == STT_NOTYPE);
        if (!counts || !image_name_matches(s, q->name))
            continue;
        if (s->origin == IMAGE_PLT) {
            called = true;
            continue;
        }
        found = true;
        if (s->type == STT_GNU_IFUNC && q->kind != REQUEST_SYMBOL)
            add_implementations(p, s, add);
        else
            add(p, s, 0);
    }
    uint64_t main = found || called ? 0 : unnamed_main(p, q);
    const struct code_range *r = code_range_of(p->code, main);
    const struct image_symbol it = {
        .address = main, .size = r != NULL ? r->end - main : 0, .name = "main"};
    if (main != 0)
        add(p, &it, 0);
    else if (!found)
        say_no_such_name(p, q, called);
}

bool request_is_elsewhere(const struct request *q, const struct image *m)
{
    bool exits = q->kind == REQUEST_EXITS;
    bool named = q->kind == REQUEST_ENTER || q->kind == REQUEST_RETS || q->kind == REQUEST_SYMBOL;
    if (q->kind == REQUEST_INLINED)
        return true; /* debug information answers it, not code */
    if (!exits && !named)
        return false;
    if (strcmp(q->name, "main") == 0 && m->entry != 0 && !exits)
        return false; /* a program's main is found without a symbol */
    for (size_t i = 0; i < m->symbol_count; i++)
        if (image_name_matches(&m->symbols[i], q->name))
            return false;
    return !exits || !request_has_slot(q, m);
}

/* Adds places where these bytes are, whether or not an instruction begins there. A place lies
 * `after` bytes before the bytes found. */
static bool add_matches(const struct image *m, const void *bytes, size_t n, unsigned after,
                        struct address_list *places)
{
    for (size_t k = 0; k < m->segment_count; k++) {
        const struct image_segment *s = &m->segments[k];
        const uint8_t *at = s->bytes, *end = s->bytes + s->size;
        for (; s->code && (at = memmem(at, (size_t)(end - at), bytes, n)) != NULL; at++)
            if ((uint64_t)(at - s->bytes) >= after &&
                !code_append(places, s->address + (uint64_t)(at - s->bytes) - after))
                return false;
    }
    return true;
}

bool request_places(const struct request *q, const struct image *m, struct address_list *places)
{
    size_t before = places->count;
    uint64_t after = q->kind == REQUEST_SYMBOL ? q->number : 0;
    switch (q->kind) {
    case REQUEST_ADDRESS: return code_append(places, q->number);
    case REQUEST_OFFSET: return code_append(places, q->number + m->base);
    case REQUEST_SSC: return add_matches(m, "\x64\x67\x90", 3, 5, places);
    case REQUEST_CPUID: return add_matches(m, "\x0f\xa2", 2, 0, places);
    case REQUEST_MAGIC:
        return add_matches(m, "\x87\xdb", 2, 0, places) &&
               add_matches(m, "\x66\x87\xdb", 3, 0, places);
    case REQUEST_ITEXT: return add_matches(m, q->bytes, q->byte_count, 0, places);
    case REQUEST_EXITS: return true; /* its callers come from request_callees() */
    case REQUEST_ENTER:
    case REQUEST_SYMBOL: break;
    default: return false;
    }
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct image_symbol *s = &m->symbols[i];
        if (s->origin == IMAGE_PLT || s->type == STT_OBJECT || !image_name_matches(s, q->name))
            continue;
        if ((s->type == STT_GNU_IFUNC && q->kind == REQUEST_ENTER) ||
            !code_append(places, s->address + after))
            return false; /* only the resolver's code shows which functions it chooses from */
    }
    return places->count != before || strcmp(q->name, "main") != 0;
}

static void add_entry(struct plan *p, const struct image_symbol *s, uint8_t flags)
{
    plan_add_site(p, s->address, flags);
}

static void add_rets(struct plan *p, const struct image_symbol *s, uint8_t flags)
{
    struct instruction i;
    for (uint64_t at = s->address; at < s->address + s->size; at++)
        if (code_is_sure(p->code, at) && code_decode(p->code, at, &i) && i.form.flow == FLOW_RETURN)
            plan_add_site(p, at, flags);
}

static void add_place(struct plan *p, const struct request *q)
{
    const struct image *m = p->code->image;
    size_t before = p->site_count;
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct image_symbol *s = &m->symbols[i];
        if (s->origin != IMAGE_PLT && s->type != STT_OBJECT &&
            code_at(p->code, s->address) != NULL && image_name_matches(s, q->name))
            plan_add_site(p, s->address + q->number, 0);
    }
    uint64_t main = p->site_count == before ? unnamed_main(p, q) : 0;
    if (main != 0)
        plan_add_site(p, main + q->number, 0);
    else if (p->site_count == before)
        say_no_such_name(p, q, false);
}

/* --- after calls -------------------------------------------------------------------------- */

static bool calls_wanted(const struct plan *p, const struct request *q, const struct instruction *i,
                         const void *context)
{
    (void)context;
    if (i->form.flow != FLOW_CALL && i->form.flow != FLOW_CALL_POINTER)
        return false;
    if (q->name[0] == '\0' || (i->form.flow == FLOW_CALL && code_has(&p->callees, i->target)))
        return true;
    const char *name = i->form.relative ? image_slot_name(p->code->image, i->memory) : NULL;
    struct image_symbol slot = {.name = name, .version = ""};
    return name != NULL && image_name_matches(&slot, q->name);
}

/* In a partial map, c->behind_calls lists all places after what may be a call. */
static void add_found_calls(struct plan *p, const struct request *q, plan_wants_call *wants,
                            const void *context)
{
    const struct code *c = p->code;
    struct instruction i;
    for (size_t k = 0; k < c->behind_calls.count && !p->no_memory; k++) {
        uint64_t next = c->behind_calls.at[k], at = code_before(c, next, 0);
        if (code_is_sure(c, at) && code_decode(c, at, &i) && i.next == next &&
            wants(p, q, &i, context) && code_is_sure(c, next))
            plan_add_site(p, next, 0);
    }
}

void plan_add_after_calls(struct plan *p, const struct request *q, plan_wants_call *wants,
                          const void *context)
{
    const struct code *c = p->code;
    struct instruction i;
    if (c->partial) {
        add_found_calls(p, q, wants, context);
        return;
    }
    for (size_t k = 0; k < c->segment_count; k++) {
        const struct code_segment *s = &c->segments[k];
        for (uint64_t n = 0; (n = code_next_flagged(s, n, CODE_START)) < s->size; n++) {
            /* Nothing sure follows a call that does not return. */
            if (code_is_sure(c, s->address + n) && code_decode(c, s->address + n, &i) &&
                wants(p, q, &i, context) && code_is_sure(c, i.next) && !p->no_memory)
                plan_add_site(p, i.next, 0);
        }
    }
}

/* Adds sites after calls of the requested functions, of stubs that lead to them, and through slots
 * that will hold them. */
static void add_returns(struct plan *p, const struct request *q)
{
    const struct image *m = p->code->image;
    for (size_t k = 0; k < m->symbol_count && q->name[0] != '\0' && !p->no_memory; k++)
        if (image_is_function(&m->symbols[k]) && image_name_matches(&m->symbols[k], q->name))
            p->no_memory = !code_append(&p->callees, m->symbols[k].address);
    code_sort(&p->callees);
    plan_add_after_calls(p, q, calls_wanted, NULL);
}

void plan_find_named(struct plan *p, const struct request *q)
{
    switch (q->kind) {
    case REQUEST_ENTER: for_named(p, q, add_entry); break;
    case REQUEST_RETS: for_named(p, q, add_rets); break;
    case REQUEST_RETURNS:
    case REQUEST_EXITS: add_returns(p, q); break;
    case REQUEST_FUNCTIONS: pattern_enters(p, q); break;
    case REQUEST_STARTS: pattern_starts(p, q); break;
    case REQUEST_CALLERS:
    case REQUEST_STUBS: pattern_returns(p, q); break;
    case REQUEST_SYMBOL: add_place(p, q); break;
    case REQUEST_INLINED: say_inlined(p, q); break;
    case REQUEST_ADDRESS: plan_add_site(p, q->number, 0); break;
    case REQUEST_OFFSET: plan_add_site(p, p->code->image->base + q->number, 0); break;
    default: plan_scan(p, q);
    }
}

/* --- by properties of instructions -------------------------------------------------------- */

static bool matches_bytes(const struct request *q, const uint8_t *b, size_t n)
{
    static const uint8_t mark[] = {0x64, 0x67, 0x90};
    uint32_t value;
    switch (q->kind) {
    case REQUEST_SSC:
        if (n < 8 || b[0] != 0xbb || memcmp(b + 5, mark, sizeof mark) != 0)
            return false;
        memcpy(&value, b + 1, 4);
        return value == q->number;
    case REQUEST_INT3: return b[0] == 0xcc;
    case REQUEST_CPUID: return n >= 2 && b[0] == 0x0f && b[1] == 0xa2;
    case REQUEST_MAGIC:
        return (n >= 2 && b[0] == 0x87 && b[1] == 0xdb) ||
               (n >= 3 && b[0] == 0x66 && b[1] == 0x87 && b[2] == 0xdb);
    case REQUEST_ITEXT: return n >= q->byte_count && memcmp(b, q->bytes, q->byte_count) == 0;
    default: return false;
    }
}

static bool matches_meaning(const struct code *c, const struct request *q, const uint8_t *b,
                            size_t n, unsigned *length)
{
    const struct form *f = form_read(c->forms, b, n);
    if (f == NULL)
        return false;
    *length = f->length;
    return q->number == (q->kind == REQUEST_EXTENSION ? f->extension : f->category);
}

/* Returns whether the instruction that matches has the length of the requested bytes. */
static bool is_whole(const struct code *c, const struct request *q, uint64_t at)
{
    struct instruction i;
    if (q->kind == REQUEST_SSC)
        return code_is_sure(c, at + 5);
    return q->kind != REQUEST_ITEXT || (code_decode(c, at, &i) && i.form.length == q->byte_count);
}

void plan_scan(struct plan *p, const struct request *q)
{
    const struct code *c = p->code;
    bool category = q->kind == REQUEST_CATEGORY, meaning = category || q->kind == REQUEST_EXTENSION;
    /* All sure code has been decoded: no sure instruction has a category or extension that the
     * decoder has not met. */
    bool none_sure = meaning && !forms_may_have(c->forms, category, q->number);
    uint8_t wanted = none_sure ? CODE_UNSURE : CODE_START | CODE_UNSURE;
    for (size_t k = 0; k < c->segment_count; k++) {
        const struct code_segment *s = &c->segments[k];
        const uint8_t *bytes = s->bytes;
        for (uint64_t at = 0;;) {
            if (at >= s->size || (s->flags[at] & wanted) == 0)
                at = code_next_flagged(s, at, wanted);
            if (at >= s->size)
                break;
            uint8_t f = s->flags[at];
            bool sure = (f & (CODE_START | CODE_UNSURE | CODE_PADDING)) == CODE_START,
                 unsure = (f & CODE_UNSURE) != 0;
            unsigned length = 1;
            if ((sure || unsure) &&
                (meaning ? matches_meaning(c, q, bytes + at, s->size - at, &length)
                         : matches_bytes(q, bytes + at, s->size - at))) {
                if (sure && is_whole(c, q, s->address + at))
                    plan_add_site(p, s->address + at, 0);
                p->unsure += unsure;
            }
            at += length;
        }
    }
    if (p->unsure != 0)
        (void)plan_say(p, "%" PRIu64 " more places match, but may be data: left alone", p->unsure);
}
