/* SPDX-License-Identifier: BSD-3-Clause
 * Places that are reached by a jump: the code that counts executions and calls us, and the call.
 *
 * A block of code stands before the copy of the displaced instructions. Where one alarm stands at the place, it counts down by
 * itself (controller.h, "The hot path"): a decrement and two branches, with two registers and the flags saved and nothing below the
 * red zone touched. All else, and what comes to zero, goes through probe_stub, which saves what a call may change. The stack is as deep
 * as the call; return addresses are those of calls, so the processor's own stack of them stays right.
 *
 * Encodings: Intel's manual, volume 2. The red zone: psABI x86-64, 3.2.2. */
#include "preload/probes.h"

#include "preload/probe_fast.h"
#include "preload/probe_sites.h"

#if defined(__x86_64__)

#include "base/sys.h"
#include "preload/counting.h"
#include "preload/interpose.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define SITES_MAX (PROBE_NUMBER_MASK + 1)

struct probe_numbered *probe_numbered;
static uint32_t number_count;

/* What probe_stub pushes; then the address in the block, and its number. */
struct registers {
    uint64_t rbp, rbx, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax, flags, back, number;
};

void probe_jumped(struct registers *r) __attribute__((visibility("hidden"), used));
void probe_stub(void) __attribute__((visibility("hidden")));

__asm__(".pushsection .text\n"
        ".globl probe_stub\n"
        ".hidden probe_stub\n"
        ".type probe_stub, @function\n"
        "probe_stub:\n"
        ".cfi_startproc\n"
        "	pushfq\n"
        "	cld\n"
        "	push %rax\n"
        "	push %rcx\n"
        "	push %rdx\n"
        "	push %rsi\n"
        "	push %rdi\n"
        "	push %r8\n"
        "	push %r9\n"
        "	push %r10\n"
        "	push %r11\n"
        "	push %rbx\n"
        "	push %rbp\n"
        "	.cfi_adjust_cfa_offset 96\n"
        "	.cfi_rel_offset %rbx, 8\n"
        "	.cfi_rel_offset %rbp, 0\n"
        "	mov %rsp, %rbx\n"
        "	.cfi_def_cfa_register %rbx\n"
        "	sub $2752, %rsp\n" /* what is saved ends at 2688 at most */
        "	and $-64, %rsp\n"
        "	xor %eax, %eax\n"
        "	mov %rax, 512(%rsp)\n"
        "	mov %rax, 520(%rsp)\n"
        "	mov %rax, 528(%rsp)\n"
        "	mov %rax, 536(%rsp)\n"
        "	mov %rax, 544(%rsp)\n"
        "	mov %rax, 552(%rsp)\n"
        "	mov %rax, 560(%rsp)\n"
        "	mov %rax, 568(%rsp)\n"
        "	mov $0xe7, %eax\n" /* x87, SSE, AVX, AVX-512: what compiled code may change */
        "	xor %edx, %edx\n"
        "	xsave64 (%rsp)\n"
        "	mov %rbx, %rdi\n"
        "	call probe_jumped\n"
        "	mov $0xe7, %eax\n"
        "	xor %edx, %edx\n"
        "	xrstor64 (%rsp)\n"
        "	mov %rbx, %rsp\n"
        "	.cfi_def_cfa_register %rsp\n"
        "	pop %rbp\n"
        "	pop %rbx\n"
        "	pop %r11\n"
        "	pop %r10\n"
        "	pop %r9\n"
        "	pop %r8\n"
        "	pop %rdi\n"
        "	pop %rsi\n"
        "	pop %rdx\n"
        "	pop %rcx\n"
        "	pop %rax\n"
        "	popfq\n"
        "	.cfi_adjust_cfa_offset -96\n"
        "	.cfi_restore %rbx\n"
        "	.cfi_restore %rbp\n"
        "	ret\n"
        ".cfi_endproc\n"
        ".size probe_stub, . - probe_stub\n"
        ".popsection\n");

#if PROBE_HAS_FAST
void probe_entered_stub(void) __attribute__((visibility("hidden")));
void probe_returned_stub(void) __attribute__((visibility("hidden")));
void probe_exit_entered_stub(void) __attribute__((visibility("hidden")));
void probe_exit_returned_stub(void) __attribute__((visibility("hidden")));

