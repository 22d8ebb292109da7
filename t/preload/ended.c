/* SPDX-License-Identifier: BSD-3-Clause
 * Runs a command and notes how it ended, as its parent sees it.
 *
 *   ended SECONDS COMMAND [ARGUMENT]...
 *
 * Writes "exit N", "signal N" or, after SECONDS, "no end within SECONDS s" to the file that the
 * variable ENDED names. The command has a session of its own, nothing to read, and no descriptor
 * but the standard ones. Nothing is written if the command cannot be executed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void execute(char **command, int failed)
{
    int nothing = open("/dev/null", O_RDONLY);
    setsid();
    dup2(nothing, 0);
    if (failed != 3) {
        dup2(failed, 3);
        failed = 3;
    }
    fcntl(failed, F_SETFD, FD_CLOEXEC);
    close_range(4, ~0U, 0);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(command[0], command);
    int why = errno;
    if (write(failed, &why, sizeof why) < 0)
        _exit(126);
    _exit(127);
}

int main(int argc, char **argv)
{
    const char *path = getenv("ENDED");
    int failed[2], why = 0, status = 0;
    sigset_t child;
    if (argc < 3 || path == NULL || pipe2(failed, O_CLOEXEC) != 0) {
        fprintf(stderr, "ENDED=FILE ended SECONDS COMMAND [ARGUMENT]...\n");
        return 99;
    }
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    pid_t pid = fork();
    if (pid == 0)
        execute(argv + 2, failed[1]);
    close(failed[1]);
    if (pid < 0 || read(failed[0], &why, sizeof why) > 0) {
        fprintf(stderr, "%s: %s\n", argv[2], strerror(pid < 0 ? errno : why));
        return 99;
    }
    struct timespec until, now;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += atol(argv[1]);
    pid_t done;
    while ((done = waitpid(pid, &status, WNOHANG)) == 0) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec >= until.tv_sec)
            break;
        sigtimedwait(&child, NULL, &(struct timespec){.tv_sec = 1});
    }
    if (done == 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    FILE *out = fopen(path, "w");
    if (out == NULL || done < 0)
        return 99;
    if (done == 0)
        fprintf(out, "no end within %s s\n", argv[1]);
    else if (WIFSIGNALED(status))
        fprintf(out, "signal %d\n", WTERMSIG(status));
    else
        fprintf(out, "exit %d\n", WEXITSTATUS(status));
    return fclose(out) == 0 ? 0 : 99;
}
