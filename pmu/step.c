/* SPDX-License-Identifier: BSD-3-Clause
 * Counts by the trap flag (x86-64): exact, and slow.
 *
 * Before each instruction the handler looks at the next one. An instruction that would lose or show
 * the trap flag, or would not trap by itself, is emulated or executed in a slot (step_x86_64.S).
 * SIGTRAP must not be blocked while the flag is set: the kernel would kill the process. So
 * rt_sigprocmask is emulated on the saved mask. */
#include "pmu/backend.h"
#include "pmu/step_decode.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define RESUME_FLAG 0x10000u
/* flags that popf changes in user mode, without the trap flag */
#define POPF_SETS UINT64_C(0x244cd5)
#define SLOT_BYTES 8u
#define SLOT_SYSCALL 40u
#define SLOT_INT_80 41u
#define NEVER_BLOCKED (STEP_TRAP_BIT | sys_signal_bit(SIGKILL) | sys_signal_bit(SIGSTOP))

extern const unsigned char pmu_step_slots[], pmu_step_slots_end[];

static uintptr_t own_from, own_to, entries_from, entries_to;

void pmu_step_own_text(uintptr_t from, uintptr_t to)
{
    own_from = from;
    own_to = to;
}

void pmu_step_entries(uintptr_t from, uintptr_t to)
{
    entries_from = from;
    entries_to = to;
}

static struct pmu_places places;

void pmu_step_places(struct pmu_places p)
{
    places = p;
}

static bool is_place(uintptr_t ip)
{
    return places.is_there != NULL && places.is_there(ip);
}

static bool is_copy(uintptr_t ip)
{
    return places.is_copy != NULL && places.is_copy(ip);
}

static bool is_own(uintptr_t ip)
{
    return ip >= own_from && ip < own_to;
}

static bool is_slot(uintptr_t ip)
{
    return ip >= (uintptr_t)pmu_step_slots && ip < (uintptr_t)pmu_step_slots_end;
}

static bool flag_is_set(const ucontext_t *uc)
{
    return (step_reg(uc, REG_EFL) & STEP_TRAP_FLAG) != 0;
}

static void set_flag(ucontext_t *uc, bool on)
{
    uint64_t flags = step_reg(uc, REG_EFL) & ~(uint64_t)STEP_TRAP_FLAG;
    step_set_reg(uc, REG_EFL, on ? flags | STEP_TRAP_FLAG : flags);
}

/* Sets s->counts: does the instruction at ip belong to the program? Maintains s->bound. */
static void place(struct pmu_step *s, uintptr_t ip, uintptr_t sp)
{
    if (is_own(ip)) {
        if (sp > s->bound || s->bound == 0)
            s->bound = sp;
        s->counts = false;
        return;
    }
    /* The thread has left our text by a return, or by a jump to the function that the program
     * called. */
    if (s->bound != 0 && (sp >= s->bound || s->program))
        s->bound = 0;
    s->program = false;
    s->counts = s->bound == 0;
}

/* --- emulation -------------------------------------------------------------------------------- */

static void skip(ucontext_t *uc, unsigned length)
{
    step_set_reg(uc, REG_RIP, step_reg(uc, REG_RIP) + length);
}

/* Returns the caller's word that holds whether the program blocks SIGTRAP, or NULL if s->blocked
 * holds it. The caller of pmu_step_places() holds it for system calls of the program itself. */
static uint64_t *hidden_mask(const struct pmu_step *s)
{
    return places.hidden != NULL && s->counts ? places.hidden() : NULL;
}

static void set_blocked(struct pmu_step *s, bool blocked)
{
    uint64_t *hidden = hidden_mask(s);
    if (hidden == NULL) {
        s->blocked = blocked;
        return;
    }
    bool before = (*hidden & STEP_TRAP_BIT) != 0;
    *hidden = (*hidden & ~STEP_TRAP_BIT) | (blocked ? STEP_TRAP_BIT : 0);
    if (before && !blocked)
        places.unblocked();
}

