/* SPDX-License-Identifier: BSD-3-Clause
 * Finds out whether a trap would kill a thread now: counts the threads of the program, and looks in
 * /proc for others that block SIGTRAP. Async-signal-safe. */
#include "preload/patch/code/probe_code.h"
#include "preload/patch/probes.h"
#include "preload/stack/with_room.h"

#include "base/clock.h"
#include "base/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Threads that the program, or one of its images, has made by functions that we interpose, and how
 * many of them have ended. Their masks leave SIGTRAP out, but not in our code. Threads that libc
 * makes inside itself (timers with SIGEV_THREAD, aio) block it. */
static _Atomic uint32_t known_threads, ended_threads;
/* Threads on their way to us: until they arrive they are in libc with all signals blocked, for as
 * long as it takes to get a processor. */
static _Atomic int32_t expected_threads;
/* Threads that have ended except for libc's last steps, which run with all signals blocked. */
enum { GONE = 64, GONE_NS = 2000000000 };
static struct {
    _Atomic uint32_t tid;
    _Atomic uint64_t when;
} gone[GONE];

void known_thread_expected(void)
{
    atomic_fetch_add(&expected_threads, 1);
}

void known_thread_never_came(void)
{
    atomic_fetch_sub(&expected_threads, 1);
}

void known_thread_begins(void)
{
    atomic_fetch_add(&known_threads, 1);
    atomic_fetch_sub(&expected_threads, 1);
}

/* In this order: a thread that is found gone has been counted as ended (all_are_known()). */
void known_thread_ends(void)
{
    static _Atomic uint32_t next;
    unsigned i = atomic_fetch_add(&next, 1) % GONE;
    atomic_fetch_add(&ended_threads, 1);
    atomic_store(&gone[i].when, clock_monotonic_ns());
    atomic_store(&gone[i].tid, (uint32_t)sys_gettid());
}

/* Is this a thread that has ended? For 2 s only: the kernel may give the number to another
 * thread. */
static bool is_gone(uint32_t tid)
{
    for (unsigned i = 0; i < GONE; i++)
        if (atomic_load(&gone[i].tid) == tid &&
            clock_monotonic_ns() - atomic_load(&gone[i].when) < GONE_NS)
            return true;
    return false;
}

void known_threads_forked(void)
{
    atomic_store(&known_threads, 1);
    atomic_store(&ended_threads, 0);
    atomic_store(&expected_threads, 0);
}

/* Does this thread block SIGTRAP? proc(5): SigBlk is a line of a thread's status, in
 * hexadecimal. */
static bool has_blocked(int tasks, const char *tid)
{
    char path[32], status[2048];
    (void)snprintf(path, sizeof path, "%s/status", tid);
    int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, status, sizeof status - 1) : 0;
    if (fd >= 0)
        (void)close(fd);
    status[n > 0 ? n : 0] = '\0';
    const char *line = strstr(status, "\nSigBlk:");
    uint64_t mask = line != NULL ? strtoull(line + 8, NULL, 16) : 0;
    return (mask & sys_signal_bit(SIGTRAP)) != 0;
}

/* What /proc/self/task shows: does any thread but this one and those that have ended block SIGTRAP,
 * and how many that have ended are still there? */
struct tasks_seen {
    bool blocked;
    int64_t gone;
};

/* getdents64(2). */
static void look_at_tasks(void *result)
{
    struct entry {
        uint64_t ino;
        int64_t off;
        uint16_t length;
        uint8_t type;
        char name[];
    };
    char list[1024] __attribute__((aligned(8))), own[16];
    struct tasks_seen seen = {.blocked = false};
    int tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)snprintf(own, sizeof own, "%d", (int)sys_gettid());
    for (long n; tasks >= 0 &&
                 (n = sys_call6(SYS_getdents64, tasks, (long)list, sizeof list, 0, 0, 0)) > 0;)
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(const void *)(list + at);
            at += e->length;
            if (e->name[0] == '.')
                continue;
            bool blocked =
                !seen.blocked && strcmp(e->name, own) != 0 && has_blocked(tasks, e->name);
            if (is_gone((uint32_t)strtoul(e->name, NULL, 10)))
                seen.gone++;
            else
                seen.blocked = seen.blocked || blocked;
        }
    if (tasks >= 0)
        (void)close(tasks);
    *(struct tasks_seen *)result = seen;
}

/* Are these threads no more than those that we know? known: their number, read before `there` was.
 * Those that have ended are counted afterwards, so threads that come or go meanwhile never make up
 * for one of libc's. */
static bool all_are_known(int64_t there, uint32_t known)
{
    return there <= (int32_t)(known - atomic_load(&ended_threads));
}

/* May probes be written now? A thread that we know blocks SIGTRAP in our code only, where it meets
 * no probe. On a busy machine it may wait there for a processor for longer than we try. So its mask
 * does not count, not even while a thread that has ended is still there, which may wait as long. */
bool probe_threads_allow_poke(void)
{
    enum { TRIES = 20, EXPECTED_TRIES = 20000, PAUSE_NS = 100000 };
    for (int i = 0, expected = 0; i - expected < TRIES && i < EXPECTED_TRIES; i++) {
        struct tasks_seen seen = {.blocked = true}; /* if no stack has room for the search */
        struct stat st;
        uint32_t known = atomic_load(&known_threads);
        if (stat("/proc/self/task", &st) != 0)
            return true;
        int64_t there = (int64_t)st.st_nlink - 2;
        if (all_are_known(there, known))
            return true;
        run_with_room(NULL, look_at_tasks, &seen);
        if (!seen.blocked || all_are_known(there - seen.gone, known))
            return true;
        expected += atomic_load(&expected_threads) > 0;
        sys_nap(PAUSE_NS);
    }
    return false;
}
