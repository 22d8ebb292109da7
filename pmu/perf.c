/* SPDX-License-Identifier: BSD-3-Clause
 * Back ends on perf_event_open(2): one counting event a thread, with a new period at each edge.
 *
 * The event counts all the time; only its period changes. A period of 2^62 never ends. The overflow
 * arrives as the signal of F_SETSIG at the thread itself, later by the hardware's skid. */
#include "pmu/backend.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FOREVER (UINT64_C(1) << 62)
#define LOOKS 200000u
#define TURN_NS UINT64_C(100000000) /* the kernel rotates counters at each of its ticks */
#define HIGH_FD                                                                                    \
    500 /* out of the way of programs that close what they know or expect the next number */

/* The event counted as instructions: the kernel's or PAPI's. Set when the back end is chosen,
 * before main. */
static struct pmu_event instructions;

struct perf_event_attr pmu_perf_attr(struct pmu_code code)
{
    return (struct perf_event_attr){
        .type = code.type, .config = code.config, .config1 = code.config1, .config2 = code.config2};
}

struct perf_event_attr pmu_perf_instructions(void)
{
    struct perf_event_attr attr = pmu_perf_attr(instructions.code[0]);
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.sample_period = FOREVER;
    attr.wakeup_events = 1;
    return attr;
}

int pmu_perf_open_in(struct perf_event_attr attr, int group)
{
    attr.size = sizeof attr;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    return (int)sys_call6(SYS_perf_event_open, (long)&attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC, 0);
}

int pmu_perf_open(struct perf_event_attr attr)
{
    return pmu_perf_open_in(attr, -1);
}

/* Programs close descriptors that they do not know, and reuse the number. */
static bool is_event(int fd)
{
    uint64_t id;
    return fd >= 0 && sys_call6(SYS_ioctl, fd, PERF_EVENT_IOC_ID, (long)&id, 0, 0, 0) == 0;
}

void pmu_perf_close(int fd)
{
    if (is_event(fd))
        (void)sys_call6(SYS_close, fd, 0, 0, 0, 0, 0);
}

bool pmu_perf_read(int fd, struct pmu_reading *out)
{
    return is_event(fd) && sys_call6(SYS_read, fd, (long)out, sizeof *out, 0, 0, 0) == sizeof *out;
}

/* The kernel accepts every event, and lets it wait if others hold all counters. The first turn may
 * take a while: the loop waits for TURN_NS of `enabled`, a time that passes while this thread
 * runs. */
int pmu_perf_try(struct perf_event_attr attr)
{
    struct pmu_reading r = {0};
    attr.disabled = 0;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    int fd = pmu_perf_open(attr), rc = 0;
    if (fd < 0)
        return fd;
    for (unsigned i = 0; rc == 0 && r.running == 0 && i < LOOKS; i++) {
        bool got = pmu_perf_read(fd, &r);
        rc = !got || (r.running == 0 && r.enabled > TURN_NS) ? -EBUSY : 0;
    }
    pmu_perf_close(fd);
    return rc;
}

int pmu_perf_open_high(struct perf_event_attr attr)
{
    int fd = pmu_perf_open(attr);
    int high = fd < 0 ? fd : (int)sys_call6(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH_FD, 0, 0, 0);
    if (fd < 0 || high < 0)
        return fd;
    pmu_perf_close(fd);
    return high;
}

int pmu_perf_open_signalling(struct perf_event_attr attr, int signo, uint32_t kernel_tid)
{
    int fd = pmu_perf_open_high(attr);
    if (fd < 0)
        return fd;
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)kernel_tid};
    long rc = sys_call6(SYS_fcntl, fd, F_SETOWN_EX, (long)&owner, 0, 0, 0);
    if (rc >= 0)
        rc = sys_call6(SYS_fcntl, fd, F_SETSIG, signo, 0, 0, 0);
    if (rc >= 0)
        rc = sys_call6(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK, 0, 0, 0);
    if (rc >= 0)
        return fd;
    pmu_perf_close(fd);
    return (int)rc;
}

int pmu_read_number(const char *path)
{
    char text[16];
    int fd = (int)sys_call6(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0), n = 0;
    if (fd < 0)
        return INT32_MIN;
    long got = sys_call6(SYS_read, fd, (long)text, sizeof text - 1, 0, 0, 0);
    (void)sys_call6(SYS_close, fd, 0, 0, 0, 0, 0);
    bool minus = got > 0 && text[0] == '-';
    for (long i = minus; i < got && text[i] >= '0' && text[i] <= '9'; i++)
        n = n * 10 + (text[i] - '0');
    return minus ? -n : n;
}

/* Returns whether the processor has any counter for us. */
static bool has_hardware(void)
{
    int fd = pmu_perf_open(
        pmu_perf_attr((struct pmu_code){PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, 0}));
    if (fd >= 0)
        pmu_perf_close(fd);
    return fd >= 0;
}

