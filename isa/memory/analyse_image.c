/* SPDX-License-Identifier: BSD-3-Clause
 * Analyses all selected functions of an image. What is made of a function depends on which other
 * functions are called directly, which is known only after all have been analysed. So each function
 * is made from a guess, and made again if the guess was wrong for a function that it calls. */
#include "isa/memory/analyse_image.h"

#include "isa/memory/source/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    LARGE = 16384, /* bytes; larger functions are made last */
    TURNS = 3,     /* rounds that find registers which callers know */
};

static bool prints(const struct image_analysis *a)
{
    return !a->source && !a->dot && !a->summary && a->copies_path == NULL;
}

static void note_reason(struct image_analysis *a, const char *reason)
{
    unsigned n = 0;
    while (n < 15 && a->why[n].reason != NULL && strcmp(a->why[n].reason, reason) != 0)
        n++;
    a->why[n].reason = reason;
    a->why[n].count++;
}

/* --- one function ----------------------------------------------------------------------------- */

static void write_text(struct image_analysis *a, const struct selected_function *p,
                       struct function *f)
{
    struct skel_source source = {.out = a->made, .number = p->number};
    if (f->reason == NULL && (a->source || a->skeleton != NULL))
        skel_source_function(&source, f);
    else if (a->source)
        (void)fprintf(a->made,
                      "\n/* %s at 0x%" PRIx64 " has no skeleton: %s (at 0x%" PRIx64 ") */\n",
                      f->name, f->start, f->reason, f->reason_at);
    else if (a->dot)
        skel_print_dot(a->made, f);
    else if (prints(a))
        skel_print(a->made, f);
}

/* Returns how many recorded values a direct caller knows. */
static uint64_t records_known(const struct function *f)
{
    uint64_t count = 0;
    for (uint32_t v = 0; f->reason == NULL && v < f->value_count; v++)
        count += f->values[v].recorded && value_is_passed(f, v);
    return count;
}

/* Analyses function `n`; writes its text and makes its copy under one number. */
static int make(struct image_analysis *a, size_t n, bool direct)
{
    struct selected_function *p = &a->parts[n];
    char unnamed[32];
    struct function f = {.code = a->o.code,
                         .claims = &a->o.claims,
                         .sites = &a->o.sites,
                         .directs = &a->directs,
                         .arena = &a->arena,
                         .name = session_name(&a->o, p->start, unnamed),
                         .copied = a->copies_path != NULL,
                         .plan = a->plan,
                         .start = p->start,
                         .end = p->end,
                         .watched = p->watched,
                         .direct = direct,
                         .passed = direct_passed(&a->directs, p->start)};
    f.passed_itself = f.passed;
    skel_analyse(&f);
    if (a->plan == PLAN_SKELETON && a->turns < TURNS && f.reason == NULL)
        direct_pass(&a->directs, &f);
    p->counts = (struct skel_counts){0};
    skel_count(&f, &p->counts);
    p->direct = direct;
    p->passed = f.passed;
    p->known = records_known(&f);
    if (f.reason == NULL && !p->numbered && !p->later)
        p->number = a->copies.number++;
    p->numbered = p->numbered || f.reason == NULL;
    p->reason = f.reason;
    p->reason_at = f.reason_at;
    p->text = (size_t)ftello(a->made);
    write_text(a, p, &f);
    p->text_bytes = (size_t)ftello(a->made) - p->text;
    if (f.reason == NULL && a->copies_path != NULL)
        p->reason = copies_make(&a->copies, &f, p->number, &p->copy);
    bool noted = direct_note(&a->directs, &a->directs.list[n], &f, p->reason == NULL);
    arena_empty(&a->arena);
    return noted ? 0 : -ENOMEM;
}

/* --- all functions ---------------------------------------------------------------------------- */

static bool is_named(const struct image_analysis *a, const struct image_symbol *s)
{
    const struct name_list *lists[] = {&a->openers, &a->awaited};
    for (unsigned l = 0; l < 2; l++)
        for (size_t n = 0; n < lists[l]->count; n++)
            if (image_name_matches(s, lists[l]->names[n]))
                return true;
    return false;
}

/* Checks all names of the function; main may have no symbol (isa/plan/find.c). */
static bool is_awaited(const struct image_analysis *a, uint64_t start)
{
    const struct image *m = a->o.image;
    const struct image_symbol unnamed = {.address = start, .name = "main", .version = ""};
    for (size_t k = image_symbols_from(m, start);
         k < m->symbol_count && m->symbols[k].address == start; k++)
        if (is_named(a, &m->symbols[k]))
            return true;
    return is_named(a, &unnamed) && code_find_main(a->o.code) == start;
}

