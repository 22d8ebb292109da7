/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application: ends, or starts other processes, in the way that its argument names.
 *
 * endings WAY [RANK]: after some MPI calls rank RANK (default 0) does WAY. The other ranks go on to
 * a barrier if WAY allows that. Output and exit status depend on WAY alone. `endings list` prints
 * the ways. */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *self;

/* --- Ways that end the process --- */

static void end_exit(void)
{
    exit(3);
}

static void end_exit_now(void)
{
    _exit(4);
}

static void end_quick(void)
{
    quick_exit(5);
}

static void end_abort(void)
{
    abort();
}

static void end_segv(void)
{
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

static void end_fpe(void)
{
    volatile int zero = 0;
    volatile int many = 1000;
    volatile int one = many / zero;
    (void)one;
}

static void end_sigterm(void)
{
    kill(getpid(), SIGTERM);
    pause();
}

static void end_sigkill(void)
{
    kill(getpid(), SIGKILL);
    pause();
}

static void end_mpi_abort(void)
{
    MPI_Abort(MPI_COMM_WORLD, 6);
}

static void end_exec(void)
{
    execl("/bin/echo", "echo", "executed", (char *)NULL);
    perror("execl");
    _exit(1);
}

/* Executes this program again. The new image makes no MPI calls: whether it could make them as a
 * singleton depends on the launcher's environment. */
static void end_exec_self(void)
{
    char *arguments[] = {self, (char *)"child", NULL};
    execv(self, arguments);
    perror("execv");
    _exit(1);
}

static void *pause_for_ever(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void end_thread_exits(void)
{
    pthread_t t;
    pthread_create(&t, NULL, pause_for_ever, NULL);
    exit(7);
}

static void *exit_from_thread(void *arg)
{
    exit(8);
    return arg;
}

static void end_exit_in_thread(void)
{
    pthread_t t;
    pthread_create(&t, NULL, exit_from_thread, NULL);
    pthread_join(t, NULL);
}

/* --- Ways after which the process goes on --- */

static void shown(const char *what, int status)
{
    if (WIFEXITED(status))
        printf("%s exited with %d\n", what, WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        printf("%s killed by %d\n", what, WTERMSIG(status));
    fflush(stdout);
}

static void waited(const char *what, pid_t child)
{
    int status = 0;
    if (child < 0) {
        printf("%s: no child: %s\n", what, strerror(errno));
        return;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    shown(what, status);
    /* A program that waits for any child must find only the children that it made. */
    if (wait(&status) != -1 || errno != ECHILD)
        printf("%s: a child that nobody made\n", what);
}

static void do_fork(void)
{
    fflush(NULL);
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            printf("in child %d\n", i);
            fflush(stdout);
            _exit(i);
        }
        waited("forked child", child);
    }
    pid_t child = fork();
    if (child == 0) {
        kill(getpid(), SIGKILL);
        pause();
    }
    waited("killed child", child);
}

static void do_vfork(void)
{
    fflush(NULL);
    pid_t child = vfork();
    if (child == 0)
        _exit(9);
    waited("vforked child", child);
    child = vfork();
    if (child == 0) {
        execl("/bin/echo", "echo", "from vfork", (char *)NULL);
        _exit(127);
    }
    waited("vforked program", child);
}

static void do_spawn(void)
{
    pid_t child = -1;
    char *arguments[] = {(char *)"sh", (char *)"-c", (char *)"echo spawned; exit 11", NULL};
    fflush(NULL);
    errno = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
    waited("spawned program", child);
    errno = posix_spawnp(&child, "no-such-program-here", NULL, NULL, arguments, environ);
    printf("spawn of nothing: %s\n", strerror(errno));
}

static void do_system(void)
{
    fflush(NULL);
    shown("system", system("echo by system; exit 12"));
}

static void do_popen(void)
{
    char line[64] = "";
    FILE *f = popen("echo by popen; exit 13", "r");
    if (f == NULL || fgets(line, sizeof line, f) == NULL)
        printf("popen gave nothing\n");
    printf("read: %s", line);
    if (f != NULL)
        shown("popen", pclose(f));
}

static void do_failing_exec(void)
{
    char *arguments[] = {(char *)"nothing", NULL};
    errno = 0;
    execvp("no-such-program-here", arguments);
    printf("exec failed: %s\n", strerror(errno));
}

static void *end_at_once(void *arg)
{
    return arg;
}

static void *end_by_exit(void *arg)
{
    pthread_exit(arg);
}

static void do_threads(void)
{
    pthread_t t;
    long ends = 0, cancelled = 0;
    void *result;
    for (long i = 0; i < 20; i++) {
        pthread_create(&t, NULL, i % 2 ? end_at_once : end_by_exit, (void *)i);
        pthread_join(t, &result);
        ends += (long)result;
    }
    for (int i = 0; i < 5; i++) {
        pthread_create(&t, NULL, pause_for_ever, NULL);
        pthread_cancel(t);
        pthread_join(t, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("ends %ld, cancelled %ld\n", ends, cancelled);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

static void do_signals(void)
{
    struct sigaction action = {.sa_handler = count_signal}, old;
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 10; i++)
        raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &old);
    printf("signals %d, own handler %d\n", (int)signals, old.sa_handler == count_signal);
}

static void do_daemon(void)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        /* The first argument is nochdir. The second directs the standard descriptors to
         * /dev/null. */
        _exit(daemon(1, 0) != 0);
    }
    waited("daemon's parent", child);
}

static void do_nothing(void)
{
}

static const struct way {
    const char *name;
    void (*act)(void);
    int goes_on; /* 1: main calls MPI_Finalize; 2: main returns without it */
} ways[] = {
    {"none", do_nothing, 1},
    {"no_finalize", do_nothing, 2},
    {"exit", end_exit, 0},
    {"_exit", end_exit_now, 0},
    {"quick_exit", end_quick, 0},
    {"abort", end_abort, 0},
    {"segv", end_segv, 0},
    {"fpe", end_fpe, 0},
    {"sigterm", end_sigterm, 0},
    {"sigkill", end_sigkill, 0},
    {"mpi_abort", end_mpi_abort, 0},
    {"exec", end_exec, 0},
    {"exec_self", end_exec_self, 0},
    {"exit_with_thread", end_thread_exits, 0},
    {"exit_in_thread", end_exit_in_thread, 0},
    {"fork", do_fork, 1},
    {"vfork", do_vfork, 1},
    {"spawn", do_spawn, 1},
    {"system", do_system, 1},
    {"popen", do_popen, 1},
    {"failing_exec", do_failing_exec, 1},
    {"threads", do_threads, 1},
    {"signals", do_signals, 1},
    {"daemon", do_daemon, 1},
};
#define WAYS (sizeof ways / sizeof *ways)

static int usage(FILE *out, int status)
{
    for (size_t i = 0; i < WAYS; i++)
        fprintf(out, "%s%s", ways[i].name, i + 1 < WAYS ? " " : "\n");
    return status;
}

/* Makes a few calls, so that there are events that the ending could lose. */
static void some_calls(int rank, int size)
{
    for (int i = 0; i < 50; i++) {
        int value = i, got = 0;
        MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 1, &got, 1, MPI_INT,
                     (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    const struct way *way = NULL;
    int rank, size, actor = argc > 2 ? atoi(argv[2]) : 0;
    self = argv[0];
    setrlimit(RLIMIT_CORE, &no_core);
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        printf("executed itself\n");
        return 14;
    }
    if (argc > 1 && strcmp(argv[1], "list") == 0)
        return usage(stdout, 0);
    for (size_t i = 0; i < WAYS && argc > 1; i++)
        if (strcmp(argv[1], ways[i].name) == 0)
            way = &ways[i];
    if (way == NULL)
        return usage(stderr, 2);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    some_calls(rank, size);
    if (rank == actor) {
        printf("before\n");
        fflush(stdout);
        way->act();
        fflush(stdout);
    }
    if (way->goes_on == 2)
        return 15;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == actor)
        printf("after\n");
    MPI_Finalize();
    return 0;
}
