/* SPDX-License-Identifier: BSD-3-Clause
 * A sample of values in its signal handler: finds the frame and the registers, lets the program
 * execute some instructions itself (by the trap flag), and handles faults in what is executed for
 * it. */
#include "preload/values/values.h"

#if defined(__x86_64__)

#include "base/sys.h"
#include "preload/count/sampling.h"
#include "preload/process.h"
#include "preload/stack/own_stack.h"
#include "preload/stack/with_room.h"
#include "preload/thread.h"
#include "preload/values/values_code.h"
#include "preload/values/values_follow.h"

#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100
#define PARTS_WE_KNOW UINT64_C(0xe7) /* components of xsave: x87, SSE, AVX, AVX-512 */
#define KERNEL_FRAME 1536u           /* bytes of a signal frame without vector state */

/* --- the interrupted registers ---------------------------------------------------------------- */

static const uint8_t places[17] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                   REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                   REG_R12, REG_R13, REG_R14, REG_R15, REG_EFL};

static void take_registers(struct values_thread *v, const ucontext_t *uc)
{
    for (unsigned i = 0; i < 17; i++)
        v->regs.r[i] = (uint64_t)uc->uc_mcontext.gregs[places[i]];
    v->regs.rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
}

static void give_registers(const struct values_thread *v, ucontext_t *uc)
{
    for (unsigned i = 0; i < 17; i++)
        uc->uc_mcontext.gregs[places[i]] = (greg_t)v->regs.r[i];
    uc->uc_mcontext.gregs[REG_RIP] = (greg_t)v->regs.rip;
}

/* Finds the frame, and what of the vector state is in it (bits/sigcontext.h). Returns false if
 * there is no room below us for a fault's frame, or if we are not below the frame. */
static bool take_frame(struct values_thread *v, const ucontext_t *uc)
{
    uint8_t *vectors = (uint8_t *)uc->uc_mcontext.fpregs;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), frame = (uintptr_t)uc;
    struct _fpx_sw_bytes head = {0};
    uint32_t area = VALUES_LEGACY_BYTES;
    v->vectors = NULL;
    v->components = 0;
    if (vectors != NULL)
        memcpy(&head, vectors + VALUES_LEGACY_BYTES - sizeof head, sizeof head);
    if (head.magic1 == FP_XSTATE_MAGIC1 && ((uintptr_t)vectors & 63) == 0) {
        area = head.extended_size;
        v->vectors = vectors;
        v->components = head.xstate_bv & PARTS_WE_KNOW;
    }
    /* If these are blocked, a fault of ours would kill the process. */
    uint64_t mask, needed = sys_fault_signals();
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    if ((mask & needed) != 0)
        return false;
    uintptr_t need = VALUES_STACK_NEED + KERNEL_FRAME + area, low = (uintptr_t)uc->uc_stack.ss_sp;
    v->frame_low = here - need;
    v->frame_high = (vectors != NULL ? (uintptr_t)vectors + area : frame + sizeof *uc) + 64;
    if (here > frame || frame - here > VALUES_STACK_NEED + KERNEL_FRAME)
        return false;
    uintptr_t own_low, own_high;
    if (here - low < uc->uc_stack.ss_size) /* on the alternate stack */
        return here - low > need;
    return !thread_stack_bounds(&own_low, &own_high) || here - own_low >= own_high - own_low ||
           here - own_low > need;
}

/* --- following, and single steps -------------------------------------------------------------- */

void values_block_others(sigset_t *mask)
{
    uint64_t others = ~sys_raised_signals();
    if (values_are_captured)
        memcpy(mask, &others, sizeof others);
}

static bool is_fault(int signo)
{
    return values_are_captured && signo != SIGTRAP &&
           (sys_raised_signals() & sys_signal_bit(signo)) != 0;
}

bool values_wants_signal(int signo)
{
    return is_fault(signo) || (values_are_captured && signo == SIGTRAP);
}

/* Lets the program execute the next instruction in place, with nothing in between. */
static bool begin_step(struct values_thread *v, ucontext_t *uc)
{
    uint64_t mask, all = ~sys_raised_signals();
    uint8_t below;
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    /* The trap is delivered on the program's stack. */
    if (!values_read(v, v->regs.r[4] - (v->frame_high - v->frame_low), &below, 1) ||
        (mask & sys_signal_bit(SIGTRAP)) != 0 || (v->regs.r[16] & TRAP_FLAG) != 0 || v->held)
        return false;
    v->mask = mask;
    v->stepping = true;
    memcpy(&uc->uc_sigmask, &all, sizeof all);
    uc->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    return true;
}

static void end_step(struct values_thread *v, ucontext_t *uc)
{
    v->stepping = false;
    uc->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    memcpy(&uc->uc_sigmask, &v->mask, sizeof v->mask);
}

