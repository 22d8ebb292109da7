/* SPDX-License-Identifier: BSD-3-Clause
 * Windows of memory traces: when a thread enters instrumented copies and leaves them, and the
 * segments that they record.
 *
 * While a segment is open, the thread's slot says so, and functions run as their copies from their
 * entries on. When a window closes or opens, return addresses into copies on the thread's stack are
 * replaced by those of the functions themselves, so that the thread continues in the functions. If
 * a signal has interrupted a copy, the thread steps through the code that records there and then
 * also continues in the function. The function in which a window finds a thread continues at a
 * mid-function entry (base/format/copy.h), and so do its callers. */
#include "preload/memory/memory.h"

#if defined(__x86_64__)

#include "base/format/copy.h"
#include "base/log.h"
#include "base/sys.h"
#include "preload/libc/interpose.h"
#include "preload/memory/memory_file.h"
#include "preload/memory/memory_frames.h"
#include "preload/memory/memory_copies.h"
#include "preload/process.h"
#include "preload/stack/with_room.h"
#include "preload/thread.h"

#include <string.h>
#include <ucontext.h>

bool memory_is_traced;

#define FURTHEST ((uintptr_t)64 << 20) /* longest jump up one stack */

static uintptr_t stack_now(void)
{
    uintptr_t stack = memory_position.stack;
    return stack != 0 ? stack : (uintptr_t)__builtin_frame_address(0);
}

/* --- segments --------------------------------------------------------------------------------- */

/* A child of a fork that no wrapper has seen has its parent's memory, but not the mapped file. */
static bool is_open_at(unsigned n)
{
    return memory_self->files[n] != NULL && memory_file_is_open(memory_self->files[n]) &&
           !recorder_was_forked();
}

static bool is_open(void)
{
    return is_open_at(memory_self->level);
}

static bool open_segment(const struct recorder_thread *t, const struct memory_origin *of)
{
    if (memory_self->files[memory_self->level] == NULL)
        memory_self->files[memory_self->level] =
            memory_file_make(t->tid, &copy_slots[COPY_RECORDING]);
    return memory_self->files[memory_self->level] != NULL &&
           memory_file_begin(memory_self->files[memory_self->level], t->window, of);
}

/* Returns the end of the frames whose functions record into the current file. The handler has
 * interrupted the frames beyond it. */
static uintptr_t frames_end(void)
{
    const struct memory_handler *h = memory_self->handlers;
    while (h != NULL && !h->has_file)
        h = h->outer;
    return h != NULL ? (uintptr_t)h : UINTPTR_MAX;
}

/* Begins a segment in a handler that has interrupted a window, after a jump has ended the handler's
 * last one. */
static void begin_again(const struct recorder_thread *t, const struct memory_handler *h)
{
    if (!h->has_file || is_open() || !is_open_at(memory_self->level - 1) || !memory_has_left_made())
        return;
    memory_leave_frames(stack_now(), frames_end());
    if (open_segment(t, &(struct memory_origin){memory_self->level, h->signal, h->outer_at}))
        copy_slots[COPY_ENTER] = 1;
}

/* Opens a segment for the thread's window if it can begin now. While a handler of the program runs,
 * begin_again() decides. While single steps still lead the thread out of a copy of the last window,
 * this opens nothing; memory_stepped() does so later. */
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
    if (!open_segment(t, &none)) {
        memory_self->result.end = MEMORY_NO_ROOM;
        memory_self->wanted = false;
        return;
    }
    memory_self->result.end = MEMORY_CLOSED;
    copy_slots[COPY_ENTER] = 1;
}

void memory_missing(uintptr_t at)
{
    struct __attribute__((packed)) {
        uint8_t token;
        uint64_t at;
    } said = {TOKEN_MISSING, at};
    uint64_t mask = sys_block_signals();
    if (is_open() && copy_slots[COPY_ENTER] != 0) {
        memory_file_put(memory_self->files[memory_self->level], &said, sizeof said);
        if (!is_open())
            memory_has_no_room();
    }
    sys_restore_signals(mask);
}

