/* SPDX-License-Identifier: BSD-3-Clause
 * Raw system calls for code that may run in handlers, probes and vfork children: no libc state, no errno. */
#ifndef REGTRACE_BASE_SYS_H
#define REGTRACE_BASE_SYS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Marks functions that use general registers only: the vector registers may still hold the
 * program's values (preload/stack/own_stack.c). */
#if defined(__x86_64__)
#define SYS_GENERAL_ONLY __attribute__((target("general-regs-only")))
#else
#define SYS_GENERAL_ONLY
#endif

/* One system call as the kernel takes it; returns its result or -errno. Keeps errno untouched. */
SYS_GENERAL_ONLY long sys_call6(long number, long a, long b, long c, long d, long e, long f);

/* Block every signal of the calling thread (glibc's internal ones too; not SIGKILL, SIGSTOP), for critical
 * sections of a few hundred ns. Returns the old mask for sys_restore_signals(). The faults (SIGSEGV, SIGBUS,
 * SIGILL, SIGFPE, SIGTRAP) are blocked as well: a fault of ours then kills, as the kernel rules. */
SYS_GENERAL_ONLY uint64_t sys_block_signals(void);
SYS_GENERAL_ONLY void sys_restore_signals(uint64_t mask);

/* Of the kernel's 64-bit masks. */
static inline uint64_t sys_signal_bit(int signo)
{
    return UINT64_C(1) << (signo - 1);
}

/* Memory of this process that may not be there, read without a fault: n, or -errno (-EFAULT: not readable). Across the end of a page
 * all or nothing is not promised: process_vm_readv(2). */
long sys_read_self(uintptr_t address, void *to, size_t n);
/* Writes likewise. Fails where the memory cannot be written, without a fault. */
long sys_write_self(uintptr_t address, const void *from, size_t n);

/* Around what holds cancellation points (open, write ...) in a thread of the program's. on: a cancellation that came meanwhile is acted
 * on as the program would see it: glibc's pthread_setcancelstate() alone lets an asynchronous one end the thread without the result
 * PTHREAD_CANCELED, pthread_setcanceltype() does not. */
struct sys_cancel {
    int state, type;
};
struct sys_cancel sys_cancel_off(void);
void sys_cancel_on(struct sys_cancel was);

pid_t sys_gettid(void);
pid_t sys_getpid(void);

/* futex on process-shared words. wait: returns after a wake, a change, a signal or timeout_ns (relative). */
void sys_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);
void sys_futex_wake(_Atomic uint32_t *word, int how_many);

/* Around our own writes to files: a file size limit of the program's (RLIMIT_FSIZE) gives -EFBIG and no SIGXFSZ, whose
 * default action kills. begin blocks it, end takes away one that we caused. */
struct sys_file_guard {
    uint64_t mask;
    int pending; /* one was waiting before: not ours */
};
struct sys_file_guard sys_file_guard_begin(void);
void sys_file_guard_end(const struct sys_file_guard *g);

/* A kernel timer of `clock` (CLOCK_MONOTONIC ...), not set yet, whose signal goes to that thread and carries `code` in
 * si_value: timer_create(2), SIGEV_THREAD_ID. Raw, since glibc's keeps a table of its own and may allocate. 0 and *id for
 * timer_settime, or -errno. */
int sys_thread_timer(int clock, int signo, int code, uint32_t kernel_tid, int *id);

/* In a spin loop: tell the processor, and let others run on a crowded machine. */
void sys_relax(void);

/* Write all of it, over EINTR and short writes; 0 or -errno. */
int sys_write_all(int fd, const void *data, size_t n);

#endif
