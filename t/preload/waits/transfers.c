/* SPDX-License-Identifier: BSD-3-Clause
 * transfers calls N [small]: makes calls that move much data, N times each, while the tracer's
 * signals arrive. Prints how many were short, and how many moved wrong bytes. small: on a thread
 * with an alternate stack of 8 KiB.
 * transfers handlers: a handler of the program ends such calls early. Prints their results. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

enum { BYTES = 1 << 20, PIECE = 3000 };

static unsigned char from[BYTES], to[BYTES];
static int ends[2]; /* the calls use [1] to write and [0] to read */
static int file, zeros, urandom, urandom_to;

/* Splits a buffer into three parts, one of them empty. */
static struct iovec *parts_of(unsigned char *base)
{
    static struct iovec parts[3];
    parts[0] = (struct iovec){base, 100001};
    parts[1] = (struct iovec){base + 100001, 0};
    parts[2] = (struct iovec){base + 100001, BYTES - 100001};
    return parts;
}

static long by_write(void)
{
    return write(ends[1], from, BYTES);
}

static long by_writev(void)
{
    return writev(ends[1], parts_of(from), 3);
}

static long by_send(void)
{
    return send(ends[1], from, BYTES, 0);
}

static long by_sendmsg(void)
{
    struct msghdr m = {.msg_iov = parts_of(from), .msg_iovlen = 3};
    return sendmsg(ends[1], &m, 0);
}

static long by_sendfile(void)
{
    off_t at = 0;
    return sendfile(ends[1], file, &at, BYTES);
}

static long by_raw_write(void)
{
    return syscall(SYS_write, ends[1], from, BYTES);
}

static long by_recv(void)
{
    return recv(ends[0], to, BYTES, MSG_WAITALL);
}

static long by_recvmsg(void)
{
    struct msghdr m = {.msg_iov = parts_of(to), .msg_iovlen = 3};
    return recvmsg(ends[0], &m, MSG_WAITALL);
}

static long by_getrandom(void)
{
    return getrandom(to, BYTES, 0);
}

static long by_urandom(void)
{
    return read(urandom, to, BYTES);
}

static long by_zeros(void)
{
    return read(zeros, to, BYTES);
}

/* Calls between files move more, so that they take a while. */
enum { LARGE = 16 * BYTES };

static long between_files(bool by_copying)
{
    static int source = -1;
    off_t at = 0;
    int target = memfd_create("target", 0);
    if (source < 0) {
        source = memfd_create("source", 0);
        for (int i = 0; i < LARGE / BYTES; i++)
            (void)!write(source, from, BYTES);
    }
    long n = by_copying ? copy_file_range(source, &at, target, NULL, LARGE, 0)
                        : sendfile(target, source, &at, LARGE);
    bool same = lseek(target, 0, SEEK_END) == n && at == n &&
                pread(target, to, BYTES, LARGE - BYTES) == BYTES && memcmp(from, to, BYTES) == 0;
    (void)close(target);
    return n == LARGE && same ? BYTES : 0;
}

static long by_copying(void)
{
    return between_files(true);
}

static long by_sendfile_to_file(void)
{
    return between_files(false);
}

static long by_pwritev2(void)
{
    return pwritev2(ends[1], parts_of(from), 3, -1, 0);
}

static long to_urandom(void)
{
    return write(urandom_to, from, BYTES);
}

static void *reads(void *unused)
{
    for (size_t n = 0; n < BYTES;) {
        ssize_t got = read(ends[0], to + n, BYTES - n < 30000 ? BYTES - n : 30000);
        if (got <= 0)
            break;
        n += (size_t)got;
        usleep(100);
    }
    return unused;
}

static void *writes(void *unused)
{
    for (size_t n = 0; n < BYTES; n += PIECE) {
        size_t left = BYTES - n;
        if (send(ends[1], from + n, left < PIECE ? left : PIECE, MSG_NOSIGNAL) < 0)
            break;
        if (n % (16 * PIECE) == 0)
            usleep(100);
    }
    return unused;
}

enum how { WRITES, READS, ALONE };