/* Flags as lahf and seto have them: what compiled code may look at. The long way begins with everything as it was. */
#define FAST_STUB(name, function)                                                                  \
    __asm__(".pushsection .text\n"                                                                 \
            ".globl " name "\n"                                                                    \
            ".hidden " name "\n"                                                                   \
            ".type " name ", @function\n" name ":\n"                                               \
            ".cfi_startproc\n"                                                                     \
            "	push %rax\n"                                                                         \
            "	lahf\n"                                                                              \
            "	seto %al\n"                                                                          \
            "	push %rax\n"                                                                         \
            "	push %rdi\n"                                                                         \
            "	.cfi_adjust_cfa_offset 24\n"                                                         \
            "	mov %rsp, %rdi\n"                                                                    \
            "	call " function "\n"                                                               \
            "	test %al, %al\n"                                                                     \
            "	pop %rdi\n"                                                                          \
            "	pop %rax\n"                                                                          \
            "	jne 1f\n"                                                                            \
            "	add $0x7f, %al\n"                                                                    \
            "	sahf\n"                                                                              \
            "	pop %rax\n"                                                                          \
            "	.cfi_adjust_cfa_offset -24\n"                                                        \
            "	ret\n"                                                                               \
            "1:\n"                                                                                 \
            "	.cfi_adjust_cfa_offset 8\n"                                                          \
            "	add $0x7f, %al\n"                                                                    \
            "	sahf\n"                                                                              \
            "	pop %rax\n"                                                                          \
            "	.cfi_adjust_cfa_offset -8\n"                                                         \
            "	jmp probe_stub\n"                                                                    \
            ".cfi_endproc\n"                                                                       \
            ".size " name ", . - " name "\n"                                                       \
            ".popsection\n")

FAST_STUB("probe_entered_stub", "probe_fast_entered");
FAST_STUB("probe_returned_stub", "probe_fast_returned");
FAST_STUB("probe_exit_entered_stub", "probe_fast_exit_entered");
FAST_STUB("probe_exit_returned_stub", "probe_fast_exit_returned");
#endif

bool probe_jump_prepare(void)
{
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0)
        return false;
    void *p = mmap(NULL, SITES_MAX * sizeof *probe_numbered, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    probe_numbered = p != MAP_FAILED ? p : NULL;
    return probe_numbered != NULL;
}

/* --- the code of a place ---------------------------------------------------------------------------------------------- */

struct code {
    uint8_t *at;
};

static void put(struct code *c, const void *bytes, size_t n)
{
    memcpy(c->at, bytes, n);
    c->at += n;
}
#define PUT(c, ...) put(c, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_32(struct code *c, int64_t value)
{
    int32_t v = (int32_t)value;
    put(c, &v, sizeof v);
}

/* A branch of this condition (the second byte of its opcode). */
static void put_branch(struct code *c, uint8_t condition, const uint8_t *target)
{
    put(c, (const uint8_t[]){0x0f, condition}, 2);
    put_32(c, target - (c->at + 4));
}

static int64_t thread_offset(const void *variable)
{
    return (const char *)variable - (const char *)__builtin_thread_pointer();
}

