/* SPDX-License-Identifier: BSD-3-Clause
 * pieces SLEEPS [NAME...]: calls that wait for several bytes, of which one comes early, and calls
 * whose timeout belongs to a socket or a terminal. What they wait for comes when the thread has
 * gone to sleep SLEEPS times. Prints their results, which are the same however often that is. */
#include "t/preload/waits/sleeps.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { ALL = 6 };

static long sleeps_wanted;
static int ends[2]; /* calls read from [0]; the feeder writes to [1] */
static char buffer[64];

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

/* --- the feeder ------------------------------------------------------------------------------- */

static _Atomic long feed_at; /* 0: nobody waits; otherwise a number of sleeps */
static int waiter;

static void *feed(void *p)
{
    const struct timespec pause = {.tv_nsec = 200000};
    for (;;) {
        long at = atomic_load(&feed_at);
        if (at != 0 && sleeps_of(waiter) >= at) {
            atomic_store(&feed_at, 0);
            (void)!write(ends[1], "bcdefghijkl", 11);
        }
        nanosleep(&pause, NULL);
    }
    return p;
}

/* Gives the first byte, and lets the others come later: more than the call takes, since TCP wakes a
 * reader only for as many new bytes as SO_RCVLOWAT says. */
static void begin(void)
{
    memset(buffer, 0, sizeof buffer);
    (void)!write(ends[1], "a", 1);
    atomic_store(&feed_at, own_sleeps() + sleeps_wanted);
}

/* Prints the result, once all bytes have come. */
static void end(const char *name, long rc)
{
    while (atomic_load(&feed_at) != 0)
        usleep(1000);
    printf("%s: %ld %s\n", name, rc, buffer);
}

