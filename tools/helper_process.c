/* SPDX-License-Identifier: BSD-3-Clause
 * Starts helper programs, and captures what they write. */
#include "tools/helper_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_variables(const char *const *variables)
{
    for (; variables != NULL && *variables != NULL; variables++) {
        char name[64];
        size_t n = strcspn(*variables, "=");
        (void)snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), *variables);
        if ((*variables)[n] == '=')
            (void)setenv(name, *variables + n + 1, 1);
        else
            (void)unsetenv(name);
    }
}

static _Noreturn void exec_program(const struct helper *h, int captured)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int given[] = {h->in, h->out, h->err};
    int from[3];
    for (int i = 0; i < 3; i++)
        from[i] = given[i] == HELPER_NULL       ? null
                  : given[i] == HELPER_CAPTURED ? captured
                                                : given[i];
    for (int i = 0; i < 3; i++)
        if (from[i] != i && dup2(from[i], i) < 0)
            _exit(127);
    (void)signal(SIGPIPE, SIG_DFL);
    set_variables(h->variables);
    if (h->seconds > 0)
        (void)alarm(h->seconds);
    (void)execvp(h->words[0], (char *const *)(uintptr_t)h->words);
    _exit(127);
}

static pid_t start(const struct helper *h, int captured)
{
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        exec_program(h, captured);
    return pid > 0 ? pid : -errno;
}

pid_t helper_start(const struct helper *h)
{
    return start(h, -1);
}

/* Reads to the end of file. Output that does not fit goes to a small buffer, so that the program
 * does not wait for us to read it. */
static void read_all(int fd, char *out, size_t room)
{
    size_t used = 0;
    for (;;) {
        char spill[256];
        bool fits = used + 1 < room;
        ssize_t n = fits ? read(fd, out + used, room - 1 - used) : read(fd, spill, sizeof spill);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += fits ? (size_t)n : 0;
    }
    out[used] = '\0';
}

int helper_capture(const struct helper *h, char *out, size_t room)
{
    int ends[2], status = 0;
    out[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    pid_t pid = start(h, ends[1]);
    (void)close(ends[1]);
    if (pid > 0)
        read_all(ends[0], out, room);
    (void)close(ends[0]);
    if (pid < 0)
        return pid;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void helper_wait(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}
