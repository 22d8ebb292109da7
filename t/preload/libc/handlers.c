/* SPDX-License-Identifier: BSD-3-Clause
 * Prints what a program sees of its signal handlers, with the preload as without it. */
#include <errno.h>
#include <pthread.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t calls, last_value, depth, deepest;
static volatile sig_atomic_t on_stack, mask_usr1, mask_usr2, errno_seen;
static char alternate[65536];
static sigjmp_buf jump_to;
static int *volatile nowhere = (int *)8; /* an address without memory */

static void look(void)
{
    char here;
    sigset_t mask;
    on_stack = &here >= alternate && &here < alternate + sizeof alternate;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    mask_usr1 = sigismember(&mask, SIGUSR1);
    mask_usr2 = sigismember(&mask, SIGUSR2);
    errno_seen = errno;
    calls++;
}

static void plain(int signo)
{
    look();
    errno = signo; /* does not preserve errno, and the program must see that */
}

static void informed(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    look();
    last_value = info->si_code == SI_QUEUE ? info->si_value.sival_int : context != NULL ? -1 : -2;
}

static const char *handler_name(const struct sigaction *a)
{
    return a->sa_handler == SIG_DFL      ? "default"
           : a->sa_handler == SIG_IGN    ? "ignore"
           : a->sa_handler == plain      ? "plain"
           : a->sa_sigaction == informed ? "informed"
                                         : "UNKNOWN";
}

static void print_action(const char *when, int signo)
{
    struct sigaction a;
    int rc = sigaction(signo, NULL, &a);
    int members = 0;
    for (int n = 1; n <= 64; n++)
        members += sigismember(&a.sa_mask, n) == 1;
    printf("  %s: rc %d handler %s flags %x mask %d\n", when, rc, handler_name(&a),
           (unsigned)a.sa_flags, members);
}

static void matrix_one(int flags, bool info, bool full_mask)
{
    struct sigaction a, old;
    memset(&a, 0, sizeof a);
    if (info)
        a.sa_sigaction = informed;
    else
        a.sa_handler = plain;
    a.sa_flags = flags | (info ? SA_SIGINFO : 0);
    if (full_mask)
        sigfillset(&a.sa_mask);
    calls = last_value = 0;
    printf("flags %x info %d full %d\n", (unsigned)flags, info, full_mask);
    printf("  set %d", sigaction(SIGUSR1, &a, &old));
    printf(" was %s\n", handler_name(&old));
    print_action("before", SIGUSR1);
    errno = 77;
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 5});
    int after = errno;
    printf("  calls %d value %d stack %d usr1 %d usr2 %d errno %d after %d\n", (int)calls,
           (int)last_value, (int)on_stack, (int)mask_usr1, (int)mask_usr2, (int)errno_seen, after);
    print_action("after", SIGUSR1);
}

static void matrix(void)
{
    static const int flags[] = {(int)SA_RESETHAND, SA_NODEFER, SA_ONSTACK, SA_RESTART};
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    for (unsigned bits = 0; bits < 16; bits++)
        for (int variant = 0; variant < 4; variant++) {
            int f = 0;
            for (unsigned i = 0; i < 4; i++)
                f |= bits >> i & 1 ? flags[i] : 0;
            matrix_one(f, variant & 1, variant & 2);
        }
    struct sigaction a = {.sa_handler = SIG_IGN};
    printf("ignore %d\n", sigaction(SIGUSR1, &a, NULL));
    raise(SIGUSR1);
    print_action("ignored", SIGUSR1);
}