static void close_segment(unsigned n, enum memory_end how, uint64_t at)
{
    memory_self->result.bytes +=
        memory_file_end(memory_self->files[n], how, at, how != MEMORY_AMID);
    if (memory_file_has_failed(memory_self->files[n]))
        how = MEMORY_NO_ROOM;
    if (memory_self->result.end != MEMORY_NO_ROOM) /* keep an error of a handler's file */
        memory_self->result.end = how;
}

/* Returns how a segment ends that a jump or an exception leaves. within: a signal had interrupted a
 * copy between its instructions, so it is unknown which accesses after the last recorded byte have
 * happened. */
static enum memory_end left_by(bool within)
{
    return within ? MEMORY_AMID : MEMORY_JUMPED;
}

/* Makes the thread leave copies and hooks: no window is open any more. */
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
    copy_slots[COPY_ENTER] = 0;
    close_segment(memory_self->level, how, at);
    memory_leave_frames(stack_now(), frames_end());
    if (memory_position.context != NULL)
        leave(memory_position.context);
}

/* Ends all open segments with their window: that of the current level, and those that handlers have
 * interrupted. */
static void end_all(void)
{
    bool within = memory_copies_have(memory_position.at);
    struct memory_unwound past = memory_self->unwound;
    struct memory_handler *h = memory_self->handlers;
    for (unsigned n = memory_self->level;; n--) {
        for (; h != NULL && !h->has_file; h = h->outer) {
            within = within || memory_copies_have(h->at);
            memory_leave_slots(&h->flight, &h->target);
        }
        /* An unwinder whose catch was not seen (a C++ library of the program), or a backtrace. */
        enum memory_end how = past.at != 0 ? left_by(past.within)
                              : within     ? MEMORY_AMID
                                           : MEMORY_CLOSED;
        uint64_t at = past.at != 0    ? past.at
                      : is_open_at(n) ? memory_file_at(memory_self->files[n])
                                      : 0;
        if (is_open_at(n) && n == memory_self->level)
            end(how, at);
        else if (is_open_at(n))
            close_segment(n, how, at);
        if (h == NULL || n == 0)
            return;
        memory_leave_frames(h->stack, UINTPTR_MAX);
        memory_leave_slots(&h->flight, &h->target);
        within = memory_copies_have(h->at);
        past = h->unwound;
        h = h->outer;
    }
}

void memory_opened(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)pt;
    if (!memory_is_traced)
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
        memory_enter_late(&memory_position);
}

void memory_begin_late(void *context)
{
    if (is_open() || !memory_self->wanted || !process.traced)
        return;
    uint64_t mask = sys_block_signals();
    struct memory_position before = memory_position_of_handler(context);
    begin(&recorder_self);
    if (is_open())
        memory_enter_late(&memory_position);
    memory_position_restore(before);
    sys_restore_signals(mask);
}

void memory_closes(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)pt;
    if (!memory_is_traced) /* a first write to memory would count as a page fault in the window */
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

void memory_vfork(bool begins)
{
    if (begins)
        memory_self->before_vfork = copy_slots[COPY_ENTER];
    copy_slots[COPY_ENTER] = begins || !is_open() ? 0 : memory_self->before_vfork;
}

/* --- handlers' files --- */

/* From here on, the handler records into the next file. */
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
        memory_file_resume(memory_self->files[memory_self->level], &copy_slots[COPY_RECORDING]);
    if (open_segment(&recorder_self, &of))
        copy_slots[COPY_ENTER] = 1;
}

/* The handler is over: the interrupted level's file is in use again. */
static void end_in_handler(const struct memory_handler *h, enum memory_end how)
{
    enum memory_end before = memory_self->result.end;
    if (!h->has_file)
        return;
    if (is_open())
        close_segment(memory_self->level, how,
                      memory_file_at(memory_self->files[memory_self->level]));
    if (memory_self->result.end != MEMORY_NO_ROOM)
        memory_self->result.end = before;
    if (memory_self->files[memory_self->level] != NULL)
        memory_file_suspend(memory_self->files[memory_self->level]);
    memory_file_resume(memory_self->files[--memory_self->level], &copy_slots[COPY_RECORDING]);
}