/* Returns true if a step follows. */
static bool go_on(struct values_thread *v, ucontext_t *uc)
{
    uint32_t before = v->left;
    v->end = values_follow(v);
    v->followed += before - v->left;
    give_registers(v, uc);
    if (v->end == END_STEP && begin_step(v, uc)) {
        sampling_values_halt(recorder_self.preload_thread);
        return true;
    }
    run_with_room(uc, values_record, v);
    return false;
}

/* Clears the state of an earlier sample: nothing in the frame remains to be undone. */
static void reset(struct values_thread *v)
{
    v->is_live = v->is_dirty = v->held = v->stepping = v->executing = false;
    v->last_x87 = v->earlier_x87 = NULL;
}

bool values_hit(struct preload_thread *pt, const void *context, uint32_t weight)
{
    ucontext_t *uc = (ucontext_t *)(uintptr_t)context;
    struct values_thread *v = values_state(pt);
    if (v == NULL)
        return false;
    uint64_t factor = pt->sampling.samplers[SAMPLE_VALUES].sampler.factor;
    v->skipped = weight - (uint32_t)((weight + factor - 1) / factor);
    reset(v);
    take_registers(v, uc);
    v->begin_address = v->regs.rip;
    v->begin_stack = v->regs.r[4];
    v->periods = weight;
    v->captured = v->followed = 0;
    v->left = (uint32_t)process.options.number[OPT_values_follow];
    v->end = END_BUSY;
    if (recorder_self.in_toolkit != 0 || values_is_own(v->regs.rip) || !take_frame(v, uc)) {
        run_with_room(uc, values_record, v);
        return false;
    }
    return go_on(v, uc);
}

bool values_trapped(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    struct preload_thread *pt = recorder_self.preload_thread;
    ucontext_t *uc = context;
    struct values_thread *v = pt != NULL ? pt->values : NULL;
    if (v == NULL || !v->stepping || info->si_code <= 0 || info->si_code == SI_KERNEL ||
        (uc->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG) == 0)
        return false;
    end_step(v, uc);
    take_registers(v, uc);
    bool more = false;
    if (take_frame(v, uc)) {
        values_stepped(v);
        v->followed++;
        more = go_on(v, uc);
    } else {
        v->end = END_DONE;
        run_with_room(uc, values_record, v);
    }
    if (!more)
        sampling_values_end(pt);
    return true;
}

/* --- faults ----------------------------------------------------------------------------------- */

/* Sends the signal again: a process or thread sent it to the program, and it must find the program
 * in its state after our handler. */
static bool put_off(struct values_thread *v, int signo, siginfo_t *info, ucontext_t *uc)
{
    if (!v->following)
        return false;
    v->held = true;
    (void)sigaddset(&uc->uc_sigmask, signo);
    (void)sys_call6(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), signo, (long)info, 0, 0);
    return true;
}

static bool undo(struct values_thread *v, ucontext_t *uc)
{
    greg_t *r = uc->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)r[REG_RIP];
    if (at >= (uintptr_t)values_guarded && at < (uintptr_t)values_guarded_end) {
        r[REG_RIP] = (greg_t)(uintptr_t)values_guarded_failed;
        return true;
    }
    const struct values_code *c = v->code;
    if (c == NULL || c->thunk == NULL || at - (uintptr_t)c->thunk >= VALUES_THUNK_BYTES)
        return false;
    for (unsigned i = 0; c->is_exact && i < 17; i++)
        if (places[i] != REG_RSP)
            v->regs.r[i] = (uint64_t)r[places[i]];
    r[REG_RSP] = (greg_t)v->regs.own_stack;
    r[REG_RIP] = (greg_t)(uintptr_t)values_run_failed;
    return true;
}

bool values_faulted(int signo, siginfo_t *info, void *context)
{
    struct preload_thread *pt = recorder_self.preload_thread;
    struct values_thread *v = pt != NULL ? pt->values : NULL;
    if (RT_LIKELY(v == NULL) || !is_fault(signo))
        return false;
    if (info->si_code <= 0)
        return put_off(v, signo, info, context);
    if (v->executing)
        return undo(v, context);
    if (!v->stepping)
        return false;
    /* Let the program fault itself, under its own mask. */
    end_step(v, context);
    v->end = END_STOP;
    run_with_room(context, values_record, v);
    sampling_values_end(pt);
    return true;
}

#else

bool values_hit(struct preload_thread *pt, const void *context, uint32_t weight)
{
    (void)pt;
    (void)context;
    (void)weight;
    return false;
}

void values_block_others(sigset_t *mask)
{
    (void)mask;
}

#endif
