/* SPDX-License-Identifier: BSD-3-Clause
 * Windows of memory traces: what clones record, and when the thread goes into them and out.
 *
 * Functions go to their clones as they are entered, where the thread's slot says so: while a stretch is open. When a window closes, and
 * when one opens, return addresses into clones are replaced on the thread's stack by those that the functions themselves would have:
 * whoever was in a clone goes on in the function. Where a signal has interrupted a clone, the thread is stepped out of what records there, and
 * goes on in the function as well. What a window finds a thread in goes on in a late clone (base/format/clone.h), and so does whoever called that. */
#include "preload/memory/memory.h"

#if defined(__x86_64__)

#include "base/format/clone.h"
#include "base/log.h"
#include "base/sys.h"
#include "preload/libc/interpose.h"
#include "preload/memory/memory_file.h"
#include "preload/memory/memory_frames.h"
#include "preload/memory/probe_clones.h"

#include <string.h>
#include <ucontext.h>

#define FURTHEST ((uintptr_t)64 << 20) /* that a jump goes up a stack */

static uintptr_t stack_now(void)
{
    uintptr_t stack = memory_where.stack;
    return stack != 0 ? stack : (uintptr_t)__builtin_frame_address(0);
}

/* --- stretches ------------------------------------------------------------------------------------------------ */

/* A child that nobody saw made has its parent's memory, and not its file's. */
static bool is_open_at(unsigned n)
{
    return memory_self->files[n] != NULL && memory_file_is_open(memory_self->files[n]) &&
           !recorder_was_forked();
}

static bool is_open(void)
{
    return is_open_at(memory_self->level);
}

static bool open_stretch(const struct recorder_thread *t, const struct memory_origin *of)
{
    if (memory_self->files[memory_self->level] == NULL)
        memory_self->files[memory_self->level] =
            memory_file_make(t->tid, &clone_slots[CLONE_RECORDING]);
    return memory_self->files[memory_self->level] != NULL &&
           memory_file_begin(memory_self->files[memory_self->level], t->window, of);
}

/* Up to where frames are whose functions write into the run that is under way: beyond are those that the handler has interrupted. */
static uintptr_t frames_end(void)
{
    const struct memory_handler *h = memory_self->handlers;
    while (h != NULL && !h->has_file)
        h = h->outer;
    return h != NULL ? (uintptr_t)h : UINTPTR_MAX;
}

/* In a handler that has interrupted a window, what it did before has ended by a jump. */
static void begin_again(const struct recorder_thread *t, const struct memory_handler *h)
{
    if (!h->has_file || is_open() || !is_open_at(memory_self->level - 1) || !memory_has_left_made())
        return;
    memory_leave_frames(stack_now(), frames_end());
    if (open_stretch(t, &(struct memory_origin){memory_self->level, h->signal, h->outer_at}))
        clone_slots[CLONE_ENTER] = 1;
}

/* A window that opens while a handler runs waits for its end; while the last one's clone is left, for that (memory_stepped). */
static void begin(const struct recorder_thread *t)
{
    static const struct memory_origin none;
    memory_self->unwound.at = 0;
    if (!memory_self->wanted)
        return;
    if (memory_self->handlers != NULL) {
        begin_again(t, memory_self->handlers);
        return;
    }
    if (!memory_has_left_made())
        return;
    memory_leave_frames(stack_now(), UINTPTR_MAX);
    if (!open_stretch(t, &none)) {
        memory_self->result.end = MEMORY_NO_ROOM;
        memory_self->wanted = false;
        return;
    }
    memory_self->result.end = MEMORY_CLOSED;
    clone_slots[CLONE_ENTER] = 1;
}

void memory_missing(uintptr_t at)
{
    struct __attribute__((packed)) {
        uint8_t token;
        uint64_t at;
    } said = {TOKEN_MISSING, at};
    uint64_t mask = sys_block_signals();
    if (is_open() && clone_slots[CLONE_ENTER] != 0) {
        memory_file_put(memory_self->files[memory_self->level], &said, sizeof said);
        if (!is_open())
            memory_has_no_room();
    }
    sys_restore_signals(mask);
}

static void close_stretch(unsigned n, enum memory_end how, uint64_t at)
{
    memory_self->result.bytes +=
        memory_file_end(memory_self->files[n], how, at, how != MEMORY_AMID);
    if (memory_file_has_failed(memory_self->files[n]))
        how = MEMORY_NO_ROOM;
    if (memory_self->result.end != MEMORY_NO_ROOM) /* keep the error of a handler's file */
        memory_self->result.end = how;
}

