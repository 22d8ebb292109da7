/* SPDX-License-Identifier: BSD-3-Clause
 * Stacks: where threads have theirs, and room for our code if the program's stack is small:
 * with_room.c. */
#ifndef REGTRACE_PRELOAD_STACK_WITH_ROOM_H
#define REGTRACE_PRELOAD_STACK_WITH_ROOM_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Calls function(argument). Moves to one of our stacks if the stack of the thread, or the alternate
 * stack of the signal, is too small for our code. context: of the calling handler; NULL outside
 * handlers. The function must not wait or fault. */
void run_with_room(const void *context, void (*function)(void *), void *argument);
/* The same for code that reads image files. Not from handlers. */
void run_with_much_room(void (*function)(void *), void *argument);

/* Calls process_interrupted(info, place) on a stack with enough room. context: of our handler.
 * place: the context of the interrupted program code (waits_place()). lets_come: signals of the
 * program may come meanwhile. */
void interrupted_with_room(siginfo_t *info, void *context, void *place, bool lets_come);

/* Calls the function on a stack of 256 KiB of our own, because the caller may run on a tiny
 * alternate stack. */
bool run_on_own_stack(bool (*function)(void));

/* The stack of a new thread. The creator of the thread calls stack_wanted() with the attributes of
 * the thread (NULL: the default ones); the new thread passes the result to stack_of_thread(). The
 * constructor calls stack_of_process() for the first thread. */
struct thread_stack {
    uintptr_t at; /* lowest address; 0: libc maps the stack */
    size_t bytes;
};
struct thread_stack stack_wanted(const pthread_attr_t *attributes);
void stack_of_thread(struct thread_stack s);
void stack_of_process(void);

#endif
