/* SPDX-License-Identifier: BSD-3-Clause
 * To be preloaded: makes one call of a program fail, as SQLite's tests do.
 *
 *   FAILING=malloc:37      the 37th allocation returns NULL with ENOMEM
 *   FAILING=open:2         the 2nd open, openat or fopen returns an error with EMFILE; opens of
 *                          /proc/PID/cmdline pass uncounted: there are as many as processes
 *   FAILING=write:5        the 5th write, pwrite or writev returns -1 with ENOSPC
 *   FAILING=map:1          the 1st mmap returns MAP_FAILED with ENOMEM
 *   FAILING=PATH           nothing fails; at exit the process writes the number of its last call,
 *                          or of its children's, to PATH, a line a kind
 *
 * A process that crashes writes "failing: in ADDRESS" to its standard error for each function that
 * it is in, innermost first: addresses of the executable's file, or of none. Then it writes
 * "failing: made ADDRESS" for each function that was in the call that failed.
 *
 * Counts are of the process: a child of fork goes on from its parent's, a program started by exec
 * begins anew. Calls that libc makes within itself are seen only for malloc. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { MALLOC, OPEN, WRITE, MAP, KINDS };
static const char *const names[KINDS] = {"malloc", "open", "write", "map"};

static _Atomic long calls[KINDS];
static _Atomic long *most_calls; /* of any process, shared with children; NULL: not counted */
static long fails_at[KINDS];
static char counts[4096];
static bool ready;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static void *failed_in[32]; /* return addresses within the call that failed */
static int failed_depth;

static bool fails(enum kind kind, int why)
{
    if (!ready)
        return false;
    long number = atomic_fetch_add(&calls[kind], 1) + 1;
    if (most_calls != NULL && number > atomic_load(&most_calls[kind]))
        atomic_store(&most_calls[kind], number);
    if (number != fails_at[kind])
        return false;
    failed_depth = backtrace(failed_in, 32);
    errno = why;
    return true;
}

/* Returns where the executable is loaded, less where its file says. */
static uintptr_t bias(void)
{
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR); /* NOLINT */
    for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++)
        if (headers[i].p_type == PT_PHDR)
            return (uintptr_t)headers - headers[i].p_vaddr;
    return 0;
}

static bool open_fails(const char *path)
{
    bool of_a_process = strncmp(path, "/proc/", 6) == 0 && isdigit(path[6]);
    return !of_a_process && fails(OPEN, EMFILE);
}

static void print_frames(const char *what, void *const *frames, int n)
{
    char text[80];
    for (int i = 0; i < n; i++) {
        int length = snprintf(text, sizeof text, "failing: %s 0x%lx\n", what,
                              (unsigned long)((uintptr_t)frames[i] - bias()));
        (void)!syscall(SYS_write, 2, text, (size_t)length);
    }
}

static void crashed(int signo)
{
    void *frames[32];
    print_frames("in", frames, backtrace(frames, 32));
    print_frames("made", failed_in, failed_depth);
    signal(signo, SIG_DFL);
    raise(signo);
}

__attribute__((constructor)) static void prepare(void)
{
    const char *wanted = getenv("FAILING");
    struct sigaction s = {.sa_handler = crashed};
    if (wanted == NULL)
        return;
    sigaction(SIGSEGV, &s, NULL);
    sigaction(SIGABRT, &s, NULL);
    (void)backtrace(failed_in, 1); /* its first call allocates */
    for (int k = 0; k < KINDS; k++) {
        size_t n = strlen(names[k]);
        if (strncmp(wanted, names[k], n) == 0 && wanted[n] == ':')
            fails_at[k] = atol(wanted + n + 1);
    }
    if (wanted[0] == '/') {
        (void)snprintf(counts, sizeof counts, "%s", wanted);
        void *shared = (void *)syscall(SYS_mmap, NULL, KINDS * sizeof *most_calls,
                                       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        most_calls = shared == MAP_FAILED ? NULL : shared;
    }
    ready = true;
}

/* The last process that ends has the last word: children end before their parents. */
__attribute__((destructor)) static void count(void)
{
    char text[200];
    int n = 0;
    if (counts[0] == '\0' || most_calls == NULL)
        return;
    for (int k = 0; k < KINDS; k++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %ld\n", names[k],
                      atomic_load(&most_calls[k]));
    int fd = (int)syscall(SYS_openat, AT_FDCWD, counts, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    (void)!syscall(SYS_write, fd, text, (size_t)n);
    syscall(SYS_close, fd);
}

/* The writer ends by it, and no destructor runs. */
void _exit(int status)
{
    count();
    for (;;)
        syscall(SYS_exit_group, status);
}

void *malloc(size_t bytes)
{
    return fails(MALLOC, ENOMEM) ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t n, size_t bytes)
{
    return fails(MALLOC, ENOMEM) ? NULL : __libc_calloc(n, bytes);
}
void *realloc(void *old, size_t bytes)
{
    return fails(MALLOC, ENOMEM) ? NULL : __libc_realloc(old, bytes);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define MODE(flags, mode)                                                                          \
    va_list rest;                                                                                  \
    va_start(rest, flags);                                                                         \
    mode_t mode =                                                                                  \
        ((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;     \
    va_end(rest)

int open(const char *path, int flags, ...)
{
    MODE(flags, mode);
    return open_fails(path) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...)
{
    MODE(flags, mode);
    return open_fails(path) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int openat(int at, const char *path, int flags, ...)
{
    MODE(flags, mode);
    return open_fails(path) ? -1 : (int)syscall(SYS_openat, at, path, flags, mode);
}
int openat64(int at, const char *path, int flags, ...)
{
    MODE(flags, mode);
    return open_fails(path) ? -1 : (int)syscall(SYS_openat, at, path, flags, mode);
}
FILE *fopen(const char *path, const char *how)
{
    return open_fails(path) ? NULL : NEXT(fopen)(path, how);
}
FILE *fopen64(const char *path, const char *how)
{
    return open_fails(path) ? NULL : NEXT(fopen)(path, how);
}
ssize_t write(int fd, const void *bytes, size_t count_)
{
    return fails(WRITE, ENOSPC) ? -1 : NEXT(write)(fd, bytes, count_);
}
ssize_t pwrite(int fd, const void *bytes, size_t count_, off_t at)
{
    return fails(WRITE, ENOSPC) ? -1 : NEXT(pwrite)(fd, bytes, count_, at);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count_, off64_t at)
{
    return fails(WRITE, ENOSPC) ? -1 : NEXT(pwrite64)(fd, bytes, count_, at);
}
ssize_t writev(int fd, const struct iovec *parts, int n)
{
    return fails(WRITE, ENOSPC) ? -1 : NEXT(writev)(fd, parts, n);
}
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return fails(MAP, ENOMEM) ? MAP_FAILED
                              : (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}
void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off64_t offset)
{
    return fails(MAP, ENOMEM) ? MAP_FAILED
                              : (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}
