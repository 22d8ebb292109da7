/* SPDX-License-Identifier: BSD-3-Clause
 * Finds all targets of jumps through registers if several paths lead to a jump, each with its own
 * value. Compilers merge computed gotos, so the load nearest above a jump may be one of many. If a
 * branch may lead to a place between a load and its jump, all instructions that set the register
 * count. The targets found this way are the jump's targets. If one of them is not certain, the
 * targets are unknown: the function then has a jump with unknown targets. */
#include "isa/flow/jump_tables.h"
#include "isa/flow/reaching_definitions.h"

#include <stdlib.h>

enum { LOOK_BACK = 80, NO_REGISTER = 16, MOST_ROUNDS = 200 };

static bool is_plain(const struct form *f)
{
    return f->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && f->map == ZYDIS_OPCODE_MAP_DEFAULT;
}

/* Returns whether this is a mov or movslq from memory with an index. */
static bool is_indexed(const struct form *f)
{
    return is_plain(f) && (f->opcode == 0x8b || f->opcode == 0x63) && f->mod != 3 && f->has_sib &&
           f->index != 4;
}

/* Returns the register that holds the table's address. */
static unsigned base_of(const struct form *f)
{
    return f->base == 5 && f->mod == 0 ? NO_REGISTER : (unsigned)(f->rex_b << 3 | f->base);
}

/* Returns whether this adds one register to another. */
static bool is_sum(const struct form *f)
{
    return is_plain(f) && f->mod == 3 && (f->opcode == 0x01 || f->opcode == 0x03);
}

/* Returns the constant address that the instruction computes (lea relative to itself, or mov
 * $ADDRESS); 0 if it is no such instruction. */
static uint64_t constant_of(const struct instruction *i)
{
    const struct form *f = &i->form;
    if (f->lea && f->relative)
        return i->memory;
    bool mov = is_plain(f) &&
               ((f->opcode >= 0xb8 && f->opcode <= 0xbf) || (f->opcode == 0xc7 && f->mod == 3));
    return mov ? instruction_immediate(i) : 0;
}

/* Returns whether the code straight above the jump computes all of its target, and no jump leads
 * into that code. */
static bool is_straight(const struct code *c, const struct jump *j)
{
    struct instruction i = *j->i;
    uint32_t wanted = UINT32_C(1) << form_rm(&i.form);
    for (unsigned steps = 0; steps < LOOK_BACK; steps++) {
        bool computes;
        const uint8_t *f = code_at(c, i.at);
        uint64_t before = code_before(c, i.at, j->range->start);
        if (f == NULL || (*f & CODE_TARGET) != 0 || before == 0 || !code_decode(c, before, &i))
            return false;
        unsigned written = tables_writes(&i, &computes);
        if (written == NO_REGISTER || (wanted >> written & 1) == 0)
            continue;
        if (is_sum(&i.form)) {
            wanted |= UINT32_C(1) << (i.form.opcode == 0x01 ? form_reg(&i.form) : form_rm(&i.form));
            continue;
        }
        wanted &= ~(UINT32_C(1) << written);
        if (is_indexed(&i.form) && base_of(&i.form) != NO_REGISTER)
            wanted |= UINT32_C(1) << base_of(&i.form);
        if (wanted == 0)
            return true;
    }
    return false;
}

/* Follows a number in data or in an instruction, which may be a label of the function. Returns
 * false if it is an address but no code is there. In an image at a fixed address, a number that
 * points into an instruction may be no address. */
static bool follow_label(struct code *c, const struct jump *j, uint64_t label, size_t *found)
{
    const uint8_t *f = code_at(c, label);
    if (!c->image->dynamic_type && f != NULL && (*f & (CODE_BODY | CODE_UNSURE)) == CODE_BODY)
        return true;
    if (!code_try(c, label))
        return false;
    tables_keep(c, j, label);
    ++*found;
    return true;
}

