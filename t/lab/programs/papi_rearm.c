/* SPDX-License-Identifier: BSD-3-Clause
 * The cost of counting by PAPI's own calls for a traced program, tried without regtrace: PAPI_stop,
 * PAPI_overflow with another threshold and PAPI_start inside the overflow handler, as often as
 * argument 1 says, each time after another distance.
 *
 * - papi_rearm N libc: meanwhile the program works with malloc and stdio
 * - papi_rearm N papi: meanwhile the program makes and destroys event sets
 *
 * Now and then the program opens a file. It has also closed a descriptor, works, and opens a file
 * again, which must get that number. Prints one line: the number of re-arms, how many calls of PAPI
 * failed and how the last of these did, how often either descriptor had another number than the
 * first time, and whether the program hung (alarm: "stuck"). */
#include <fcntl.h>
#include <papi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile long rearms, failures, wanted;
static volatile int last_failure, inside;
static long next_changed, freed_changed, rounds;

static void call(int rc)
{
    if (rc == PAPI_OK)
        return;
    failures = failures + 1;
    last_failure = rc;
}

/* 70,000 to 133,000 instructions: beyond the machine's skid. */
static int next_distance(void)
{
    static uint32_t seed = 1;
    seed = seed * 1664525u + 1013904223u;
    return 70000 + (int)(seed >> 16) % 63000;
}

static void overflowed(int set, void *address, long long vector, void *context)
{
    long long count;
    (void)address, (void)vector, (void)context;
    inside = 1;
    call(PAPI_stop(set, &count));
    call(PAPI_overflow(set, PAPI_TOT_INS, 0, 0, overflowed));
    rearms = rearms + 1;
    if (rearms < wanted) {
        call(PAPI_overflow(set, PAPI_TOT_INS, next_distance(), 0, overflowed));
        call(PAPI_start(set));
    }
    inside = 0;
}

static void say(const char *end)
{
    char line[256];
    int n =
        snprintf(line, sizeof line,
                 "%s: %ld re-arms, %ld calls failed (%d); of %ld the next descriptor changed %ld "
                 "times, a freed one was taken %ld times%s\n",
                 end, rearms, failures, last_failure, rounds, next_changed, freed_changed,
                 inside ? "; in the handler" : "");
    if (write(1, line, (size_t)n) < 0)
        _exit(3);
}

/* If no overflow comes in this time, the handler, or the code that it interrupted, waits for
 * ever. */
static void stuck(int signo)
{
    static long before = -1;
    (void)signo;
    if (rearms != before) {
        before = rearms;
        alarm(20);
        return;
    }
    say("stuck");
    _exit(2);
}

static void with_libc(void)
{
    static char *kept[64];
    static uint32_t seed = 7;
    static FILE *f;
    if (f == NULL)
        f = fopen("/dev/null", "w");
    for (int i = 0; i < 200; i++) {
        seed = seed * 1664525u + 1013904223u;
        char **at = &kept[(seed >> 8) % 64];
        free(*at);
        *at = malloc(16 + (seed >> 16) % 40000);
        if (*at != NULL)
            (void)snprintf(*at, 16, "%d", i);
        if (f != NULL)
            fprintf(f, "%d %s %g\n", i, *at, i * 0.5);
    }
    if (f != NULL)
        fflush(f);
}

static void with_papi(void)
{
    for (int i = 0; i < 20; i++) {
        int mine = PAPI_NULL;
        if (PAPI_create_eventset(&mine) == PAPI_OK) {
            (void)PAPI_add_event(mine, PAPI_TOT_CYC);
            (void)PAPI_cleanup_eventset(mine);
            (void)PAPI_destroy_eventset(&mine);
        }
    }
}

int main(int argc, char **argv)
{
    int set = PAPI_NULL, first = -1;
    if (argc < 3 || PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
        return 1;
    wanted = atol(argv[1]);
    void (*work)(void) = argv[2][0] == 'l' ? with_libc : with_papi;
    int freed = open("/dev/null", O_RDONLY);
    work();
    signal(SIGALRM, stuck);
    alarm(20);
    call(PAPI_create_eventset(&set));
    call(PAPI_add_event(set, PAPI_TOT_INS));
    call(PAPI_overflow(set, PAPI_TOT_INS, next_distance(), 0, overflowed));
    call(PAPI_start(set));
    for (; rearms < wanted && failures == 0; rounds++) {
        work();
        int fd = open("/dev/null", O_RDONLY);
        if (first < 0)
            first = fd;
        next_changed += fd != first;
        close(fd);
        close(freed);
        work();
        fd = open("/dev/null", O_RDONLY);
        freed_changed += fd != freed;
        /* PAPI has taken the number: the program's descriptor of that number would close PAPI's. */
        if (fd != freed) {
            freed = fd;
            first = -1;
        }
    }
    say(failures == 0 ? "done" : "failed");
    return 0;
}
