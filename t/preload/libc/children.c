/* SPDX-License-Identifier: BSD-3-Clause
 * Prints what a program sees of its children and of exec. The output must be the same with and
 * without the preload. */
#include "share/include/regtrace.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static const char *self;

static int wait_status(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static void forks(void)
{
    int sum = 0, others = 0;
    for (int i = 0; i < 1000; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(i % 7);
        sum += WEXITSTATUS(wait_status(child));
    }
    errno = 0;
    while (wait(NULL) > 0)
        others++;
    printf("1000 forks: sum %d, other children %d, errno %d\n", sum, others, errno == ECHILD);
}

/* Each child opens a region, so it gets its own file if children are followed. */
static void working_forks(void)
{
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) {
            regtrace_region_begin("child");
            regtrace_region_end("child");
            exit(i);
        }
        printf("child ends with %d\n", WEXITSTATUS(wait_status(child)));
    }
    pid_t raw = _Fork();
    if (raw == 0)
        _exit(11);
    printf("_Fork child ends with %d\n", WEXITSTATUS(wait_status(raw)));
}

static void vforks(void)
{
    char *const arguments[] = {(char *)(size_t)self, "say", "from vfork", NULL};
    char *const bad[] = {"/nowhere/at/all", NULL};
    volatile int sum = 0;
    fflush(stdout);
    for (int i = 0; i < 200; i++) {
        regtrace_region_begin("around");
        pid_t child = vfork();
        if (child == 0) {
            regtrace_region_begin("never seen");
            signal(SIGUSR1, SIG_DFL);
            sigset_t none;
            sigemptyset(&none);
            sigprocmask(SIG_SETMASK, &none, NULL);
            execv(bad[0], bad);
            _exit(errno == ENOENT ? i % 5 : 99);
        }
        sum += WEXITSTATUS(wait_status(child));
        regtrace_region_end("around");
    }
    pid_t child = vfork();
    if (child == 0) {
        execv(self, arguments);
        _exit(99);
    }
    printf("vforks: sum %d, exec %d\n", sum, WEXITSTATUS(wait_status(child)));
}

static void handler(int signo)
{
    (void)signo;
}

/* A child of vfork resets a handler. The parent's handler must stay. */
static void vfork_handler(void)
{
    struct sigaction a = {.sa_handler = handler}, now;
    sigaction(SIGUSR1, &a, NULL);
    pid_t child = vfork();
    if (child == 0) {
        struct sigaction plain = {.sa_handler = SIG_DFL}, seen;
        sigaction(SIGUSR1, &plain, &seen);
        _exit(seen.sa_handler == handler ? 0 : 1);
    }
    printf("child saw the handler %d", WEXITSTATUS(wait_status(child)) == 0);
    sigaction(SIGUSR1, NULL, &now);
    printf(", it is ours still %d, raised %d\n", now.sa_handler == handler, raise(SIGUSR1));
}

static void spawns(void)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t mask, defaults;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGUSR1);
    signal(SIGUSR1, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attributes, &mask);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    char *const arguments[] = {(char *)(size_t)self, "signals", NULL};
    pid_t child = 0;
    fflush(stdout);
    int rc = posix_spawn(&child, self, &actions, &attributes, arguments, environ);
    printf("spawned %d: %d\n", rc, WEXITSTATUS(wait_status(child)));
    char *const bad[] = {"nowhere-at-all", NULL};
    pid_t untouched = 77;
    rc = posix_spawnp(&untouched, bad[0], NULL, NULL, bad, environ);
    printf("not spawned %d\n", rc == ENOENT);
    char *const echo[] = {"echo", "by spawnp", NULL};
    fflush(stdout);
    rc = posix_spawnp(NULL, echo[0], NULL, NULL, echo, environ);
    wait(NULL);
    printf("spawned by name %d\n", rc);
}

static void show_signals(void)
{
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int n = 1; n <= 64; n++) {
        struct sigaction a;
        if (sigaction(n, NULL, &a) == 0 && (a.sa_handler != SIG_DFL || sigismember(&mask, n) == 1))
            printf("signal %d ignored %d blocked %d\n", n, a.sa_handler == SIG_IGN,
                   sigismember(&mask, n));
    }
    printf("own group %d\n", getpgrp() == getpid());
}

/* Calls each function of the exec family in turn; each program goes on with the next step. */
static void chain(int step)
{
    char next[16];
    snprintf(next, sizeof next, "%d", step + 1);
    char *const arguments[] = {(char *)(size_t)self, "chain", next, NULL};
    printf("chain %d\n", step);
    fflush(stdout);
    regtrace_region_begin("link");
    int fd = open(self, O_RDONLY | O_CLOEXEC);
    switch (step) {
    case 0: execl(self, self, "chain", next, (char *)NULL); break;
    case 1: execlp(self, self, "chain", next, (char *)NULL); break;
    case 2: execle(self, self, "chain", next, (char *)NULL, environ); break;
    case 3: execv(self, arguments); break;
    case 4: execvp(self, arguments); break;
    case 5: execve(self, arguments, environ); break;
    case 6: execvpe(self, arguments, environ); break;
    case 7: fexecve(fd, arguments, environ); break;
    case 8: execveat(fd, "", arguments, environ, AT_EMPTY_PATH); break;
    default: close(fd); return;
    }
    printf("failed: %s\n", strerror(errno));
}

