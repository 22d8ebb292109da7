/* SPDX-License-Identifier: BSD-3-Clause
 * Tests what this machine allows: memory file system, clocks, counters, limits, containers. */
#include "base/clock.h"
#include "pmu/pmu.h"
#include "tools/installed.h"
#include "tools/doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#define TMPFS_MAGIC_NUMBER 0x01021994 /* statfs(2) */

/* glibc 2.35 and later register rseq themselves, and export where it is. */
extern const unsigned int __rseq_size __attribute__((weak));

static void look_kernel(struct finding *f)
{
    struct utsname u;
    if (uname(&u) != 0)
        finding_set(f, FINDING_NOTE, "unknown");
    else
        finding_set(f, FINDING_OK, "%s %s on %s, %ld CPUs", u.sysname, u.release, u.machine,
                    sysconf(_SC_NPROCESSORS_ONLN));
}

static void look_shm(struct finding *f)
{
    const char *shm = getenv("REGTRACE_SHM");
    shm = shm != NULL && shm[0] != '\0' ? shm : "/dev/shm";
    struct statvfs v;
    struct statfs kind;
    char path[PATH_MAX];
    if (statvfs(shm, &v) != 0 || statfs(shm, &kind) != 0) {
        finding_set(f, FINDING_BROKEN,
                    "%s: %s; name another memory file system by REGTRACE_SHM (-shm)", shm,
                    strerror(errno));
        return;
    }
    (void)snprintf(path, sizeof path, "%s/regtrace-doctor-%ld", shm, (long)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int rc = fd < 0 ? errno : posix_fallocate(fd, 0, 1 << 20);
    if (fd >= 0) {
        (void)close(fd);
        (void)unlink(path);
    }
    unsigned long long mib = (unsigned long long)v.f_bavail * v.f_frsize >> 20,
                       all = (unsigned long long)v.f_blocks * v.f_frsize >> 20;
    if (rc != 0)
        finding_set(f, FINDING_BROKEN,
                    "%s: no stream can be made there: %s; make room, or name another folder by "
                    "REGTRACE_SHM (-shm)",
                    shm, strerror(rc));
    else if (kind.f_type != TMPFS_MAGIC_NUMBER)
        finding_set(f, FINDING_LIMITED,
                    "%s works, %llu of %llu MiB free, but is no tmpfs: stores reach a disk", shm,
                    mib, all);
    else if (mib < 256)
        finding_set(
            f, FINDING_LIMITED,
            "%s has %llu of %llu MiB free: room for %llu ranks of 4 MiB (docker: --shm-size)", shm,
            mib, all, mib / 5);
    else
        finding_set(f, FINDING_OK, "%s, %llu of %llu MiB free", shm, mib, all);
}

static void look_clock(struct finding *f)
{
    char kernel[64];
    enum clock_source before = clock_source;
    clock_init(false);
    doctor_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", kernel,
                     sizeof kernel);
    if (clock_source == CLOCK_SOURCE_MONOTONIC)
        finding_set(f, FINDING_LIMITED,
                    "no invariant time stamp counter: CLOCK_MONOTONIC is used, some 10 ns dearer "
                    "an event (kernel uses %s)",
                    kernel);
    else
        finding_set(f, FINDING_OK, "%s, invariant (kernel uses %s)",
                    clock_source == CLOCK_SOURCE_TSC ? "time stamp counter" : "CNTVCT_EL0", kernel);
    clock_source = before;
}

static void look_rseq(struct finding *f)
{
    if (&__rseq_size == NULL)
        finding_set(f, FINDING_NOTE,
                    "this libc does not register it: CPU numbers of events may be unknown");
    else if (__rseq_size == 0)
        finding_set(f, FINDING_NOTE,
                    "not registered (old kernel, or glibc.pthread.rseq=0): CPU numbers of events "
                    "may be unknown");
    else
        finding_set(f, FINDING_OK, "registered by libc: events carry their CPU number");
}

static void look_pidfd(struct finding *f)
{
    long fd = syscall(SYS_pidfd_open, (long)getpid(), 0L);
    if (fd < 0) {
        finding_set(f, FINDING_NOTE,
                    "pidfd_open: %s; the writer looks into /proc instead to see its rank end",
                    strerror(errno));
        return;
    }
    (void)close((int)fd);
    finding_set(f, FINDING_OK, "works");
}

