/* SPDX-License-Identifier: BSD-3-Clause
 * Finds loads of data that never changes: entries of jump tables. The skeleton then contains the
 * table, so that the index alone tells where a jump goes.
 *
 * A table lies around the constant part of the load's address (indexes may be negative), from the
 * first to the last entry that leads to a successor of the jump. It lies where nobody writes: in a
 * segment that is not writable, or, if it holds addresses of an image that can be loaded anywhere,
 * in memory that the dynamic linker alone sets. It is not known what an index beyond the table
 * would load. Such a load yields skel_astray(), from which the jump computes no successor; the
 * skeleton reports it instead of going on. This is valid for jumps alone: a load becomes V_TABLE
 * only if nothing else depends on it. */
#include "isa/memory/skel.h"

#include <string.h>

enum {
    MOST_ENTRIES = 8192, /* in each direction */
    GAP = 64,            /* this many entries may lead elsewhere: labels of impossible cases */
    DEEPEST = 12,
};

struct constant_finder {
    struct function *f;
    const struct block *jump; /* the block that ends with the jump */
    uint32_t *todo;
    uint8_t *seen; /* by value */
    /* MOST_ENTRIES before the entry at the constant address, and as many from it on */
    uint64_t *entries;
    uint32_t path[DEEPEST];
    unsigned depth;
};

enum { SEEN_ELSEWHERE = 1, SEEN_NOW = 2 };

/* --- other uses of values --------------------------------------------------------------------- */

static void mark(struct constant_finder *g, uint32_t value)
{
    uint32_t count = 0;
    if (g->seen[value] != 0)
        return;
    g->seen[value] = SEEN_ELSEWHERE;
    g->todo[count++] = value;
    while (count > 0) {
        const struct value *x = &g->f->values[g->todo[--count]];
        for (uint32_t k = 0; k < x->arg_count; k++) {
            if (g->seen[x->args[k]] == 0)
                g->todo[count++] = x->args[k];
            g->seen[x->args[k]] = SEEN_ELSEWHERE;
        }
    }
}

