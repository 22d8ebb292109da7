/* SPDX-License-Identifier: BSD-3-Clause
 * Finds jump tables: the targets of jumps through registers and memory, as compilers and people
 * write them.
 *
 *   jmp *T(,%r,8), or mov T(,%r,8),%q; jmp *%q          at a fixed address: T has addresses
 *   lea T(%rip),%q; movslq (%q,%r,4),%r; add %q,%r; jmp *%r   T has 32-bit distances from T
 *
 * The comparison before the jump (cmp $N; ja) gives the number of entries. Without a comparison,
 * the table ends where an entry leaves the function or would land inside an instruction, or where
 * the next address begins that an instruction names. */
#include "isa/flow/jump_tables.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_BACK = 80, MOST_ENTRIES = 8192 };

struct jump_table {
    uint64_t at;
    /* The origin of distances; most often the table itself. */
    uint64_t base;
    uint64_t entries; /* number, from the comparison; 0: unknown */
    bool absolute;
};

/* Returns the latest end of a table: the next data address that an instruction names. */
static uint64_t barrier(const struct code *c, uint64_t table)
{
    size_t next = code_above(&c->data_refs, table);
    return next < c->data_refs.count ? c->data_refs.at[next] : UINT64_MAX;
}

/* Reads the target of entry n. Returns false if the file has no such entry. */
static bool entry(const struct code *c, const struct jump_table *t, uint64_t n, uint64_t *target)
{
    unsigned size = t->absolute ? 8 : 4;
    const uint8_t *p = image_at(c->image, t->at + n * size, size);
    int32_t distance;
    if (p == NULL)
        return false;
    if (t->absolute) {
        memcpy(target, p, 8);
    } else {
        memcpy(&distance, p, 4);
        *target = t->base + (uint64_t)(int64_t)distance;
    }
    return true;
}

/* Returns whether `target` can be a target: not known to be data or inside an instruction, and
 * inside the function. If the number of entries is known, other functions' ranges count too: GCC
 * moves rare code elsewhere. */
static bool plausible(const struct code *c, const struct jump *j, uint64_t target, bool bounded)
{
    const uint8_t *f = code_at(c, target);
    if (f == NULL || (*f & (CODE_BODY | CODE_DATA)) != 0)
        return false;
    if (j->range == NULL)
        return bounded;
    if (target >= j->range->start && target < j->range->end)
        return true;
    return bounded && code_range_of(c, target) != NULL;
}

static uint64_t count_entries(const struct code *c, const struct jump *j,
                              const struct jump_table *t)
{
    uint64_t target, n = 0, size = t->absolute ? 8 : 4, end = barrier(c, t->at);
    if (t->entries != 0) {
        while (n < t->entries && entry(c, t, n, &target) && plausible(c, j, target, true))
            n++;
        if (n == t->entries)
            return n;
    }
    for (n = 0; n < MOST_ENTRIES && t->at + n * size < end && entry(c, t, n, &target); n++)
        if (!plausible(c, j, target, false))
            break;
    return n > 1 ? n : 0;
}

static void note_crossing(struct code *c, const struct jump *j, uint64_t target)
{
    if (j->range != NULL && (target < j->range->start || target >= j->range->end))
        code_add_crossing(c, j->i->at, target);
}

void tables_keep(struct code *c, const struct jump *j, uint64_t target)
{
    note_crossing(c, j, target);
    if (image_grow((void **)&c->jump_targets, c->jump_target_count, sizeof *c->jump_targets) != 0)
        c->no_memory = true;
    else
        c->jump_targets[c->jump_target_count++] = (struct jump_target){j->i->at, target};
}

void code_sort_jumps(struct code *c)
{
    struct jump_target *t = c->jump_targets;
    size_t kept = 0;
    image_sort(t, c->jump_target_count, sizeof *t, offsetof(struct jump_target, target));
    image_sort(t, c->jump_target_count, sizeof *t, offsetof(struct jump_target, at));
    for (size_t i = 0; i < c->jump_target_count; i++)
        if (kept == 0 || t[kept - 1].at != t[i].at || t[kept - 1].target != t[i].target)
            t[kept++] = t[i];
    c->jump_target_count = kept;
}

