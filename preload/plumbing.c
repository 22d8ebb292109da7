/* SPDX-License-Identifier: BSD-3-Clause
 * Recognizes programs that run between `mpirun -x LD_PRELOAD` and the application. They are not
 * traced. */
#include "preload/life.h"

#include "base/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* Shells, launchers and our own programs, in any folder. None of them is linked with MPI, so a
 * program of such a name that is linked with it is an application. tools/run/launcher.c knows the
 * launchers that `regtrace run` may get. */
static const char *const anywhere[] = {"sh",
                                       "bash",
                                       "dash",
                                       "zsh",
                                       "ksh",
                                       "csh",
                                       "tcsh",
                                       "fish",
                                       "busybox",
                                       "mpirun",
                                       "mpiexec",
                                       "mpirun.openmpi",
                                       "mpiexec.openmpi",
                                       "mpirun.mpich",
                                       "mpiexec.mpich",
                                       "mpiexec.hydra",
                                       "mpiexec.slurm",
                                       "hydra_pmi_proxy",
                                       "hydra_bstrap_proxy",
                                       "orterun",
                                       "orted",
                                       "prterun",
                                       "prun",
                                       "prted",
                                       "prte",
                                       "srun",
                                       "sbatch",
                                       "salloc",
                                       "slurmstepd",
                                       "aprun",
                                       "palsrun",
                                       "palsd",
                                       "jsrun",
                                       "flux",
                                       "ld-linux-x86-64.so.2",
                                       "ld-linux-aarch64.so.1",
                                       "valgrind",
                                       "valgrind.bin",
                                       "memcheck-amd64-linux",
                                       "regtrace",
                                       "regtrace-events",
                                       "regtrace-isa",
                                       "regtrace-vprofiler",
                                       "regtrace-writer",
                                       NULL};

/* A user's program may have one of these names, so only the one in a folder of the system is not
 * traced. */
static const char *const of_system[] = {
    "env",     "nice",   "nohup",  "numactl", "taskset", "time", "timeout", "setsid",
    "setarch", "stdbuf", "chrt",   "ionice",  "xargs",   "ssh",  "rsh",     "gdb",
    "lldb",    "perf",   "strace", "ltrace",  "ldd",     NULL};

static bool is_in(const char *const *names, const char *name)
{
    for (; *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Is this program in a folder of the system? The path has no symbolic links. Distributions without
 * /usr have their own store. */
static bool is_in_system_folder(const char *executable)
{
    static const char *const folders[] = {"/usr/",  "/bin/",       "/sbin/",      "/lib/",
                                          "/snap/", "/nix/store/", "/gnu/store/", NULL};
    static const char *const local[] = {"/usr/local/", "/usr/home/", "/usr/src/", NULL};
    bool found = false;
    for (const char *const *f = folders; *f != NULL; f++)
        found |= strncmp(executable, *f, strlen(*f)) == 0;
    for (const char *const *f = local; *f != NULL; f++)
        found &= strncmp(executable, *f, strlen(*f)) != 0;
    return found;
}

/* Is this the first process of the run that notes this program? */
static bool is_first(const char *dir, const char *name)
{
    char path[PATH_MAX + 128];
    (void)snprintf(path, sizeof path, "%s/.regtrace/left.%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

bool plumbing_is(const struct identity *id)
{
    return (is_in(anywhere, id->program) && !process_links_mpi()) ||
           strncmp(id->program, "lt-regtrace", 11) == 0 ||
           (is_in(of_system, id->program) && is_in_system_folder(id->executable));
}

bool plumbing_is_name(const char *name)
{
    return is_in(anywhere, name) || is_in(of_system, name);
}

/* The folder of the run exists if `regtrace run` or a traced process has made it. */
void plumbing_note(const struct identity *id)
{
    const char *parent = identity_env(environ, "REGTRACE_PARENT"),
               *wanted = identity_env(environ, "REGTRACE_DIR"),
               *dir = parent != NULL && parent[0] == '/' ? parent : wanted;
    char text[PATH_MAX + 256];
    if (!is_in(of_system, id->program) || dir == NULL || strlen(dir) >= PATH_MAX ||
        (dir == wanted && !identity_folder_is_of(dir, id->job)) || !is_first(dir, id->program))
        return;
    log_set_folder(dir, id->rank, id->pid);
    (void)snprintf(
        text, sizeof text,
        "%s was not traced, because it is the system's program that starts others; these "
        "are traced. REGTRACE_INCLUDE (option -include) names programs to trace",
        id->executable);
    log_line(LOG_NOTE, text);
}
