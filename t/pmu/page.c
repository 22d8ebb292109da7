/* SPDX-License-Identifier: BSD-3-Clause
 * Tests how a counter is read through its page: the arithmetic and the sequence lock on pages
 * that are made up here, and to which process a page belongs. t/lab/inside/direct.sh tests real
 * pages. */
#include "pmu/backend.h"

#include "base/format/recorder.h"
#include "t/tap.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct perf_event_mmap_page page;
static uint64_t raw;
static uint32_t asked;
static int calls, changes; /* changes: how often the kernel moves the counter while it is read */

static uint64_t counter(uint32_t n)
{
    uint64_t was = raw;
    asked = n;
    calls++;
    if (changes > 0) {
        changes--;
        page.lock += 2;
        page.index = 3;
        page.offset += 1000;
        raw = 7;
    }
    return was;
}

static void make(uint32_t index, uint16_t width, int64_t offset, uint64_t value)
{
    page = (struct perf_event_mmap_page){
        .lock = 8, .index = index, .offset = offset, .time_enabled = 50, .time_running = 50};
    page.cap_user_rdpmc = 1;
    page.pmc_width = width;
    raw = value;
    calls = changes = 0;
}

static bool read_page(struct pmu_reading *r)
{
    *r = (struct pmu_reading){.value = 99};
    return pmu_page_read(&page, counter, r);
}

static void test_values(void)
{
    static const struct {
        uint16_t width;
        int64_t offset;
        uint64_t raw, value;
        const char *name;
    } cases[] = {
        {48, 1000, 5, 1005, "48 bits: after its overflow"},
        {48, 1000, 0xfffffffffffb, 995, "48 bits: 5 before it"},
        {48, INT64_C(1) << 47, 0x800000000000, 0, "48 bits: as far before it as there is"},
        {48, 0, 0x7fffffffffff, 0x7fffffffffff, "48 bits: as far after it"},
        {32, INT64_C(0x80000000), 0x80000000, 0, "32 bits: as the kernel begins on Arm"},
        {32, INT64_C(0x80000000), 0x80000064, 100, "32 bits: 100 later"},
        {32, INT64_C(0x80000000), 0xffffffff, 0x7fffffff, "32 bits: just before its overflow"},
        {32, INT64_C(0x80000000), 0, 0x80000000, "32 bits: at it"},
        {64, -1, 1, 0, "64 bits: nothing to extend"},
        {40, INT64_C(1) << 62, 0xffffffffff, (UINT64_C(1) << 62) - 1, "40 bits and a large sum"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pmu_reading r;
        make(2, cases[i].width, cases[i].offset, cases[i].raw);
        bool good = read_page(&r);
        ok(good && r.value == cases[i].value && r.enabled == 50 && r.running == 50 && asked == 1,
           "%s", cases[i].name);
    }
}

/* As in perf_event_update_userpage(), a period is loaded as its negative, and the counter runs over
 * zero. */
static void test_periods(void)
{
    uint64_t seed = 1, count = 0;
    int wrong = 0;
    for (int i = 0; i < 100000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint16_t width = (seed & 1) != 0 ? 32 : 48;
        uint64_t mask = (UINT64_C(1) << width) - 1, left = 1 + (seed >> 20) % (mask >> 1);
        uint64_t since = (seed >> 8) % (left + 1000);
        int64_t previous = -(int64_t)left;
        struct pmu_reading r;
        make(1, width, (int64_t)count - previous, ((uint64_t)previous + since) & mask);
        wrong += !read_page(&r) || r.value != count + since;
        count += since;
    }
    is_int(wrong, 0, "100,000 periods: what the counter says is what was counted");
}

static void test_refused(void)
{
    struct pmu_reading r;
    make(0, 48, 1000, 5);
    ok(!read_page(&r) && calls == 0, "index 0: in no counter, and none is read");
    make(1, 48, 1000, 5);
    page.cap_user_rdpmc = 0;
    ok(!read_page(&r) && calls == 0, "not allowed: none is read");
    make(1, 0, 1000, 5);
    ok(!read_page(&r), "a width of 0");
    make(1, 65, 1000, 5);
    ok(!read_page(&r), "or of 65: a page that we do not know");
    make(1, 48, 1000, 5);
    page.time_running = 49;
    ok(!read_page(&r), "counters that take turns: the kernel knows the times");
    ok(r.value == 99, "and nothing is reported");
}

static void test_moved(void)
{
    struct pmu_reading r;
    make(1, 48, 1000, 5);
    changes = 1;
    ok(read_page(&r) && r.value == 2007 && asked == 2 && calls == 2,
       "moved while it is read: read again, in its new place");
    make(1, 48, 1000, 5);
    changes = 1000000;
    ok(!read_page(&r) && calls < 1000, "moved all the time: left to the kernel");
    make(1, 48, 1000, 5);
    page.lock = 9;
    ok(!read_page(&r), "being written all the time: likewise");
}

/* A descriptor of the program has taken the number of one of our events. */
static void test_taken(void)
{
    const struct pmu_direct none = {.page = NULL};
    struct pmu_reading sent = {.value = 4711, .enabled = 2, .running = 1}, r;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0 || write(ends[1], &sent, sizeof sent) != sizeof sent)
        exit(99);
    pmu_event_read(ends[0], &none, &r);
    is_int((long long)r.value, 0, "what is no event says nothing");
    ok(read(ends[0], &r, sizeof r) == sizeof r && r.value == 4711, "and nothing is taken from it");
}

/* Opens an event that every kernel has. Returns -1 if the kernel does not allow that. */
static int open_event(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                  PERF_FORMAT_TOTAL_TIME_RUNNING,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void test_whose(void)
{
    int status = 0, fd = open_event();
    struct pmu_reading r;
    ok(!recorder_sees_forks(), "before forks are watched for nothing is mapped");
    recorder_watch_forks();
    if (!recorder_sees_forks()) {
        skip("whose the page is", "this kernel wipes no memory in children");
        return;
    }
    struct pmu_direct d = {.page = (const struct perf_event_mmap_page *)64, /* not mapped */
                           .owner = recorder_own_mappings()};
    is_int(recorder_own_mappings(), d.owner, "a process has one number");
    if (fd < 0) {
        skip("a child that nobody saw made", "the kernel gives no events here");
        return;
    }
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); /* no wrapper sees it */
    if (pid == 0) {
        pmu_event_read(fd, &d, &r);
        pmu_direct_end(&d);
        _exit(r.enabled != 0 && r.running != 0 && !recorder_mappings_are_own(d.owner) &&
                      recorder_own_mappings() != d.owner
                  ? 7
                  : 8);
    }
    ok(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7,
       "a child that nobody saw made asks the kernel, and unmaps nothing");
    ok(recorder_mappings_are_own(d.owner), "in the parent it is still its own");
}

int main(void)
{
    test_values();
    test_periods();
    test_refused();
    test_moved();
    test_taken();
    test_whose();
    return done_testing();
}