static void older_one(const char *name, __sighandler_t (*set)(int, __sighandler_t))
{
    calls = 0;
    __sighandler_t old = set(SIGUSR1, plain);
    printf("%s: was %s\n", name, handler_name(&(struct sigaction){.sa_handler = old}));
    print_action("set", SIGUSR1);
    raise(SIGUSR1);
    printf("  calls %d usr1 %d\n", (int)calls, (int)mask_usr1);
    print_action("raised", SIGUSR1);
    printf("  back %d\n", set(SIGUSR1, SIG_IGN) == SIG_ERR);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
__sighandler_t bsd_signal(int, __sighandler_t);
static void older(void)
{
    older_one("signal", signal);
    older_one("bsd_signal", bsd_signal);
    older_one("ssignal", ssignal);
    older_one("sysv_signal", sysv_signal);
    older_one("sigset", sigset);
    printf("siginterrupt %d\n", siginterrupt(SIGUSR2, 1));
    signal(SIGUSR2, plain);
    print_action("interrupting", SIGUSR2);
    siginterrupt(SIGUSR2, 0);
    print_action("restarting", SIGUSR2);
    printf("hold %d", sigset(SIGUSR2, SIG_HOLD) == plain);
    printf(" %d", sigset(SIGUSR2, SIG_HOLD) == SIG_HOLD);
    calls = 0;
    raise(SIGUSR2);
    printf(" held %d", (int)calls);
    printf(" release %d now %d\n", sigrelse(SIGUSR2), (int)calls);
    printf("sigignore %d hold %d release %d\n", sigignore(SIGUSR2), sighold(SIGUSR2),
           sigrelse(SIGUSR2));
    struct sigaction a = {.sa_handler = plain};
    static const int wrong[] = {-1, 0, 65, SIGKILL, SIGSTOP, 32, 33};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        errno = 0;
        int rc = sigaction(wrong[i], &a, NULL);
        printf("sigaction(%d) %d errno %d", wrong[i], rc, errno);
        errno = 0;
        printf(" signal %d", signal(wrong[i], plain) == SIG_ERR);
        printf(" errno %d\n", errno);
    }
}

static void nest(int signo)
{
    depth++;
    deepest = depth > deepest ? depth : deepest;
    calls++;
    if (signo == SIGUSR1)
        raise(SIGUSR2);
    else if (depth < 10)
        raise(SIGUSR1);
    depth--;
}

static void nested(void)
{
    struct sigaction a = {.sa_handler = nest, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &a, NULL);
    sigaction(SIGUSR2, &a, NULL);
    raise(SIGUSR1);
    printf("nested calls %d deepest %d\n", (int)calls, (int)deepest);
}

static void jumper(int signo)
{
    calls++;
    siglongjmp(jump_to, signo);
}

static void jump(void)
{
    struct sigaction a = {.sa_handler = jumper, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &a, NULL);
    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGFPE, &a, NULL);
    volatile int landed = 0;
    for (volatile int i = 0; i < 3000; i++) {
        int from = sigsetjmp(jump_to, 1);
        if (from != 0) {
            landed++;
            continue;
        }
        if (i % 3 == 0)
            raise(SIGUSR1);
        if (i % 3 == 1)
            *nowhere = 1;
        if (i % 3 == 2) {
            volatile int zero = 0;
            __asm__ volatile("" ::: "memory");
            (void)(1 / zero);
            raise(SIGFPE); /* for machines where division by zero is no fault */
        }
    }
    printf("jumped %d of %d\n", (int)calls, (int)landed);
}

/* A page fault that the handler repairs: the instruction executes again. */
static char *volatile page; /* volatile: the handler must see it before the store that faults */
static void repair(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)context;
    calls++;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    last_value = (char *)info->si_addr == page + 100;
}

static void fault(void)
{
    struct sigaction a = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &a, NULL);
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[100] = 42;
    printf("repaired %d address %d value %d\n", (int)calls, (int)last_value, page[100]);
}

static void *sender(void *signals)
{
    const int *s = signals;
    for (; *s != 0; s++) {
        struct timespec nap = {.tv_nsec = 20000000}; /* signals arrive one at a time */
        nanosleep(&nap, NULL);
        if (sigqueue(getpid(), *s, (union sigval){.sival_int = *s}) != 0)
            abort(); /* otherwise main would wait for ever */
    }
    return NULL;
}

/* Blocks all signals, as daemons do, and takes each signal by a function that waits. */
static void waits(void)
{
    /* Ascending, because the kernel hands out the lowest of several pending signals first. */
    static const int sent[] = {10, 12, 15, 40, 41, 50, 0};
    sigset_t all, old;
    sigfillset(&all);
    printf("block %d", pthread_sigmask(SIG_BLOCK, &all, &old));
    printf(" before %d", sigisemptyset(&old));
    pthread_sigmask(SIG_BLOCK, NULL, &old);
    pthread_t t;
    int members = 0;
    for (int n = 1; n <= 64; n++)
        members += sigismember(&old, n) == 1;
    printf(" blocked %d\n", members);
    pthread_create(&t, NULL, sender, (void *)(uintptr_t)sent);
    for (int i = 0; sent[i] != 0; i++) {
        int signo = 0;
        siginfo_t info = {0};
        struct timespec limit = {.tv_sec = 5};
        if (i % 3 == 0)
            sigwait(&all, &signo);
        else if (i % 3 == 1)
            signo = sigwaitinfo(&all, &info);
        else
            signo = sigtimedwait(&all, &info, &limit);
        printf("got %d value %d\n", signo, info.si_value.sival_int);
    }
    pthread_join(t, NULL);
    struct timespec none = {.tv_nsec = 1000};
    int got = sigtimedwait(&all, NULL, &none);
    printf("nothing %d errno %d\n", got, errno);
}