/* Below the red zone: the number, and the stub called. */
static void put_call(struct code *c, uint32_t number, const uint8_t *pointer)
{
    PUT(c, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea -0x80(%rsp),%rsp */
    PUT(c, 0x68);                         /* push $number */
    put_32(c, (int32_t)number);
    PUT(c, 0xff, 0x15); /* call *pointer(%rip) */
    put_32(c, pointer - (c->at + 4));
    PUT(c, 0x48, 0x8d, 0xa4, 0x24, 0x88, 0, 0, 0); /* lea 0x88(%rsp),%rsp */
}

/* What the counting has saved, back. */
static void put_restore(struct code *c)
{
    PUT(c, 0x59, 0x58, 0x04, 0x7f, 0x9e);          /* pop %rcx, %rax; add $0x7f,%al; sahf */
    PUT(c, 0x58);                                  /* pop %rax */
    PUT(c, 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0); /* lea 0x80(%rsp),%rsp */
}

/* Off the common path: everything back as it was, the call, then the copy, which begins at `copy`. */
static void put_aside(struct code *c, uint32_t number, const uint8_t *pointer, const uint8_t *copy)
{
    put_restore(c);
    put_call(c, number, pointer);
    PUT(c, 0xe9);
    put_32(c, copy - (c->at + 4));
}

/* One execution less. due: where to go where it has come to zero; slow: where a call must see to it. */
static void put_count(struct code *c, uint16_t alarm, const uint8_t *due, const uint8_t *slow)
{
    enum { JE = 0x84, JNE = 0x85, JLE = 0x8e };
    uint64_t epoch = (uint64_t)(uintptr_t)ctl_shared_epoch(process.shared);
    PUT(c, 0x48, 0x8d, 0x64, 0x24, 0x80); /* lea -0x80(%rsp),%rsp */
    PUT(c, 0x50, 0x9f, 0x0f, 0x90, 0xc0); /* push %rax; lahf; seto %al */
    PUT(c, 0x50, 0x51);                   /* push %rax, %rcx */
    PUT(c, 0x64, 0x48, 0x8b, 0x04, 0x25); /* mov %fs:automaton,%rax */
    put_32(c, thread_offset(&recorder_self.automaton));
    PUT(c, 0x48, 0x85, 0xc0); /* test %rax,%rax */
    put_branch(c, JE, slow);
    PUT(c, 0x64, 0x83, 0x3c, 0x25); /* cmpl $0,%fs:in_toolkit */
    put_32(c, thread_offset(&recorder_self.in_toolkit));
    PUT(c, 0);
    put_branch(c, JNE, slow);
    PUT(c, 0x48, 0xb9); /* movabs $epoch,%rcx */
    put(c, &epoch, sizeof epoch);
    PUT(c, 0x48, 0x8b, 0x09, 0x48, 0x3b, 0x08); /* mov (%rcx),%rcx; cmp (%rax),%rcx */
    put_branch(c, JNE, slow);
    PUT(c, 0x48, 0xff, 0x88); /* decq left(%rax) */
    put_32(c, (int64_t)ctl_left_offset(alarm));
    put_branch(c, JLE, due);
    put_restore(c);
}

/* Its alarm can be counted down by the code itself. */
static bool is_simple(const struct probe_site *first, unsigned rows)
{
    if (!probe_is_alarm(first))
        return false;
    const struct ctl_alarm *a = ctl_config_alarm(process.config, first->alarm);
    return rows == 1 && !a->global && a->type != CTL_EXIT_FUNC && a->type != CTL_MAGIC &&
           a->type != CTL_CPUID && !ctl_config_uses(process.config, CTL_EXIT_FUNC);
}

/* One exit_func alarm that each thread counts by itself. */
static bool is_simple_exit(const struct probe_site *first, unsigned rows)
{
    const struct ctl_alarm *a =
        rows == 1 && probe_is_alarm(first) ? ctl_config_alarm(process.config, first->alarm) : NULL;
    return a != NULL && a->type == CTL_EXIT_FUNC && !a->global &&
           (first->flags & ISA_SITE_CALL) == 0;
}

/* What the block calls, where it does not count: the fast way where functions begin, or return to, and nothing else is there. */
static void (*stub_of(const struct probe_site *first, unsigned rows))(void)
{
#if PROBE_HAS_FAST
    if (first->alarm == PROBE_ENTERED && first[rows - 1].alarm == PROBE_ENTERED &&
        (first->flags & ISA_SITE_CALL) == 0)
        return probe_entered_stub;
    if (first->alarm == PROBE_RETURNED)
        return probe_returned_stub;
    if (!probe_functions_wanted() && is_simple_exit(first, rows))
        return probe_exit_entered_stub;
    if (!probe_functions_wanted() && first->alarm == PROBE_EXITED &&
        first[rows - 1].alarm == PROBE_EXITED)
        return probe_exit_returned_stub;
#endif
    (void)first;
    (void)rows;
    return probe_stub;
}

static uint32_t number_of(const struct probe_site *first, unsigned rows)
{
    uint64_t left = is_simple_exit(first, rows) ? ctl_left_offset(first->alarm) : 0;
    uint32_t number = number_count++;
    probe_numbered[number].at = first->at;
    probe_numbered[number].left = left;
    probe_exits_epoch = ctl_shared_epoch(process.shared);
    return number | ((first->flags & ISA_SITE_CALL) != 0 ? PROBE_NUMBER_CALL : 0) |
           (first->behind != 0 ? PROBE_NUMBER_ENDBR : 0);
}

const uint8_t *probe_jump_code(uint8_t *block, const struct probe_site *first, unsigned rows)
{
    if (number_count == SITES_MAX)
        return NULL;
    uint32_t number = number_of(first, rows);
    uint8_t code[PROBE_BLOCK_BYTES], *copy = block + PROBE_BLOCK_BYTES;
    struct probe_block *head = (struct probe_block *)(void *)block;
    head->stub = stub_of(first, rows);
    struct code c = {code};
    if (is_simple(first, rows)) {
        struct code aside = {block + sizeof *head};
        uint8_t *due = aside.at;
        put_aside(&aside, number | PROBE_NUMBER_CLAIMED, block, copy);
        uint8_t *slow = aside.at;
        put_aside(&aside, number, block, copy);
        /* Twice: how long it is says where it begins. */
        put_count(&c, first->alarm, due, slow);
        c.at = copy - (c.at - code);
        uint8_t *entry = c.at;
        if (entry < aside.at)
            return NULL;
        put_count(&c, first->alarm, due, slow);
        return entry;
    }
    put_call(&c, number, block);
    c.at = copy - (c.at - code);
    uint8_t *entry = c.at;
    put_call(&c, number, block);
    return entry;
}

/* --- a thread comes ---------------------------------------------------------------------------------------------------- */

/* On a stack that is not the thread's own (for signals, of a coroutine) there may be too little room. */
static void run_here(struct probe_coming *c)
{
    enum { NOBODY_KNOWS = 4096 }; /* how much */
    ucontext_t context = {.uc_stack.ss_size = 0};
    if (!probe_stack_is_own(c->stack) &&
        (sys_call6(SYS_sigaltstack, 0, (long)&context.uc_stack, 0, 0, 0, 0) != 0 ||
         (context.uc_stack.ss_flags & SS_ONSTACK) == 0))
        context.uc_stack = (stack_t){.ss_sp = (char *)__builtin_frame_address(0) - NOBODY_KNOWS,
                                     .ss_size = SIZE_MAX};
    run_with_room(&context, probe_fire, c);
}

void probe_jumped(struct registers *r)
{
    int keep = errno;
    uint32_t number = (uint32_t)r->number;
    struct probe_coming c = {.all = probe_sites_now(),
                             .claimed = (number & PROBE_NUMBER_CLAIMED) != 0};
    uintptr_t at = probe_numbered[number & PROBE_NUMBER_MASK].at;
    c.first = probe_sites_find(c.all, at);
    if (c.first == NULL || probe_opens.inside || !process.traced || processes_vfork_depth != 0 ||
        recorder_self.in_toolkit != 0)
        return;
    struct sys_cancel cancel = sys_cancel_off();
    uint64_t mask =
        sys_block_signals(); /* as in a handler: what interrupts comes before or after */
    probe_opens.inside = true;
    c.place = *c.first;
    c.rax = r->rax;
    c.rbx = r->rbx;
    c.rcx = r->rcx;
    c.stack = (uintptr_t)(r + 1) + 128 + ((c.place.flags & ISA_SITE_CALL) != 0 ? 8 : 0);
    unsigned own = counting_own_begin_if(true);
    c.may_trap = (mask & sys_signal_bit(SIGTRAP)) == 0;
    run_here(&c);
    counting_own_end(own);
    probe_opens.inside = false;
    sys_restore_signals(mask);
    sys_cancel_on(cancel);
    errno = keep;
}

#else

bool probe_jump_prepare(void)
{
    return false;
}

const uint8_t *probe_jump_code(uint8_t *block, const struct probe_site *first, unsigned rows)
{
    (void)block;
    (void)first;
    (void)rows;
    return NULL;
}

#endif
