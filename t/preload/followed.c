/* SPDX-License-Identifier: BSD-3-Clause
 * Instructions followed in a handler leave everything as the processor leaves it: pieces of code with all kinds of them are executed
 * natively and followed from each of their instructions on, by 1 to 64 of them. What was captured is what single steps show. */
#include "preload/values.h"

#include "base/sys.h"
#include "preload/images.h"
#include "preload/valgrind.h"
#include "preload/values_ask.h"
#include "preload/values_code.h"
#include "preload/values_follow.h"
#include "t/tap.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define ARENA 8192
#define AREA 4096 /* of xsave, at most */
#define STEPS 512
#define TRAP_FLAG 0x100
#define STATE_FLAGS 0xcd5 /* arithmetic ones and the direction */

struct state {
    uint64_t r[17], zero[7];
    uint8_t vectors[AREA] __attribute__((aligned(64)));
    uint8_t arena[ARENA];
    uint64_t counter;
    unsigned faults;
};
struct piece {
    const char *name;
    const uint8_t *from, *to; /* its int3s */
    uint64_t needs;           /* 1: AVX2, 2: AVX-512, 4: single steps change what it sees */
};
struct step {
    uint64_t rip, r[17];
    uint8_t vectors[AREA];
};

extern const struct piece pieces[];
extern uint64_t counter;
extern const uint8_t entered[];
void enter(const struct state *s, uintptr_t piece, uint64_t *stack);

/* --- what the rest of the library would give ------------------------------------------------------------------------ */

struct process process;
__thread struct recorder_thread recorder_self;
static struct preload_thread own;
static struct values_thread *state_of_values;
static struct values_captured captured[STEPS];
static unsigned captured_count, samples;
static int context_wanted = VALUES_CONTEXT_NONE;

struct values_thread *values_state(struct preload_thread *pt)
{
    return pt->values = state_of_values;
}

void values_record(void *p)
{
    const struct values_thread *v = p;
    samples++;
    for (unsigned i = 0; i < v->captured && captured_count < STEPS; i++)
        captured[captured_count++] = v->list[i];
}

int values_context(void)
{
    return context_wanted;
}

void sampling_values_waited(uint64_t ticks)
{
    (void)ticks;
}

void sampling_values_halt(struct preload_thread *pt)
{
    (void)pt;
}

void sampling_values_end(struct preload_thread *pt)
{
    (void)pt;
}

bool values_are_on(void)
{
    return true;
}

void run_with_room(const void *context, void (*function)(void *), void *argument)
{
    (void)context;
    function(argument);
}

bool images_own_code(uintptr_t *from, uintptr_t *to)
{
    *from = *to = 1;
    return true;
}

bool process_find_program(const char *name, char path[PATH_MAX])
{
    const char *build = getenv("REGTRACE_BUILD");
    (void)snprintf(path, PATH_MAX, "%s/isa/%s", build != NULL ? build : ".", name);
    return access(path, X_OK) == 0;
}

/* --- execution ---------------------------------------------------------------------------------------------------------- */

static struct state before, native, followed;
static struct step steps[STEPS];
static unsigned step_count;
static const struct piece *piece;
static uint64_t stack;
static bool stepping; /* natively, by us */
static uint32_t follow;
static unsigned skip_first; /* this many are stepped natively before the sample */
static uint8_t *arena;      /* nothing is behind it */
static unsigned faults;
static uint8_t alternate[1 << 16];
static const int order[17] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                              REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                              REG_R12, REG_R13, REG_R14, REG_R15, REG_EFL};
static struct state *result;
static uint64_t ticks;

