/* SPDX-License-Identifier: BSD-3-Clause
 * What is to be done with an instruction is asked of regtrace-vprofiler, over a socket: the traced process holds neither plug-in nor decoder. */
#include "preload/values_ask.h"

#include "base/apart.h"
#include "base/log.h"
#include "base/sys.h"
#include "preload/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ENVIRONMENT_MAX 4096
#define HIGH_FD 500 /* out of the way of programs that expect the next number */
#define BEGIN_MS 10000
#define ANSWER_MS 100 /* longer, and the sample goes without */
#define PATIENCE 20u  /* such answers in a row: it hangs */
#define NOP 0x90
#define NOP_ADDRESS 0x1000

extern char **environ;

static char program[PATH_MAX];
static const char *plugin;
static char *environment[ENVIRONMENT_MAX + 1];

/* fd -1: not started; gone: for good. */
static int fd = -1;
static dev_t device; /* what it is, whatever the program does to the number */
static ino_t inode;
static bool gone;
static unsigned late;
static uint8_t received[sizeof(struct values_answer)];
static size_t got;

struct launch {
    int fds[3];
};

static long become(void *context)
{
    const struct launch *l = context;
    char *const arguments[] = {program, (char *)"--answer", (char *)(uintptr_t)plugin, NULL};
    return apart_exec(l->fds, 3, program, arguments, environment);
}

static void close_fd(int n)
{
    if (n >= 0)
        (void)sys_call6(SYS_close, n, 0, 0, 0, 0, 0);
}

static bool is_ours(void)
{
    struct stat s;
    return fd >= 0 && sys_call6(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) == 0 && s.st_dev == device &&
           s.st_ino == inode;
}

/* Programs close descriptors that they do not know, and use the number themselves: theirs stays open. */
static void drop(void)
{
    if (is_ours())
        close_fd(fd);
    fd = -1;
}

/* said: what it writes to standard error, for when it does not serve; -1: nobody reads that. */
static int start(int said)
{
    int pair[2];
    long rc = sys_call6(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, (long)pair, 0, 0);
    if (rc != 0)
        return (int)rc;
    int null = (int)sys_call6(SYS_openat, AT_FDCWD, (long)"/dev/null", O_RDWR | O_CLOEXEC, 0, 0, 0);
    struct launch l = {.fds = {pair[1], null, said >= 0 ? said : null}};
    rc = null < 0 ? null : apart_start(become, &l);
    close_fd(null);
    close_fd(pair[1]);
    if (rc > 0)
        fd = (int)sys_call6(SYS_fcntl, pair[0], F_DUPFD_CLOEXEC, HIGH_FD, 0, 0, 0);
    close_fd(pair[0]);
    got = 0;
    late = 0;
    struct stat s;
    rc = rc < 0 ? rc : fd < 0 ? fd : sys_call6(SYS_fstat, fd, (long)&s, 0, 0, 0, 0);
    if (rc < 0)
        return (int)rc;
    device = s.st_dev;
    inode = s.st_ino;
    return 0;
}

static void give_up(const char *why)
{
    drop();
    gone = true;
    log_line(LOG_ERROR, why);
}

/* The next answer, whole. 0, -EAGAIN: not yet, -EPIPE: there will be none. */
static int receive(struct values_answer *a, int ms)
{
    while (got < sizeof received) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
        long n = sys_call6(SYS_ppoll, (long)&p, 1, (long)&limit, 0, 8, 0);
        if (n == 0)
            return -EAGAIN;
        if (n == -EINTR)
            continue;
        n = sys_call6(SYS_recvfrom, fd, (long)(received + got), (long)(sizeof received - got),
                      MSG_DONTWAIT, 0, 0);
        if (n == -EAGAIN || n == -EINTR)
            continue;
        if (n <= 0)
            return -EPIPE;
        got += (size_t)n;
    }
    memcpy(a, received, sizeof *a);
    got = 0;
    return 0;
}

static int put(const struct values_question *q)
{
    long n = sys_call6(SYS_sendto, fd, (long)q, sizeof *q, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
    return n == (long)sizeof *q ? 0 : n < 0 && n != -EAGAIN ? (int)n : -EAGAIN;
}

/* Answers to questions that nobody waited for come first: they are passed over. */
static int exchange(const struct values_question *q, struct values_answer *a, int ms)
{
    int rc = put(q);
    do {
        rc = rc == 0 ? receive(a, ms) : rc;
    } while (rc == 0 && a->address != q->address);
    return rc;
}

bool values_ask(const struct values_question *q, struct values_answer *a)
{
    if (gone)
        return false;
    if (!is_ours() && start(-1) != 0) {
        give_up("no further values: regtrace-vprofiler cannot be started in this process");
        return false;
    }
    int rc = exchange(q, a, ANSWER_MS);
    if (rc == 0)
        late = 0;
    else if (rc != -EAGAIN)
        give_up("regtrace-vprofiler has ended: only instructions that were met before have values");
    else if (++late == PATIENCE)
        give_up("regtrace-vprofiler does not answer: only instructions that were met before have "
                "values");
    return rc == 0;
}

void values_ask_forked(void)
{
    drop();
}

/* Its first line of standard error. */
static void take_reason(int said, struct rt_error *e)
{
    char text[400];
    ssize_t n = said >= 0 ? pread(said, text, sizeof text - 1, 0) : 0;
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    rt_error_set(e, "%s", text[0] != '\0' ? text : "it has ended without a word");
}

int values_ask_begin(const char *wanted, struct rt_error *e)
{
    struct values_question nop = {.address = NOP_ADDRESS, .bytes = {NOP}, .count = 1};
    struct values_answer answer;
    plugin = wanted;
    if (!process_find_program("regtrace-vprofiler", program)) {
        rt_error_set(e, "%s is not there (it is built where Zydis is)", program);
        return -ENOENT;
    }
    apart_environment(environ, environment, ENVIRONMENT_MAX);
    int said = memfd_create("regtrace-vprofiler", MFD_CLOEXEC);
    int rc = start(said);
    if (rc != 0)
        rt_error_set(e, "%s cannot be started: %s", program, strerror(-rc));
    else if ((rc = exchange(&nop, &answer, BEGIN_MS)) == -EAGAIN)
        rt_error_set(e, "%s does not answer", program);
    else if (rc != 0)
        take_reason(said, e);
    close_fd(said);
    if (rc != 0)
        values_ask_forked();
    return rc;
}
