/* SPDX-License-Identifier: BSD-3-Clause
 * Implements t/preload/values/following.h: signal handlers that take over at the int3s on both ends
 * of a piece, and stand-ins for the rest of the library. */
#include "t/preload/values/following.h"

#include "base/clock.h"
#include "base/sys.h"
#include "preload/images/image_records.h"
#include "preload/life.h"
#include "preload/process.h"
#include "preload/stack/with_room.h"
#include "preload/valgrind.h"
#include "preload/values/values.h"
#include "preload/values/values_ask.h"
#include "preload/values/values_code.h"
#include "preload/values/values_follow.h"
#include "t/tap.h"

#include <cpuid.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define TRAP_FLAG 0x100
#define STATE_FLAGS 0xcd5 /* the arithmetic flags and the direction flag */

extern uint64_t counter;
extern const uint8_t entered[];
void enter(const struct state *s, uintptr_t piece, uint64_t *stack);

/* --- stand-ins for the rest of the library ---------------------------------------------------- */

struct process process;
bool values_are_captured;
__thread struct recorder_thread recorder_self;
static struct preload_thread own;
static struct values_thread *state_of_values;
struct values_captured captured[STEPS];
unsigned captured_count;
int context_wanted = VALUES_CONTEXT_NONE;

struct values_thread *values_state(struct preload_thread *pt)
{
    return pt->values = state_of_values;
}

void values_record(void *p)
{
    const struct values_thread *v = p;
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

/* --- execution -------------------------------------------------------------------------------- */

struct state before;
struct step steps[STEPS];
unsigned step_count;
const struct piece *piece;
static uint64_t stack;
static bool stepping; /* this test steps the piece natively */
uint32_t follow;
unsigned skip_first;
bool faults_end;
uint8_t *arena;
static unsigned faults;
static uint8_t alternate[1 << 16];
static const int order[17] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                              REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                              REG_R12, REG_R13, REG_R14, REG_R15, REG_EFL};
static struct state *result;
uint64_t sample_ticks;

struct xsave_part xsave_parts[PARTS] = {[PART_SSE] = {160, 256}};

unsigned vector_at(unsigned number, unsigned lane)
{
    if (number >= 16)
        return xsave_parts[PART_HIGH_ZMM].at + (number - 16) * 64 + lane * 8;
    return lane < 2   ? xsave_parts[PART_SSE].at + number * 16 + lane * 8
           : lane < 4 ? xsave_parts[PART_YMM].at + number * 16 + (lane - 2) * 8
                      : xsave_parts[PART_ZMM].at + number * 32 + (lane - 4) * 8;
}

static void find_parts(void)
{
    static const unsigned numbers[] = {PART_YMM, PART_MASKS, PART_ZMM, PART_HIGH_ZMM, PART_KEYS};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        unsigned bytes, at, c, d;
        if (__get_cpuid_count(0xd, numbers[i], &bytes, &at, &c, &d) != 0 && at + bytes <= AREA)
            xsave_parts[numbers[i]] = (struct xsave_part){at, bytes};
    }
}

/* Copies from a signal's frame the registers, and those components of the vector state that are in
 * use. Gaps between components, and components in their initial state, may hold anything in the
 * kernel's frame; they are 0 in the copy. */