static void failing(void)
{
    char *const nowhere[] = {"nowhere-at-all", NULL};
    for (int i = 0; i < 3; i++) {
        regtrace_region_begin("before");
        errno = 0;
        int rc = execvp(nowhere[0], nowhere);
        printf("execvp %d errno %d", rc, errno == ENOENT);
        rc = execl("/", "/", (char *)NULL);
        printf(" execl %d errno %d\n", rc, errno == EACCES);
        regtrace_region_end("before");
    }
    regtrace_region_begin("after");
    fflush(stdout);
    execlp("echo", "echo", "and then it worked", (char *)NULL);
}

static void shells(void)
{
    fflush(stdout);
    printf("system %d\n", WEXITSTATUS(system("echo system; exit 5")));
    FILE *f = popen("echo popen; exit 6", "r");
    char line[64] = "";
    if (fgets(line, sizeof line, f) == NULL)
        puts("no line");
    printf("%spclose %d\n", line, WEXITSTATUS(pclose(f)));
    char command[4096];
    snprintf(command, sizeof command, "'%s' say nested", self);
    fflush(stdout);
    printf("system %d\n", WEXITSTATUS(system(command)));
}

/* Runs programs that libc itself starts through a shell. */
static void nested_shells(void)
{
    char command[4096];
    regtrace_region_begin("parent");
    snprintf(command, sizeof command, "'%s' end _exit", self);
    fflush(stdout);
    printf("system %d\n", WEXITSTATUS(system(command)));
    snprintf(command, sizeof command, "sh -c \"'%s' end exit; true\"; exit 8", self);
    FILE *f = popen(command, "r");
    for (int c; f != NULL && (c = fgetc(f)) != EOF;)
        putchar(c);
    printf("pclose %d\n", WEXITSTATUS(pclose(f)));
    regtrace_region_end("parent");
}

static void daemonize(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        exit(9);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        if (daemon(1, 0) != 0)
            _exit(9);
        regtrace_region_begin("daemon");
        char text[64];
        int n =
            snprintf(text, sizeof text, "daemon: leads its session %d\n", getsid(0) == getpid());
        regtrace_region_end("daemon");
        exit(write(ends[1], text, (size_t)n) != n);
    }
    close(ends[1]);
    char text[64];
    ssize_t n = read(ends[0], text, sizeof text);
    int status = wait_status(child);
    printf("%.*schild %d\n", (int)n, text, WEXITSTATUS(status));
}

static _Atomic int prepared, in_parent, in_child;
static void prepare(void)
{
    prepared++;
    regtrace_region_begin("prepare");
}
static void parent(void)
{
    in_parent++;
    regtrace_region_end("prepare");
}
static void child_of_fork(void)
{
    in_child++;
    regtrace_region_end("prepare");
    regtrace_region_begin("in child");
    regtrace_region_end("in child");
}

static _Atomic int stop;
static void *busy(void *argument)
{
    while (!stop) {
        struct sigaction a = {.sa_handler = handler};
        regtrace_region_begin("busy");
        sigaction(SIGUSR2, &a, NULL);
        regtrace_region_end("busy");
    }
    return argument;
}

static void *forker(void *argument)
{
    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct sigaction a = {.sa_handler = handler};
            sigaction(SIGUSR1, &a, NULL);
            _exit(in_child == 1 ? 0 : 1);
        }
        if (wait_status(child) != 0)
            printf("a child failed\n");
    }
    return argument;
}

/* Two threads fork while two others call functions that take the tracer's locks. */
static void forks_of_threads(void)
{
    pthread_t t[4];
    pthread_atfork(prepare, parent, child_of_fork);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, i < 2 ? busy : forker, NULL);
    pthread_join(t[2], NULL);
    pthread_join(t[3], NULL);
    stop = 1;
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    printf("handlers: %d %d %d\n", (int)prepared, (int)in_parent, (int)in_child);
}

static void at_quick(void)
{
    regtrace_region_begin("quick");
    puts("at quick exit");
    fflush(stdout);
}

static int end(const char *how)
{
    regtrace_region_begin("end");
    puts(how);
    fflush(stdout);
    if (strcmp(how, "_exit") == 0)
        _exit(21);
    if (strcmp(how, "_Exit") == 0)
        _Exit(22);
    if (strcmp(how, "quick_exit") == 0) {
        at_quick_exit(at_quick);
        quick_exit(23);
    }
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "syscall") == 0)
        syscall(SYS_exit_group, 24);
    exit(25);
}

int main(int n, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {
        {"forks", forks},           {"working", working_forks},   {"vforks", vforks},
        {"handler", vfork_handler}, {"spawns", spawns},           {"signals", show_signals},
        {"failing", failing},       {"shells", shells},           {"nested_shells", nested_shells},
        {"daemon", daemonize},      {"threads", forks_of_threads}};
    self = arguments[0];
    for (size_t i = 0; n > 1 && i < sizeof all / sizeof *all; i++)
        if (strcmp(arguments[1], all[i].name) == 0) {
            all[i].run();
            return 0;
        }
    if (n > 2 && strcmp(arguments[1], "chain") == 0)
        chain(atoi(arguments[2]));
    if (n > 2 && strcmp(arguments[1], "say") == 0)
        puts(arguments[2]);
    if (n > 2 && strcmp(arguments[1], "end") == 0)
        return end(arguments[2]);
    return 7;
}