static long new_mask(struct pmu_step *s, ucontext_t *uc)
{
    uint64_t mask, set, shown;
    const uint64_t *hidden = hidden_mask(s);
    bool blocked = hidden != NULL ? (*hidden & STEP_TRAP_BIT) != 0 : s->blocked;
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    shown = mask | (blocked ? STEP_TRAP_BIT : 0);
    if (step_reg(uc, REG_R10) != sizeof mask)
        return -EINVAL;
    if (step_reg(uc, REG_RSI) != 0) {
        if (!step_copy(SYS_process_vm_readv, step_reg(uc, REG_RSI), &set, sizeof set))
            return -EFAULT;
        switch ((int)step_reg(uc, REG_RDI)) {
        case SIG_BLOCK: mask = shown | set; break;
        case SIG_UNBLOCK: mask = shown & ~set; break;
        case SIG_SETMASK: mask = set; break;
        default: return -EINVAL;
        }
        set_blocked(s, (mask & STEP_TRAP_BIT) != 0);
        mask &= ~NEVER_BLOCKED;
        memcpy(&uc->uc_sigmask, &mask, sizeof mask);
    }
    if (step_reg(uc, REG_RDX) != 0 &&
        !step_copy(SYS_process_vm_writev, step_reg(uc, REG_RDX), &shown, sizeof shown))
        return -EFAULT;
    return 0;
}

static void emulate_mask(struct pmu_step *s, ucontext_t *uc)
{
    step_set_reg(uc, REG_RAX, (uint64_t)new_mask(s, uc));
    skip(uc, 2);
    step_set_reg(uc, REG_RCX, step_reg(uc, REG_RIP));
    step_set_reg(uc, REG_R11, step_reg(uc, REG_EFL) & ~(uint64_t)(STEP_TRAP_FLAG | RESUME_FLAG));
    step_send_withheld(s);
}

/* Returns false if the stack is not accessible: the instruction then faults by itself. */
static bool emulate_flags(ucontext_t *uc, const struct step_instruction *i)
{
    uint64_t flags = step_reg(uc, REG_EFL), value = 0;
    size_t n = i->narrow ? 2 : 8;
    if (i->kind == STEP_PUSHF) {
        value = flags & ~(uint64_t)(STEP_TRAP_FLAG | RESUME_FLAG);
        if (!step_copy(SYS_process_vm_writev, step_reg(uc, REG_RSP) - n, &value, n))
            return false;
        step_set_reg(uc, REG_RSP, step_reg(uc, REG_RSP) - n);
    } else {
        if (!step_copy(SYS_process_vm_readv, step_reg(uc, REG_RSP), &value, n))
            return false;
        uint64_t sets = i->narrow ? POPF_SETS & 0xffff : POPF_SETS;
        step_set_reg(uc, REG_EFL, (flags & ~sets) | (value & sets));
        step_set_reg(uc, REG_RSP, step_reg(uc, REG_RSP) + n);
    }
    skip(uc, i->length);
    return true;
}

static void use_slot(struct pmu_step *s, ucontext_t *uc, const struct step_instruction *i)
{
    s->slot = (uintptr_t)pmu_step_slots + SLOT_BYTES * i->slot;
    s->length = i->length;
    step_set_reg(uc, REG_RIP, s->slot);
    set_flag(uc, false);
}

/* May the call create a child, or does it end a handler? Such a call is not moved to a slot. */
static bool is_special(const struct step_instruction *i, uint64_t call)
{
    enum { IA32_FORK = 2, IA32_SIGRETURN = 119, IA32_CLONE, IA32_RT_SIGRETURN = 173 };
    enum { IA32_VFORK = 190, IA32_CLONE3 = 435 };
    if (i->kind == STEP_INT_80)
        return call == IA32_FORK || call == IA32_SIGRETURN || call == IA32_CLONE ||
               call == IA32_RT_SIGRETURN || call == IA32_VFORK || call == IA32_CLONE3;
    return call == SYS_clone || call == SYS_clone3 || call == SYS_vfork || call == SYS_fork ||
           call == SYS_rt_sigreturn;
}