/* Returns whether an alarm awaits an IFUNC symbol. When the image is loaded, one of several
 * functions, which have other names, is chosen for it, and the alarm stands at each of them. */
static bool is_choice_awaited(const struct image_analysis *a)
{
    const struct image *m = a->o.image;
    for (size_t k = 0; k < m->symbol_count; k++)
        if (m->symbols[k].type == STT_GNU_IFUNC && is_named(a, &m->symbols[k]))
            return true;
    return false;
}

/* Parts that a compiler has moved away from a function are analysed with it. Stubs of the PLT are
 * no functions. */
static bool is_wanted(const struct image_analysis *a, const struct code_range *r)
{
    const struct image_symbol *s = graph_symbol_at(a->o.image, r->start);
    char unnamed[32];
    return code_is_sure(a->o.code, r->start) &&
           (s == NULL || (s->origin != IMAGE_PLT && !graph_is_part(s))) &&
           !image_is_sanitizer(a->o.image, r->start) &&
           session_wants(&a->o, session_name(&a->o, r->start, unnamed), r->start);
}

static int list_functions(struct image_analysis *a)
{
    a->parts = calloc(a->o.code->range_count + 1, sizeof *a->parts);
    a->made = open_memstream(&a->text, &a->text_bytes);
    if (a->parts == NULL || a->made == NULL)
        return -ENOMEM;
    bool tokens = a->tokens || is_choice_awaited(a);
    for (size_t k = 0; k < a->o.code->range_count; k++) {
        const struct code_range *r = &a->o.code->ranges[k];
        if (!is_wanted(a, r))
            continue;
        bool watched = is_awaited(a, r->start) || session_watches(&a->o, r->start);
        a->parts[a->wanted++] =
            (struct selected_function){.start = r->start, .end = r->end, .watched = watched};
        if (!direct_add(&a->directs, r->start, !tokens && !watched))
            return -ENOMEM;
    }
    return 0;
}

static bool is_direct(const struct image_analysis *a, size_t n)
{
    return a->directs.list[n].is && a->directs.list[n].called;
}

/* Makes each function: decides what is called directly from a look at the instructions first, then
 * from the analyses. Large functions take long and come last, when most of what they call is
 * known. */
static int make_first(struct image_analysis *a)
{
    int rc = 0;
    for (size_t n = 0; n < a->wanted; n++)
        if (!direct_guess(&a->directs, &a->directs.list[n], a->o.code, a->parts[n].end))
            return -ENOMEM;
    direct_settle(&a->directs);
    for (size_t n = 0; n < a->wanted && rc == 0; n++) {
        struct selected_function *p = &a->parts[n];
        p->later = p->end - p->start > LARGE;
        if (p->later)
            p->number = a->copies.number++;
        else
            rc = make(a, n, a->directs.list[n].is);
    }
    direct_settle(&a->directs);
    for (size_t n = 0; n < a->wanted && rc == 0; n++)
        if (a->parts[n].later)
            rc = make(a, n, is_direct(a, n));
    return rc;
}

static int make_all(struct image_analysis *a)
{
    int rc = make_first(a);
    for (bool changed = rc == 0; changed;) {
        direct_settle(&a->directs);
        changed = false;
        a->turns++;
        for (size_t n = 0; n < a->wanted && rc == 0; n++) {
            bool same = !prints(a) || a->parts[n].direct == is_direct(a, n);
            bool passes = a->parts[n].passed == direct_passed(&a->directs, a->parts[n].start);
            if (same && passes && direct_holds(&a->directs, n))
                continue;
            changed = true;
            rc = make(a, n, is_direct(a, n));
        }
    }
    return rc;
}

/* `counts` assumes p->direct: corrects `recorded` if the function turned out otherwise. */
static void add_counts(struct image_analysis *a, size_t n)
{
    const struct selected_function *p = &a->parts[n];
    const uint64_t *from = (const uint64_t *)(const void *)&p->counts;
    uint64_t *to = (uint64_t *)(void *)&a->counts;
    for (size_t k = 0; k < sizeof a->counts / sizeof *to; k++)
        to[k] += from[k];
    if (p->direct != is_direct(a, n))
        a->counts.recorded += p->direct ? p->known : -p->known;
}

/* Lists the functions that this one calls: to compile some functions alone, those are needed too
 * (tools/memory/compile/skel_build.c). */
static void put_called(struct image_analysis *a, FILE *out, uint32_t number, const struct direct *x)
{
    for (size_t k = x->first; k < x->first + x->count; k++) {
        size_t to = direct_number(&a->directs, a->directs.calls[k].target);
        if (k == x->first)
            (void)fprintf(out, "\n/* %" PRIu32 " calls", number);
        (void)fprintf(out, " %" PRIu32 "%s", a->parts[to].number,
                      k + 1 == x->first + x->count ? " */" : "");
    }
}