static void take(const ucontext_t *uc, uint64_t r[17], uint8_t *vectors)
{
    uint32_t area;
    const uint8_t *from = (const uint8_t *)uc->uc_mcontext.fpregs;
    memcpy(&area, from + 464 + 4, sizeof area);
    for (int i = 0; i < 17; i++)
        r[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
    r[16] &= STATE_FLAGS;
    memcpy(vectors, from, area < AREA ? area - 4 : AREA);
    /* Parts that are as at the beginning may hold anything. */
    uint64_t parts;
    memcpy(&parts, vectors + 512, sizeof parts);
    static const struct {
        unsigned part, at, bytes;
    } where[] = {{0, 0, 24},   {0, 32, 128},  {1, 160, 256},  {2, 576, 256},
                 {5, 832, 64}, {6, 896, 512}, {7, 1408, 1024}};
    for (size_t i = 0; i < sizeof where / sizeof *where; i++)
        if ((parts >> where[i].part & 1) == 0)
            memset(vectors + where[i].at, 0, where[i].bytes);
    memset(vectors + 416, 0, 160);
}

static void sample(ucontext_t *uc)
{
    process.options.number[OPT_values_follow] = follow;
    uint64_t began = clock_ticks();
    values_hit(&own, uc, 1);
    ticks = clock_ticks() - began;
}

static void trapped(int signo, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    greg_t *r = uc->uc_mcontext.gregs;
    (void)signo;
    if (values_trapped(info, context))
        return;
    if (info->si_code == SI_KERNEL && (const uint8_t *)r[REG_RIP] == piece->from + 1) {
        stepping = skip_first != 0;
        step_count = 0;
        if (stepping)
            r[REG_EFL] |= TRAP_FLAG;
        else if (follow != 0)
            sample(uc);
        if (!stepping)
            return;
    } else if (info->si_code == SI_KERNEL && (const uint8_t *)r[REG_RIP] == piece->to + 1) {
        take(uc, result->r, result->vectors);
        r[REG_RSP] = (greg_t)stack;
        r[REG_RIP] = (greg_t)(uintptr_t)entered;
        r[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        stepping = false;
        return;
    } else if (!stepping) {
        _exit(99);
    } else if (step_count == skip_first) {
        stepping = false;
        r[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        if (follow != 0)
            sample(uc);
        return;
    }
    if (step_count < STEPS) {
        struct step *s = &steps[step_count++];
        s->rip = (uint64_t)r[REG_RIP];
        take(uc, s->r, s->vectors);
    }
}

static void faulted(int signo, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *at = (const uint8_t *)r[REG_RIP];
    if (values_faulted(signo, info, context))
        return;
    if (at <= piece->from || at >= piece->to || (r[REG_EFL] & TRAP_FLAG) != 0)
        _exit(98);
    faults++;
    bool two = at[0] == 0xf3 || at[0] == 0xd8 || (at[0] == 0x0f && at[1] == 0x0b);
    r[REG_RIP] += at[0] == 0x48 && at[2] == 0x44 ? 5 : two ? 2 : 3;
    if (follow != 0)
        sample(context);
}

static void execute(struct state *out)
{
    result = out;
    memcpy(arena, before.arena, ARENA);
    faults = 0;
    counter = 41;
    captured_count = samples = 0;
    enter(&before, (uintptr_t)piece->from, &stack);
    memcpy(out->arena, arena, ARENA);
    out->faults = faults;
    out->counter = counter;
}

static uint64_t random_word(void)
{
    static uint64_t x = 88172645463325252ull;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

/* Vector registers hold doubles of ordinary size, general ones anything. */
static void make_state(void)
{
    memset(&before, 0, sizeof before);
    __asm__ volatile("xsave64 %0" : "+m"(before.vectors) : "a"(-1), "d"(-1) : "memory");
    uint64_t parts, known = 0xe7, enabled;
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    enabled = (low | (uint64_t)high << 32) & known;
    for (unsigned at = 160; at < 2432; at += 8) {
        double d = (double)(int64_t)(random_word() >> 40) / 1024;
        if (at == 416)
            at = 576;
        if (at < 416 || (at < 832 && (enabled & 4) != 0) || (at >= 896 && (enabled & 0xe0) != 0))
            memcpy(before.vectors + at, &d, sizeof d);
    }
    memcpy(&parts, before.vectors + 512, sizeof parts);
    parts |= enabled;
    memcpy(before.vectors + 512, &parts, sizeof parts);
    for (int i = 0; i < 16; i++)
        before.r[i] = random_word();
    before.r[1] = 5;
    before.r[15] = (uintptr_t)arena + ARENA / 2;
    before.r[14] = before.r[15] + 512;
    before.r[16] = 2 | (random_word() & 0x8d5);
    for (unsigned i = 0; i < ARENA; i++)
        before.arena[i] = (uint8_t)random_word();
}

/* --- comparison --------------------------------------------------------------------------------------------------------- */

static bool same_state(const struct state *a, const struct state *b)
{
    static const char *const names[17] = {"rax", "rcx", "rdx", "rbx", "rsp",  "rbp",
                                          "rsi", "rdi", "r8",  "r9",  "r10",  "r11",
                                          "r12", "r13", "r14", "r15", "flags"};
    bool same = true;
    for (int i = 0; i < 17; i++)
        if (a->r[i] != b->r[i]) {
            diag("%s: %s is %llx, not %llx", piece->name, names[i], (unsigned long long)b->r[i],
                 (unsigned long long)a->r[i]);
            same = false;
        }
    for (unsigned i = 0; i < AREA; i++)
        if (a->vectors[i] != b->vectors[i]) {
            diag("%s: byte %u of the vector state is %x, not %x", piece->name, i, b->vectors[i],
                 a->vectors[i]);
            same = false;
            break;
        }
    if (memcmp(a->arena, b->arena, ARENA) != 0 || a->counter != b->counter ||
        a->faults != b->faults) {
        diag("%s: memory differs, or faults: %u, not %u", piece->name, b->faults, a->faults);
        same = false;
    }
    return same;
}

/* What a stepped thread had in the register that an item names. */
static bool item_of(const struct step *s, const struct values_item *i, uint64_t *value)
{
    const uint8_t *x = s->vectors;
    unsigned at = i->lane < 2   ? 160 + i->index * 16u + i->lane * 8u
                  : i->lane < 4 ? 576 + i->index * 16u + (i->lane - 2u) * 8
                                : 896 + i->index * 32u + (i->lane - 4u) * 8;
    if (i->index >= 16)
        at = 1408 + (i->index - 16u) * 64 + i->lane * 8u;
    if (i->source == VALUES_GENERAL && i->index < 16)
        *value = s->r[i->index];
    else if (i->source == VALUES_VECTOR)
        memcpy(value, x + at, 8);
    else if (i->source == VALUES_MASK)
        memcpy(value, x + 832 + i->index * 8u, 8);
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

/* Captured in order, each at an instruction that was executed, with the values that registers had behind it. */
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
            at++; /* one step for each repetition */
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
                step_count; /* those before the sample; the list behind is of the native run */
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

/* What is known without any decoder: the addresses of a loop, and who called. */
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
        if (at < 6 || at > 11) /* the two that have their frame */
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

static void prepare(void)
{
    struct sigaction a = {.sa_flags = SA_SIGINFO};
    const stack_t s = {.ss_sp = alternate, .ss_size = sizeof alternate};
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    arena = mmap(NULL, 2 * ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)mprotect(arena + ARENA, ARENA, PROT_NONE);
    state_of_values = mmap(NULL, sizeof *state_of_values, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    recorder_self.window_state = &own;
    own.samplers[SAMPLE_VALUES].sampler.factor = 1;
    process.values = true;
    (void)sigaltstack(&s, NULL);
    values_block_others(&a.sa_mask);
    a.sa_sigaction = trapped;
    (void)sigaction(SIGTRAP, &a, NULL);
    (void)sigemptyset(&a.sa_mask);
    a.sa_flags |= SA_ONSTACK | SA_NODEFER;
    a.sa_sigaction = faulted;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaction(signals[i], &a, NULL);
}

/* Mean ticks of what a sample adds to an empty handler, but for its record. */
static int measure(void)
{
    static const char *const names[] = {"arithmetic", "memory", "sse", "avx512"};
    static const uint32_t lengths[] = {1, 16};
    for (unsigned i = 0; i < 8; i++) {
        uint64_t best = UINT64_MAX;
        for (int n = 0; n < 3000; n++) {
            follow_piece(names[i / 2], lengths[i % 2]);
            best = ticks < best ? ticks : best;
        }
        printf("%s, %u followed: %llu ns\n", names[i / 2], lengths[i % 2],
               (unsigned long long)best);
    }
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
#ifdef __SANITIZE_THREAD__
    bool alone = false; /* its signal handlers come before ours */
#else
    bool alone = valgrind_request(VALGRIND_RUNNING, 0, 0) == 0;
#endif
    if (!alone) {
        skip("instructions followed in handlers", "signals are not the processor's here");
        return done_testing();
    }
    clock_init(true);
    prepare();
    if (!values_codes_prepare())
        return 99;
    values_images_changed();
    values_follow_prepare(0);
    try_all("vp-classic");
    if (argc > 1)
        return measure();
    for (uint32_t i = 0; i < VALUES_SLOTS; i++)
        atomic_store(&values_table.slots[i], 0); /* the other plug-in's answers */
    try_known();
    ok(values_compared > 1000, "values were compared: %u", values_compared);
    return done_testing();
}
