/* SPDX-License-Identifier: BSD-3-Clause
 * Tests that instructions which a handler follows leave registers, vector state and memory as the
 * processor does. Pieces of code with
 * all kinds of instructions are executed natively, and followed from each of their instructions on,
 * for 1 to 64 instructions. Captured values must be those that single steps show. */
#include "t/preload/values/following.h"

#include "preload/values/values.h"
#include "preload/values/values_ask.h"
#include "preload/values/values_code.h"
#include "t/tap.h"

#include <string.h>

static struct state native, followed;

/* Reads the register that an item names from a single step. Returns false if the item names no such
 * register. */
static bool item_of(const struct step *s, const struct values_item *i, uint64_t *value)
{
    const uint8_t *x = s->vectors;
    unsigned at = vector_at(i->index, i->lane);
    if (i->source == VALUES_GENERAL && i->index < 16)
        *value = s->r[i->index];
    else if (i->source == VALUES_VECTOR)
        memcpy(value, x + at, 8);
    else if (i->source == VALUES_MASK)
        memcpy(value, x + xsave_parts[PART_MASKS].at + i->index * 8u, 8);
    else
        return false;
    *value >>= i->shift;
    *value &= i->size >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << 8 * i->size) - 1;
    return true;
}

static bool x87_of(const struct step *s, const struct values_item *i, uint64_t *value)
{
    long double wide = 0;
    if (i->source != VALUES_X87)
        return false;
    memcpy(&wide, s->vectors + 32 + i->index * 16u, 10);
    double narrow = (double)wide;
    memcpy(value, &narrow, sizeof narrow);
    return true;
}

/* Checks that values were captured in order, each at an executed instruction, and that they are the
 * values of the registers after that instruction. */
static bool same_values(unsigned from, unsigned *compared)
{
    unsigned at = from;
    for (unsigned n = 0; n < captured_count; n++) {
        const struct values_captured *c = &captured[n];
        const struct values_answer *a = &values_table.codes[c->number - 1].answer;
        while (at < step_count && steps[at].rip != a->address)
            at++;
        if (at >= step_count) {
            diag("%s: instruction %u at +%lu was not executed then", piece->name, n,
                 (unsigned long)(a->address - (uintptr_t)piece->from));
            return false;
        }
        while (at + 1 < step_count && steps[at + 1].rip == a->address)
            /* A repeated instruction has one step for each repetition. */
            at++;
        if (++at >= step_count)
            break;
        for (unsigned i = 0; i < a->item_count && i < c->count; i++) {
            uint64_t value;
            if (!item_of(&steps[at], &a->items[i], &value) &&
                !x87_of(&steps[at], &a->items[i], &value))
                continue;
            ++*compared;
            if (value != c->values[i]) {
                diag("%s +%lu: value %u is %llx, not %llx", piece->name,
                     (unsigned long)(a->address - (uintptr_t)piece->from), i,
                     (unsigned long long)c->values[i], (unsigned long long)value);
                return false;
            }
        }
    }
    return true;
}

static void step_natively(void)
{
    static struct state ignored;
    follow = 0;
    skip_first = STEPS + 1;
    execute(&ignored);
    skip_first = 0;
}

static unsigned values_compared;

static void try_piece(void)
{
    static const uint32_t lengths[] = {1, 2, 3, 5, 8, 16, 33, 64};
    bool same = true, right = true;
    unsigned n = 0;
    make_state();
    follow = 0;
    skip_first = 0;
    execute(&native);
    if ((piece->needs & 4) == 0)
        step_natively();
    unsigned executed = (piece->needs & 4) == 0 ? step_count : 0;
    for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (unsigned first = 0; (first == 0 || first < executed) && same && right;
             first += 1 + first / 16) {
            follow = lengths[l];
            skip_first = first;
            execute(&followed);
            unsigned stopped =
                /* The steps before the sample. The entries after them are those of the native
                 * run. */
                step_count;
            same = same_state(&native, &followed);
            step_count = executed;
            right = (piece->needs & 4) != 0 || same_values(stopped, &values_compared);
            n++;
            if (!same || !right)
                diag("following %u from instruction %u on", follow, first);
        }
    ok(same, "%s: %u times followed, the state is the processor's", piece->name, n);
    ok(right, "%s: what is captured is what single steps show", piece->name);
}