static void put(struct image_analysis *a, size_t n)
{
    const struct selected_function *p = &a->parts[n];
    char unnamed[32];
    FILE *out = a->skeleton != NULL ? a->skeleton : stdout;
    add_counts(a, n);
    if (p->numbered && (a->source || a->skeleton != NULL))
        put_called(a, out, p->number, &a->directs.list[n]);
    (void)fwrite(a->text + p->text, 1, p->text_bytes, out);
    if (p->reason != NULL)
        note_reason(a, p->reason);
    if (p->reason != NULL && a->skeleton_path != NULL)
        (void)printf("none\t%s\t%s\n", session_name(&a->o, p->start, unnamed), p->reason);
    if (p->reason == NULL && a->copies_path != NULL)
        copies_add(&a->copies, &p->copy, COPIES_FUNCTIONS);
}

/* Adds the copy and the skeleton of `f`, which begins in mid-function. Returns false if it has no
 * copy. */
static bool put_late(struct image_analysis *a, struct function *f, enum copies_kind kind)
{
    struct copy_part copy;
    struct skel_source source = {.out = a->skeleton, .number = a->copies.number};
    struct direct calls = {0};
    if (f->reason == NULL && a->skeleton != NULL && direct_note(&a->directs, &calls, f, true)) {
        put_called(a, a->skeleton, source.number, &calls);
        skel_source_function(&source, f);
    }
    bool good = f->reason == NULL && copies_make(&a->copies, f, a->copies.number++, &copy) == NULL;
    if (good)
        copies_add(&a->copies, &copy, kind);
    arena_empty(&a->arena);
    return good;
}

/* Adds mid-function entries. Without one, a window that opens there begins with the next function
 * that is entered. */
static void analyse_late(struct image_analysis *a)
{
    struct opening_calls late = {0};
    char name[512];
    struct function f;
    a->o.directs = &a->directs;
    bool found = a->openers.count != 0 && opening_calls_find(a->o.code, &a->openers, &late) == 0;
    for (size_t k = 0; found && k < late.count; k++) {
        session_late(&a->o, &a->arena, late.list[k].call, late.list[k].next, name, &f);
        (void)put_late(a, &f, COPIES_LATE);
    }
    free(late.list);
}

static bool is_stub(const struct image_analysis *a, uint64_t at)
{
    const struct code_range *r = code_range_of(a->o.code, at);
    return r != NULL && image_has_stubs(a->o.image, r->start, r->end);
}

/* Sets *made to whether the site has a copy now. Returns false if nothing selected is there. */
static bool make_site(struct image_analysis *a, uint64_t at, enum skel_plan plan, bool *made)
{
    char name[512];
    struct function f;
    a->o.plan = plan;
    session_site(&a->o, &a->arena, at, name, &f);
    bool meant = f.reason == NULL || f.reason_at != 0;
    *made = put_late(a, &f, COPIES_SITES);
    return meant;
}

/* If the plan cannot compute addresses from mid-function, PLAN_ADDRESSES records each of them. */
static void analyse_sites(struct image_analysis *a)
{
    for (size_t k = 0; k < a->o.sites.count && a->copies_path != NULL; k++) {
        const struct copy_part none = {.f = {.address = a->o.sites.at[k]}};
        bool made = false;
        if (direct_knows(&a->directs, none.f.address) || is_stub(a, none.f.address) ||
            !make_site(a, none.f.address, a->plan, &made) ||
            (!made && !make_site(a, none.f.address, PLAN_ADDRESSES, &made)))
            continue;
        if (made)
            a->copies.parts[copies_count(&a->copies) - 1].f.address = none.f.address;
        else
            copies_add(&a->copies, &none, COPIES_SITES);
    }
    a->o.plan = a->plan;
}

int analyse_image(struct image_analysis *a)
{
    int rc = list_functions(a);
    if (rc == 0 && (a->skeleton != NULL || (a->source && a->wanted > 0)))
        skel_source_begin(a->skeleton != NULL ? a->skeleton : stdout, a->o.image);
    rc = rc != 0 ? rc : make_all(a);
    if (rc == 0 && fflush(a->made) != 0)
        rc = -ENOMEM;
    for (size_t n = 0; n < a->wanted && rc == 0; n++)
        put(a, n);
    if (rc == 0) {
        analyse_late(a);
        analyse_sites(a);
    }
    return rc;
}

void image_analysis_free(struct image_analysis *a)
{
    if (a->made != NULL)
        (void)fclose(a->made);
    free(a->text);
    free(a->parts);
    direct_free(&a->directs);
    copies_free(&a->copies);
    arena_free(&a->arena);
}