size_t code_targets_of(const struct code *c, uint64_t at, const struct jump_target **first)
{
    size_t n = 0, low = image_search(c->jump_targets, c->jump_target_count, sizeof *c->jump_targets,
                                     offsetof(struct jump_target, at), at);
    *first = c->jump_targets + low;
    while (low + n < c->jump_target_count && c->jump_targets[low + n].at == at)
        n++;
    return n;
}

/* Records further entries of a table of whole addresses, from entry n up or down (step 1 or -1).
 * Addresses inside the function need no bound to be recognized. Returns how many there are. */
static uint64_t keep_more(struct code *c, const struct jump *j, const struct jump_table *t,
                          uint64_t n, int step)
{
    uint64_t target, more = 0;
    while (more < MOST_ENTRIES && entry(c, t, n, &target) && plausible(c, j, target, false) &&
           code_try(c, target)) {
        tables_keep(c, j, target);
        more++;
        n += (uint64_t)(int64_t)step;
    }
    return more;
}

static bool follow_table(struct code *c, struct jump *j, const struct jump_table *t)
{
    uint64_t n = count_entries(c, j, t), target, size = t->absolute ? 8 : 4;
    bool all = n != 0 && n == t->entries;
    for (uint64_t at = t->at; at < t->at + n * size; at++) {
        uint8_t *f = code_at(c, at);
        if (f != NULL && (*f & (CODE_START | CODE_BODY)) == 0)
            *f |= CODE_DATA;
    }
    for (uint64_t i = 0; i < n && entry(c, t, i, &target); i++) {
        if (all)
            code_follow(c, target);
        else if (!code_try(c, target))
            n = i; /* the table has ended */
        if (i < n)
            tables_keep(c, j, target);
    }
    /* The comparison may concern something else, and indexes may be negative. */
    if (t->absolute && n != 0)
        n += keep_more(c, j, t, n, 1);
    if (t->absolute && !all)
        n += keep_more(c, j, t, UINT64_MAX, -1);
    c->counts.tables += n != 0;
    return n != 0;
}

/* Returns whether this compares with a constant: cmp $N, or and $N, with a register or memory; or
 * sub $N of which only the flags matter, as clang without optimization emits it. */
static bool compares(const struct instruction *i, bool branch_next, uint64_t *limit)
{
    const struct form *f = &i->form;
    if (f->map != ZYDIS_OPCODE_MAP_DEFAULT || f->imm_size == 0)
        return false;
    bool group = (f->opcode == 0x80 || f->opcode == 0x81 || f->opcode == 0x83) &&
                 (f->reg == 7 || f->reg == 4 || (f->reg == 5 && branch_next));
    bool sub = branch_next && (f->opcode == 0x2c || f->opcode == 0x2d);
    *limit = instruction_immediate(i);
    return (group || sub || f->opcode == 0x3c || f->opcode == 0x3d) && *limit < MOST_ENTRIES;
}

/* Returns the number of entries that a comparison before the instruction allows; 0 if it finds
 * none. */
static uint64_t bound_before(const struct code *c, const struct instruction *at, uint64_t floor)
{
    struct instruction i = *at;
    uint64_t limit;
    bool branch = false;
    for (unsigned steps = 0; steps < LOOK_BACK; steps++) {
        bool branch_next = i.form.flow == FLOW_BRANCH;
        uint64_t before = code_before(c, i.at, floor);
        if (before == 0 || !code_decode(c, before, &i))
            break;
        branch = branch || i.form.flow == FLOW_BRANCH;
        if (compares(&i, branch_next, &limit) && (branch || i.form.reg == 4))
            return limit + 1;
    }
    return 0;
}

bool tables_loads_absolute(const struct code *c, const struct instruction *i)
{
    return !c->image->dynamic_type && i->form.has_sib && i->form.scale == 3 && i->form.base == 5 &&
           i->form.mod == 0 && image_segment_of(c->image, instruction_displacement(i)) != NULL;
}