static bool machine_has(uint64_t needs)
{
    __builtin_cpu_init();
    return (needs & 3) == 0 || (needs == 1 && __builtin_cpu_supports("avx2")) ||
           (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
}

static void try_all(const char *plugin)
{
    struct rt_error e = {{0}};
    int rc = values_ask_begin(plugin, &e);
    ok(rc == 0, "%s serves%s%s", plugin, rc != 0 ? ": " : "", e.text);
    for (piece = pieces; rc == 0 && piece->name != NULL; piece++)
        if (machine_has(piece->needs))
            try_piece();
        else
            skip(piece->name, "this processor has no such instructions");
    values_ask_forked();
}

static const struct piece *piece_of(const char *name)
{
    const struct piece *p = pieces;
    while (strcmp(p->name, name) != 0)
        p++;
    return p;
}

static void follow_piece(const char *name, uint32_t n)
{
    piece = piece_of(name);
    make_state();
    skip_first = 0;
    follow = n;
    execute(&followed);
}

/* Checks what is known without a decoder: the addresses in a loop, and the caller. */
static void try_known(void)
{
    struct rt_error e = {{0}};
    int rc = values_ask_begin("vp-addr", &e);
    ok(rc == 0, "vp-addr serves%s%s", rc != 0 ? ": " : "", e.text);
    if (rc != 0)
        return;
    follow_piece("strided", 64);
    bool right = captured_count == 15;
    for (uint64_t i = 5, n = 0; right && i > 0; i--, n += 3)
        right = captured[n].count == 1 && captured[n].values[0] == before.r[15] + 8 * i + 16 &&
                captured[n + 1].values[0] == before.r[15] + 8 * i - 800 &&
                captured[n + 2].values[0] == before.r[14] + i;
    ok(right, "the addresses of a loop, in their order");
    context_wanted = VALUES_CONTEXT_CALLERS;
    follow_piece("framed", 64);
    uint64_t caller = (uintptr_t)piece->from + 6;
    unsigned inside = 0, with = 0;
    for (unsigned i = 0; i < captured_count; i++) {
        uint64_t at = values_table.codes[captured[i].number - 1].answer.address - caller;
        if (at < 6 || at > 11) /* the two accesses that execute within the frame */
            continue;
        inside++;
        with += captured[i].has_context && captured[i].context[0] == caller;
    }
    ok(inside == 2 && with == 2, "the caller, by its frame: %u of %u", with, inside);
    context_wanted = 2;
    follow_piece("strided", 1);
    ok(captured_count == 1 && captured[0].context[0] == before.r[2], "a register as context");
    context_wanted = VALUES_CONTEXT_NONE;
    values_ask_forked();
}

/* Prints for pieces of code the shortest time, in ns, that a sample takes in a handler, without its
 * record. */
static int measure(void)
{
    static const char *const names[] = {"arithmetic", "memory", "sse", "avx512"};
    static const uint32_t lengths[] = {1, 16};
    for (unsigned i = 0; i < 8; i++) {
        uint64_t best = UINT64_MAX;
        for (int n = 0; n < 3000; n++) {
            follow_piece(names[i / 2], lengths[i % 2]);
            best = sample_ticks < best ? sample_ticks : best;
        }
        printf("%s, %u followed: %llu ns\n", names[i / 2], lengths[i % 2],
               (unsigned long long)best);
    }
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (!following_prepare(0)) {
        skip(NOT_POSSIBLE);
        return done_testing();
    }
    try_all("vp-classic");
    if (argc > 1)
        return measure();
    for (uint32_t i = 0; i < VALUES_SLOTS; i++)
        atomic_store(&values_table.slots[i], 0); /* drop the answers of the other plug-in */
    try_known();
    ok(values_compared > 1000, "values were compared: %u", values_compared);
    return done_testing();
}
