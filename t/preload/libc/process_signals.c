/* SPDX-License-Identifier: BSD-3-Clause
 * Signals that are sent to the process, while one thread computes and others sleep and read.
 * Another process sends SIGUSR1, each after the last was handled:
 *   main       no thread blocks it
 *   jumps      as main, and the handler jumps back to where the main thread called sigsetjmp()
 *   suspended  the main thread blocks it, but not in sigsuspend(), where it waits
 *   blocked    the main thread, which computes, blocks it
 *   ended      the main thread has ended
 *   alarm      no thread blocks SIGALRM, which setitimer() sends
 *   exited     the main thread has ended by a raw system call
 *   child      a child of a raw fork, which has threads of its own, gets it as in main
 *   children   no thread blocks SIGCHLD; children of the main thread end, 100 one after the other
 * Prints how many handlers ran in the main thread and how many in others, how many found another
 * siginfo than the sender's, and how many calls of other threads ended with EINTR: the actions have
 * no SA_RESTART. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIGNALS = 500, CHILDREN = 100, PAUSE_US = 300, SLEEPERS = 16 };

static atomic_int in_main, in_other, wrong, interrupted;
static pid_t sender;
static atomic_bool over;
static bool jumps, suspends;
static sigjmp_buf back;
static pthread_t main_thread;

static int handled(void)
{
    return atomic_load(&in_main) + atomic_load(&in_other);
}

static void wake(int signo)
{
    (void)signo;
}

static void handler(int signo, siginfo_t *info, void *context)
{
    bool right = signo == SIGALRM   ? info->si_code == SI_KERNEL
                 : signo == SIGCHLD ? info->si_code == CLD_EXITED && info->si_pid == sender
                                    : info->si_code == SI_USER && info->si_pid == sender;
    (void)context;
    atomic_fetch_add(&wrong, !right);
    bool is_main = syscall(SYS_gettid) == getpid();
    atomic_fetch_add(is_main ? &in_main : &in_other, 1);
    if (suspends && !is_main)
        (void)pthread_kill(main_thread, SIGUSR2);
    if (jumps && is_main)
        siglongjmp(back, 1);
}

static void *sleeps(void *unused)
{
    struct timespec nap = {.tv_nsec = 1000000};
    (void)unused;
    while (!atomic_load(&over))
        if (nanosleep(&nap, NULL) != 0)
            atomic_fetch_add(&interrupted, 1);
    return NULL;
}

static void *reads(void *end)
{
    char byte;
    while (read(*(int *)end, &byte, 1) != 1)
        atomic_fetch_add(&interrupted, 1);
    return NULL;
}

/* Waits until the main thread of that process sleeps. */
static void await_sleep(pid_t process)
{
    char path[64], state = ' ';
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    while (state != 'S') {
        FILE *f = fopen(path, "r");
        if (f == NULL || fscanf(f, "%*d (process_signals) %c", &state) != 1)
            exit(1);
        (void)fclose(f);
    }
}

/* Sends a signal each time when a byte arrives. */
static pid_t sender_begins(int *requests)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe(ends) != 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        (void)close(ends[1]);
        while (read(ends[0], &byte, 1) == 1) {
            if (suspends)
                await_sleep(parent);
            (void)kill(parent, SIGUSR1);
        }
        _exit(0);
    }
    (void)close(ends[0]);
    *requests = ends[1];
    return child;
}

static void compute(void)
{
    for (volatile int i = 0; i < 1000; i++) {
    }
}

/* Waits until a handler has run. */
static void await(int before)
{
    sigset_t others;
    (void)sigfillset(&others);
    (void)sigdelset(&others, SIGUSR1);
    (void)sigdelset(&others, SIGUSR2);
    while (handled() == before)
        if (suspends)
            (void)sigsuspend(&others);
        else
            compute();
}

static void report(void)
{
    printf("main %d others %d wrong %d interrupted %d\n", atomic_load(&in_main),
           atomic_load(&in_other), atomic_load(&wrong), atomic_load(&interrupted));
    (void)fflush(stdout);
}

/* The pipe holds each child until `sender` is its number. */
static void all_children(void)
{
    for (int i = 0; i < CHILDREN; i++) {
        int before = handled(), ends[2];
        char byte;
        if (pipe(ends) != 0)
            exit(1);
        pid_t child = fork();
        if (child == 0)
            _exit(read(ends[0], &byte, 1) == 1 ? 0 : 1);
        sender = child;
        if (write(ends[1], "", 1) != 1)
            exit(1);
        while (handled() == before)
            compute();
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)waitpid(child, NULL, 0);
    }
    report();
}

static void *all_signals(void *with_alarm)
{
    int requests;
    sender = sender_begins(&requests);
    struct itimerval once = {.it_value.tv_usec = PAUSE_US};
    for (volatile int i = 0; i < SIGNALS; i++) {
        int before = handled();
        if (jumps && sigsetjmp(back, 1) != 0)
            continue;
        if (with_alarm != NULL)
            (void)setitimer(ITIMER_REAL, &once, NULL);
        else if (write(requests, "", 1) != 1)
            exit(1);
        await(before);
    }
    (void)close(requests);
    (void)waitpid(sender, NULL, 0);
    report();
    return NULL;
}

static void *after_main(void *main_thread)
{
    (void)pthread_join(*(pthread_t *)main_thread, NULL);
    (void)all_signals(NULL);
    exit(0);
}

int main(int n, char **arguments)
{
    pthread_t sleepers[SLEEPERS], reader, last;
    int ends[2];
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigset_t set;
    const char *what = n > 1 ? arguments[1] : "main";
    if (strcmp(what, "child") == 0) {
        int status;
        pid_t child = (pid_t)syscall(SYS_fork);
        if (child != 0)
            return waitpid(child, &status, 0) == child ? status : 1;
    }
    jumps = strcmp(what, "jumps") == 0;
    suspends = strcmp(what, "suspended") == 0;
    (void)sigaction(SIGUSR1, &action, NULL);
    (void)sigaction(SIGALRM, &action, NULL);
    (void)signal(SIGUSR2, wake);
    main_thread = pthread_self();
    bool exits = strcmp(what, "exited") == 0;
    if (strcmp(what, "ended") == 0 || exits) {
        (void)pthread_create(&last, NULL, after_main, &main_thread);
        if (exits)
            (void)syscall(SYS_exit, 0);
        pthread_exit(NULL);
    }
    if (pipe(ends) != 0)
        return 1;
    for (int i = 0; i < SLEEPERS; i++)
        (void)pthread_create(&sleepers[i], NULL, sleeps, NULL);
    (void)pthread_create(&reader, NULL, reads, ends);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR1);
    if (suspends)
        (void)sigaddset(&set, SIGUSR2);
    if (strcmp(what, "blocked") == 0 || suspends)
        (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (strcmp(what, "children") == 0) {
        (void)sigaction(SIGCHLD, &action, NULL);
        all_children();
    } else {
        (void)all_signals(strcmp(what, "alarm") == 0 ? "" : NULL);
    }
    atomic_store(&over, true);
    for (int i = 0; i < SLEEPERS; i++)
        (void)pthread_join(sleepers[i], NULL);
    if (write(ends[1], "", 1) == 1)
        (void)pthread_join(reader, NULL);
    return 0;
}