unsigned tables_writes(const struct instruction *i, bool *computes)
{
    const struct form *f = &i->form;
    unsigned r = form_reg(f), b = form_rm(f);
    bool memory = f->mod != 3, sib = f->has_sib;
    if (f->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || f->map != ZYDIS_OPCODE_MAP_DEFAULT)
        return 16;
    /* mov $label. The label of an absent weak function is 0. */
    if (f->opcode >= 0xb8 && f->opcode <= 0xbf) {
        *computes = instruction_immediate(i) != 0;
        return (unsigned)(f->rex_b << 3 | (f->opcode & 7));
    }
    switch (f->opcode) {
    case 0x8b: /* mov; reads a table if it has an index */
        *computes = memory && sib && f->index != 4;
        return r;
    case 0x03:
    case 0x63:
    case 0x2b: /* add, movslq, sub */
    case 0x8d: /* lea */ *computes = true; return r;
    case 0x01:
    case 0x29:
    case 0x81:
    case 0x83: *computes = true; return memory || (f->reg == 7 && f->opcode >= 0x80) ? 16 : b;
    case 0x89: *computes = false; return memory ? 16 : b;
    default: return 16;
    }
}

static void look_back(struct code *c, struct jump *j)
{
    const struct form *f = &j->i->form;
    unsigned wanted = f->mod == 3 ? form_rm(f) : 16;
    struct jump_table candidates[6], absolute = {.absolute = true};
    unsigned n = 0;
    uint64_t floor = j->range != NULL ? j->range->start : 0;
    uint64_t entries = bound_before(c, j->i, floor);
    bool written = false, computes = false;
    struct instruction i = *j->i;
    if (tables_loads_absolute(c, &i))
        absolute.at = instruction_displacement(&i);
    j->table_like = wanted == 16;
    for (unsigned steps = 0; steps < LOOK_BACK; steps++) {
        uint64_t before = code_before(c, i.at, floor);
        if (before == 0 || !code_decode(c, before, &i))
            break;
        if (wanted < 16 && !written && tables_writes(&i, &computes) == wanted) {
            written = true;
            j->table_like = computes;
            if (tables_loads_absolute(c, &i))
                absolute.at = instruction_displacement(&i);
        }
        if (i.form.lea && i.form.relative && n < sizeof candidates / sizeof *candidates)
            candidates[n++] = (struct jump_table){.at = i.memory, .base = i.memory};
    }
    absolute.entries = entries;
    if (absolute.at != 0)
        j->found = follow_table(c, j, &absolute);
    j->labels = j->found && !image_is_constant(c->image, absolute.at, 8);
    for (unsigned k = 0; k < n && !j->found && j->table_like; k++) {
        candidates[k].entries = entries;
        j->found = follow_table(c, j, &candidates[k]);
    }
}

bool tables_follow_load(struct code *c, struct jump *j, const struct instruction *load)
{
    struct jump_table t = {.at = instruction_displacement(load), .absolute = true};
    t.entries = bound_before(c, load, j->range->start);
    return follow_table(c, j, &t);
}

bool tables_follow_lea(struct code *c, struct jump *j, const struct instruction *load,
                       uint64_t table)
{
    struct jump_table t = {.at = table, .base = table};
    t.entries = bound_before(c, load, j->range->start);
    return follow_table(c, j, &t);
}

static void sort_leas(struct code *c)
{
    image_sort(c->lea_list, c->lea_count, sizeof *c->lea_list, offsetof(struct lea, at));
    c->lea_sorted = c->lea_count;
}

static void add_lea(struct code *c, struct lea_list *list, const struct lea *l,
                    const struct code_range *r)
{
    if (l->at < r->start || l->at >= r->end)
        return;
    if (image_grow((void **)&list->at, list->count, sizeof *list->at) != 0)
        c->no_memory = true;
    else
        list->at[list->count++] = *l;
}

/* Returns the lea instructions of the range, by address; the caller frees the list. Those found
 * since the last sort stand at the end of c->lea_list. */
