/* SPDX-License-Identifier: BSD-3-Clause
 * Reads counters with the processor's own instruction, without a system call, if the kernel allows
 * it.
 *
 * The kernel maintains a page for each event: the counter that the event has now (index; 0: none)
 * and what to add to it. Only the event's own thread may read so, and only in the process that made
 * the mapping: a child does not have it. Anything unusual (index 0, events that take turns) is left
 * to read(2). Sources: perf_event_open(2), "MMAP layout"; Intel SDM 2B, RDPMC; Linux,
 * Documentation/arm64/perf.rst. */
#include "pmu/backend.h"

#include "base/format/recorder.h"
#include "base/sys.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ATTEMPTS 16 /* one attempt fails if the thread is interrupted during it */

#if defined(__aarch64__)
#define ARM_USER_ACCESS 2u /* in attr.config1: "rdpmc" in .../armv8_pmuv3/format */

/* The instruction itself encodes the counter, so each counter needs its own. */
static uint64_t processor_counter(uint32_t n)
{
    uint64_t value = 0;
#define COUNTER(i)                                                                                 \
    case i: __asm__ volatile("mrs %0, pmevcntr" #i "_el0" : "=r"(value)); break;
    switch (n) {
        COUNTER(0)
        COUNTER(1)
        COUNTER(2)
        COUNTER(3)
        COUNTER(4)
        COUNTER(5)
        COUNTER(6)
        COUNTER(7)
        COUNTER(8)
        COUNTER(9)
        COUNTER(10)
        COUNTER(11)
        COUNTER(12)
        COUNTER(13)
        COUNTER(14)
        COUNTER(15)
        COUNTER(16)
        COUNTER(17)
        COUNTER(18)
        COUNTER(19)
        COUNTER(20)
        COUNTER(21)
        COUNTER(22)
        COUNTER(23)
        COUNTER(24)
        COUNTER(25)
        COUNTER(26)
        COUNTER(27)
        COUNTER(28)
        COUNTER(29)
        COUNTER(30)
    default: __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value)); break;
    }
#undef COUNTER
    return value;
}
#else
static uint64_t processor_counter(uint32_t n)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(n));
    return (uint64_t)high << 32 | low;
}
#endif

/* Returns whether this machine lets events of the processor be read directly if they request it. On
 * x86 each page tells that. */
static bool is_allowed(void)
{
#if defined(__aarch64__)
    static _Atomic int known;
    if (known == 0)
        known = pmu_read_number("/proc/sys/kernel/perf_user_access") == 1 ? 1 : -1;
    return known > 0;
#else
    return true;
#endif
}

static bool is_of_the_processor(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
           attr->type == PERF_TYPE_RAW;
}

struct perf_event_attr pmu_direct_attr(struct perf_event_attr attr)
{
#if defined(__aarch64__)
    if (is_of_the_processor(&attr) && is_allowed())
        attr.config1 |= ARM_USER_ACCESS;
#endif
    return attr;
}

void pmu_direct_begin(struct pmu_direct *d, int fd, const struct perf_event_attr *attr)
{
    *d = (struct pmu_direct){0};
    if (fd < 0 || !is_of_the_processor(attr) || !is_allowed() || !recorder_sees_forks())
        return;
    long page = sys_call6(SYS_mmap, 0, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
    if (page < 0 && page > -4096)
        return; /* The user has mapped too many pages (perf_event_mlock_kb): use read(2). */
    d->page = (const struct perf_event_mmap_page *)page; /* NOLINT: an address */
    d->owner = recorder_own_mappings();
    if (!d->page->cap_user_rdpmc)
        pmu_direct_end(d);
}

static bool is_here(const struct pmu_direct *d)
{
    return d->page != NULL && recorder_mappings_are_own(d->owner);
}

void pmu_direct_end(struct pmu_direct *d)
{
    if (is_here(d))
        (void)sys_call6(SYS_munmap, (long)d->page, sysconf(_SC_PAGESIZE), 0, 0, 0, 0);
    d->page = NULL;
}

bool pmu_page_read(const volatile struct perf_event_mmap_page *page,
                   uint64_t (*counter)(uint32_t n), struct pmu_reading *out)
{
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        uint32_t before = page->lock;
        atomic_signal_fence(memory_order_seq_cst); /* the kernel writes on this same processor */
        uint64_t enabled = page->time_enabled, running = page->time_running;
        int64_t offset = page->offset;
        uint32_t index = page->index, width = page->pmc_width;
        if (!page->cap_user_rdpmc || index == 0 || enabled != running || width == 0 || width > 64)
            return false;
        uint64_t raw = counter(index - 1);
        atomic_signal_fence(memory_order_seq_cst);
        if (page->lock != before || (before & 1) != 0)
            continue;
        /* The counter counts up to an overflow at 0: its highest bit is a sign. */
        int64_t value = (int64_t)(raw << (64 - width)) >> (64 - width);
        *out = (struct pmu_reading){
            .value = (uint64_t)offset + (uint64_t)value, .enabled = enabled, .running = running};
        return true;
    }
    return false;
}

void pmu_event_read(int fd, const struct pmu_direct *d, struct pmu_reading *out)
{
    if (is_here(d) && pmu_page_read(d->page, processor_counter, out))
        return;
    *out = (struct pmu_reading){0};
    (void)pmu_perf_read(fd, out);
}
