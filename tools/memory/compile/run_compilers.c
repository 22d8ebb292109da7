/* SPDX-License-Identifier: BSD-3-Clause
 * Runs compilers for `regtrace skel` to their end. */
#include "tools/json.h"
#include "tools/output.h"
#include "tools/memory/skel_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

enum { CANNOT_RUN = 127 };

static _Noreturn void exec_program(const char *const *words)
{
    (void)execvp(words[0], (char *const *)words);
    (void)fprintf(stderr, "regtrace skel: %s cannot be run: %s\n", words[0], strerror(errno));
    _exit(CANNOT_RUN);
}

/* Forks; returns the child's pid, or 0 in the child. out, said: descriptors for the child's
 * standard output and error; -1: ours. folder: the child puts temporary files there and leads a
 * process group (output_note_group()); NULL: it has our TMPDIR and group. */
static pid_t start(int out, int said, const char *folder)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid > 0 && folder != NULL)
        (void)setpgid(pid, pid);
    if (pid != 0)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (folder != NULL) {
        (void)setpgid(0, 0);
        (void)setenv("TMPDIR", folder, 1);
        output_release_signals();
    }
    if ((out >= 0 && dup2(out, STDOUT_FILENO) < 0) || (said >= 0 && dup2(said, STDERR_FILENO) < 0))
        _exit(CANNOT_RUN);
    return 0;
}

static int wait_for(pid_t pid)
{
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Waits for the process to end, but does not reap it: until then no other process gets its pid. */
static void wait_for_end(pid_t pid)
{
    siginfo_t info;
    while (pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        continue;
}

/* Copies a failed program's messages to stderr as plain text: compilers quote their input, which
 * may be damaged. Closes `said`. */
static void tell(int said, struct skel_ended *ended)
{
    char *line = NULL;
    size_t room = 0;
    FILE *in = lseek(said, 0, SEEK_SET) == 0 ? fdopen(said, "r") : NULL;
    while (in != NULL && getline(&line, &room, in) > 0) {
        ended->full = ended->full || strstr(line, "No space left on device") != NULL;
        line[strcspn(line, "\n")] = '\0';
        text_write_plain(stderr, line);
        (void)fputc('\n', stderr);
    }
    free(line);
    (void)(in != NULL ? fclose(in) : close(said));
}

/* Returns the exit status of the first program that failed, or 0. Programs that run at that time
 * end by themselves. */
static int run_some(const char *const *const *list, size_t count, size_t jobs)
{
    int failed = 0;
    size_t next = 0, running = 0;
    while (running > 0 || (failed == 0 && next < count)) {
        int status = 0;
        pid_t pid = -1;
        if (failed == 0 && next < count && running < (jobs > 0 ? jobs : 1)) {
            pid = fork();
            if (pid == 0) {
                (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
                exec_program(list[next]);
            }
            next++;
            running += pid > 0;
            failed = pid > 0 ? failed : CANNOT_RUN;
            continue;
        }
        if (waitpid(-1, &status, 0) < 0) {
            if (errno == EINTR)
                continue;
            return CANNOT_RUN;
        }
        running--;
        if (failed == 0 && status != 0)
            failed = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    return failed;
}

/* Compilers that a signal ends sometimes leave temporary files: a signal that ends us kills their
 * process group and removes the folder. Their messages are printed only if they failed by
 * themselves. */
bool skel_run_all(const char *const *const *list, size_t count, size_t jobs, const char *folder,
                  struct skel_ended *ended)
{
    int said = memfd_create("said", MFD_CLOEXEC);
    output_hold_signals();
    pid_t pid = start(-1, said, folder);
    if (pid == 0 && count == 1)
        exec_program(list[0]);
    if (pid == 0)
        _exit(run_some(list, count, jobs));
    output_note_group(pid > 0 ? pid : 0);
    output_release_signals();
    wait_for_end(pid);
    output_note_group(0);
    int status = wait_for(pid);
    ended->lacks = status == CANNOT_RUN;
    if (said >= 0 && status != 0)
        tell(said, ended);
    else if (said >= 0)
        (void)close(said);
    return status == 0;
}

bool skel_run(const char *const *words, const char *folder, struct skel_ended *ended)
{
    return skel_run_all(&words, 1, 1, folder, ended);
}