static void look_vm_read(struct finding *f)
{
    char from = 1, to = 0;
    struct iovec local = {&to, 1}, remote = {&from, 1};
    if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1)
        finding_set(f, FINDING_OK,
                    "works on the own process: texts given to MPI_Pcontrol can be read safely");
    else
        finding_set(f, FINDING_LIMITED,
                    "refused (%s): pcontrol alarms with a text cannot match, levels can",
                    strerror(errno));
}

extern char **environ;

static void look_pmu(struct finding *f)
{
    const struct pmu_backend *backend, *step;
    struct rt_error why = {{0}}, no_steps;
    char what[512];
    bool steps = pmu_choose("step", true, &step, &no_steps) == 0;
    const char *also =
        steps ? "; REGTRACE_PMU=step counts by single steps, exactly and very slowly" : "";
    pmu_names_prepare(installed_events, environ);
    if (pmu_choose("auto", true, &backend, &why) != 0) {
        finding_set(f, FINDING_NOTE, "icount and uniform alarms are refused: %s", why.text);
        return;
    }
    pmu_describe(backend, what, sizeof what);
    finding_set(f, FINDING_OK, "instructions can be counted (%s), by %s%s", backend->name, what,
                also);
}

static void look_names(struct finding *f)
{
    char papi[800], pfm[800];
    pmu_names_prepare(installed_events, environ);
    bool found = pmu_names_about(papi, pfm, sizeof papi);
    if (pfm[0] == '\0') /* nobody could be asked: `papi` has the reason */
        finding_set(f, FINDING_NOTE,
                    "names of PAPI and libpfm4 are not known: %s; the kernel's own names work",
                    papi);
    else
        finding_set(f, found ? FINDING_OK : FINDING_NOTE, "PAPI: %s; libpfm4: %s", papi, pfm);
}

static void look_ptrace(struct finding *f)
{
    char scope[16];
    doctor_read_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
    finding_set(f, FINDING_NOTE, "%s%s: not used by recording",
                scope[0] != '\0' ? "yama ptrace_scope " : "no yama", scope);
}

static void look_limits(struct finding *f)
{
    struct rlimit pending, files, size;
    if (getrlimit(RLIMIT_SIGPENDING, &pending) != 0 || getrlimit(RLIMIT_NOFILE, &files) != 0 ||
        getrlimit(RLIMIT_FSIZE, &size) != 0) {
        finding_set(f, FINDING_NOTE, "cannot be read");
        return;
    }
    char limit[48] = "";
    if (size.rlim_cur != RLIM_INFINITY)
        (void)snprintf(limit, sizeof limit, ", files up to %llu MiB",
                       (unsigned long long)size.rlim_cur >> 20);
    if (pending.rlim_cur < 64)
        finding_set(f, FINDING_LIMITED,
                    "%llu signals may wait (ulimit -i): timeout and interactive alarms need one "
                    "each and a few more%s",
                    (unsigned long long)pending.rlim_cur, limit);
    else
        finding_set(f, size.rlim_cur < 64u << 20 ? FINDING_LIMITED : FINDING_OK,
                    "%llu signals may wait (ulimit -i), %llu files open (ulimit -n)%s",
                    (unsigned long long)pending.rlim_cur, (unsigned long long)files.rlim_cur,
                    limit);
}

static void look_seccomp(struct finding *f)
{
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    int seccomp = -1, no_new = -1;
    while (status != NULL && fgets(line, sizeof line, status) != NULL) {
        (void)sscanf(line, "Seccomp: %d", &seccomp);
        (void)sscanf(line, "NoNewPrivs: %d", &no_new);
    }
    if (status != NULL)
        (void)fclose(status);
    bool container = access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
    if (seccomp > 0)
        finding_set(f, FINDING_NOTE,
                    "system calls are filtered (seccomp mode %d%s): what is refused shows in the "
                    "lines above and below",
                    seccomp, container ? ", in a container" : "");
    else
        finding_set(f, FINDING_OK, "no filter%s%s", no_new == 1 ? ", no new privileges" : "",
                    container ? ", in a container" : "");
}

const struct examination examinations_machine[] = {
    {"kernel", look_kernel}, {"streams", look_shm},       {"clock", look_clock},
    {"rseq", look_rseq},     {"pidfd", look_pidfd},       {"own memory", look_vm_read},
    {"counters", look_pmu},  {"event names", look_names}, {"ptrace", look_ptrace},
    {"limits", look_limits}, {"seccomp", look_seccomp},   {NULL, NULL},
};