static void signal_file(void)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int fd = signalfd(-1, &all, SFD_NONBLOCK);
    for (int i = 0; i < 5; i++)
        sigqueue(getpid(), 34 + 6 * i, (union sigval){.sival_int = i});
    struct signalfd_siginfo info;
    int n = 0;
    while (read(fd, &info, sizeof info) == sizeof info)
        printf("signalfd %u value %d (%d)\n", info.ssi_signo, info.ssi_int, ++n);
}

/* Sets a handler for every real-time signal, the one that the tracer had chosen included. */
static uint64_t received;
static void collect(int signo, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_value.sival_int == signo * 3)
        received |= UINT64_C(1) << (signo - 1);
}

static void realtime(void)
{
    for (int n = SIGRTMAX; n >= SIGRTMIN; n--) {
        struct sigaction a = {.sa_sigaction = collect, .sa_flags = SA_SIGINFO}, old = {0};
        int rc = sigaction(n, &a, &old);
        if (rc != 0 || old.sa_handler != SIG_DFL)
            printf("signal %d: rc %d old %s\n", n, rc, handler_name(&old));
    }
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++)
        sigqueue(getpid(), n, (union sigval){.sival_int = n * 3});
    printf("received %jx\n", (uintmax_t)received);
}

/* Blocks one real-time signal after the other, and waits for it without a handler. */
static void realtime_wait(void)
{
    for (int n = SIGRTMIN; n <= SIGRTMAX; n++) {
        sigset_t one, shown;
        siginfo_t info = {0};
        sigemptyset(&one);
        sigaddset(&one, n);
        sigprocmask(SIG_BLOCK, &one, NULL);
        sigprocmask(SIG_BLOCK, NULL, &shown);
        sigqueue(getpid(), n, (union sigval){.sival_int = n});
        struct timespec limit = {.tv_sec = 1};
        int got = sigtimedwait(&one, &info, &limit);
        if (got != n || info.si_value.sival_int != n || sigismember(&shown, n) != 1)
            printf("signal %d: got %d value %d shown %d\n", n, got, info.si_value.sival_int,
                   sigismember(&shown, n));
    }
    printf("waited\n");
}

/* Masks that are passed to functions that wait apply, and handlers run during these waits. */
static void waits_with_masks(void)
{
    struct sigaction a = {.sa_handler = plain};
    sigaction(SIGUSR1, &a, NULL);
    sigset_t block, full, but_usr1;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    sigprocmask(SIG_BLOCK, &block, NULL);
    sigfillset(&full);
    but_usr1 = full;
    sigdelset(&but_usr1, SIGUSR1);
    struct timespec nap = {.tv_nsec = 3000000};
    int fd = epoll_create1(0);
    struct epoll_event event;
    raise(SIGUSR1);
    printf("full: ppoll %d", ppoll(NULL, 0, &nap, &full));
    printf(" pselect %d", pselect(0, NULL, NULL, NULL, &nap, &full));
    printf(" epoll %d calls %d\n", epoll_pwait(fd, &event, 1, 3, &full), (int)calls);
    errno = 0;
    int rc = ppoll(NULL, 0, &nap, &but_usr1);
    printf("ppoll %d errno %d calls %d\n", rc, errno == EINTR, (int)calls);
    raise(SIGUSR1);
    rc = pselect(0, NULL, NULL, NULL, &nap, &but_usr1);
    printf("pselect %d errno %d calls %d\n", rc, errno == EINTR, (int)calls);
    raise(SIGUSR1);
    rc = epoll_pwait(fd, &event, 1, 3, &but_usr1);
    printf("epoll %d errno %d calls %d\n", rc, errno == EINTR, (int)calls);
    raise(SIGUSR1);
    rc = sigsuspend(&but_usr1);
    printf("sigsuspend %d errno %d calls %d\n", rc, errno == EINTR, (int)calls);
}

