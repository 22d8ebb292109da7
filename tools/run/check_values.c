/* SPDX-License-Identifier: BSD-3-Clause
 * Checks -values before the program starts. */
#include "base/toolkit/beside.h"
#include "base/format/value_protocol.h"
#include "pmu/pmu.h"
#include "tools/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Reads the first line that the child writes to standard error. */
static void read_line(int fd, char *line, size_t room)
{
    size_t n = 0;
    ssize_t got;
    while (n + 1 < room && ((got = read(fd, line + n, room - 1 - n)) > 0 || errno == EINTR))
        n += got > 0 ? (size_t)got : 0;
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

static _Noreturn void exec_program(const char *program, const char *plugin, int said)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(said, STDERR_FILENO);
    (void)execl(program, program, "--check", plugin, (char *)NULL);
    _exit(127);
}

/* Has a separate process load the plug-in and make its specification. */
static int check_plugin(const char *program, const char *plugin, struct rt_error *e)
{
    int ends[2], status = 0;
    char line[sizeof e->text - 64];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        rt_error_set(e, "no pipe: %s", strerror(errno));
        return -errno;
    }
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        exec_program(program, plugin, ends[1]);
    (void)close(ends[1]);
    errno = 0;
    read_line(ends[0], line, sizeof line);
    (void)close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    rt_error_set(e, VALUES_REFUSED ": %s", line[0] != '\0' ? line : VALUES_CRASHED);
    return -EINVAL;
}

int run_check_values(const struct options *o, bool one_window, const char *library,
                     struct rt_error *e)
{
    struct pmu_sample_spec spec;
    char program[PATH_MAX];
    if (o->text[OPT_values][0] == '\0')
        return 0;
    int rc = pmu_wanted_values(o, one_window, &spec, e);
    if (rc != 0)
        return rc;
    if (!beside_library(library, "regtrace-vprofiler", program)) {
        rt_error_set(e, VALUES_MISSING);
        return -ENOENT;
    }
    return check_plugin(program, o->text[OPT_values], e);
}
