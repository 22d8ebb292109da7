/* SPDX-License-Identifier: BSD-3-Clause
 * Runs a program of the toolkit and reads its output; the end of the output marks the program's
 * end. */
#include "base/toolkit/ask.h"

#include "base/toolkit/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 30000 /* emulated machines take seconds for work of 5 ms */
#define ENVIRONMENT_MAX 4096

struct asked {
    const char *program;
    const char *const *arguments;
    char **environment;
    int out_fd, null_fd;
};

static long exec_program(void *context)
{
    const struct asked *a = context;
    const int fds[] = {a->null_fd, a->out_fd, a->null_fd};
    return apart_exec(fds, 3, a->program, (char *const *)(uintptr_t)a->arguments, a->environment);
}

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads the output to its end. Kills a program that does not end in time: its pid cannot be another
 * process's while it holds the pipe. */
static int read_all(int fd, int pid, char *out, size_t room, size_t *length)
{
    size_t n = 0;
    int64_t end = now_ms() + LIMIT_MS, left;
    while ((left = end - now_ms()) > 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int rc = poll(&p, 1, (int)left);
        if (rc < 0 && errno == EINTR)
            continue;
        ssize_t got = rc > 0 ? read(fd, out + n, room - 1 - n) : -1;
        if (rc > 0 && got == 0) {
            out[n] = '\0';
            *length = n;
            return 0;
        }
        if (got > 0) {
            n += (size_t)got;
            end = now_ms() + LIMIT_MS;
        }
        if (n == room - 1)
            break;
    }
    (void)kill(pid, SIGKILL);
    return -ETIMEDOUT;
}

static int exchange(struct asked *a, char *out, size_t room, size_t *length)
{
    int ends[2];
    a->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (a->null_fd < 0)
        return -errno;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        int rc = -errno;
        (void)close(a->null_fd);
        return rc;
    }
    a->out_fd = ends[1];
    int pid = apart_start(exec_program, a);
    (void)close(a->null_fd);
    (void)close(ends[1]);
    int rc = pid < 0 ? pid : read_all(ends[0], pid, out, room, length);
    (void)close(ends[0]);
    return rc;
}

int ask_program(const char *program, const char *const *arguments, char *const *environment,
                char *out, size_t room, size_t *length, struct rt_error *why)
{
    static char *kept[ENVIRONMENT_MAX + 1];
    apart_environment(environment, kept, ENVIRONMENT_MAX);
    return ask_program_with(program, arguments, kept, out, room, length, why);
}

int ask_program_with(const char *program, const char *const *arguments, char **environment,
                     char *out, size_t room, size_t *length, struct rt_error *why)
{
    struct asked a = {.program = program, .arguments = arguments, .environment = environment};
    out[0] = '\0';
    *length = 0;
    int rc = exchange(&a, out, room, length);
    if (rc == -ETIMEDOUT)
        rt_error_set(why, "%s has not answered within %d s", program, LIMIT_MS / 1000);
    else if (rc != 0)
        rt_error_set(why, "%s cannot be started: %s", program, strerror(-rc));
    else if (*length < 4 || strcmp(out + *length - 4, "end\n") != 0) {
        rt_error_set(why, "%s ended early: is a library of its missing? (ldd shows it)", program);
        rc = -EPROTO;
    }
    return rc;
}