/* Handles a jump between these stack pointers. It leaves a handler unless its target lies between
 * the current frame and the handler's frame. */
static void leave_stack(uintptr_t from, uintptr_t to)
{
    bool within = false, left = false,
         torn = false; /* torn: a signal interrupted the current segment in a copy */
    uint64_t enter = 0;
    struct memory_handler *h;
    while ((h = memory_self->handlers) != NULL && !(to > from && to < h->frame)) {
        within = within || h->shown != h->at || memory_has_frames(from, h->frame);
        left = true;
        from = h->stack;
        enter = h->enter;
        end_in_handler(h, left_by(torn));
        torn = h->shown != h->at || (torn && !h->has_file);
        memory_self->handlers = h->outer;
        memory_handler_give(h);
    }
    /* On the way to another stack or to an unknown place, there may be frames of copies. */
    bool near = to > from && to - from < FURTHEST;
    if (is_open() && (within || !near || memory_has_frames(from, to)))
        end(left_by(torn), memory_file_at(memory_self->files[memory_self->level]));
    else if (is_open() && left)
        copy_slots[COPY_ENTER] = enter;
}

void memory_frames_left(uintptr_t from, uintptr_t to)
{
    if (!memory_self->wanted && memory_self->handlers == NULL)
        return;
    uint64_t mask = sys_block_signals();
    leave_stack(from, to);
    sys_restore_signals(mask);
}

/* Recording continues where the jump leads. */
uintptr_t memory_longjmp_target(void)
{
    if (!memory_self->wanted)
        return memory_flight_lands();
    uint64_t mask = sys_block_signals();
    bool open = is_open();
    uintptr_t target = memory_self->flight.target;
    /* If a window opened during the jump, the jump already leads into a copy, and the segment goes
     * on. Otherwise it ends here in two cases: setjmp was called in a copy, so the code after it
     * was recorded before; or a mid-function entry follows the target, so the window has opened
     * deeper, and the jump leaves every frame that runs as a copy. */
    if (open && !memory_copies_have(target) &&
        (memory_self->flight.from_copy || memory_copy_after(target) != 0)) {
        end(MEMORY_JUMPED, memory_file_at(memory_self->files[memory_self->level]));
        open = false;
    }
    if (!open)
        begin(&recorder_self);
    if (!open && is_open())
        memory_enter_late(&memory_position);
    sys_restore_signals(mask);
    return memory_flight_lands();
}

void memory_unwound(uintptr_t at)
{
    /* Unwinders look up callers one byte before their return addresses. */
    if (memory_is_traced && is_open() && memory_self->unwound.at == 0 && memory_copies_have(at))
        memory_self->unwound =
            (struct memory_unwound){memory_file_at(memory_self->files[memory_self->level]),
                                    memory_copy_return(at + 1) == 0};
}

/* Ends the segment where an unwinder left the copies, and records what the program does from here
 * on. */
static void go_on(void *unused)
{
    (void)unused;
    bool open = is_open();
    if (open && memory_self->unwound.at != 0) {
        end(left_by(memory_self->unwound.within), memory_self->unwound.at);
        open = false;
    }
    if (!open)
        begin(&recorder_self);
    if (is_open() && (!open || memory_self->flight.opened))
        memory_enter_late(&memory_position);
    memory_self->unwound.at = 0;
}

/* memory_thrown calls it at the landing pad. */
void memory_lands(const uintptr_t kept[6], uintptr_t stack)
{
    uint64_t mask = sys_block_signals();
    memory_flight_at(kept, stack);
    memory_position = (struct memory_position){.stack = stack};
    leave_stack((uintptr_t)__builtin_frame_address(0), stack);
    if (memory_self->wanted || memory_self->handlers != NULL)
        run_with_room(NULL, go_on, NULL);
    memory_position = (struct memory_position){.stack = 0};
    sys_restore_signals(mask);
}

/* For unwinders that do not ask memory_throw() where to continue. If the call returns into a copy,
 * nothing is left to do: the function continues in the copy. */