static void take(const ucontext_t *uc, uint64_t r[17], uint8_t *vectors)
{
    const uint8_t *from = (const uint8_t *)uc->uc_mcontext.fpregs;
    uint64_t parts;
    memcpy(&parts, from + 512, sizeof parts);
    for (int i = 0; i < 17; i++)
        r[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
    r[16] &= STATE_FLAGS;
    memset(vectors, 0, AREA);
    memcpy(vectors + 24, from + 24, 8); /* MXCSR and its mask */
    if ((parts & 1) != 0) {
        memcpy(vectors, from, 24);
        memcpy(vectors + 32, from + 32, 128);
    }
    for (unsigned i = PART_SSE; i < PARTS; i++)
        if ((parts >> i & 1) != 0)
            memcpy(vectors + xsave_parts[i].at, from + xsave_parts[i].at, xsave_parts[i].bytes);
    /* PKRU uses 32 bits (Intel SDM 1, 13.5.7) of its 8 bytes, and some processors write only these
     * four bytes. */
    const struct xsave_part *keys = &xsave_parts[PART_KEYS];
    if (keys->bytes == 8)
        memset(vectors + keys->at + 4, 0, 4);
}

static void sample(ucontext_t *uc)
{
    process.options.number[OPT_values_follow] = follow;
    uint64_t began = clock_ticks();
    values_hit(&own, uc, 1);
    sample_ticks = clock_ticks() - began;
}

/* Takes the final state, and returns to enter()'s caller whatever the piece has done to its
 * registers. */
static void end_here(ucontext_t *uc)
{
    greg_t *r = uc->uc_mcontext.gregs;
    result->ended = (uint64_t)r[REG_RIP];
    take(uc, result->r, result->vectors);
    r[REG_RSP] = (greg_t)stack;
    r[REG_RIP] = (greg_t)(uintptr_t)entered;
    r[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    stepping = false;
}

static void trapped(int signo, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    greg_t *r = uc->uc_mcontext.gregs;
    (void)signo;
    if (values_trapped(SIGTRAP, info, context))
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
        end_here(uc);
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
    if (faults_end) {
        faults++;
        end_here(context);
        return;
    }
    if (at <= piece->from || at >= piece->to || (r[REG_EFL] & TRAP_FLAG) != 0)
        _exit(98);
    faults++;
    bool two = at[0] == 0xf3 || at[0] == 0xd8 || (at[0] == 0x0f && at[1] == 0x0b);
    r[REG_RIP] += at[0] == 0x48 && at[2] == 0x44 ? 5 : two ? 2 : 3;
    if (follow != 0)
        sample(context);
}

void execute(struct state *out)
{
    result = out;
    memcpy(arena, before.arena, ARENA);
    faults = 0;
    counter = 41;
    captured_count = 0;
    enter(&before, (uintptr_t)piece->from, &stack);
    memcpy(out->arena, arena, ARENA);
    out->faults = faults;
    out->counter = counter;
}

static uint64_t random_state = 88172645463325252ull;

void random_seed(uint64_t seed)
{
    random_state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

uint64_t random_word(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Fills `before`: vector registers with doubles of ordinary size, general registers with
 * anything. */
void make_state(void)
{
    memset(&before, 0, sizeof before);
    static const unsigned filled[] = {PART_SSE, PART_YMM, PART_ZMM, PART_HIGH_ZMM};
    uint64_t parts, known = 0xe7, enabled;
    __asm__ volatile("xsave64 %0"
                     : "+m"(before.vectors)
                     : "a"(known | 1u << PART_KEYS), "d"(0)
                     : "memory");
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    enabled = (low | (uint64_t)high << 32) & known;
    for (size_t i = 0; i < sizeof filled / sizeof *filled; i++)
        for (unsigned at = 0; at < xsave_parts[filled[i]].bytes; at += 8) {
            double d = (double)(int64_t)(random_word() >> 40) / 1024;
            if ((enabled >> filled[i] & 1) != 0)
                memcpy(before.vectors + xsave_parts[filled[i]].at + at, &d, sizeof d);
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

/* --- comparison ------------------------------------------------------------------------------- */

bool same_state(const struct state *a, const struct state *b)
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
    if (a->ended != b->ended) {
        diag("%s: it ended at +%lld, not +%lld", piece->name,
             (long long)(b->ended - (uintptr_t)piece->from),
             (long long)(a->ended - (uintptr_t)piece->from));
        same = false;
    }
    for (unsigned i = 0; i < ARENA; i++)
        if (a->arena[i] != b->arena[i])
            diag("%s: byte %u of memory is %x, not %x", piece->name, i, b->arena[i], a->arena[i]);
    if (memcmp(a->arena, b->arena, ARENA) != 0 || a->counter != b->counter ||
        a->faults != b->faults) {
        diag("%s: memory differs, or faults: %u, not %u", piece->name, b->faults, a->faults);
        same = false;
    }
    return same;
}

/* Defined in programs built with the thread sanitizer, whose signal handlers run before ours. These
 * files alone are built without it. */
extern void __tsan_init(void) __attribute__((weak)); /* NOLINT: its name */

bool following_is_possible(void)
{
    return __tsan_init == NULL && valgrind_request(VALGRIND_RUNNING, 0, 0) == 0;
}

bool following_prepare(uintptr_t at)
{
    find_parts();
    struct sigaction a = {.sa_flags = SA_SIGINFO};
    const stack_t s = {.ss_sp = alternate, .ss_size = sizeof alternate};
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    if (!following_is_possible())
        return false;
    clock_init(true);
    arena = mmap((void *)at, 2 * ARENA, PROT_READ | PROT_WRITE, /* NOLINT */
                 MAP_PRIVATE | MAP_ANONYMOUS | (at != 0 ? MAP_FIXED : 0), -1, 0);
    state_of_values = mmap(NULL, sizeof *state_of_values, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED || mprotect(arena + ARENA, ARENA, PROT_NONE) != 0 ||
        state_of_values == MAP_FAILED || !values_codes_prepare())
        exit(99);
    recorder_self.preload_thread = &own;
    own.sampling.samplers[SAMPLE_VALUES].sampler.factor = 1;
    values_are_captured = true;
    (void)sigaltstack(&s, NULL);
    values_block_others(&a.sa_mask);
    a.sa_sigaction = trapped;
    (void)sigaction(SIGTRAP, &a, NULL);
    (void)sigemptyset(&a.sa_mask);
    a.sa_flags |= SA_ONSTACK | SA_NODEFER;
    a.sa_sigaction = faulted;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaction(signals[i], &a, NULL);
    values_images_changed();
    values_follow_prepare(0);
    return true;
}