/* Marks all values that something else than the target of a jump through a table depends on. */
static void mark_others(struct constant_finder *g)
{
    struct function *f = g->f;
    for (uint32_t k = 0; k < f->access_count; k++) {
        mark(g, f->accesses[k].address);
        mark(g, f->accesses[k].count);
    }
    for (uint32_t k = 0; k < f->decision_count; k++)
        if (f->blocks[f->decisions[k].block].end != END_TABLE)
            mark(g, f->decisions[k].value);
    for (uint32_t k = 0; k < f->tail_count; k++)
        mark(g, f->tails[k].stack);
    for (uint32_t k = 0; k < f->argument_count; k++)
        mark(g, f->arguments[k].value);
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Adds up the constants in the sum that makes an address. Returns false if it is nested too
 * deeply. */
static bool add_constants(const struct function *f, uint32_t v, unsigned depth, uint64_t *sum,
                          unsigned *images)
{
    const struct value *x = &f->values[v];
    if (depth == DEEPEST)
        return false;
    if (x->kind == V_CONSTANT) {
        *sum += x->constant;
        *images += x->image;
        return true;
    }
    if (x->kind == V_ZEXT && x->bits == 64)
        return add_constants(f, x->args[0], depth + 1, sum, images);
    return x->kind != V_ADD || (add_constants(f, x->args[0], depth + 1, sum, images) &&
                                add_constants(f, x->args[1], depth + 1, sum, images));
}

static bool constant_of(const struct function *f, uint32_t v, uint64_t *out, unsigned *images)
{
    const struct value *x = &f->values[v];
    while (x->kind == V_ZEXT && x->bits == 64)
        x = &f->values[x->args[0]];
    *out = x->constant;
    *images += x->kind == V_CONSTANT && x->image;
    return x->kind == V_CONSTANT;
}

/* Computes the jump's target from `entry`, along the path from the load to the jump. *target is
 * without the load address of the image; returns false if that was not added. */
static bool target_of(const struct constant_finder *g, uint64_t entry, uint64_t *target)
{
    unsigned images = 0;
    for (unsigned k = g->depth; k-- > 0;) {
        const struct value *x = &g->f->values[g->path[k]];
        uint32_t below = g->path[k + 1];
        uint64_t args[3] = {entry, 0, 0};
        if (x->kind == V_PHI)
            continue;
        if (x->arg_count == 2 &&
            !constant_of(g->f, x->args[x->args[0] == below ? 1 : 0], &args[1], &images))
            return false;
        if (!value_compute((enum value_kind)x->kind, x->bits, x->constant, args, &entry))
            return false;
    }
    *target = entry;
    return images == g->f->code->image->dynamic_type;
}

static bool leads(const struct constant_finder *g, uint64_t target)
{
    for (uint32_t k = 0; k < g->jump->succ_count; k++)
        if (g->f->blocks[g->jump->succ[k]].start == target)
            return true;
    return false;
}

struct extent {
    int64_t from, to; /* numbers of entries, relative to the entry at the constant address */
};

static void widen(struct extent *e, int64_t n)
{
    e->from = n < e->from ? n : e->from;
    e->to = n >= e->to ? n + 1 : e->to;
}

/* Collects whole addresses, which the dynamic linker makes from those in the file; other entries
 * stay 0. */
static struct extent read_words(const struct constant_finder *g, uint64_t at)
{
    const struct image *m = g->f->code->image;
    struct extent e = {0, 0};
    memset(g->entries, 0, 2 * MOST_ENTRIES * sizeof *g->entries);
    for (uint32_t s = 0; s < g->jump->succ_count; s++) {
        uint64_t start = g->f->blocks[g->jump->succ[s]].start;
        for (size_t k = image_pointers_from(m, start);
             k < m->pointer_count && m->pointers[k].value == start; k++) {
            int64_t away = (int64_t)(m->pointers[k].place - at);
            if (!m->pointers[k].relative || away % 8 != 0 || away / 8 < -MOST_ENTRIES ||
                away / 8 >= MOST_ENTRIES || !image_is_set_once(m, m->pointers[k].place, 8))
                continue;
            g->entries[away / 8 + MOST_ENTRIES] = start;
            widen(&e, away / 8);
        }
    }
    return e;
}

static struct extent read_numbers(const struct constant_finder *g, uint64_t at, unsigned bytes)
{
    const struct image *m = g->f->code->image;
    struct extent e = {0, 0};
    for (int step = 1; step >= -1; step -= 2) {
        int64_t last = step > 0 ? -1 : 0;
        for (int64_t n = last + step;
             n >= -MOST_ENTRIES && n < MOST_ENTRIES && (n - last) * step <= GAP; n += step) {
            uint64_t place = at + (uint64_t)n * bytes, target,
                     *entry = &g->entries[n + MOST_ENTRIES];
            if (!image_is_constant(m, place, bytes))
                break;
            *entry = 0;
            memcpy(entry, image_at(m, place, bytes), bytes);
            if (!target_of(g, *entry, &target) || !leads(g, target))
                continue;
            widen(&e, n);
            last = n;
        }
    }
    return e;
}

/* If several jumps share a load, the longer table is used. */
static void set_table(struct function *f, uint32_t load, const struct constant_table *t)
{
    struct value *x = &f->values[load];
    if (x->kind == V_TABLE) {
        if (t->count > f->tables[x->constant].count)
            f->tables[x->constant] = *t;
        return;
    }
    f->tables = arena_grow(f->arena, f->tables, f->table_count, sizeof *f->tables);
    f->tables[f->table_count] = *t;
    x->args = arena_take(f->arena, sizeof *x->args);
    x->args[0] = (uint32_t)x->constant - 1;
    x->arg_count = 1;
    x->kind = V_TABLE;
    x->constant = f->table_count++;
}

static bool is_plain(const struct constant_finder *g)
{
    for (unsigned k = 0; k < g->depth; k++) {
        const struct value *x = &g->f->values[g->path[k]];
        if (x->kind != V_PHI && !(x->kind == V_ZEXT && x->bits == 64))
            return false;
    }
    return true;
}

static void look_at_load(struct constant_finder *g, uint32_t load)
{
    struct function *f = g->f;
    const struct image *m = f->code->image;
    const struct value *x = &f->values[load];
    struct constant_table t = {.bytes = (uint8_t)(x->bits / 8)};
    uint32_t address = x->kind == V_TABLE ? x->args[0] : (uint32_t)x->constant - 1;
    unsigned images = 0;
    if ((x->kind == V_LOAD && x->constant == 0) || (x->bits != 32 && x->bits != 64) ||
        !add_constants(f, address, 0, &t.address, &images) || images != m->dynamic_type)
        return;
    t.image = t.bytes == 8 && m->dynamic_type;
    if (t.image && !(image_is_set_once(m, t.address, 8) && is_plain(g)))
        return;
    uint64_t target, astray = skel_astray(t.bytes);
    if (!t.image && (!target_of(g, astray, &target) || leads(g, target)))
        return;
    struct extent e = t.image ? read_words(g, t.address) : read_numbers(g, t.address, t.bytes);
    t.count = (uint32_t)(e.to - e.from);
    if (t.count < 2)
        return;
    t.address += (uint64_t)e.from * t.bytes;
    t.entries = arena_take(f->arena, t.count * sizeof *t.entries);
    memcpy(t.entries, g->entries + MOST_ENTRIES + e.from, t.count * sizeof *t.entries);
    set_table(f, load, &t);
}

/* Follows a jump's target down to the values that are loaded for it. */
static void follow(struct constant_finder *g, uint32_t v)
{
    const struct value x = g->f->values[v];
    uint64_t n;
    unsigned images = 0;
    if (g->seen[v] == SEEN_ELSEWHERE || g->depth + 1 == DEEPEST)
        return;
    g->path[g->depth] = v;
    if (x.kind == V_LOAD || x.kind == V_TABLE) {
        look_at_load(g, v);
        return;
    }
    if (g->seen[v] == SEEN_NOW)
        return;
    g->seen[v] = SEEN_NOW;
    g->depth++;
    for (uint32_t k = 0; k < x.arg_count; k++)
        if (x.kind == V_PHI || x.kind == V_ZEXT || x.kind == V_SEXT ||
            (x.kind == V_ADD && constant_of(g->f, x.args[1 - k], &n, &images)))
            follow(g, x.args[k]);
    g->depth--;
}

void constants_find(struct function *f)
{
    struct constant_finder g = {.f = f,
                                .todo =
                                    arena_take(f->arena, (f->value_count + 1) * sizeof(uint32_t)),
                                .seen = arena_take(f->arena, f->value_count + 1)};
    for (uint32_t k = 0; k < f->decision_count; k++) {
        g.jump = &f->blocks[f->decisions[k].block];
        if (g.jump->end != END_TABLE)
            continue;
        if (g.entries == NULL) {
            g.entries = arena_take(f->arena, 2 * MOST_ENTRIES * sizeof *g.entries);
            mark_others(&g);
        }
        follow(&g, f->decisions[k].value);
        for (uint32_t v = 0; v < f->value_count; v++)
            g.seen[v] &= SEEN_ELSEWHERE;
    }
}

bool constant_load(const struct function *f, const struct value *x, uint64_t address, uint64_t *out)
{
    const struct constant_table *t = &f->tables[x->constant];
    uint64_t n = (address - t->address) / t->bytes;
    if (address < t->address || n >= t->count || (address - t->address) % t->bytes != 0)
        return false;
    *out = t->entries[n];
    return true;
}
