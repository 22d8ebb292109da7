/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the skeleton of a function as C: its blocks, phis as variables that edges set, counters of
 * loops, reads of recorded values, and accesses as expressions. */
#include "isa/memory/direct_calls.h"
#include "isa/memory/ir/lanes.h"
#include "isa/memory/source/source_text.h"

#include <inttypes.h>
#include <string.h>

unsigned skel_value_bytes(const struct function *f, uint32_t value)
{
    for (unsigned bytes = 1; bytes < 8; bytes *= 2)
        if (value_fits(f, value, 8 * bytes) || f->values[value].demanded >> 8 * bytes == 0)
            return bytes;
    return 8;
}

/* --- room for accesses ------------------------------------------------------------------------ */

enum {
    MOST_ROOM = 64,   /* less than the host's buffer has */
    APART = UINT8_MAX /* the instruction makes room for each of its accesses */
};

static void count_outs(struct writer *w)
{
    const struct block *b = &w->f->blocks[w->block];
    memset(w->outs + b->first, 0, b->count);
    MEMBERS_EACH (&w->accesses, w->block, n) {
        const struct access *a = &w->f->accesses[*n];
        uint8_t *outs = &w->outs[a->at];
        *outs = a->repeated || a->lanes != NULL || *outs >= MOST_ROOM ? APART : *outs + 1;
    }
}

