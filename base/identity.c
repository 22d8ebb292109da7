/* SPDX-License-Identifier: BSD-3-Clause
 * Rank, job and program of this process, from the launcher's environment and from /proc. */
#include "base/identity.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

const char *identity_env(char *const *envp, const char *name)
{
    size_t n = strlen(name);
    for (; envp != NULL && *envp != NULL; envp++)
        if (strncmp(*envp, name, n) == 0 && (*envp)[n] == '=')
            return *envp + n + 1;
    return NULL;
}

static bool env_number(char *const *envp, const char *name, int32_t *out)
{
    const char *v = identity_env(envp, name);
    if (v == NULL || *v == '\0')
        return false;
    char *end;
    long n = strtol(v, &end, 10);
    if (*end != '\0' || n < 0 || n > INT32_MAX)
        return false;
    *out = (int32_t)n;
    return true;
}

/* The order matters: an inner launcher's variables come before those of the batch system around
 * it. */
static const struct {
    const char *rank, *size, *local_rank, *local_size;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK", "PMIX_LOCAL_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"PALS_RANKID", "PALS_SIZE", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"},
};

static void read_rank(struct identity *id, char *const *envp)
{
    id->rank = id->size = id->local_rank = id->local_size = -1;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (!env_number(envp, launchers[i].rank, &id->rank))
            continue;
        id->launched = true;
        id->rank_variable = launchers[i].rank;
        (void)env_number(envp, launchers[i].size, &id->size);
        (void)env_number(envp, launchers[i].local_rank, &id->local_rank);
        (void)env_number(envp, launchers[i].local_size, &id->local_size);
        return;
    }
    id->rank = 0;
    id->size = 1;
}

static long read_small_file(const char *path, char *buf, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    long n = read(fd, buf, room - 1);
    (void)close(fd);
    if (n < 0)
        return -1;
    buf[n] = '\0';
    return n;
}

bool identity_look(uint32_t pid, struct process_stat *out)
{
    char path[64], buf[1024];
    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    if (read_small_file(path, buf, sizeof buf) < 0)
        return false;
    /* The name in parentheses may itself hold parentheses, so parse from the last one on. */
    char *open_at = strchr(buf, '('), *close_at = strrchr(buf, ')');
    if (open_at == NULL || close_at == NULL || close_at[1] == '\0')
        return false;
    *close_at = '\0';
    *out = (struct process_stat){.state = close_at[2]};
    (void)snprintf(out->name, sizeof out->name, "%s", open_at + 1);
    const char *p = close_at + 2;
    int field = 3;
    for (; field <= 22 && p != NULL; field++) {
        if (field == 4)
            out->parent = (uint32_t)strtoul(p, NULL, 10);
        if (field == 20)
            out->threads = strtoul(p, NULL, 10);
        if (field == 22)
            out->start_time = strtoull(p, NULL, 10);
        p = strchr(p, ' ');
        p = p != NULL ? p + 1 : NULL;
    }
    return field > 22;
}

/* Dead, but not yet waited for. Under a container's init that may last forever. */
static bool is_dead(const struct process_stat *s)
{
    return s->state == 'Z' || s->state == 'X';
}

uint64_t identity_start_time(uint32_t pid)
{
    struct process_stat s;
    return identity_look(pid, &s) && !is_dead(&s) ? s.start_time : 0;
}

static bool is_launcher(const char *name)
{
    static const char *const names[] = {"mpirun",
                                        "mpiexec",
                                        "mpirun.openmpi",
                                        "mpiexec.openmpi",
                                        "orterun",
                                        "orted",
                                        "prterun",
                                        "prted",
                                        "mpiexec.hydra",
                                        "mpirun.mpich",
                                        "mpiexec.mpich",
                                        "hydra_pmi_proxy",
                                        "hydra_bstrap_pr",
                                        "srun",
                                        "slurmstepd",
                                        "palsd",
                                        NULL};
    for (int i = 0; names[i] != NULL; i++)
        if (strncmp(name, names[i], 15) == 0) /* the kernel keeps 15 characters */
            return true;
    return false;
}

/* Without a job id from the launcher: names the job after the outermost launcher process above this
 * one on this node. */
static void job_of_launcher(struct identity *id)
{
    uint32_t pid = id->parent_pid, found = id->pid;
    uint64_t found_start = id->pid_start_time;
    for (int depth = 0; id->launched && depth < 32 && pid > 1; depth++) {
        struct process_stat s;
        if (!identity_look(pid, &s) || is_dead(&s) || s.start_time == 0)
            break;
        if (is_launcher(s.name)) {
            found = pid;
            found_start = s.start_time;
        }
        pid = s.parent;
    }
    (void)snprintf(id->job, sizeof id->job, "%.40s-%u-%llx", id->host, found,
                   (unsigned long long)found_start);
}

