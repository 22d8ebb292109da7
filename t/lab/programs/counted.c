/* SPDX-License-Identifier: BSD-3-Clause
 * counted COMMAND...: runs the command and prints, on a separate line after its output, how many
 * instructions its first thread executed in user mode from exec to exit. Those of its children are
 * not included. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int go[2], status = 0;
    uint64_t n = 0;
    if (argc < 2 || pipe(go) != 0)
        return 2;
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        close(go[1]);
        if (read(go[0], &byte, 1) != 1)
            _exit(2);
        close(go[0]);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .disabled = 1,
                                   .enable_on_exec = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        (void)fprintf(stderr, "counted: no counter: %s\n", strerror(errno));
    if (write(go[1], "g", 1) != 1 || waitpid(pid, &status, 0) != pid || fd < 0 ||
        read(fd, &n, sizeof n) != sizeof n)
        return 2;
    (void)printf("%llu\n", (unsigned long long)n);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