static const struct call {
    const char *name;
    long (*once)(void);
    enum how how;
    enum { PIPE, SOCKETS, TERMINAL, MASTER } ends;
} calls[] = {{"write to a pipe", by_write, WRITES, PIPE},
             {"writev to a pipe", by_writev, WRITES, PIPE},
             {"raw write to a pipe", by_raw_write, WRITES, PIPE},
             {"write to a socket", by_write, WRITES, SOCKETS},
             {"send", by_send, WRITES, SOCKETS},
             {"sendmsg", by_sendmsg, WRITES, SOCKETS},
             {"sendfile to a socket", by_sendfile, WRITES, SOCKETS},
             {"recv MSG_WAITALL", by_recv, READS, SOCKETS},
             {"recvmsg MSG_WAITALL", by_recvmsg, READS, SOCKETS},
             {"getrandom", by_getrandom, ALONE, PIPE},
             {"read of urandom", by_urandom, ALONE, PIPE},
             {"read of zeros", by_zeros, ALONE, PIPE},
             {"copy_file_range", by_copying, ALONE, PIPE},
             {"sendfile to a file", by_sendfile_to_file, ALONE, PIPE},
             {"pwritev2 to a pipe", by_pwritev2, WRITES, PIPE},
             {"write to urandom", to_urandom, ALONE, PIPE},
             {"write to a terminal", by_write, WRITES, TERMINAL},
             {"write to a terminal's master", by_write, WRITES, MASTER}};

/* Both sides of a pseudo-terminal, which passes bytes on as they are. */
static int open_terminal(bool writes_to_master)
{
    struct termios raw;
    int master = posix_openpt(O_RDWR | O_NOCTTY), side;
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 ||
        (side = open(ptsname(master), O_RDWR | O_NOCTTY)) < 0 || tcgetattr(side, &raw) != 0)
        return -1;
    cfmakeraw(&raw);
    ends[writes_to_master] = master;
    ends[!writes_to_master] = side;
    return tcsetattr(side, TCSANOW, &raw);
}

static int open_ends(const struct call *c)
{
    return c->ends == PIPE      ? pipe(ends)
           : c->ends == SOCKETS ? socketpair(AF_UNIX, SOCK_STREAM, 0, ends)
                                : open_terminal(c->ends == MASTER);
}

static void call(const struct call *c, int n)
{
    int cut = 0, wrong = 0;
    for (int i = 0; i < n; i++) {
        pthread_t other;
        if (open_ends(c) != 0)
            exit(2);
        memset(to, 0, BYTES);
        if (c->how != ALONE)
            (void)pthread_create(&other, NULL, c->how == WRITES ? reads : writes, NULL);
        bool all = c->once() == BYTES;
        cut += !all;
        if (!all)
            (void)close(ends[c->how == WRITES]); /* ends the other thread's call */
        if (c->how != ALONE) {
            (void)pthread_join(other, NULL);
            wrong += memcmp(from, to, BYTES) != 0;
        }
        if (all)
            (void)close(ends[c->how == WRITES]); /* a terminal drops what has not been read */
        (void)close(ends[c->how != WRITES]);
    }
    printf("%s: %d short, %d wrong\n", c->name, cut, wrong);
}

static void *all(void *n)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        call(&calls[i], *(int *)n);
    return NULL;
}

static void *all_small(void *n)
{
    stack_t stack = {.ss_sp = malloc(8192), .ss_size = 8192};
    if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0)
        exit(2);
    return all(n);
}

static volatile sig_atomic_t handled;

static void handle(int signo)
{
    (void)signo;
    handled++;
}

/* Lets a handler end each call: nobody reads or writes the rest of its data. */
static void handlers(int flags)
{
    struct sigaction a = {.sa_handler = handle, .sa_flags = flags};
    struct itimerval soon = {.it_value = {.tv_usec = 30000}};
    (void)sigaction(SIGALRM, &a, NULL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].how == ALONE || open_ends(&calls[i]) != 0)
            continue;
        handled = 0;
        if (calls[i].how == READS && send(ends[1], from, 100, 0) != 100)
            exit(2);
        (void)setitimer(ITIMER_REAL, &soon, NULL);
        long rc = calls[i].once();
        if (calls[i].ends >= TERMINAL)
            rc = rc > 0; /* the kernel moves what a terminal has taken on when it finds time */
        printf("%s: %ld, handled %d\n", calls[i].name, rc, (int)handled);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 1;
    pthread_t thread;
    for (size_t i = 0; i < BYTES; i++)
        from[i] = (unsigned char)(i * 7 + (i >> 11));
    file = memfd_create("from", 0);
    zeros = open("/dev/zero", O_RDONLY);
    urandom = open("/dev/urandom", O_RDONLY);
    urandom_to = open("/dev/urandom", O_WRONLY);
    (void)signal(SIGPIPE, SIG_IGN);
    if (write(file, from, BYTES) != BYTES)
        return 2;
    if (argc > 1 && strcmp(argv[1], "handlers") == 0) {
        handlers(0);
        handlers(SA_RESTART);
    } else if (pthread_create(&thread, NULL, argc > 3 ? all_small : all, &n) == 0) {
        (void)pthread_join(thread, NULL);
    }
    return 0;
}
