/* SPDX-License-Identifier: BSD-3-Clause
 * Checks the analyses of functions against a program's execution.
 *
 * skeleton IMAGE BIAS FILE: FILE has the lines "regs ADDRESS RAX ... R15" of t/oracle, one before
 * each instruction. What an analysis wants recorded is taken from these registers. What it can
 * compute is computed twice, value by value and by the expression, and compared: addresses with the
 * processor's (from the decoder's own operands and the registers), conditions with where the
 * program went. Prints counts; exits with 1 if something differs.
 *
 * skeleton IMAGE BIAS FILE ENTERED: writes the names of the functions that were entered and can be
 * analysed.
 *
 * skeleton IMAGE BIAS FILE FUNCTIONS STREAM TRACE: also writes STREAM, a recording of this
 * execution (isa/memory/replay/recording_format.h), and TRACE, the processor's accesses, each "PC
 * KIND BYTES ADDRESS". FUNCTIONS has the addresses of the functions that have a skeleton, by
 * number.
 *
 * SKELETON_PLAN names another plan than "skeleton". */
#include "t/isa/memory/skeleton.h"

#include "isa/memory/source/source.h"
#include "isa/memory/replay/recording_format.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct analysed {
    struct function f;
    struct arena arena;
    char unnamed[32];
    struct analysed *next;
};

struct code *code;
static enum skel_plan plan;
static struct address_list claims;
static FILE *entered;
uint64_t bias;
static struct analysed *all;
static struct activation *top;
static uint64_t accesses, recorded_accesses, decisions, recorded_decisions, recorded_values,
    skipped, wrong, steps, calls;
struct line now, next;
ZydisDecoder decoder;

