/* SPDX-License-Identifier: BSD-3-Clause
 * Raw system calls for code that may run in signal handlers, probes and vfork children: they use no
 * state of libc and no errno. */
#ifndef REGTRACE_BASE_SYS_H
#define REGTRACE_BASE_SYS_H

#include <signal.h>
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

/* Makes one system call. Returns its result or -errno; does not change errno. */
SYS_GENERAL_ONLY long sys_call6(long number, long a, long b, long c, long d, long e, long f);

/* Blocks every signal of the calling thread (also glibc's internal ones; not SIGKILL and SIGSTOP)
 * for critical sections of a few hundred ns. Returns the old mask for sys_restore_signals(). The
 * faults (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP) are blocked too: the kernel kills a process
 * whose code faults while the signal is blocked. */
SYS_GENERAL_ONLY uint64_t sys_block_signals(void);
SYS_GENERAL_ONLY void sys_restore_signals(uint64_t mask);

/* Sleeps. Unlike nanosleep(2), leaves what the kernel remembers for restart_syscall(2) as it is. So
 * a handler may sleep even if the system call that it interrupted must continue. */
void sys_nap(uint64_t ns);

/* Returns the bit of a signal in the kernel's 64-bit masks. */
static inline uint64_t sys_signal_bit(int signo)
{
    return UINT64_C(1) << (signo - 1);
}

/* Returns the signals, as bits, of instructions that fault: executed again, they fault again. */
static inline uint64_t sys_fault_signals(void)
{
    return sys_signal_bit(SIGSEGV) | sys_signal_bit(SIGBUS) | sys_signal_bit(SIGILL) |
           sys_signal_bit(SIGFPE);
}

/* Returns the signals that an instruction of the thread itself may raise. The kernel kills a
 * process that blocks one when it is raised. */
static inline uint64_t sys_raised_signals(void)
{
    return sys_fault_signals() | sys_signal_bit(SIGTRAP) | sys_signal_bit(SIGSYS);
}

/* Reads `n` bytes of this process's memory, which may be unmapped, without a fault. Returns the
 * number of bytes read, or -errno (-EFAULT: not readable). If the range crosses the end of a page,
 * the result may be partial: process_vm_readv(2). */
long sys_read_self(uintptr_t address, void *to, size_t n);
/* Writes in the same way: fails without a fault if the memory cannot be written. */
long sys_write_self(uintptr_t address, const void *from, size_t n);

/* Brackets code with cancellation points (open, write ...) in a thread of the program. If a
 * cancellation arrives in between, sys_cancel_on() acts on it as the program expects: glibc's
 * pthread_setcancelstate() alone lets an asynchronous cancellation end the thread without the
 * result PTHREAD_CANCELED; pthread_setcanceltype() does not. */
struct sys_cancel {
    int state, type;
};
struct sys_cancel sys_cancel_off(void);
void sys_cancel_on(struct sys_cancel was);

pid_t sys_gettid(void);
pid_t sys_getpid(void);

/* Futex operations on process-shared words. sys_futex_wait() returns after a wake, a change of the
 * word, a signal, or timeout_ns (relative). */
void sys_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);
void sys_futex_wake(_Atomic uint32_t *word, int how_many);

/* Brackets our own writes to files: the program's file size limit (RLIMIT_FSIZE) then gives -EFBIG
 * instead of SIGXFSZ, whose default action kills. begin() blocks the signal; end() removes one that
 * our write caused. */
struct sys_file_guard {
    uint64_t mask;
    int pending; /* 1: a signal was already pending, so it is not ours */
};
struct sys_file_guard sys_file_guard_begin(void);
void sys_file_guard_end(const struct sys_file_guard *g);

/* Creates a kernel timer of `clock` (CLOCK_MONOTONIC ...) whose signal goes to that thread and
 * carries `code` in si_value: timer_create(2), SIGEV_THREAD_ID. The timer is not set yet. Uses the
 * raw system call, because glibc's function keeps a table and may allocate. Returns 0 and *id for
 * timer_settime, or -errno. */
int sys_thread_timer(int clock, int signo, int code, uint32_t kernel_tid, int *id);

/* Call it in a spin loop: relaxes the processor, and lets other threads run on a crowded
 * machine. */
SYS_GENERAL_ONLY void sys_relax(void);

/* Writes all bytes, across EINTR and short writes. Returns 0 or -errno. */
int sys_write_all(int fd, const void *data, size_t n);

#endif