/* Returns true if the call was emulated. Otherwise the next trap comes after the instruction that
 * follows the call. So the call runs in a slot, with a trap of its own, if a count ends between the
 * two, if the stepper must look at that instruction, or if it may use r11, which then holds our
 * trap flag. */
static bool before_call(struct pmu_step *s, ucontext_t *uc, struct step_instruction *i)
{
    uint64_t call = step_reg(uc, REG_RAX);
    bool fast = i->kind == STEP_SYSCALL;
    if (call == SYS_rt_sigprocmask && fast) {
        emulate_mask(s, uc);
        return true;
    }
    if (!fast || call == SYS_munmap || call == SYS_mprotect || call == SYS_mremap ||
        call == SYS_mmap)
        memset(s->pages, 0, sizeof s->pages);
    bool copied = is_copy(s->at); /* the code after it is not the program's */
    s->under_way = copied ? 1 : 2;
    if (is_special(i, call)) {
        s->cloning = !fast || call != SYS_rt_sigreturn;
        return false;
    }
    struct step_instruction next = step_decode(s, s->at + i->length);
    bool look = copied || next.kind != STEP_PLAIN || (fast && next.wide_set);
    if (s->counts && (look || s->wake - s->count == 1)) {
        i->slot = fast ? SLOT_SYSCALL : SLOT_INT_80;
        s->under_way = 1;
        use_slot(s, uc, i);
    }
    return false;
}

/* Emulates a load of ss with the selector that ss holds already, as programs do, and returns true.
 * A load of another selector traps together with the next instruction. */
static bool load_ss(struct pmu_step *s, ucontext_t *uc, struct step_instruction *i)
{
    uint16_t selector;
    if (step_new_ss(s, uc, i, &selector) && selector == step_reg(uc, REG_CSGSFS) >> 48) {
        skip(uc, i->length);
        return true;
    }
    s->under_way = 2;
    return false;
}

/* Returns true if the instruction was emulated. Of these kinds our own text has system calls
 * only. */
static bool before(struct pmu_step *s, ucontext_t *uc, struct step_instruction *i)
{
    if (i->kind == STEP_SYSCALL || i->kind == STEP_INT_80)
        return before_call(s, uc, i);
    if (i->kind == STEP_PLAIN || is_own(s->at))
        return false;
    if (i->kind == STEP_PUSHF || i->kind == STEP_POPF)
        return emulate_flags(uc, i);
    if (i->kind == STEP_MOV_SS)
        return load_ss(s, uc, i);
    if (i->kind == STEP_STRING) {
        s->repeats = i->slot == STEP_NO_SLOT;
        if (!s->repeats)
            use_slot(s, uc, i);
    }
    return false;
}

/* Returns the next instruction. Follows the jumps in a copy: they are ours, not the program's. */
static struct step_instruction leave_copy(struct pmu_step *s, ucontext_t *uc)
{
    struct step_instruction i = step_decode(s, step_reg(uc, REG_RIP));
    while (i.jumps && is_copy(step_reg(uc, REG_RIP))) {
        step_set_reg(uc, REG_RIP, step_jump_target(step_reg(uc, REG_RIP)));
        i = step_decode(s, step_reg(uc, REG_RIP));
    }
    return i;
}

static struct step_instruction next_of(struct pmu_step *s, ucontext_t *uc)
{
    struct step_instruction i = leave_copy(s, uc);
    place(s, step_reg(uc, REG_RIP), step_reg(uc, REG_RSP));
    s->at = step_reg(uc, REG_RIP);
    s->flags = step_reg(uc, REG_EFL);
    s->slot = 0;
    s->repeats = false;
    s->under_way = 1;
    return i;
}

