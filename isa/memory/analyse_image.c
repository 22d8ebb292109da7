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

static bool prints(const struct job *j)
{
    return !j->source && !j->dot && !j->summary && j->copies_path == NULL;
}

static void note_reason(struct job *j, const char *reason)
{
    unsigned n = 0;
    while (n < 15 && j->why[n].reason != NULL && strcmp(j->why[n].reason, reason) != 0)
        n++;
    j->why[n].reason = reason;
    j->why[n].count++;
}

/* --- one function ----------------------------------------------------------------------------- */

static void write_text(struct job *j, const struct job_part *p, struct function *f)
{
    struct skel_source source = {.out = j->made, .number = p->number};
    if (f->reason == NULL && (j->source || j->skeleton != NULL))
        skel_source_function(&source, f);
    else if (j->source)
        (void)fprintf(j->made,
                      "\n/* %s at 0x%" PRIx64 " has no skeleton: %s (at 0x%" PRIx64 ") */\n",
                      f->name, f->start, f->reason, f->reason_at);
    else if (j->dot)
        skel_print_dot(j->made, f);
    else if (prints(j))
        skel_print(j->made, f);
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
static int make(struct job *j, size_t n, bool direct)
{
    struct job_part *p = &j->parts[n];
    char unnamed[32];
    struct function f = {.code = j->o.code,
                         .claims = &j->o.claims,
                         .sites = &j->o.sites,
                         .directs = &j->directs,
                         .arena = &j->arena,
                         .name = session_name(&j->o, p->start, unnamed),
                         .copied = j->copies_path != NULL,
                         .plan = j->plan,
                         .start = p->start,
                         .end = p->end,
                         .watched = p->watched,
                         .direct = direct,
                         .passed = direct_passed(&j->directs, p->start)};
    f.passed_itself = f.passed;
    skel_analyse(&f);
    if (j->plan == PLAN_SKELETON && j->turns < TURNS && f.reason == NULL)
        direct_pass(&j->directs, &f);
    p->counts = (struct skel_counts){0};
    skel_count(&f, &p->counts);
    p->direct = direct;
    p->passed = f.passed;
    p->known = records_known(&f);
    if (f.reason == NULL && !p->numbered && !p->later)
        p->number = j->copies.number++;
    p->numbered = p->numbered || f.reason == NULL;
    p->reason = f.reason;
    p->reason_at = f.reason_at;
    p->text = (size_t)ftello(j->made);
    write_text(j, p, &f);
    p->text_bytes = (size_t)ftello(j->made) - p->text;
    if (f.reason == NULL && j->copies_path != NULL)
        p->reason = copies_make(&j->copies, &f, p->number, &p->copy);
    bool noted = direct_note(&j->directs, &j->directs.list[n], &f, p->reason == NULL);
    arena_empty(&j->arena);
    return noted ? 0 : -ENOMEM;
}

/* --- all functions ---------------------------------------------------------------------------- */

static bool is_named(const struct job *j, const struct image_symbol *s)
{
    const struct late_names *lists[] = {&j->openers, &j->awaited};
    for (unsigned l = 0; l < 2; l++)
        for (size_t n = 0; n < lists[l]->count; n++)
            if (image_name_matches(s, lists[l]->names[n]))
                return true;
    return false;
}

/* Checks all names of the function; main may have no symbol (isa/plan/find.c). */
static bool is_awaited(const struct job *j, uint64_t start)
{
    const struct image *m = j->o.image;
    const struct image_symbol unnamed = {.address = start, .name = "main", .version = ""};
    for (size_t k = image_symbols_from(m, start);
         k < m->symbol_count && m->symbols[k].address == start; k++)
        if (is_named(j, &m->symbols[k]))
            return true;
    return is_named(j, &unnamed) && code_find_main(j->o.code) == start;
}

/* Returns whether an alarm awaits an IFUNC symbol. When the image is loaded, one of several
 * functions, which have other names, is chosen for it, and the alarm stands at each of them. */
static bool is_choice_awaited(const struct job *j)
{
    const struct image *m = j->o.image;
    for (size_t k = 0; k < m->symbol_count; k++)
        if (m->symbols[k].type == STT_GNU_IFUNC && is_named(j, &m->symbols[k]))
            return true;
    return false;
}

/* Parts that a compiler has moved away from a function are analysed with it. Stubs of the PLT are
 * no functions. */
static bool is_wanted(const struct job *j, const struct code_range *r)
{
    const struct image_symbol *s = graph_symbol_at(j->o.image, r->start);
    char unnamed[32];
    return code_is_sure(j->o.code, r->start) &&
           (s == NULL || (s->origin != IMAGE_PLT && !graph_is_part(s))) &&
           session_wants(&j->o, session_name(&j->o, r->start, unnamed), r->start);
}

static int list_functions(struct job *j)
{
    j->parts = calloc(j->o.code->range_count + 1, sizeof *j->parts);
    j->made = open_memstream(&j->text, &j->text_bytes);
    if (j->parts == NULL || j->made == NULL)
        return -ENOMEM;
    bool tokens = j->tokens || is_choice_awaited(j);
    for (size_t k = 0; k < j->o.code->range_count; k++) {
        const struct code_range *r = &j->o.code->ranges[k];
        if (!is_wanted(j, r))
            continue;
        bool watched = is_awaited(j, r->start) || session_watches(&j->o, r->start);
        j->parts[j->wanted++] =
            (struct job_part){.start = r->start, .end = r->end, .watched = watched};
        if (!direct_add(&j->directs, r->start, !tokens && !watched))
            return -ENOMEM;
    }
    return 0;
}

static bool is_direct(const struct job *j, size_t n)
{
    return j->directs.list[n].is && j->directs.list[n].called;
}

/* Makes each function: decides what is called directly from a look at the instructions first, then
 * from the analyses. Large functions take long and come last, when most of what they call is
 * known. */
static int make_first(struct job *j)
{
    int rc = 0;
    for (size_t n = 0; n < j->wanted; n++)
        if (!direct_guess(&j->directs, &j->directs.list[n], j->o.code, j->parts[n].end))
            return -ENOMEM;
    direct_settle(&j->directs);
    for (size_t n = 0; n < j->wanted && rc == 0; n++) {
        struct job_part *p = &j->parts[n];
        p->later = p->end - p->start > LARGE;
        if (p->later)
            p->number = j->copies.number++;
        else
            rc = make(j, n, j->directs.list[n].is);
    }
    direct_settle(&j->directs);
    for (size_t n = 0; n < j->wanted && rc == 0; n++)
        if (j->parts[n].later)
            rc = make(j, n, is_direct(j, n));
    return rc;
}

static int make_all(struct job *j)
{
    int rc = make_first(j);
    for (bool changed = rc == 0; changed;) {
        direct_settle(&j->directs);
        changed = false;
        j->turns++;
        for (size_t n = 0; n < j->wanted && rc == 0; n++) {
            bool same = !prints(j) || j->parts[n].direct == is_direct(j, n);
            bool passes = j->parts[n].passed == direct_passed(&j->directs, j->parts[n].start);
            if (same && passes && direct_holds(&j->directs, n))
                continue;
            changed = true;
            rc = make(j, n, is_direct(j, n));
        }
    }
    return rc;
}

/* `counts` assumes p->direct: corrects `recorded` if the function turned out otherwise. */
static void add_counts(struct job *j, size_t n)
{
    const struct job_part *p = &j->parts[n];
    const uint64_t *from = (const uint64_t *)(const void *)&p->counts;
    uint64_t *to = (uint64_t *)(void *)&j->counts;
    for (size_t k = 0; k < sizeof j->counts / sizeof *to; k++)
        to[k] += from[k];
    if (p->direct != is_direct(j, n))
        j->counts.recorded += p->direct ? p->known : -p->known;
}

/* Lists the functions that this one calls: to compile some functions alone, those are needed too
 * (tools/memory/compile/skel_build.c). */
static void put_called(struct job *j, FILE *out, uint32_t number, const struct direct *x)
{
    for (size_t k = x->first; k < x->first + x->count; k++) {
        size_t to = direct_number(&j->directs, j->directs.calls[k].target);
        if (k == x->first)
            (void)fprintf(out, "\n/* %" PRIu32 " calls", number);
        (void)fprintf(out, " %" PRIu32 "%s", j->parts[to].number,
                      k + 1 == x->first + x->count ? " */" : "");
    }
}

static void put(struct job *j, size_t n)
{
    const struct job_part *p = &j->parts[n];
    char unnamed[32];
    FILE *out = j->skeleton != NULL ? j->skeleton : stdout;
    add_counts(j, n);
    if (p->numbered && (j->source || j->skeleton != NULL))
        put_called(j, out, p->number, &j->directs.list[n]);
    (void)fwrite(j->text + p->text, 1, p->text_bytes, out);
    if (p->reason != NULL)
        note_reason(j, p->reason);
    if (p->reason != NULL && j->skeleton_path != NULL)
        (void)printf("none\t%s\t%s\n", session_name(&j->o, p->start, unnamed), p->reason);
    if (p->reason == NULL && j->copies_path != NULL)
        copies_add(&j->copies, &p->copy, COPIES_FUNCTIONS);
}

/* Adds the copy and the skeleton of `f`, which begins in mid-function. Returns false if it has no
 * copy. */
static bool put_late(struct job *j, struct function *f, enum copies_kind kind)
{
    struct copy_part copy;
    struct skel_source source = {.out = j->skeleton, .number = j->copies.number};
    struct direct calls = {0};
    if (f->reason == NULL && j->skeleton != NULL && direct_note(&j->directs, &calls, f, true)) {
        put_called(j, j->skeleton, source.number, &calls);
        skel_source_function(&source, f);
    }
    bool good = f->reason == NULL && copies_make(&j->copies, f, j->copies.number++, &copy) == NULL;
    if (good)
        copies_add(&j->copies, &copy, kind);
    arena_empty(&j->arena);
    return good;
}

/* Adds mid-function entries. Without one, a window that opens there begins with the next function
 * that is entered. */
static void analyse_late(struct job *j)
{
    struct late_list late = {0};
    char name[512];
    struct function f;
    j->o.directs = &j->directs;
    bool found = j->openers.count != 0 && late_find(j->o.code, &j->openers, &late) == 0;
    for (size_t k = 0; found && k < late.count; k++) {
        session_late(&j->o, &j->arena, late.list[k].call, late.list[k].next, name, &f);
        (void)put_late(j, &f, COPIES_LATE);
    }
    free(late.list);
}

static bool is_stub(const struct job *j, uint64_t at)
{
    const struct code_range *r = code_range_of(j->o.code, at);
    return r != NULL && image_has_stubs(j->o.image, r->start, r->end);
}

/* Sets *made to whether the site has a copy now. Returns false if nothing selected is there. */
static bool make_site(struct job *j, uint64_t at, enum skel_plan plan, bool *made)
{
    char name[512];
    struct function f;
    j->o.plan = plan;
    session_site(&j->o, &j->arena, at, name, &f);
    bool meant = f.reason == NULL || f.reason_at != 0;
    *made = put_late(j, &f, COPIES_SITES);
    return meant;
}

/* If the plan cannot compute addresses from mid-function, PLAN_ADDRESSES records each of them. */
static void analyse_sites(struct job *j)
{
    for (size_t k = 0; k < j->o.sites.count && j->copies_path != NULL; k++) {
        const struct copy_part none = {.f = {.address = j->o.sites.at[k]}};
        bool made = false;
        if (direct_knows(&j->directs, none.f.address) || is_stub(j, none.f.address) ||
            !make_site(j, none.f.address, j->plan, &made) ||
            (!made && !make_site(j, none.f.address, PLAN_ADDRESSES, &made)))
            continue;
        if (made)
            j->copies.parts[copies_count(&j->copies) - 1].f.address = none.f.address;
        else
            copies_add(&j->copies, &none, COPIES_SITES);
    }
    j->o.plan = j->plan;
}

int job_analyse(struct job *j)
{
    int rc = list_functions(j);
    if (rc == 0 && (j->skeleton != NULL || (j->source && j->wanted > 0)))
        skel_source_begin(j->skeleton != NULL ? j->skeleton : stdout, j->o.image);
    rc = rc != 0 ? rc : make_all(j);
    if (rc == 0 && fflush(j->made) != 0)
        rc = -ENOMEM;
    for (size_t n = 0; n < j->wanted && rc == 0; n++)
        put(j, n);
    if (rc == 0) {
        analyse_late(j);
        analyse_sites(j);
    }
    return rc;
}

void job_free(struct job *j)
{
    if (j->made != NULL)
        (void)fclose(j->made);
    free(j->text);
    free(j->parts);
    direct_free(&j->directs);
    copies_free(&j->copies);
    arena_free(&j->arena);
}