/* By a jump or an exception; amid a clone's instructions nobody knows how far those had come. */
static enum memory_end left_by(bool amid)
{
    return amid ? MEMORY_AMID : MEMORY_JUMPED;
}

/* No window is open any more. */
static void leave(void *context)
{
    const ucontext_t *uc = context;
    if (memory_is_made((uintptr_t)uc->uc_mcontext.gregs[REG_RIP]))
        memory_leave_made(context);
    else
        (void)memory_decide_again(context);
}

static void end(enum memory_end how, uint64_t at)
{
    clone_slots[CLONE_ENTER] = 0;
    close_stretch(memory_self->level, how, at);
    memory_leave_frames(stack_now(), frames_end());
    if (memory_where.context != NULL)
        leave(memory_where.context);
}

/* With the window, in a handler as well, and what that has interrupted. */
static void end_all(void)
{
    bool amid = probe_clones_have(memory_where.at);
    struct memory_unwound past = memory_self->unwound;
    struct memory_handler *h = memory_self->handlers;
    for (unsigned n = memory_self->level;; n--) {
        for (; h != NULL && !h->has_file; h = h->outer) {
            amid = amid || probe_clones_have(h->at);
            memory_leave_slots(&h->flight, &h->target);
        }
        /* An unwinder that nobody has seen catch (a C++ library of the program's own), or a backtrace. */
        enum memory_end how = past.at != 0 ? left_by(past.amid)
                              : amid       ? MEMORY_AMID
                                           : MEMORY_CLOSED;
        uint64_t at = past.at != 0    ? past.at
                      : is_open_at(n) ? memory_file_at(memory_self->files[n])
                                      : 0;
        if (is_open_at(n) && n == memory_self->level)
            end(how, at);
        else if (is_open_at(n))
            close_stretch(n, how, at);
        if (h == NULL || n == 0)
            return;
        memory_leave_frames(h->stack, UINTPTR_MAX);
        memory_leave_slots(&h->flight, &h->target);
        amid = probe_clones_have(h->at);
        past = h->unwound;
        h = h->outer;
    }
}

void memory_opened(struct recorder_thread *t)
{
    if (!process.memory)
        return;
    if (!memory_thread_ready()) {
        memory_self->result.end = MEMORY_NO_ROOM;
        return;
    }
    memory_self->result.bytes = 0;
    memory_self->result.end = MEMORY_NEVER;
    memory_self->wanted = true;
    begin(t);
    if (is_open())
        memory_enter_late(&memory_where);
}

void memory_begin_late(void *context)
{
    if (is_open() || !memory_self->wanted || !process.traced)
        return;
    uint64_t mask = sys_block_signals();
    struct memory_interrupted before = memory_interrupt_by(context);
    begin(&recorder_self);
    if (is_open())
        memory_enter_late(&memory_where);
    memory_interrupt_over(before);
    sys_restore_signals(mask);
}

void memory_closes(struct recorder_thread *t)
{
    if (!process.memory) /* a first write to memory would count as a page fault in the window */
        return;
    end_all();
    memory_self->wanted = false;
    (void)recorder_emit(t, EV_MEMORY, memory_self->result.bytes, memory_self->result.end);
}

void memory_images_came(void)
{
    uint64_t mask = sys_block_signals();
    for (unsigned n = 0; n <= memory_self->level; n++)
        if (is_open_at(n))
            memory_file_name_images(memory_self->files[n]);
    sys_restore_signals(mask);
}

void memory_thread_end(void)
{
    clone_slots[CLONE_ENTER] = 0;
    for (unsigned n = 0; n < MEMORY_LEVELS; n++)
        if (memory_self->files[n] != NULL)
            memory_file_close(memory_self->files[n]);
    memory_thread_over();
}

void memory_forked(void)
{
    clone_slots[CLONE_ENTER] = 0;
    memory_self->wanted = false;
    for (unsigned n = 0; n < MEMORY_LEVELS; n++)
        if (memory_self->files[n] != NULL)
            memory_file_forget(memory_self->files[n]);
}

void memory_vfork(bool begins)
{
    if (begins)
        memory_self->before_vfork = clone_slots[CLONE_ENTER];
    clone_slots[CLONE_ENTER] = begins || !is_open() ? 0 : memory_self->before_vfork;
}

/* --- handlers' files --- */