/* Moves the thread from a place to its copy. If the copy begins with a jump, executes it and
 * returns true. */
static bool enter_copy(struct pmu_step *s, ucontext_t *uc, struct step_instruction *i)
{
    s->passed = 0;
    places.go_on(uc);
    s->at = step_reg(uc, REG_RIP);
    *i = step_decode(s, s->at);
    if (i->jumps)
        step_set_reg(uc, REG_RIP, step_jump_target(s->at));
    return i->jumps;
}

/* Moves a thread that is no longer stepped from a place to its copy, if the alarms of the place
 * have fired. */
static void leave_place(struct pmu_step *s, ucontext_t *uc)
{
    if (s->passed != 0 && s->passed == step_reg(uc, REG_RIP))
        places.go_on(uc);
    s->passed = 0;
}

/* Prepares the thread for the next instruction. */
static enum pmu_trap look(struct pmu_step *s, ucontext_t *uc)
{
    for (;; s->count += s->counts) {
        struct step_instruction i = next_of(s, uc);
        if (s->count >= s->wake) {
            s->wake = PMU_NEVER;
            s->handling = true;
            return PMU_TRAP_DUE;
        }
        set_flag(uc, true);
        if (i.kind == STEP_INT3 && is_place(s->at)) {
            if (s->passed != s->at) {
                s->passed = s->at;
                s->handling = true;
                return PMU_TRAP_PLACE;
            }
            if (enter_copy(s, uc, &i))
                continue;
        }
        s->length = i.length;
        if (!before(s, uc, &i))
            return PMU_TRAP_DONE;
    }
}

/* --- traps and other signals ------------------------------------------------------------------ */

/* Moves the thread from the slot to its place in the program. Has the instruction executed? */
static bool leave_slot(struct pmu_step *s, ucontext_t *uc)
{
    bool done = step_reg(uc, REG_RIP) > s->slot;
    step_set_reg(uc, REG_RIP, done ? s->at + s->length : s->at);
    if (s->slot == (uintptr_t)pmu_step_slots + SLOT_BYTES * SLOT_SYSCALL &&
        step_reg(uc, REG_RCX) == s->slot + 2) {
        step_set_reg(uc, REG_RCX, s->at + s->length);
        done = true;
    }
    s->slot = 0;
    set_flag(uc, true);
    return done;
}

/* Removes our trap flag from r11, where the kernel leaves the flags. */
static void clean_r11(const struct pmu_step *s, ucontext_t *uc)
{
    uint64_t r11 = step_reg(uc, REG_R11);
    if (s->under_way == 2 && ((r11 ^ s->flags) & ~(uint64_t)RESUME_FLAG) == 0)
        step_set_reg(uc, REG_R11, r11 & ~(uint64_t)STEP_TRAP_FLAG);
}

/* The kernel reads the cause from DR6, which hypervisors lose now and then. A step without a known
 * cause arrives as TRAP_BRKPT, as icebp (0xf1) does. */
static bool is_step(const struct pmu_step *s, const siginfo_t *info, const ucontext_t *uc)
{
    uint8_t first = 0;
    if (info->si_code != TRAP_BRKPT || !s->on || !flag_is_set(uc))
        return info->si_code == TRAP_TRACE;
    if (step_reg(uc, REG_RIP) == s->at + 1)
        (void)sys_read_self(s->at, &first, 1);
    return first != 0xf1;
}

