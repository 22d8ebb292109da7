/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel stats`: sums up the instructions of all recordings by instruction, loop and
 * function. The footprints of several processes add up, even at equal addresses; threads of one
 * process share theirs. */
#include "tools/memory/stats/skel_stats.h"

#include "base/toolkit/array.h"

#include <stdlib.h>
#include <string.h>

/* An instruction of one recording that counts in one scope. */
struct stats_part {
    size_t scope, lane;
    const struct stats_instruction *instruction;
};

struct summing {
    struct stats *stats;
    struct stats_part *parts;
    size_t part_count, room;
};

static bool no_memory(void)
{
    tool_error("skel", "there is no memory left");
    return false;
}

/* --- scopes ----------------------------------------------------------------------------------- */

/* Returns the image row of a pc and sets *address to its address in that file; or returns
 * SKEL_NO_IMAGE and sets *address to the pc. */
static uint32_t image_of(const struct stats *s, size_t lane, uint64_t pc, uint64_t *address)
{
    const struct memory_head *head = &s->folder->list[lane]->head;
    for (uint32_t k = 0; k < head->image_count; k++) {
        uint32_t image = skel_shapes_image(&s->shapes, head->images[k].skeleton);
        *address = pc - head->images[k].bias;
        if (image != SKEL_NO_IMAGE && skel_shapes_find(&s->shapes, image, *address) != NULL)
            return image;
    }
    *address = pc;
    return SKEL_NO_IMAGE;
}

static bool add_part(struct summing *s, size_t scope, size_t lane,
                     const struct stats_instruction *i)
{
    struct stats_part *more = array_grown(s->parts, s->part_count, &s->room, sizeof *more);
    if (more == NULL)
        return no_memory();
    s->parts = more;
    s->parts[s->part_count++] = (struct stats_part){scope, lane, i};
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct stats_scope *x = a, *y = b;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->access != y->access)
        return x->access < y->access ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* From the joined expressions of an instruction, copies those of accesses of this kind and size;
 * NULL if there are none. Returns false if there is no memory. */
static bool find_expression(const char *all, struct stats_scope *x)
{
    char kind[32];
    int n = snprintf(kind, sizeof kind, "%c %u ", x->access, x->bytes);
    char *text = NULL;
    size_t length = 0;
    while (all != NULL && all[0] != '\0') {
        const char *end = strstr(all, "; ");
        size_t bytes = end != NULL ? (size_t)(end - all) : strlen(all);
        bool fits = strncmp(all, kind, (size_t)n) == 0;
        char *more = fits ? realloc(text, length + bytes + 3) : text;
        if (fits && more == NULL) {
            free(text);
            return no_memory();
        }
        text = more;
        if (fits)
            length +=
                (size_t)sprintf(text + length, "%s%.*s", length > 0 ? "; " : "", (int)bytes, all);
        all = end != NULL ? end + 2 : NULL;
    }
    x->expression = text;
    return true;
}

static struct stats_scope scope_of_access(const struct stats *s, size_t lane,
                                          const struct stats_instruction *i)
{
    struct stats_scope x = {.kind = STATS_ACCESS,
                            .function = -1,
                            .loop = -1,
                            .access = (char)(i->kind & 0xff),
                            .bytes = (uint32_t)(i->kind >> 8)};
    x.image = image_of(s, lane, i->pc, &x.address);
    if (x.image == SKEL_NO_IMAGE)
        return x;
    const struct rt_accesses_place *p = skel_shapes_find(&s->shapes, x.image, x.address);
    x.function = p->function;
    x.loop = p->loop;
    x.line = p->line != NULL && p->line[0] != '\0' ? p->line : NULL;
    return x;
}

/* Order of the scopes: the total; accesses in no known function; functions and loops as in shapes;
 * accesses. leave_out() removes functions and loops without accesses in the end. */
enum { TOTAL, UNKNOWN, FUNCTIONS };

static size_t first_loop(const struct stats *s)
{
    return FUNCTIONS + s->shapes.function_count;
}

static size_t first_access(const struct stats *s)
{
    return first_loop(s) + s->shapes.loop_count;
}

static void make_known(struct stats *s)
{
    const struct skel_shapes *h = &s->shapes;
    const struct stats_scope none = {.function = -1, .loop = -1, .image = SKEL_NO_IMAGE};
    s->scopes[TOTAL] = s->scopes[UNKNOWN] = none;
    s->scopes[TOTAL].kind = STATS_TOTAL;
    s->scopes[UNKNOWN].kind = STATS_FUNCTION;
    for (size_t k = 0; k < h->function_count; k++)
        s->scopes[FUNCTIONS + k] = (struct stats_scope){.kind = STATS_FUNCTION,
                                                        .function = (int64_t)k,
                                                        .loop = -1,
                                                        .image = h->functions[k].image,
                                                        .address = h->functions[k].address};
    for (size_t k = 0; k < h->loop_count; k++) {
        const struct rt_accesses_loop *l = &h->loops[k];
        s->scopes[first_loop(s) + k] =
            (struct stats_scope){.kind = STATS_LOOP,
                                 .function = l->function,
                                 .loop = (int64_t)k,
                                 .image = h->functions[l->function].image,
                                 .address = l->head,
                                 .line = l->line};
    }
}

/* Makes the scopes of accesses of all recordings; an access in several recordings has one scope. */
static bool make_accesses(struct stats *s)
{
    size_t first = first_access(s), end = first;
    for (size_t k = 0; k < s->folder->count; k++)
        for (size_t n = 0; s->lanes[k] != NULL && n < s->lanes[k]->instruction_count; n++)
            s->scopes[end++] = scope_of_access(s, k, s->lanes[k]->instructions[n]);
    qsort(s->scopes + first, end - first, sizeof *s->scopes, by_place);
    s->scope_count = first;
    for (size_t k = first; k < end; k++)
        if (k == first || by_place(&s->scopes[k], &s->scopes[s->scope_count - 1]) != 0)
            s->scopes[s->scope_count++] = s->scopes[k];
    bool good = true;
    for (size_t k = first; good && k < s->scope_count; k++) {
        struct stats_scope *x = &s->scopes[k];
        if (x->image != SKEL_NO_IMAGE)
            good =
                find_expression(skel_shapes_find(&s->shapes, x->image, x->address)->expression, x);
    }
    return good;
}

static bool make_scopes(struct stats *s)
{
    size_t accesses = 0;
    for (size_t k = 0; k < s->folder->count; k++)
        accesses += s->lanes[k] != NULL ? s->lanes[k]->instruction_count : 0;
    s->scopes = calloc(first_access(s) + accesses, sizeof *s->scopes);
    if (s->scopes == NULL)
        return no_memory();
    make_known(s);
    return make_accesses(s);
}

/* Adds the instruction to the total, its function, all loops around it, and its access. */
static bool add_parts(struct summing *u, size_t lane, const struct stats_instruction *i)
{
    const struct stats *s = u->stats;
    size_t first = first_access(s);
    const struct stats_scope key = scope_of_access(s, lane, i);
    const struct stats_scope *own =
        bsearch(&key, s->scopes + first, s->scope_count - first, sizeof key, by_place);
    bool good = own != NULL && add_part(u, (size_t)(own - s->scopes), lane, i) &&
                add_part(u, TOTAL, lane, i) &&
                add_part(u, key.function < 0 ? UNKNOWN : FUNCTIONS + (size_t)key.function, lane, i);
    for (int64_t loop = key.loop; good && loop >= 0; loop = s->shapes.loops[loop].parent)
        good = add_part(u, first_loop(s) + (size_t)loop, lane, i);
    return good;
}

/* --- sums ------------------------------------------------------------------------------------- */

static int by_scope(const void *a, const void *b)
{
    const struct stats_part *x = a, *y = b;
    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    return (x->lane > y->lane) - (x->lane < y->lane);
}

/* Are these recordings of one process? Such recordings are adjacent in the list. */
static bool is_same_process(const struct stats *s, size_t a, size_t b)
{
    const struct skel_recording *x = s->folder->list[a], *y = s->folder->list[b];
    return x->head.rank == y->head.rank && x->head.pid == y->head.pid && x->program == y->program;
}

static void add_sums(struct stats_sums *to, const struct stats_instruction *i)
{
    switch ((enum accesses_kind)(i->kind & 0xff)) {
    case ACCESSES_READ: to->reads += i->times; break;
    case ACCESSES_WRITE: to->writes += i->times; break;
    default: to->both += i->times; break;
    }
    to->cold += i->cold;
    for (unsigned k = 0; k < SKEL_REUSE_COUNTS; k++)
        to->reuse[k] += i->reuse[k];
}

/* Adds the footprint of these parts, which belong to one process. */
static bool add_footprint(struct stats *s, struct stats_scope *x, const struct stats_part *parts,
                          size_t count)
{
    struct skel_lines all = {.words = s->grain.words};
    struct skel_footprint some;
    bool good = true;
    for (size_t k = 0; good && count > 1 && k < count; k++)
        good = skel_lines_join(&all, &parts[k].instruction->lines);
    good =
        good && skel_lines_count(count > 1 ? &all : &parts[0].instruction->lines, &s->grain, &some);
    skel_lines_free(&all);
    if (!good)
        return no_memory();
    x->footprint.bytes += some.bytes;
    x->footprint.lines += some.lines;
    x->footprint.pages += some.pages;
    return true;
}

static bool find_strides(struct stats_scope *x, const struct stats_part *parts, size_t count)
{
    struct skel_strides all = {.total = 0};
    bool good = true;
    for (size_t k = 0; good && k < count; k++)
        good = skel_strides_join(&all, &parts[k].instruction->strides);
    if (good)
        (void)skel_strides_top(&all, x->top, STATS_STRIDES);
    x->strides = all.total;
    x->lost = all.lost;
    skel_strides_free(&all);
    return good || no_memory();
}

static bool sum_scope(struct stats *s, const struct stats_part *parts, size_t count)
{
    struct stats_scope *x = &s->scopes[parts[0].scope];
    bool good = true;
    for (size_t k = 0; k < count; k++)
        add_sums(&x->sums, parts[k].instruction);
    for (size_t first = 0, last; good && first < count; first = last) {
        last = first + 1;
        while (last < count && is_same_process(s, parts[first].lane, parts[last].lane))
            last++;
        good = add_footprint(s, x, parts + first, last - first);
    }
    return good && (x->kind != STATS_ACCESS || find_strides(x, parts, count));
}

/* Removes functions and loops without accesses. */
static void leave_out(struct stats *s)
{
    size_t count = 1;
    for (size_t k = 1; k < s->scope_count; k++)
        if (stats_accesses(&s->scopes[k].sums) > 0)
            s->scopes[count++] = s->scopes[k];
    s->scope_count = count;
}

bool stats_sum(struct stats *s)
{
    struct summing u = {.stats = s};
    bool good = make_scopes(s);
    for (size_t k = 0; good && k < s->folder->count; k++)
        for (size_t n = 0; good && s->lanes[k] != NULL && n < s->lanes[k]->instruction_count; n++)
            good = add_parts(&u, k, s->lanes[k]->instructions[n]);
    if (good)
        qsort(u.parts, u.part_count, sizeof *u.parts, by_scope);
    for (size_t first = 0, last; good && first < u.part_count; first = last) {
        last = first + 1;
        while (last < u.part_count && u.parts[last].scope == u.parts[first].scope)
            last++;
        good = sum_scope(s, u.parts + first, last - first);
    }
    free(u.parts);
    if (good)
        leave_out(s);
    return good;
}