static void make_stream(bool tcp)
{
    if (!tcp) {
        (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
        return;
    }
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    bind(listener, (struct sockaddr *)&a, sizeof a);
    getsockname(listener, (struct sockaddr *)&a, &n);
    listen(listener, 1);
    ends[1] = socket(AF_INET, SOCK_STREAM, 0);
    connect(ends[1], (struct sockaddr *)&a, sizeof a);
    ends[0] = accept(listener, NULL, NULL);
    close(listener);
}

static void close_ends(void)
{
    close(ends[0]);
    close(ends[1]);
}

/* --- several bytes ---------------------------------------------------------------------------- */

static void low_water(bool tcp)
{
    int least = ALL;
    make_stream(tcp);
    setsockopt(ends[0], SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    begin();
    end(tcp ? "low water, TCP" : "low water, local", read(ends[0], buffer, ALL));
    close_ends();
}

static void peek(void)
{
    make_stream(true);
    begin();
    end("peek", recv(ends[0], buffer, ALL, MSG_WAITALL | MSG_PEEK));
    close_ends();
}

static void control(bool tcp)
{
    char room[256];
    struct iovec part = {buffer, ALL};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    make_stream(tcp);
    begin();
    end(tcp ? "control, TCP" : "control, local", recvmsg(ends[0], &m, MSG_WAITALL));
    close_ends();
}

static void open_terminal(int least, int tenths)
{
    struct termios t;
    ends[1] = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(ends[1]);
    unlockpt(ends[1]);
    ends[0] = open(ptsname(ends[1]), O_RDWR | O_NOCTTY);
    tcgetattr(ends[0], &t);
    cfmakeraw(&t);
    t.c_cc[VMIN] = (cc_t)least;
    t.c_cc[VTIME] = (cc_t)tenths;
    tcsetattr(ends[0], TCSANOW, &t);
}

static void terminal(int tenths)
{
    open_terminal(ALL, tenths);
    begin();
    end(tenths != 0 ? "terminal, VMIN and VTIME" : "terminal, VMIN", read(ends[0], buffer, ALL));
    close_ends();
}

/* The other side of a terminal takes what comes, however the terminal's own reads end. */
static void other_side(int least, int tenths)
{
    open_terminal(least, tenths);
    int keep = ends[0];
    ends[0] = ends[1];
    ends[1] = keep;
    memset(buffer, 0, sizeof buffer);
    atomic_store(&feed_at, own_sleeps() + sleeps_wanted);
    long rc = read(ends[0], buffer, sizeof buffer - 1);
    end("other side", rc);
    close_ends();
}

/* Interrupted by any signal, such reads give what they have. */
static void devices(void)
{
    static const char *const names[] = {"/dev/zero", "/dev/urandom"};
    enum { BYTES = 1 << 25 };
    char *to = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct iovec parts[2] = {{to, BYTES / 2}, {to + BYTES / 2, BYTES / 2}};
    for (int i = 0; i < 2; i++) {
        int fd = open(names[i], O_RDONLY);
        long p = pread(fd, to, BYTES, 0), v = readv(fd, parts, 2), w = preadv2(fd, parts, 2, 0, 0);
        printf("%s: pread %ld, readv %ld, preadv2 %ld\n", names[i], p, v, w);
        close(fd);
    }
    munmap(to, BYTES);
}

/* A request that ends after 50 ms, submitted by the call that waits for it. */
static void ring(void)
{
    struct io_uring_params p = {0};
    struct __kernel_timespec after = {.tv_nsec = 50000000};
    int fd = (int)syscall(SYS_io_uring_setup, 4, &p);
    if (fd < 0)
        return;
    char *rings = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
                       PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
    struct io_uring_sqe *q = mmap(NULL, p.sq_entries * sizeof *q, PROT_READ | PROT_WRITE,
                                  MAP_SHARED, fd, IORING_OFF_SQES);
    *q = (struct io_uring_sqe){
        .opcode = IORING_OP_TIMEOUT, .fd = -1, .addr = (uintptr_t)&after, .len = 1};
    ((unsigned *)(void *)(rings + p.sq_off.array))[0] = 0;
    atomic_store((_Atomic unsigned *)(void *)(rings + p.sq_off.tail), 1);
    long rc = syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    printf("ring: submitted %ld, completed %u\n", rc, *(unsigned *)(void *)(rings + p.cq_off.tail));
    close(fd);
}

/* --- timeouts --------------------------------------------------------------------------------- */

static void terminal_timeout(void)
{
    open_terminal(0, 3);
    int64_t began = now_ms();
    long rc = read(ends[0], buffer, sizeof buffer);
    printf("terminal, VTIME: %ld%s\n", rc, now_ms() - began < 250 ? " early" : "");
    close_ends();
}

static void send_timeout(int fd)
{
    struct timeval t = {.tv_usec = 300000};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

/* The receiver's queue is full. */
static void datagrams(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    socklen_t n = sizeof(sa_family_t);
    int to = socket(AF_UNIX, SOCK_DGRAM, 0), from = socket(AF_UNIX, SOCK_DGRAM, 0);
    bind(to, (struct sockaddr *)&a, n); /* the kernel gives it a name */
    n = sizeof a;
    getsockname(to, (struct sockaddr *)&a, &n);
    while (sendto(from, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&a, n) == 1)
        continue;
    send_timeout(from);
    int64_t began = now_ms();
    long rc = sendto(from, "x", 1, 0, (struct sockaddr *)&a, n);
    printf("datagram: %ld %s%s\n", rc, strerrorname_np(errno),
           now_ms() - began < 290 ? " early" : "");
    close(to);
    close(from);
}

/* Nobody answers: the listener's queue is full. */
static void connecting(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM, 0), others[4];
    bind(listener, (struct sockaddr *)&a, sizeof a);
    getsockname(listener, (struct sockaddr *)&a, &n);
    listen(listener, 0);
    for (int i = 0; i < 4; i++) {
        others[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(others[i], (struct sockaddr *)&a, sizeof a);
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    send_timeout(fd);
    for (int i = 0; i < 2; i++) {
        long rc = connect(fd, (struct sockaddr *)&a, sizeof a);
        printf("connect: %ld %s\n", rc, strerrorname_np(errno));
    }
    for (int i = 0; i < 4; i++)
        close(others[i]);
    close(fd);
    close(listener);
}

/* --- threads ---------------------------------------------------------------------------------- */

static _Atomic int cleaned;

static void clean(void *p)
{
    (void)p;
    atomic_fetch_add(&cleaned, 1);
}

static void *sleep_long(void *p)
{
    const struct timespec long_time = {.tv_sec = 1000};
    *(_Atomic int *)p = (int)syscall(SYS_gettid);
    pthread_cleanup_push(clean, NULL);
    nanosleep(&long_time, NULL);
    pthread_cleanup_pop(1);
    return NULL;
}

/* Cancels threads with small stacks while they sleep. */
static void cancel(void)
{
    enum { THREADS = 20, STACK = 16384 };
    const struct timespec pause = {.tv_nsec = 200000};
    int cancelled = 0;
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, STACK);
    for (int i = 0; i < THREADS; i++) {
        _Atomic int tid = 0;
        pthread_t t;
        void *result;
        if (pthread_create(&t, &a, sleep_long, &tid) != 0)
            continue;
        while (atomic_load(&tid) == 0 || sleeps_of(atomic_load(&tid)) < sleeps_wanted)
            nanosleep(&pause, NULL);
        pthread_cancel(t);
        pthread_join(t, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("cancelled: %d, cleaned %d\n", cancelled, atomic_load(&cleaned));
}

int main(int argc, char **argv)
{
    pthread_t feeder;
    sleeps_wanted = argc > 1 ? atol(argv[1]) : 1;
    waiter = (int)syscall(SYS_gettid);
    setvbuf(stdout, NULL, _IOLBF, 0);
    pthread_create(&feeder, NULL, feed, NULL);
    low_water(true);
    low_water(false);
    peek();
    control(true);
    control(false);
    terminal(0);
    terminal(200);
    other_side(ALL, 0);
    other_side(0, 1);
    devices();
    ring();
    terminal_timeout();
    datagrams();
    connecting();
    cancel();
    return 0;
}