enum pmu_trap pmu_step_trap(struct pmu_thread *t, const siginfo_t *info, void *context)
{
    struct pmu_step *s = &t->step;
    ucontext_t *uc = context;
    uintptr_t ip = step_reg(uc, REG_RIP);
    /* Stepping may have ended while the thread waited in a system call in a slot. */
    if (s->slot != 0 && info->si_code == SI_KERNEL && is_slot(ip)) {
        (void)leave_slot(s, uc);
        s->count += s->on && s->counts;
        set_flag(uc, s->on);
        return s->on ? look(s, uc) : PMU_TRAP_DONE;
    }
    if (!is_step(s, info, uc))
        return PMU_TRAP_FOREIGN;
    if (s->cloning && s->kernel_tid != (uint32_t)sys_gettid()) {
        set_flag(uc, false); /* a child that shares our memory: do not step it */
        return PMU_TRAP_DONE;
    }
    s->cloning = false;
    if (!s->on) {
        set_flag(uc, false);
        return PMU_TRAP_DONE;
    }
    if (!flag_is_set(uc) && is_own(ip)) /* pmu_stop() has cleared the flag */
        return PMU_TRAP_DONE;
    clean_r11(s, uc);
    if (s->counts && !(s->repeats && ip == s->at))
        s->count += s->under_way;
    if (s->counts && ip >= entries_from && ip < entries_to && s->count < s->wake) {
        place(s, ip, step_reg(uc, REG_RSP)); /* the program calls us, or returns into us */
        s->entered = true;
        set_flag(uc, false);
        return PMU_TRAP_DONE;
    }
    return look(s, uc);
}

enum pmu_trap pmu_step_go_on(struct pmu_thread *t, void *context)
{
    t->step.handling = false;
    if (t->step.on)
        return look(&t->step, context);
    leave_place(&t->step, context);
    set_flag(context, false);
    return PMU_TRAP_DONE;
}

/* Returns whether a system call that did not trap by itself executed before this trap. */
static bool has_called(const struct pmu_step *s, const ucontext_t *uc)
{
    uintptr_t after = s->at + s->length;
    return s->under_way == 2 && (step_reg(uc, REG_RIP) == after || step_reg(uc, REG_RCX) == after);
}

bool pmu_step_is_on(const struct pmu_thread *t, const void *context)
{
    return t->step.on && flag_is_set(context);
}

enum pmu_trap pmu_step_at_place(struct pmu_thread *t, void *context)
{
    struct pmu_step *s = &t->step;
    clean_r11(s, context);
    s->count += has_called(s, context) && s->counts;
    return look(s, context);
}

enum pmu_trap pmu_step_over_int3(struct pmu_thread *t, void *context)
{
    t->step.handling = false;
    t->step.count += t->step.counts;
    return look(&t->step, context);
}

struct pmu_inside pmu_step_settle(struct pmu_thread *t, void *context)
{
    struct pmu_step *s = &t->step;
    ucontext_t *uc = context;
    if (s->slot != 0 && is_slot(step_reg(uc, REG_RIP))) {
        s->count += leave_slot(s, uc) && s->counts;
    } else if (s->on && flag_is_set(uc) && s->counts) {
        uintptr_t ip = step_reg(uc, REG_RIP);
        bool broke = s->under_way == 1 && ip == s->at + 1 && s->length <= 1; /* int3 */
        clean_r11(s, uc);
        s->count += has_called(s, uc) || broke;
    }
    if (s->on && flag_is_set(uc))
        (void)leave_copy(s, uc);
    struct pmu_inside inside = {.bound = s->bound,
                                .on = s->on && !flag_is_set(uc),
                                .handling = s->handling,
                                .entered = s->entered};
    s->under_way = 1;
    s->entered = false;
    s->counts = false;
    s->handling = true;
    return inside;
}

enum pmu_trap pmu_step_resume(struct pmu_thread *t, void *context, struct pmu_inside inside)
{
    struct pmu_step *s = &t->step;
    s->bound = inside.bound;
    s->program = false;
    s->handling = inside.handling;
    s->entered = inside.entered;
    if (!s->on)
        set_flag(context, false);
    if (!s->on || inside.on) { /* stepping was off before and stays off */
        leave_place(s, context);
        return PMU_TRAP_DONE;
    }
    (void)sigdelset(&((ucontext_t *)context)->uc_sigmask, SIGTRAP);
    return look(s, context);
}