void memory_caught(uintptr_t back, uintptr_t from, uintptr_t to)
{
    if ((!memory_self->wanted && memory_self->handlers == NULL) || memory_copies_have(back))
        return;
    uint64_t mask = sys_block_signals();
    leave_stack(from, to);
    memory_self->flight.opened = false;
    if (memory_self->unwound.at != 0)
        run_with_room(NULL, go_on, NULL);
    sys_restore_signals(mask);
}

/* A jump through a table leads to a place that the analysis of its function has not found: a new
 * segment begins there. */
void memory_lost(uintptr_t *stack, const uintptr_t kept[6])
{
    uint64_t mask = sys_block_signals();
    struct memory_position before = memory_position_set((uintptr_t)stack, 0);
    if (!memory_copies_have(
            copy_slots[COPY_TARGET])) { /* else a window opened here and led the jump to a copy */
        if (is_open())
            end(MEMORY_JUMPED, memory_file_at(memory_self->files[memory_self->level]));
        begin(&recorder_self);
        if (is_open())
            memory_enter_jump(stack, kept);
    }
    memory_position_restore(before);
    sys_restore_signals(mask);
}

/* --- signals ---------------------------------------------------------------------------------- */

/* The handler sees the address at which the program would be without copies. */
struct memory_handler *memory_handler_begins(uintptr_t frame, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    if (!memory_is_traced || !memory_thread_ready())
        return NULL;
    /* A window that has not opened yet waits until the handler ends. */
    uint64_t mask = sys_block_signals();
    struct memory_handler *h = memory_handler_take(uc);
    if (h == NULL) {
        sys_restore_signals(mask);
        return NULL;
    }
    h->frame = frame;
    h->signal = (uint32_t)info->si_signo;
    h->was = memory_position_set(0, 0);
    if (h->shown != h->at) {
        uc->uc_mcontext.gregs[REG_RIP] = (greg_t)h->shown;
        if (info->si_code > 0 && (uintptr_t)info->si_addr == h->at)
            info->si_addr = (void *)h->shown; /* NOLINT: an address */
    }
    memory_stop_steps(h, uc);
    copy_slots[COPY_ENTER] = 0;
    memory_self->flight.under_way = 0;
    memory_self->handlers = h;
    if (h->enter != 0 && is_open() && memory_self->level + 1 < MEMORY_LEVELS) {
        memory_self->unwound.at = 0;
        run_with_room(uc, begin_in_handler, h);
    }
    sys_restore_signals(mask);
    return h;
}

/* A window that opened in the meantime begins after this. */
void memory_handler_ends(struct memory_handler *h, void *context)
{
    ucontext_t *uc = context;
    if (h == NULL || !memory_thread_exists())
        return;
    uint64_t mask = sys_block_signals();
    copy_slots[COPY_ENTER] = 0;
    memory_self->handlers = h->outer;
    memory_position_restore(h->was);
    end_in_handler(h, MEMORY_CLOSED);
    memory_self->unwound = h->unwound;
    memory_self->flight = h->flight;
    copy_slots[COPY_SPILL] = h->spill;
    copy_slots[COPY_SPILL_2] = h->spill_2;
    copy_slots[COPY_TARGET] = h->target;
    bool elsewhere = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP] != h->shown;
    if (h->shown != h->at && !elsewhere)
        uc->uc_mcontext.gregs[REG_RIP] = (greg_t)h->at;
    else if (h->shown != h->at &&
             is_open()) /* the handler has sent the thread elsewhere: it leaves the copy */
        end(MEMORY_AMID, memory_file_at(memory_self->files[memory_self->level]));
    if (is_open())
        copy_slots[COPY_ENTER] = h->enter;
    else if (!elsewhere)
        run_with_room(uc, leave, uc);
    memory_step_again(h);
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
    copy_slots[COPY_ENTER] = 0;
    memory_self->result.bytes += memory_file_cut(memory_self->files[memory_self->level]);
    memory_self->result.end = MEMORY_NO_ROOM;
    memory_self->wanted = false;
}

#endif