static bool sleeps(pid_t pid)
{
    char path[32], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    return f != NULL && fscanf(f, "%*d (%*[^)]) %c", &state) == 1 && fclose(f) == 0 && state == 'S';
}

/* read() restarts with SA_RESTART and fails with EINTR without it. */
static void restarts(void)
{
    for (int restart = 0; restart < 2; restart++) {
        struct sigaction a = {.sa_handler = plain, .sa_flags = restart ? SA_RESTART : 0};
        sigaction(SIGALRM, &a, NULL);
        int ends[2];
        if (pipe(ends) != 0)
            exit(9);
        pid_t child = fork();
        if (child == 0) {
            while (usleep(100000) != 0 || !sleeps(getppid())) /* until it sleeps in read() */
                ;
            kill(getppid(), SIGALRM);
            usleep(restart ? 200000 : 5000000);
            _exit(write(ends[1], "x", 1) != 1);
        }
        char c = 0;
        errno = 0;
        ssize_t n = read(ends[0], &c, 1);
        printf("restart %d: read %zd errno %d calls %d\n", restart, n, errno == EINTR, (int)calls);
        if (!restart)
            kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(ends[0]);
        close(ends[1]);
    }
}

/* die SIGNO HOW: ends the process by the default action of a signal, sent as HOW says. */
static int die(int signo, const char *how)
{
    if (strcmp(how, "raise") == 0)
        raise(signo);
    else if (strcmp(how, "kill") == 0)
        kill(getpid(), signo);
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "fault") == 0)
        *nowhere = 1;
    else if (strcmp(how, "ignored") == 0) { /* a fault cannot be ignored */
        signal(signo, SIG_IGN);
        raise(signo);
        printf("ignored\n");
        fflush(stdout);
        *nowhere = 1;
    } else if (strcmp(how, "reset") == 0) {
        struct sigaction a = {.sa_handler = plain, .sa_flags = (int)SA_RESETHAND};
        sigaction(signo, &a, NULL);
        raise(signo);
        printf("once\n");
        fflush(stdout);
        raise(signo);
    }
    printf("alive\n");
    return 3;
}

static void *die_there(void *argument)
{
    const int *signo = argument;
    die(*signo, "raise");
    return NULL;
}

/* The program that this one executes must ignore what this one ignores, and nothing else. */
static void inherited(char *self)
{
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, plain);
    sigset_t set;
    sigfillset(&set);
    sigdelset(&set, SIGCHLD);
    sigprocmask(SIG_SETMASK, &set, NULL);
    fflush(stdout);
    execl(self, self, "show", (char *)NULL);
}

static void show(void)
{
    sigset_t set;
    sigprocmask(SIG_SETMASK, NULL, &set);
    for (int n = 1; n <= 64; n++) {
        struct sigaction a;
        if (sigaction(n, NULL, &a) == 0 && (a.sa_handler != SIG_DFL || sigismember(&set, n) != 1))
            printf("signal %d %s blocked %d\n", n, handler_name(&a), sigismember(&set, n));
    }
}

int main(int n, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"matrix", matrix},
               {"older", older},
               {"nested", nested},
               {"jump", jump},
               {"fault", fault},
               {"waits", waits},
               {"signalfd", signal_file},
               {"realtime", realtime},
               {"realtime_wait", realtime_wait},
               {"masks", waits_with_masks},
               {"restarts", restarts},
               {"show", show}};
    for (size_t i = 0; n > 1 && i < sizeof all / sizeof *all; i++)
        if (strcmp(arguments[1], all[i].name) == 0) {
            all[i].run();
            return 0;
        }
    if (n > 3 && strcmp(arguments[1], "die") == 0)
        return die(atoi(arguments[2]), arguments[3]);
    if (n > 2 && strcmp(arguments[1], "die_thread") == 0) {
        int signo = atoi(arguments[2]);
        pthread_t t;
        pthread_create(&t, NULL, die_there, &signo);
        pthread_join(t, NULL);
        return 4;
    }
    if (n > 1 && strcmp(arguments[1], "inherited") == 0)
        inherited(arguments[0]);
    return 9;
}