/* What the handler does goes into the next file, from here on. */
static void begin_in_handler(void *p)
{
    struct memory_handler *h = p;
    struct memory_file *outer = memory_self->files[memory_self->level];
    struct memory_origin of = {
        .level = memory_self->level + 1, .signal = h->signal, .outer = memory_file_at(outer)};
    h->outer_at = of.outer;
    memory_file_suspend(outer);
    memory_self->level++;
    h->has_file = true;
    if (memory_self->files[memory_self->level] != NULL)
        memory_file_resume(memory_self->files[memory_self->level], &clone_slots[CLONE_RECORDING]);
    if (open_stretch(&recorder_self, &of))
        clone_slots[CLONE_ENTER] = 1;
}

/* It is over. */
static void end_in_handler(const struct memory_handler *h, enum memory_end how)
{
    enum memory_end before = memory_self->result.end;
    if (!h->has_file)
        return;
    if (is_open())
        close_stretch(memory_self->level, how,
                      memory_file_at(memory_self->files[memory_self->level]));
    if (memory_self->result.end != MEMORY_NO_ROOM)
        memory_self->result.end = before;
    if (memory_self->files[memory_self->level] != NULL)
        memory_file_suspend(memory_self->files[memory_self->level]);
    memory_file_resume(memory_self->files[--memory_self->level], &clone_slots[CLONE_RECORDING]);
}

/* A handler is left by a jump to whatever does not lie between us and its frame. */
static void leave_stack(uintptr_t from, uintptr_t to)
{
    bool amid = false, left = false, torn = false; /* the run under way is, by a signal */
    uint64_t enter = 0;
    struct memory_handler *h;
    while ((h = memory_self->handlers) != NULL && !(to > from && to < h->frame)) {
        amid = amid || h->shown != h->at || memory_has_frames(from, h->frame);
        left = true;
        from = h->stack;
        enter = h->enter;
        end_in_handler(h, left_by(torn));
        torn = h->shown != h->at || (torn && !h->has_file);
        memory_self->handlers = h->outer;
        memory_handler_give(h);
    }
    /* To another stack, or nobody knows where: there may be frames of clones in between. */
    bool near = to > from && to - from < FURTHEST;
    if (is_open() && (amid || !near || memory_has_frames(from, to)))
        end(left_by(torn), memory_file_at(memory_self->files[memory_self->level]));
    else if (is_open() && left)
        clone_slots[CLONE_ENTER] = enter;
}

void memory_jumped(uintptr_t from, uintptr_t to)
{
    if (!memory_self->wanted && memory_self->handlers == NULL)
        return;
    uint64_t mask = sys_block_signals();
    leave_stack(from, to);
    sys_restore_signals(mask);
}

/* Recording goes on where it leads. */
uintptr_t memory_jumps_on(void)
{
    if (!memory_self->wanted)
        return memory_flight_lands();
    uint64_t mask = sys_block_signals();
    bool open = is_open();
    uintptr_t target = memory_self->flight.target;
    /* A window that has opened on the way has led the jump into a late clone. Else it has gone on behind that call before, in a clone, or the
     * window has opened deeper and has found nothing to lead in that is not left now. */
    if (open && !probe_clones_have(target) &&
        (memory_self->flight.from_clone || probe_clone_behind(target) != 0)) {
        end(MEMORY_JUMPED, memory_file_at(memory_self->files[memory_self->level]));
        open = false;
    }
    if (!open)
        begin(&recorder_self);
    if (!open && is_open())
        memory_enter_late(&memory_where);
    sys_restore_signals(mask);
    return memory_flight_lands();
}

void memory_unwound(uintptr_t at)
{
    /* Unwinders look for callers one byte before where they return to. */
    if (process.memory && is_open() && memory_self->unwound.at == 0 && probe_clones_have(at))
        memory_self->unwound =
            (struct memory_unwound){memory_file_at(memory_self->files[memory_self->level]),
                                    probe_clone_return(at + 1) == 0};
}

/* What has been recorded until an unwinder left the clones is over; what the program does from here on is not. */
static void go_on(void *unused)
{
    (void)unused;
    bool open = is_open();
    if (open && memory_self->unwound.at != 0) {
        end(left_by(memory_self->unwound.amid), memory_self->unwound.at);
        open = false;
    }
    if (!open)
        begin(&recorder_self);
    if (is_open() && (!open || memory_self->flight.opened))
        memory_enter_late(&memory_where);
    memory_self->unwound.at = 0;
}

/* memory_thrown has come to the landing pad. */
void memory_lands(const uintptr_t kept[6], uintptr_t stack)
{
    uint64_t mask = sys_block_signals();
    memory_flight_at(kept, stack);
    memory_where = (struct memory_interrupted){.stack = stack};
    leave_stack((uintptr_t)__builtin_frame_address(0), stack);
    if (memory_self->wanted || memory_self->handlers != NULL)
        run_with_room(NULL, go_on, NULL);
    memory_where = (struct memory_interrupted){.stack = 0};
    sys_restore_signals(mask);
}

