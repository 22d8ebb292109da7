/* SPDX-License-Identifier: BSD-3-Clause
 * Tests apart_start(): the state of the program that it starts; and that the calling process gets
 * no child, no SIGCHLD and no change of its own state. */
#include "base/toolkit/apart.h"
#include "t/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t children;

static void child_ended(int signo)
{
    (void)signo;
    children = children + 1;
}

struct wish {
    const char *program;
    char *const *arguments, *const *environment;
    int in, out;
    long fails;
};

static long exec_program(void *context)
{
    const struct wish *w = context;
    const int fds[] = {w->in, w->out, w->in};
    return w->fails != 0 ? w->fails : apart_exec(fds, 3, w->program, w->arguments, w->environment);
}

static const char *line_of(FILE *f)
{
    static char text[256];
    if (fgets(text, sizeof text, f) == NULL)
        return "nothing";
    text[strcspn(text, "\n")] = '\0';
    return text;
}

/* Reads the program's output up to end of file, which comes only when no process holds the pipe's
 * write end. */
static void test_started(struct wish *w)
{
    int ends[2], extra = open("/", O_RDONLY); /* not CLOEXEC: only apart_exec() closes it */
    char want[64];
    if (extra < 0 || pipe2(ends, O_CLOEXEC) != 0)
        exit(99);
    w->out = ends[1];
    int pid = apart_start(exec_program, w);
    ok(pid > 0, "it starts");
    close(ends[1]);
    FILE *f = fdopen(ends[0], "r");
    (void)snprintf(want, sizeof want, "%d %d", pid, pid);
    is_str(line_of(f), want, "it has the pid that we are told, and a session of its own");
    is_str(line_of(f), "fds", "no descriptors but its three");
    is_str(line_of(f), "SigBlk:\t0000000000000000", "no signal blocked");
    is_str(line_of(f), "preload= kept=yes", "the environment but for LD_PRELOAD");
    is_str(line_of(f), "nothing", "and it ends");
    fclose(f);
    close(extra);
    errno = 0;
    ok(waitpid(-1, NULL, 0) == -1 && errno == ECHILD, "there is no child to wait for");
    is_int(children, 0, "and no SIGCHLD came");
}

static void test_refused(struct wish *w)
{
    sigset_t before = {{0}}, after = {{0}};
    w->out = w->in;
    sigprocmask(SIG_SETMASK, NULL, &before);
    w->fails = -EDOM;
    is_int(apart_start(exec_program, w), -EDOM, "what fails before it is reported");
    w->fails = 0;
    w->program = "/nowhere/at/all";
    is_int(apart_start(exec_program, w), -ENOENT, "so is a program that cannot be executed");
    w->program = "/bin/sh";
    w->out = 9999;
    is_int(apart_start(exec_program, w), -EBADF, "and a descriptor that there is not");
    sigprocmask(SIG_SETMASK, NULL, &after);
    ok(memcmp(&before, &after, sizeof before) == 0, "our mask is as it was");
}

int main(void)
{
    static const char script[] =
        "read -r pid _ _ _ _ sid _ </proc/$$/stat; echo $pid $sid; open=; for i in 3 4 5 6 7 8 9 "
        "10 11 12 13; do [ ! -e /proc/$$/fd/$i ] || open=\"$open $i\"; done; echo \"fds$open\"; "
        "while read -r line; do case $line in SigBlk*) echo \"$line\" ;; esac; done "
        "</proc/$$/status; echo preload=$LD_PRELOAD kept=$KEPT";
    char *const arguments[] = {"sh", "-c", (char *)(uintptr_t)script, NULL};
    char *const from[] = {"LD_PRELOAD=x.so", "KEPT=yes", "PATH=/bin", NULL};
    char *environment[3], *little[2];
    struct wish w = {.program = "/bin/sh",
                     .arguments = arguments,
                     .environment = environment,
                     .in = open("/dev/null", O_RDWR | O_CLOEXEC)};
    apart_environment(from, environment, 2);
    ok(environment[0] == from[1] && environment[1] == from[2] && environment[2] == NULL,
       "LD_PRELOAD is left out, the rest stays in its order");
    apart_environment(from, little, 1);
    ok(little[0] == from[1] && little[1] == NULL, "and no more than there is room for");
    signal(SIGCHLD, child_ended);
    test_started(&w);
    test_refused(&w);
    return done_testing();
}