static struct lea_list leas_of(struct code *c, const struct code_range *r)
{
    struct lea_list list = {.count = 0};
    if (c->lea_count - c->lea_sorted > 1024 + c->lea_sorted / 16)
        sort_leas(c);
    size_t low = image_search(c->lea_list, c->lea_sorted, sizeof *c->lea_list,
                              offsetof(struct lea, at), r->start);
    for (; low < c->lea_sorted && c->lea_list[low].at < r->end; low++)
        add_lea(c, &list, &c->lea_list[low], r);
    for (size_t k = c->lea_sorted; k < c->lea_count; k++)
        add_lea(c, &list, &c->lea_list[k], r);
    image_sort(list.at, list.count, sizeof *list.at, offsetof(struct lea, at));
    return list;
}

/* The function may compute the table's address at its begin, far from the jump; and distances may
 * count from a label. */
void tables_look_everywhere(struct code *c, struct jump *j)
{
    struct lea_list list = leas_of(c, j->range);
    for (size_t k = 0; k < list.count; k++) {
        struct jump_table t = {.at = list.at[k].value, .base = list.at[k].value};
        if ((t.at & 3) != 0 || code_at(c, t.at) != NULL)
            continue;
        if (count_entries(c, j, &t) >= 3)
            j->found = follow_table(c, j, &t) || j->found;
        for (size_t l = 0, tried = 0; l < list.count && tried < 16; l++) {
            t.base = list.at[l].value;
            if (t.base < j->range->start || t.base >= j->range->end)
                continue;
            tried++;
            if (count_entries(c, j, &t) >= 6 && follow_table(c, j, &t)) {
                j->found = true;
                break;
            }
        }
    }
    free(list.at);
}

/* jmp *word(%rip): the word holds a function that the dynamic linker or the program stores there,
 * or a label of this function. */
static void look_at_word(struct code *c, const struct instruction *i)
{
    struct code_range *r = code_range_of(c, i->at);
    const uint8_t *p = image_at(c->image, i->memory, 8);
    uint64_t value = 0;
    if (p != NULL && r != NULL)
        memcpy(&value, p, 8);
    if (r != NULL && value > r->start && value < r->end &&
        image_slot_name(c->image, i->memory) == NULL) {
        (void)code_try(c, value);
        r->wild = true;
    }
}

/* Tries words of data that are addresses within the function: labels whose addresses the program
 * stores. Returns whether there are several; computed_jumps.c finds which jumps lead to them. */
static bool try_words(struct code *c, const struct code_range *range)
{
    unsigned inside = 0;
    for (size_t k = code_above(&c->words, range->start);
         k < c->words.count && c->words.at[k] < range->end; k++)
        inside += code_try(c, c->words.at[k]);
    return inside > 1;
}

static void note_computed(struct code *c, const struct jump *j)
{
    if (image_grow((void **)&c->computed, c->computed_count, sizeof *c->computed) != 0)
        c->no_memory = true;
    else
        c->computed[c->computed_count++] = (struct computed){
            .at = j->i->at, .table_like = j->table_like, .found = j->found, .labels = j->labels};
}

static void look_at_jump(struct code *c, struct instruction *i)
{
    struct jump j = {.i = i, .range = code_range_of(c, i->at)};
    /* jmp *24(%rax) takes a function from a table in memory. */
    if (i->form.mod != 3 && !i->form.has_sib)
        return;
    look_back(c, &j);
    if (j.table_like && !j.found && j.range != NULL && !try_words(c, j.range))
        tables_look_everywhere(c, &j);
    if (j.range != NULL)
        note_computed(c, &j);
    else
        c->counts.unresolved += j.table_like && !j.found;
}

bool code_follow_tables(struct code *c)
{
    size_t count = c->indirect.count;
    uint64_t tables = c->counts.tables;
    code_sort(&c->data_refs);
    sort_leas(c);
    for (size_t k = 0; k < count; k++) {
        struct instruction i;
        if (!code_decode(c, c->indirect.at[k], &i))
            continue;
        if (i.form.relative)
            look_at_word(c, &i);
        else
            look_at_jump(c, &i);
    }
    if (count != 0)
        memmove(c->indirect.at, c->indirect.at + count,
                (c->indirect.count - count) * sizeof *c->indirect.at);
    c->indirect.count -= count;
    return c->indirect.count != 0 || c->counts.tables != tables;
}

void code_follow_computed(struct code *c)
{
    do {
        while (code_follow_tables(c))
            continue;
    } while (code_follow_joins(c));
}