__attribute__((format(printf, 2, 3))) static void differs(const struct activation *a,
                                                          const char *format, ...)
{
    va_list args;
    if (++wrong > 20)
        return;
    printf("%s 0x%" PRIx64 ": ", a->f->name, now.pc - bias);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

static struct function *function_at(uint64_t address)
{
    for (struct analysed *a = all; a != NULL; a = a->next)
        if (a->f.start == address)
            return a->f.reason == NULL ? &a->f : NULL;
    const struct code_range *r = code_range_of(code, address);
    if (r == NULL || r->start != address || !stream_has_function(address))
        return NULL;
    struct analysed *a = calloc(1, sizeof *a);
    a->f = (struct function){.code = code,
                             .claims = &claims,
                             .directs = stream_directs(),
                             .passed = direct_passed(stream_directs(), address),
                             .arena = &a->arena,
                             .name = "function",
                             .plan = plan,
                             .start = address,
                             .end = r->end};
    const struct image_symbol *s = graph_symbol_at(code->image, address);
    (void)snprintf(a->unnamed, sizeof a->unnamed, "0x%" PRIx64, address);
    a->f.name = s != NULL ? s->name : a->unnamed;
    skel_analyse(&a->f);
    a->next = all;
    all = a;
    if (entered != NULL && a->f.reason == NULL)
        fprintf(entered, "%s\n", a->f.name);
    return a->f.reason == NULL ? &a->f : NULL;
}

/* Returns what a recording holds of a value: as much of its register as the value has. */
static uint64_t recorded_of(const struct function *f, uint32_t v)
{
    unsigned bits = 8 * skel_value_bytes(f, v);
    uint64_t whole = next.r[f->values[v].variable];
    return bits == 64 ? whole : whole & ((UINT64_C(1) << bits) - 1);
}

/* --- Following the execution --- */

static void enter_block(struct activation *a, uint32_t from, uint32_t to)
{
    struct function *f = a->f;
    const struct block *b = &f->blocks[to];
    uint32_t k = 0;
    while (k < b->pred_count && b->pred[k] != from)
        k++;
    int32_t head = b->loop != SKEL_NONE && f->loops[b->loop].head == to ? b->loop : SKEL_NONE;
    struct known *set = calloc(f->value_count + 1, sizeof *set);
    for (uint32_t v = 0; v < f->value_count; v++) {
        const struct value *x = &f->values[v];
        if (x->kind != V_PHI || x->block != to || x->arg_count == 0)
            continue;
        if (x->recorded) {
            set[v] = (struct known){recorded_of(f, v), true};
            stream_value(f, v, set[v].value);
        } else
            set[v].is = x->variable != SKEL_FLAGS && value_of(a, x->args[k], &set[v].value);
        recorded_values += x->recorded;
    }
    for (uint32_t v = 0; v < f->value_count; v++)
        if (f->values[v].kind == V_PHI && f->values[v].block == to)
            a->values[v] = set[v];
    free(set);
    if (b->preheader)
        a->counters[f->blocks[b->succ[0]].loop] = 0;
    else if (head != SKEL_NONE && !f->blocks[from].preheader)
        a->counters[head]++;
    a->block = to;
    a->at = b->first;
}

/* Goes to the successor that begins at `target`, through blocks without instructions. Returns false
 * if there is none. */
static bool go(struct activation *a, uint64_t target)
{
    const struct function *f = a->f;
    uint32_t from = a->block;
    for (uint32_t s = 0; s < f->blocks[from].succ_count; s++) {
        uint32_t to = f->blocks[from].succ[s];
        if (f->blocks[to].start != target)
            continue;
        enter_block(a, from, to);
        while (f->blocks[a->block].count == 0)
            enter_block(a, a->block, f->blocks[a->block].succ[0]);
        return true;
    }
    return false;
}

/* Records values with which the function is entered. For a register `variable`: its values, which
 * are not written if the call is direct. For SKEL_FLAGS: all values that callers do not pass. */
static void put_entry_values(struct activation *a, unsigned variable, bool direct)
{
    for (uint32_t v = 0; v < a->f->value_count; v++) {
        const struct value *x = &a->f->values[v];
        bool is = variable == SKEL_FLAGS ? !value_is_passed(a->f, v) : x->variable == variable;
        if (x->kind != V_ENTRY || !x->recorded || !is)
            continue;
        a->values[v] = (struct known){recorded_of(a->f, v), true};
        if (variable != SKEL_FLAGS && direct)
            continue;
        stream_value(a->f, v, a->values[v].value);
        recorded_values++;
    }
}

/* Records the arguments that are passed to the function that is now called or jumped to. */
static void put_arguments(const struct activation *a, bool jump)
{
    for (uint32_t k = 0; k < a->f->argument_count; k++) {
        const struct argument *x = &a->f->arguments[k];
        if (x->block != a->block || !x->recorded || (jump ? !x->tail : x->tail || x->at != a->at))
            continue;
        stream_value(a->f, x->value, next.r[x->variable]);
        recorded_values++;
    }
}

static void push(uint64_t address, bool direct)
{
    struct activation *a = calloc(1, sizeof *a);
    a->f = function_at(address);
    a->stack = next.r[4];
    a->below = top;
    top = a;
    calls++;
    if (a->f == NULL)
        return;
    if (!direct)
        stream_enter(address);
    a->values = calloc(a->f->value_count + 1, sizeof *a->values);
    a->counters = calloc(a->f->loop_count + 1, sizeof *a->counters);
    put_entry_values(a, SKEL_RSP, direct);
    for (unsigned r = 0; r < SKEL_FLAGS; r++)
        if ((a->f->passed >> r & 1) != 0)
            put_entry_values(a, r, direct);
    put_entry_values(a, SKEL_FLAGS, direct);
    a->at = UINT32_MAX;
    (void)go(a, address);
}

static void pop(void)
{
    struct activation *a = top;
    top = a->below;
    free(a->values);
    free(a->counters);
    free(a);
}

/* The single steps have no vector registers, so accesses with lanes cannot be checked. */
static void put_recorded(const struct access *x, const struct real *real)
{
    if (x->lanes != NULL)
        differs(top, "it accesses elements that nobody can tell here");
    if (x->recorded && real != NULL)
        stream_number(real->address, 8);
    if (x->recorded && x->repeated)
        stream_number(now.r[1], 8);
}

static void check_access(const struct activation *a, const struct access *x, unsigned k,
                         const struct real *real)
{
    uint64_t n;
    if (real == NULL) {
        differs(a, "access %u is none of the processor's", k);
        return;
    }
    if (!x->computed)
        return;
    if (!value_of(a, x->address, &n))
        differs(a, "address %u is not known", k);
    else if (n != real->address)
        differs(a, "address %u is 0x%" PRIx64 ", not 0x%" PRIx64, k, n, real->address);
    struct linear e = linear_get(a->f, x->address);
    if (!linear_value_of(a, &e, &n))
        differs(a, "expression %u is not known", k);
    else if (n != real->address)
        differs(a, "expression %u is 0x%" PRIx64 ", not 0x%" PRIx64, k, n, real->address);
    if (x->repeated && !x->ends_early && (!value_of(a, x->count, &n) || n != now.r[1]))
        differs(a, "it is repeated %" PRIu64 " times, not %" PRIu64, n, now.r[1]);
}

static void check_accesses(const struct activation *a)
{
    struct real real[8] = {{0}};
    unsigned count = real_addresses(real), k = 0;
    for (uint32_t i = 0; i < a->f->access_count; i++) {
        const struct access *x = &a->f->accesses[i];
        const struct real *r = k < count ? &real[k] : NULL;
        if (x->block != a->block || x->at != a->at)
            continue;
        accesses++;
        recorded_accesses += x->recorded;
        put_recorded(x, r);
        if (x->lanes != NULL || (r != NULL && r->segment))
            skipped++;
        else
            check_access(a, x, k, r);
        k++;
    }
}

/* Writes the processor's accesses of this instruction, one time of a repeated one. `known` is false
 * in code without an analysis. */
static void put_trace(bool known)
{
    struct real real[8] = {{0}};
    unsigned count = real_addresses(real);
    if (repeats(now.pc) && now.r[1] == 0)
        return;
    for (unsigned k = 0; k < count; k++)
        stream_access(now.pc, &real[k], !known);
}

/* Sets the values that the instruction has left in registers, and those computed from them. */
static void settle(struct activation *a)
{
    for (uint32_t v = 0; v < a->f->value_count; v++) {
        const struct value *x = &a->f->values[v];
        if (x->block != a->block || x->at != a->at || x->kind == V_PHI || x->kind == V_ENTRY ||
            x->kind == V_CONSTANT)
            continue;
        uint64_t n = 0;
        bool is = x->recorded;
        if (is) {
            n = recorded_of(a->f, v);
            stream_value(a->f, v, n);
        } else
            is = compute(a, v, &n);
        recorded_values += x->recorded;
        a->values[v] = (struct known){n, is};
    }
}

static void check_decision(const struct activation *a, const struct instruction *i)
{
    uint64_t n;
    for (uint32_t k = 0; k < a->f->decision_count; k++) {
        const struct decision *d = &a->f->decisions[k];
        if (d->block != a->block)
            continue;
        decisions++;
        recorded_decisions += d->recorded;
        const struct block *b = &a->f->blocks[a->block];
        bool table = b->end == END_TABLE;
        uint32_t to = 0;
        while (to < b->succ_count && a->f->blocks[b->succ[to]].start != next.pc - bias)
            to++;
        if (d->recorded)
            stream_number(to, table ? 2 : 1);
        if (!d->known || (!table && i->target == i->next))
            continue;
        if (!value_of(a, d->value, &n))
            differs(a, "the condition is not known");
        else if (table ? n != next.pc : (n != 0) != (next.pc - bias == i->target))
            differs(a, "the condition is %" PRIu64 ", but it goes to 0x%" PRIx64, n,
                    next.pc - bias);
    }
}

static const struct instruction *current(const struct activation *a)
{
    return &a->f->instructions[a->at];
}

static void resume(bool direct);

/* Returns true if nothing is recorded for the jump at the end of this block. */
static bool leaves_directly(const struct activation *a)
{
    uint64_t target;
    return direct_leaves(a->f, a->block, &target);
}

/* Returns true if a branch has led to another function, through a block without instructions. */
static bool has_left(const struct activation *a)
{
    const struct block *b = &a->f->blocks[a->block];
    return b->count == 0 && b->end == END_TAIL;
}

static void advance(struct activation *a)
{
    const struct block *b = &a->f->blocks[a->block];
    settle(a);
    if (a->at + 1 == b->first + b->count) {
        check_decision(a, current(a));
        if (!go(a, next.pc - bias))
            differs(a, "it goes to 0x%" PRIx64 ", which no edge does", next.pc - bias);
        if (has_left(a)) {
            bool direct = leaves_directly(a);
            put_arguments(a, true);
            pop();
            resume(direct);
            return;
        }
    } else {
        a->at++;
    }
    if (current(a)->at != next.pc - bias)
        differs(a, "it comes to 0x%" PRIx64, next.pc - bias);
}

static bool is_call(const struct instruction *i)
{
    return (i->form.flow == FLOW_CALL && i->target != i->next) || i->form.flow == FLOW_CALL_POINTER;
}

static bool is_start(uint64_t address)
{
    const struct code_range *r = code_range_of(code, address);
    return r != NULL && r->start == address;
}

/* Returns true if a called function has called code of the program that is no known function (that
 * of crt, by exit). */
static bool is_called_back(void)
{
    return top != NULL && top->f != NULL && is_call(current(top)) && next.r[4] < top->stack;
}

/* Continues in the caller, in a function entered from code that is not traced, or after a jump to a
 * function, which may be direct. */
static void resume(bool direct)
{
    while (top != NULL && top->f == NULL && next.r[4] > top->stack)
        pop();
    if (top != NULL && top->f != NULL && is_call(current(top)) &&
        current(top)->next == next.pc - bias) {
        if (!direct_calls(top->f, current(top)))
            stream_number(TOKEN_RESUME, 1);
        advance(top);
    } else if (is_start(next.pc - bias) || is_called_back())
        push(next.pc - bias, direct);
    else if (top != NULL && top->f != NULL)
        differs(top, "it returns to 0x%" PRIx64, next.pc - bias);
}

static void arrive(void)
{
    struct activation *a = top;
    if (a == NULL || a->f == NULL) {
        resume(false);
        return;
    }
    const struct instruction *i = current(a);
    const struct block *b = &a->f->blocks[a->block];
    bool leaves =
        a->at + 1 == b->first + b->count && b->end >= END_RETURN && b->end != END_NORETURN;
    if (is_call(i) && next.pc - bias != i->next) {
        put_arguments(a, false);
        push(next.pc - bias, direct_calls(a->f, i));
    } else if (leaves) {
        bool direct = leaves_directly(a);
        put_arguments(a, true);
        pop();
        resume(direct);
    } else {
        if (is_call(i) && !direct_calls(a->f, i))
            stream_number(TOKEN_RESUME, 1);
        advance(a);
    }
}

/* Repeated comparisons may end early, so the remaining count is known only after them. */
static void put_left(void)
{
    bool ended = false;
    for (uint32_t i = 0; top != NULL && top->f != NULL && i < top->f->access_count; i++) {
        const struct access *x = &top->f->accesses[i];
        ended =
            ended || (x->block == top->block && x->at == top->at && x->recorded && x->ends_early);
    }
    if (ended)
        stream_number(next.r[1], 8);
}

static void *run(void *path)
{
    char text[1024];
    FILE *in = fopen(path, "r");
    while (in != NULL && wrong <= 20 && fgets(text, sizeof text, in) != NULL) {
        char *at = text + 5;
        if (strncmp(text, "regs ", 5) != 0)
            continue;
        next.pc = strtoull(at, &at, 16);
        for (int r = 0; r < 16; r++)
            next.r[r] = strtoull(at, &at, 16);
        bool again = next.pc == now.pc && repeats(now.pc);
        if (!again) {
            put_left();
            arrive();
        }
        now = next;
        steps++;
        bool known = top != NULL && top->f != NULL;
        put_trace(known);
        if (!again && known)
            check_accesses(top);
    }
    return in == NULL ? path : NULL;
}

int main(int argc, char **argv)
{
    struct rt_error e = {{0}};
    pthread_attr_t attributes;
    pthread_t thread;
    void *failed = NULL;
    struct image *m = argc == 4 || argc == 5 || argc == 7 ? image_open(argv[1], &e) : NULL;
    if (getenv("SKELETON_PLAN") != NULL && !skel_plan_parse(getenv("SKELETON_PLAN"), &plan)) {
        fprintf(stderr, "SKELETON_PLAN: skeleton, registers or addresses\n");
        return 2;
    }
    if (m == NULL || (argc == 7 && !stream_open(argv + 4)) || (code = code_open(m)) == NULL) {
        fprintf(stderr, "skeleton IMAGE BIAS FILE [ENTERED|FUNCTIONS STREAM TRACE]: %s\n", e.text);
        return 2;
    }
    skel_find_claims(code, &claims);
    entered = argc == 5 ? fopen(argv[4], "w") : NULL;
    bias = strtoull(argv[2], NULL, 16);
    (void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setstacksize(&attributes, 1 << 30) != 0 ||
        pthread_create(&thread, &attributes, run, argv[3]) != 0 ||
        pthread_join(thread, &failed) != 0 || failed != NULL)
        return 2;
    if (!stream_close() || (entered != NULL && fclose(entered) != 0))
        return 2;
    printf("steps %" PRIu64 " calls %" PRIu64 " accesses %" PRIu64 " recorded %" PRIu64
           " values %" PRIu64 " decisions %" PRIu64 " outcomes %" PRIu64 " skipped %" PRIu64
           " wrong %" PRIu64 "\n",
           steps, calls, accesses, recorded_accesses, recorded_values, decisions,
           recorded_decisions, skipped, wrong);
    return wrong != 0;
}