/* Makes room for the accesses from here up to the instruction that it returns. */
static uint32_t put_room(struct writer *w)
{
    const struct block *b = &w->f->blocks[w->block];
    uint32_t at = w->at, count = 0;
    for (bool called = false; at < b->first + b->count && !called; at++) {
        if (count + w->outs[at] > MOST_ROOM)
            break;
        count += w->outs[at];
        called = graph_is_call(&w->f->instructions[at]);
    }
    if (count != 0)
        (void)fprintf(w->out, "    ROOM(%" PRIu32 ");\n", count);
    return at > w->at ? at : w->at + 1;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void put_in(struct writer *w, uint32_t v)
{
    (void)fputs("    ", w->out);
    if (w->variable[v]) {
        source_put_name(w, v);
        (void)fputs(" = ", w->out);
    }
    (void)fprintf(w->out, "IN(%u);\n", skel_value_bytes(w->f, v));
}

/* Returns whether all values of this instruction that the expression needs have been written. */
static bool is_ready(const struct writer *w, uint32_t number)
{
    const struct linear *e = &w->f->linears[number];
    for (uint32_t k = 0; k < e->count; k++) {
        const struct atom *a = &w->f->atoms[e->terms[k].atom];
        if (a->kind == ATOM_VALUE) {
            const struct value *x = &w->f->values[a->number];
            if (x->block == w->block && x->at == w->at && x->kind != V_PHI && x->kind != V_ENTRY &&
                x->kind != V_SEGMENT && !w->emitted[a->number])
                return false;
        } else if (a->kind != ATOM_COUNTER && a->kind != ATOM_IMAGE && !is_ready(w, a->number)) {
            return false;
        }
    }
    return true;
}

static bool flags_ready(struct writer *w, uint32_t flags)
{
    const struct value x = w->f->values[flags];
    if (x.kind < V_FLAGS_SUB || x.kind > V_FLAGS_STEP)
        return true;
    return is_ready(w, linear_of(w->f, x.args[0])) &&
           (x.kind == V_FLAGS_LOGIC || x.kind == V_FLAGS_RESULT ||
            (x.kind == V_FLAGS_STEP ? flags_ready(w, x.args[1])
                                    : is_ready(w, linear_of(w->f, x.args[1]))));
}

static bool may_emit(struct writer *w, uint32_t v)
{
    const struct value x = w->f->values[v];
    if (x.kind == V_TEST)
        return flags_ready(w, x.args[0]);
    for (uint32_t k = 0; k < x.arg_count; k++)
        if (!is_ready(w, linear_of(w->f, x.args[k])))
            return false;
    return true;
}

/* Writes those values of this instruction that can be computed by now. */
static void put_values(struct writer *w)
{
    MEMBERS_EACH (&w->of_block, w->block, n) {
        uint32_t v = *n;
        const struct value *x = &w->f->values[v];
        if (x->at != w->at || x->kind < V_ADD || x->recorded || !w->variable[v] || w->emitted[v] ||
            !may_emit(w, v))
            continue;
        (void)fputs("    ", w->out);
        source_put_name(w, v);
        (void)fputs(" = ", w->out);
        source_put_operation(w, x);
        (void)fputs(";\n", w->out);
        w->emitted[v] = true;
    }
}

static void put_ins(struct writer *w)
{
    MEMBERS_EACH (&w->of_block, w->block, n) {
        uint32_t v = *n;
        const struct value *x = &w->f->values[v];
        if (!x->recorded || x->at != w->at || x->kind == V_PHI || x->kind == V_ENTRY)
            continue;
        put_in(w, v);
        w->emitted[v] = true;
    }
}

static uint64_t pc_of(const struct writer *w)
{
    return w->f->instructions[w->at].at;
}

static void put_address(struct writer *w, const struct access *a)
{
    static const char *const bases[] = {"", " + s->fs", " + s->gs"};
    if (a->recorded)
        (void)fprintf(w->out, "IN(8)%s", bases[a->segment]);
    else
        source_put_expression(w, a->address);
}

/* Writes accesses first..last-1, which belong to one instruction. */
static void put_repeated(struct writer *w, uint32_t first, uint32_t last)
{
    const struct access *all = w->f->accesses;
    (void)fputs("    {\n", w->out);
    for (uint32_t k = first; k < last; k++) {
        (void)fprintf(w->out, "        u64 to%u = ", k - first);
        put_address(w, &all[k]);
        (void)fputs(", ", w->out);
        (void)fprintf(w->out, "n%u = ", k - first);
        if (all[k].recorded)
            (void)fputs("IN(8)", w->out);
        else
            source_put_expression(w, all[k].count);
        (void)fputs(";\n", w->out);
    }
    /* Recorded comparisons may end early: the number of those left is recorded after them. */
    (void)fprintf(w->out, "        for (u64 n = 0, many = n0%s; n < many; n++) {\n",
                  all[first].recorded && all[first].ends_early ? " - IN(8)" : "");
    (void)fprintf(w->out, "            ROOM(%" PRIu32 ");\n", last - first);
    for (uint32_t k = first; k < last; k++)
        (void)fprintf(w->out, "            OUT(0x%" PRIx64 ", '%c', %u, to%u + n * %u);\n",
                      pc_of(w), all[k].kind, all[k].bytes, k - first, all[k].bytes);
    (void)fputs("        }\n    }\n", w->out);
}

static void put_lanes(struct writer *w, const struct access *a)
{
    const struct lanes *l = a->lanes;
    (void)fprintf(w->out, "    LANES(0x%" PRIx64 ", '%c', %u, %u, %u, %u, %u, %u, %u, %u, ",
                  pc_of(w), a->kind, a->bytes, l->kind, l->count, l->index_bytes, l->index_width,
                  l->scale, l->mask_bytes, l->mask_width);
    put_address(w, a);
    (void)fputs(");\n", w->out);
}

/* after: writes the accesses whose number is known only after the instruction; else the others. */
static void put_accesses(struct writer *w, bool after)
{
    struct function *f = w->f;
    MEMBERS_EACH (&w->accesses, w->block, n) {
        uint32_t k = *n;
        const struct access *a = &f->accesses[k];
        if (a->at != w->at || a->ends_early != after)
            continue;
        if (a->repeated) {
            uint32_t last = k + 1;
            while (last < f->access_count && f->accesses[last].block == w->block &&
                   f->accesses[last].at == w->at)
                last++;
            put_repeated(w, k, last);
            return;
        }
        if (a->lanes != NULL) {
            put_lanes(w, a);
            continue;
        }
        if (w->outs[w->at] == APART)
            (void)fputs("    ROOM(1);\n", w->out);
        (void)fprintf(w->out, "    OUT(0x%" PRIx64 ", '%c', %u, ", pc_of(w), a->kind, a->bytes);
        put_address(w, a);
        (void)fputs(");\n", w->out);
    }
}

/* --- edges ------------------------------------------------------------------------------------ */

static void put_label(struct writer *w, uint32_t block)
{
    const struct block *b = &w->f->blocks[block];
    bool exit = b->leaves != 0; /* several exits may lead to one place */
    char kind = exit ? 'X' : b->preheader ? 'L' : b->count == 0 ? 'E' : 'B';
    (void)fprintf(w->out, "%c_0x%" PRIx64, kind, b->start);
    if (b->copy != 0 || exit)
        (void)fprintf(w->out, "_%u", block);
}

static bool is_phi_of(const struct writer *w, uint32_t v, uint32_t block)
{
    const struct value *x = &w->f->values[v];
    return x->kind == V_PHI && x->block == block && x->arg_count != 0 &&
           (x->recorded || w->variable[v]);
}

/* Returns the loop whose counter the edge changes, or SKEL_NONE. */
static int32_t counted(const struct writer *w, uint32_t from, uint32_t to)
{
    const struct function *f = w->f;
    const struct block *b = &f->blocks[to];
    int32_t loop = b->preheader ? f->blocks[b->succ[0]].loop : b->loop;
    bool changes = loop != SKEL_NONE && w->counter[loop] &&
                   (b->preheader || (f->loops[loop].head == to && !f->blocks[from].preheader));
    return changes ? loop : SKEL_NONE;
}

/* Sets all phis at once, then counters. */
static void put_moves(struct writer *w, uint32_t from, uint32_t to)
{
    struct function *f = w->f;
    const struct block *b = &f->blocks[to];
    char name[16];
    uint32_t k = 0, n = 0;
    while (k < b->pred_count && b->pred[k] != from)
        k++;
    MEMBERS_EACH (&w->of_block, to, i) {
        uint32_t v = *i;
        if (!is_phi_of(w, v, to))
            continue;
        (void)fprintf(w->out, "        u64 t%u = ", n++);
        if (f->values[v].recorded)
            (void)fprintf(w->out, "IN(%u)", skel_value_bytes(f, v));
        else
            source_put_expression(w, f->values[v].args[k]);
        (void)fputs(";\n", w->out);
    }
    n = 0;
    MEMBERS_EACH (&w->of_block, to, i) {
        uint32_t v = *i;
        if (!is_phi_of(w, v, to))
            continue;
        (void)fputs("        ", w->out);
        if (w->variable[v]) {
            source_put_name(w, v);
            (void)fputs(" = ", w->out);
        }
        (void)fprintf(w->out, "t%u;\n", n++);
    }
    int32_t loop = counted(w, from, to);
    if (loop == SKEL_NONE)
        return;
    skel_counter(f, (uint32_t)loop, name, sizeof name);
    (void)fprintf(w->out, b->preheader ? "        %s = 0;\n" : "        %s++;\n", name);
}

static void put_edge(struct writer *w, uint32_t from, uint32_t to)
{
    const struct block *b = &w->f->blocks[to];
    bool turns = b->order <= w->f->blocks[from].order;
    bool moves = turns || counted(w, from, to) != SKEL_NONE;
    MEMBERS_EACH (&w->of_block, to, i)
        moves = moves || is_phi_of(w, *i, to);
    if (moves) {
        (void)fputs(" {\n", w->out);
        (void)fputs(turns ? "        TURN();\n" : "", w->out);
        put_moves(w, from, to);
        (void)fputs("       ", w->out);
    }
    (void)fputs(" goto ", w->out);
    put_label(w, to);
    (void)fputs(moves ? ";\n    }\n" : ";\n", w->out);
}

static const struct decision *decision_of(const struct function *f, uint32_t block)
{
    for (uint32_t k = 0; k < f->decision_count; k++)
        if (f->decisions[k].block == block)
            return &f->decisions[k];
    return NULL;
}

static void put_table(struct writer *w, uint32_t block, const struct decision *d)
{
    const struct block *b = &w->f->blocks[block];
    (void)fputs("    switch (", w->out);
    if (d->recorded) {
        (void)fputs("OUTCOME(2)", w->out);
    } else {
        (void)fputs("(u64)(", w->out);
        source_put_expression(w, d->value);
        (void)fputs(") - image", w->out);
    }
    (void)fputs(") {\n", w->out);
    for (uint32_t k = 0; k < b->succ_count; k++) {
        (void)fprintf(w->out, d->recorded ? "    case %" PRIu64 ":" : "    case 0x%" PRIx64 ":",
                      d->recorded ? k : w->f->blocks[b->succ[k]].start);
        put_edge(w, block, b->succ[k]);
    }
    (void)fprintf(w->out, "    default: LOST(0x%" PRIx64 ");\n    }\n",
                  w->f->instructions[b->first + b->count - 1].at);
}

/* Writes arguments of the call at `at`, or of the jump that ends the block. `to` is a format for
 * the variable that receives an argument, with its register's number. */
static void put_arguments(struct writer *w, uint32_t block, uint32_t at, bool jump, const char *to)
{
    for (uint32_t k = 0; k < w->f->argument_count; k++) {
        const struct argument *a = &w->f->arguments[k];
        if (a->block != block || (jump ? !a->tail : a->tail || a->at != at))
            continue;
        (void)fprintf(w->out, to, (unsigned)a->variable);
        if (a->recorded)
            (void)fprintf(w->out, "IN(%u)", skel_value_bytes(w->f, a->value));
        else
            source_put_expression(w, a->value);
        (void)fputs(";\n", w->out);
    }
}

/* A direct caller goes on after the call by itself: a function that has not returned, or has
 * trapped, must not come back to it. */
static void put_exit(struct writer *w, uint32_t block)
{
    struct function *f = w->f;
    const struct block *b = &f->blocks[block];
    const struct instruction *last = b->count != 0 ? &f->instructions[b->first + b->count - 1] : 0;
    for (uint32_t k = 0; k < f->tail_count; k++) {
        if (f->tails[k].block != block)
            continue;
        put_arguments(w, block, 0, true, "    s->passed[%u] = ");
        (void)fprintf(w->out, "    TAIL(%c_0x%" PRIx64 ", ",
                      direct_passed(f->directs, f->tails[k].target) != 0 ? 't' : 'd',
                      f->tails[k].target);
        if (f->plan == PLAN_ADDRESSES)
            (void)fputs("0", w->out);
        else
            source_put_expression(w, f->tails[k].stack);
        (void)fputs(");\n", w->out);
        return;
    }
    if (b->end == END_NORETURN && (last == NULL || !graph_is_call(last) || direct_calls(f, last)))
        (void)fputs("    CALL();\n", w->out);
    (void)fputs("    LEAVE();\n", w->out);
}

static void put_end(struct writer *w, uint32_t block)
{
    const struct block *b = &w->f->blocks[block];
    const struct decision *d = decision_of(w->f, block);
    if (b->end >= END_RETURN) {
        put_exit(w, block);
        return;
    }
    if (b->end == END_TABLE && d != NULL) {
        put_table(w, block, d);
        return;
    }
    if (b->end == END_BRANCH && d != NULL) {
        /* The outcome is recorded even if both edges lead to one block. */
        (void)fputs(b->succ_count > 1 ? "    if (" : "    (void)(", w->out);
        if (d->recorded)
            (void)fputs("OUTCOME(1) == 0", w->out);
        else
            source_put_condition(w, d->value);
        (void)fputs(b->succ_count > 1 ? ")" : ");\n", w->out);
        if (b->succ_count > 1) {
            put_edge(w, block, b->succ[0]);
            (void)fputs("    else", w->out);
            put_edge(w, block, b->succ[1]);
            return;
        }
    }
    (void)fputs("   ", w->out);
    put_edge(w, block, b->succ[0]);
}

/* The callee's stack pointer is the address of its return address. */
static void put_direct_call(struct writer *w)
{
    struct function *f = w->f;
    MEMBERS_EACH (&w->accesses, w->block, n) {
        const struct access *a = &f->accesses[*n];
        if (a->at != w->at)
            continue;
        (void)fputs("    {\n        u64 to = ", w->out);
        put_address(w, a);
        (void)fprintf(w->out, ";\n        OUT(0x%" PRIx64 ", 'W', %u, to);\n", pc_of(w), a->bytes);
        put_arguments(w, w->block, w->at, false, "        const u64 p_%u = ");
        uint64_t target = f->instructions[w->at].target;
        uint16_t passed = direct_passed(f->directs, target);
        (void)fprintf(w->out, "        DIRECT(d_0x%" PRIx64 ", to", target);
        for (unsigned r = 0; r < SKEL_FLAGS; r++)
            if ((passed >> r & 1) != 0)
                (void)fprintf(w->out, ", p_%u", r);
        (void)fputs(");\n    }\n", w->out);
    }
}

static bool is_system_call(const struct instruction *i)
{
    return i->form.length == 2 && i->bytes[0] == 0x0f && i->bytes[1] == 0x05;
}

void source_put_block(struct writer *w, uint32_t block)
{
    struct function *f = w->f;
    const struct block *b = &f->blocks[block];
    put_label(w, block);
    (void)fputs(":;\n", w->out);
    w->block = block;
    MEMBERS_EACH (&w->of_block, block, n)
        if (f->values[*n].kind == V_ENTRY && f->values[*n].recorded && !value_is_passed(f, *n))
            put_in(w, *n);
    count_outs(w);
    uint32_t room = b->first; /* room is made up to there */
    for (w->at = b->first; w->at < b->first + b->count; w->at++) {
        const struct instruction *i = &f->instructions[w->at];
        if (w->at == room)
            room = put_room(w);
        put_values(w);
        if (direct_calls(f, i))
            put_direct_call(w);
        else
            put_accesses(w, false);
        if (graph_is_call(i) && !direct_calls(f, i))
            (void)fputs("    CALL();\n", w->out);
        else if (is_system_call(i))
            (void)fputs("    TURN(); /* a system call: the last one ends the program */\n", w->out);
        put_ins(w);
        put_values(w);
        put_accesses(w, true);
    }
    put_end(w, block);
}