static void explain_missing(int err, uint32_t type, struct rt_error *e)
{
    if (type == PERF_TYPE_SOFTWARE)
        rt_error_set(e, "this kernel does not count it (%s)", strerror(-err));
    else if (has_hardware())
        rt_error_set(
            e, "this processor, or its kernel, has no such counter (%s): choose another event",
            strerror(-err));
    else
        rt_error_set(e,
                     "this machine has no hardware counter of instructions (%s); virtual machines "
                     "often have "
                     "none: use a host with a PMU, or one whose virtual PMU is on",
                     strerror(-err));
}

void pmu_perf_explain(int err, uint32_t type, struct rt_error *e)
{
    int paranoid;
    switch (-err) {
    case EACCES:
    case EPERM:
        paranoid = pmu_read_number("/proc/sys/kernel/perf_event_paranoid");
        if (paranoid > 2)
            rt_error_set(
                e,
                "the kernel lets no user count instructions (perf_event_paranoid is %d): as root, "
                "`sysctl kernel.perf_event_paranoid=2` allows to count one's own",
                paranoid);
        else
            rt_error_set(
                e,
                "perf_event_open is forbidden here (%s): a container's seccomp filter, or a "
                "security module; run it with CAP_PERFMON, or allow the call",
                strerror(-err));
        break;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP: explain_missing(err, type, e); break;
    case ENOSYS:
        rt_error_set(e, "this kernel, or the program that runs it, has no perf_event_open");
        break;
    case EBUSY:
        rt_error_set(
            e, "all counters that it could use are taken by another (perf stat -a, a monitoring "
               "daemon, the NMI watchdog): stop it, or ask for fewer events");
        break;
    case EMFILE:
        rt_error_set(e, "no file descriptor is left for a counter: raise `ulimit -n`");
        break;
    default: rt_error_set(e, "the kernel gives no counter of instructions: %s", strerror(-err));
    }
}

static int probe(const char *name, struct rt_error *err)
{
    struct pmu_event event;
    if (!pmu_event_find(name, strlen(name), &event, err)) {
        rt_error_prefix(err, "%s", name);
        return -ENOENT;
    }
    if (event.count != 1) {
        rt_error_set(err, "%s is made of several events here (%s): such have no overflow", name,
                     event.meaning);
        return -ENOTSUP;
    }
    instructions = event;
    int rc = pmu_perf_try(pmu_perf_instructions());
    if (rc != 0)
        pmu_perf_explain(rc, event.code[0].type, err);
    return rc;
}

static int probe_kernel(struct rt_error *err)
{
    return probe("instructions", err);
}

static int probe_papi(struct rt_error *err)
{
    return probe("PAPI_TOT_INS", err);
}

void pmu_describe(const struct pmu_backend *backend, char *out, size_t room)
{
    if (backend != NULL && backend->kernels)
        pmu_event_describe(&instructions, out, room);
    else
        (void)snprintf(out, room, "%s", backend == NULL ? "" : "single steps by the trap flag");
}

static int begin(struct pmu_thread *t, int signo, uint32_t kernel_tid)
{
    struct perf_event_attr attr = pmu_direct_attr(pmu_perf_instructions());
    int fd = pmu_perf_open_signalling(attr, signo, kernel_tid);
    t->fd = fd < 0 ? -1 : fd;
    pmu_direct_begin(&t->direct, fd, &attr);
    return fd < 0 ? fd : 0;
}

static void end(struct pmu_thread *t)
{
    pmu_direct_end(&t->direct);
    pmu_perf_close(t->fd);
    t->fd = -1;
}

static uint64_t read_count(const struct pmu_thread *t)
{
    struct pmu_reading r;
    pmu_event_read(t->fd, &t->direct, &r);
    return r.value;
}

uint32_t pmu_thread_share(const struct pmu_thread *t)
{
    struct pmu_reading r = {0};
    if (t->backend == NULL || !t->backend->kernels || !pmu_perf_read(t->fd, &r) ||
        r.running >= r.enabled)
        return 1000;
    return (uint32_t)(r.running * 1000 / r.enabled);
}

static void set(struct pmu_thread *t, uint64_t distance)
{
    uint64_t period = distance == PMU_NEVER || distance > FOREVER ? FOREVER : distance;
    (void)sys_call6(SYS_ioctl, t->fd, PERF_EVENT_IOC_PERIOD, (long)&period, 0, 0, 0);
}

#define KERNEL_BACKEND(called, its_probe)                                                          \
    {                                                                                              \
        .name = called, .kernels = true, .probe = its_probe, .begin = begin, .end = end,           \
        .read = read_count, .set = set                                                             \
    }

/* PAPI names the event, the kernel counts it: counting through PAPI would close and open
 * descriptors at each edge. */
const struct pmu_backend pmu_perf = KERNEL_BACKEND("perf", probe_kernel);
const struct pmu_backend pmu_papi = KERNEL_BACKEND("papi", probe_papi);