/* By an unwinder that asks nobody where to go on, nothing is left to be done: behind that call the function goes on in a clone. */
void memory_caught(uintptr_t back, uintptr_t from, uintptr_t to)
{
    if ((!memory_self->wanted && memory_self->handlers == NULL) || probe_clones_have(back))
        return;
    uint64_t mask = sys_block_signals();
    leave_stack(from, to);
    memory_self->flight.opened = false;
    if (memory_self->unwound.at != 0)
        run_with_room(NULL, go_on, NULL);
    sys_restore_signals(mask);
}

/* A jump through a table leads where its function's analysis has found nothing: a stretch of its own begins there. */
void memory_lost(uintptr_t *stack, const uintptr_t kept[6])
{
    uint64_t mask = sys_block_signals();
    struct memory_interrupted before = memory_interrupt((uintptr_t)stack, 0);
    if (!probe_clones_have(clone_slots[CLONE_TARGET])) { /* else a window has, that opened here */
        if (is_open())
            end(MEMORY_JUMPED, memory_file_at(memory_self->files[memory_self->level]));
        begin(&recorder_self);
        if (is_open())
            memory_enter_jump(stack, kept);
    }
    memory_interrupt_over(before);
    sys_restore_signals(mask);
}

/* --- signals ---------------------------------------------------------------------------------------------------- */

/* The program sees where it would be itself. */
struct memory_handler *memory_handler_begins(uintptr_t frame, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    if (!process.memory || !memory_thread_ready())
        return NULL;
    uint64_t mask = sys_block_signals(); /* a window opens before that, or waits for its end */
    struct memory_handler *h = memory_handler_take(uc);
    if (h == NULL) {
        sys_restore_signals(mask);
        return NULL;
    }
    h->frame = frame;
    h->signal = (uint32_t)info->si_signo;
    h->was = memory_interrupt(0, 0);
    if (h->shown != h->at) {
        uc->uc_mcontext.gregs[REG_RIP] = (greg_t)h->shown;
        if (info->si_code > 0 && (uintptr_t)info->si_addr == h->at)
            info->si_addr = (void *)h->shown; /* NOLINT: an address */
    }
    memory_stop_steps(uc);
    clone_slots[CLONE_ENTER] = 0;
    memory_self->flight.under_way = 0;
    memory_self->handlers = h;
    if (h->enter != 0 && is_open() && memory_self->level + 1 < MEMORY_LEVELS) {
        memory_self->unwound.at = 0;
        run_with_room(uc, begin_in_handler, h);
    }
    sys_restore_signals(mask);
    return h;
}

/* A window that opened meanwhile has waited for this. */
void memory_handler_ends(struct memory_handler *h, void *context)
{
    ucontext_t *uc = context;
    if (h == NULL || !memory_thread_exists())
        return;
    uint64_t mask = sys_block_signals();
    clone_slots[CLONE_ENTER] = 0;
    memory_self->handlers = h->outer;
    memory_interrupt_over(h->was);
    end_in_handler(h, MEMORY_CLOSED);
    memory_self->unwound = h->unwound;
    memory_self->flight = h->flight;
    clone_slots[CLONE_SPILL] = h->spill;
    clone_slots[CLONE_SPILL_2] = h->spill_2;
    clone_slots[CLONE_TARGET] = h->target;
    bool elsewhere = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP] != h->shown;
    if (h->shown != h->at && !elsewhere)
        uc->uc_mcontext.gregs[REG_RIP] = (greg_t)h->at;
    else if (h->shown != h->at &&
             is_open()) /* it has sent the thread there: what was amid is left */
        end(MEMORY_AMID, memory_file_at(memory_self->files[memory_self->level]));
    if (is_open())
        clone_slots[CLONE_ENTER] = h->enter;
    else if (!elsewhere)
        run_with_room(uc, leave, uc);
    memory_handler_give(h);
    run_with_room(uc, memory_begin_late, uc);
    sys_restore_signals(mask);
}

uintptr_t memory_handler_stack(void)
{
    return memory_self->handlers != NULL ? memory_self->handlers->stack : 0;
}

struct memory_file *memory_file_now(void)
{
    return memory_self->files[memory_self->level];
}

void memory_has_no_room(void)
{
    clone_slots[CLONE_ENTER] = 0;
    memory_self->result.bytes += memory_file_cut(memory_self->files[memory_self->level]);
    memory_self->result.end = MEMORY_NO_ROOM;
    memory_self->wanted = false;
}

#endif
