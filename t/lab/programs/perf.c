/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the lab's counter by perf_event_open: it counts a known loop twice with the same result,
 * and its overflow arrives, never early.
 *
 * - perf: runs the tests as the user who starts it
 * - perf denied: prints the name of the errno that a user without rights gets for the counter
 *   (EACCES if it is forbidden) */
#include "t/lab/programs/loop.h"
#include "t/tap.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* AROUND: a bound, far above the instructions of switching and reading the counter itself and of
 * the handler, on any kernel. */
enum { AROUND = 500, PERIOD = 1000000, EDGES = 40, OVERFLOW_SIGNAL = 40 };

static int counter = -1;
static uint64_t seen[4 * EDGES];
static volatile sig_atomic_t edges;

static int counter_open(uint64_t period)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .sample_period = period,
                                   .disabled = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .wakeup_events = 1};
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t counted(void)
{
    uint64_t n = 0;
    return read(counter, &n, sizeof n) == sizeof n ? n : 0;
}

static uint64_t loop_counted(uint64_t turns)
{
    ioctl(counter, PERF_EVENT_IOC_RESET, 0);
    ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    loop_turns(turns);
    ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
    return counted();
}

static void overflowed(int signo)
{
    int saved = errno;
    (void)signo;
    if (edges < (int)(sizeof seen / sizeof seen[0]))
        seen[edges] = counted();
    edges = edges + 1;
    errno = saved;
}

static bool overflow_arm(void)
{
    struct sigaction action = {.sa_handler = overflowed, .sa_flags = SA_RESTART};
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = gettid()};
    return sigaction(OVERFLOW_SIGNAL, &action, NULL) == 0 &&
           fcntl(counter, F_SETSIG, OVERFLOW_SIGNAL) == 0 &&
           fcntl(counter, F_SETOWN_EX, &owner) == 0 &&
           fcntl(counter, F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
}

static void test_count(void)
{
    counter = counter_open(0);
    if (!ok(counter >= 0, "perf_event_open gives a counter of instructions")) {
        diag("%s", strerror(errno));
        return;
    }
    uint64_t first = loop_counted(1000000), again = loop_counted(1000000),
             twice = loop_counted(2000000);
    ok(first >= 2000000 && first < 2000000 + AROUND,
       "a loop of 2000000 instructions reads as such");
    is_int((intmax_t)again, (intmax_t)first, "and so again, to the instruction");
    is_int((intmax_t)(twice - first), 2000000, "twice the turns are 2000000 more");
    diag("read %" PRIu64 ", %" PRIu64 ", %" PRIu64, first, again, twice);
    close(counter);
}

static void test_overflow(void)
{
    uint64_t early = 0, most = 0;
    counter = counter_open(PERIOD);
    ok(counter >= 0 && overflow_arm(), "a counter that overflows");
    uint64_t total = loop_counted((uint64_t)PERIOD * EDGES / 2);
    /* A late last overflow arrives now or never. */
    for (int i = 0; i < 1000 && edges < (int)(total / PERIOD); i++)
        usleep(1000);
    is_int(edges, (intmax_t)(total / PERIOD), "every overflow arrives, once");
    for (int i = 0; i < edges && i < EDGES; i++) {
        uint64_t due = (uint64_t)(i + 1) * PERIOD, late = seen[i] - due;
        early += seen[i] < due;
        most = seen[i] >= due && late > most ? late : most;
    }
    is_int((intmax_t)early, 0, "none is early");
    ok(most < PERIOD / 4, "none is later than a quarter of the distance");
    diag("%d overflows, the latest by %" PRIu64 " instructions", (int)edges, most);
    close(counter);
}

static int say_denied(void)
{
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) {
        puts("cannot become another user");
        return 1;
    }
    errno = 0;
    puts(counter_open(0) >= 0 ? "allowed" : strerrorname_np(errno));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "denied") == 0)
        return say_denied();
    test_count();
    test_overflow();
    return done_testing();
}