/* Follows the labels whose addresses a program stores (computed goto): each one that anything
 * names. A single label is no computed goto: it serves to learn the code's own address. Returns
 * false if not all are found. */
static bool follow_labels(struct code *c, const struct jump *j)
{
    /* Copied, because trials add to the addresses that instructions name. */
    const struct address_list *lists[] = {&c->words, &c->code_refs};
    struct address_list labels = {.count = 0};
    size_t found = 0;
    bool all = true;
    for (unsigned n = 0; n < 2; n++)
        for (size_t k = code_above(lists[n], j->range->start);
             k < lists[n]->count && lists[n]->at[k] < j->range->end; k++)
            all = code_append(&labels, lists[n]->at[k]) && all;
    code_sort(&labels);
    for (size_t k = 0; k < labels.count; k++)
        all = follow_label(c, j, labels.at[k], &found) && all;
    free(labels.at);
    return all && found > 1;
}

/* Follows the tables from which this load reads distances, on all paths. Returns false if not all
 * are found. */
static bool follow_bases(struct code *c, struct jump *j, const struct reaching *w,
                         const struct instruction *load)
{
    struct address_list bases = {.count = 0};
    struct instruction i;
    unsigned base = base_of(&load->form);
    bool all = base != NO_REGISTER && reaching_sources(w, load->at, base, &bases);
    for (size_t k = 0; k < bases.count; k++) {
        uint64_t table = code_decode(c, bases.at[k], &i) ? constant_of(&i) : 0;
        all = table != 0 && tables_follow_lea(c, j, load, table) && all;
    }
    free(bases.at);
    return all;
}

/* Follows the sum of a table's address and a value loaded from the table. */
static bool follow_sum(struct code *c, struct jump *j, const struct reaching *w,
                       const struct instruction *sum)
{
    struct address_list parts = {.count = 0};
    struct instruction i;
    bool all = is_sum(&sum->form) && reaching_sources(w, sum->at, form_reg(&sum->form), &parts);
    all = all && reaching_sources(w, sum->at, form_rm(&sum->form), &parts);
    size_t loads = 0;
    for (size_t k = 0; k < parts.count && all; k++) {
        all = code_decode(c, parts.at[k], &i);
        bool load = all && is_indexed(&i.form);
        loads += load;
        all = all && (load ? follow_bases(c, j, w, &i) : constant_of(&i) != 0);
    }
    free(parts.at);
    if (all && loads != 0)
        return true;
    /* The table's address comes from afar (a spilled register): it is among those that the function
     * computes. */
    j->found = false;
    tables_look_everywhere(c, j);
    return j->found;
}

enum source_kind { OTHER, FOLLOWED, DOUBTFUL };

/* Follows a load of a whole address. Words of constant memory are all that it can load from
 * there. */
static bool follow_words(struct code *c, struct jump *j, const struct instruction *load)
{
    return (tables_loads_absolute(c, load) && tables_follow_load(c, j, load) &&
            image_is_constant(c->image, instruction_displacement(load), 8)) ||
           follow_labels(c, j);
}

static enum source_kind follow_source(struct code *c, struct jump *j, const struct reaching *w,
                                      const struct instruction *i)
{
    bool computes = false, followed = false;
    uint64_t address = constant_of(i);
    size_t labels = 0;
    if (is_indexed(&i->form))
        followed = follow_words(c, j, i);
    else if (address > j->range->start && address < j->range->end)
        followed = follow_label(c, j, address, &labels) && labels != 0;
    else if (address == 0 && tables_writes(i, &computes) != NO_REGISTER && computes)
        followed = follow_sum(c, j, w, i);
    else
        return OTHER;
    return followed ? FOLLOWED : DOUBTFUL;
}

/* Follows all sources of the jump's register. If all are pointers to functions, there is no table:
 * the jump is a call at the function's end. */