static void make_file_name(char *s)
{
    for (; *s != '\0'; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
              *s == '-' || *s == '_' || *s == '.'))
            *s = '_';
}

/* Open MPI 4 numbers the jobs of one mpirun as family << 16 | job. The first job is 1, and each
 * MPI_Comm_spawn makes another one. The environment of a spawned world names its parent's port; it
 * belongs to the run of the first job. PRRTE (Open MPI 5) writes FAMILY@JOB. */
static bool job_of_family(struct identity *id, char *const *envp, const char *pmix)
{
    enum { JOB_BITS = 16, JOBS = 1 << JOB_BITS };
    char *end;
    bool spawned = identity_env(envp, "OMPI_PARENT_PORT") != NULL;
    const char *at = strrchr(pmix, '@');
    if (at != NULL && strncmp(pmix, "prterun-", 8) == 0) {
        id->world = (uint32_t)strtoul(at + 1, NULL, 10);
        (void)snprintf(id->job, sizeof id->job, "%.*s_1", (int)(at - pmix), pmix);
        return true;
    }
    unsigned long long number = strtoull(pmix, &end, 10);
    if (*end != '\0' || number < JOBS || identity_env(envp, "OMPI_COMM_WORLD_RANK") == NULL)
        return false;
    id->world = spawned ? (uint32_t)(number % JOBS) : 1;
    number = spawned ? number / JOBS * JOBS + 1 : number;
    (void)snprintf(id->job, sizeof id->job, "%llu", number);
    return true;
}

static void read_job(struct identity *id, char *const *envp, const char *run_id)
{
    const char *slurm = identity_env(envp, "SLURM_JOB_ID"),
               *step = identity_env(envp, "SLURM_STEP_ID");
    const char *pmix = identity_env(envp, "PMIX_NAMESPACE");
    bool family = pmix != NULL && job_of_family(id, envp, pmix);
    if (run_id != NULL && run_id[0] != '\0')
        (void)snprintf(id->job, sizeof id->job, "%s", run_id);
    else if (slurm != NULL && step != NULL)
        (void)snprintf(id->job, sizeof id->job, "%s.%s", slurm, step);
    else if (!family && pmix != NULL && pmix[0] != '\0')
        (void)snprintf(id->job, sizeof id->job, "%s", pmix);
    else if (!family)
        job_of_launcher(id);
    make_file_name(id->job);
}

void identity_read(struct identity *id, char *const *envp, const char *run_id)
{
    memset(id, 0, sizeof *id);
    id->pid = (uint32_t)getpid();
    id->parent_pid = (uint32_t)getppid();
    id->uid = (uint32_t)getuid();
    id->pid_start_time = identity_start_time(id->pid);
    struct utsname u;
    if (uname(&u) == 0)
        (void)snprintf(id->host, sizeof id->host, "%s", u.nodename);
    if (read_small_file("/proc/sys/kernel/random/boot_id", id->boot_id, sizeof id->boot_id) > 0)
        id->boot_id[strcspn(id->boot_id, "\n")] = '\0';
    ssize_t n = readlink("/proc/self/exe", id->executable, sizeof id->executable - 1);
    id->executable[n > 0 ? n : 0] = '\0';
    (void)snprintf(id->program, sizeof id->program, "%.63s", identity_base_name(id->executable));
    read_rank(id, envp);
    read_job(id, envp, run_id);
}

const char *identity_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool identity_speaks(const struct identity *id)
{
    return id->local_rank <= 0;
}

#define SPEECH_NS UINT64_C(3000000000)
#define LOOK_NS 10000000
#define PASS_ON_NS 100000000

/* Launchers read standard error from a pipe. MPICH's loses what it has not passed on when the
 * process ends with an error. */
static void let_launcher_read(void)
{
    int unread = 0;
    long rc = sys_call6(SYS_ioctl, 2, FIONREAD, (long)&unread, 0, 0, 0);
    for (int i = 0; i < 100 && rc == 0 && unread > 0; i++) {
        sys_nap(LOOK_NS);
        rc = sys_call6(SYS_ioctl, 2, FIONREAD, (long)&unread, 0, 0, 0);
    }
    if (rc == 0)
        sys_nap(PASS_ON_NS);
}

void identity_let_speak(const struct identity *id)
{
    if (!identity_speaks(id))
        sys_nap(SPEECH_NS);
    else if (id->launched)
        let_launcher_read();
}