static bool follow_all(struct code *c, struct jump *j, const struct reaching *w)
{
    struct address_list sources = {.count = 0};
    struct instruction i;
    size_t followed = 0, doubtful = 0;
    bool complete = reaching_sources(w, j->i->at, form_rm(&j->i->form), &sources);
    for (size_t k = 0; k < sources.count; k++) {
        enum source_kind kind =
            code_decode(c, sources.at[k], &i) ? follow_source(c, j, w, &i) : OTHER;
        complete = complete && kind != OTHER;
        followed += kind == FOLLOWED;
        doubtful += kind == DOUBTFUL;
    }
    free(sources.at);
    return followed + doubtful == 0 ? !j->table_like : complete && doubtful == 0;
}

static void give_up_jump(struct code *c, struct computed *jump, struct code_range *range)
{
    c->counts.unresolved++;
    range->wild = true;
    jump->lost = true;
    code_add(c, &c->lost, jump->at);
}

/* Drops the targets of lost jumps. */
static void drop_lost(struct code *c)
{
    size_t kept = 0;
    for (size_t k = 0; k < c->jump_target_count; k++)
        if (!code_has(&c->lost, c->jump_targets[k].at))
            c->jump_targets[kept++] = c->jump_targets[k];
    c->jump_target_count = kept;
}

static bool is_known(struct code *c, struct jump *j, const struct computed *jump,
                     struct reaching *w)
{
    bool in_memory = j->i->form.mod != 3;
    if ((jump->labels || (in_memory && !jump->found)) && !follow_labels(c, j))
        return false;
    if (in_memory || ((jump->found || !jump->table_like) && is_straight(c, j)))
        return true;
    if (w->range != j->range && !reaching_open(w, j->range)) {
        c->no_memory = true;
        return false;
    }
    return follow_all(c, j, w);
}

static void sort_all(struct code *c)
{
    code_sort_jumps(c);
    code_sort(&c->code_refs);
    image_sort(c->crossings, c->crossing_count, sizeof *c->crossings,
               offsetof(struct jump_target, target));
}

/* Checks all computed jumps. */
static void check_all(struct code *c)
{
    struct reaching w = {
        .code = c, .targets = c->jump_target_count, .crossings = c->crossing_count};
    if (!ZYAN_SUCCESS(
            ZydisDecoderInit(&w.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return;
    for (size_t k = 0; k < c->computed_count && !c->no_memory; k++) {
        struct computed *jump = &c->computed[k];
        struct instruction i;
        if (jump->lost || !code_is_sure(c, jump->at) || !code_decode(c, jump->at, &i))
            continue;
        struct jump j = {
            .i = &i, .range = code_range_of(c, jump->at), .table_like = jump->table_like};
        jump->doubtful = !is_known(c, &j, jump, &w);
    }
    reaching_close(&w);
}

static bool lose_doubtful(struct code *c)
{
    size_t before = c->lost.count;
    for (size_t k = 0; k < c->computed_count; k++)
        if (c->computed[k].doubtful && !c->computed[k].lost)
            give_up_jump(c, &c->computed[k], code_range_of(c, c->computed[k].at));
    code_sort(&c->lost);
    drop_lost(c);
    return c->lost.count != before;
}

/* The targets of one jump may lead to another: gives up no jump as long as anything new is
 * found. */
bool code_follow_joins(struct code *c)
{
    uint64_t runs = c->runs, tables = c->counts.tables;
    if (c->joined && c->runs_joined == runs)
        return false;
    sort_all(c);
    size_t targets = c->jump_target_count;
    check_all(c);
    sort_all(c);
    drop_lost(c);
    c->counts.tables = tables; /* each pass counts them again */
    if (++c->rounds < MOST_ROUNDS && (c->indirect.count != 0 || c->jump_target_count != targets))
        return true;
    if (lose_doubtful(c))
        return true;
    c->joined = true;
    c->runs_joined = c->runs;
    return false;
}
