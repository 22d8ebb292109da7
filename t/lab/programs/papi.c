/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the lab's counter by PAPI: PAPI_TOT_INS counts a known loop twice with the same result, and
 * PAPI_overflow calls once for each distance.
 *
 * - papi: runs the tests as the user who starts it
 * - papi denied: prints PAPI's reason why a user without rights gets no counter */
#include "t/lab/programs/papi_loop.h"
#include "t/tap.h"
#include <unistd.h>

enum { AROUND = 5000, EDGES = 20 };

static int set_create(void)
{
    int set = PAPI_NULL;
    return PAPI_create_eventset(&set) == PAPI_OK && PAPI_add_event(set, PAPI_TOT_INS) == PAPI_OK
               ? set
               : PAPI_NULL;
}

static long long loop_counted(int set, uint64_t turns)
{
    long long n = -1;
    if (PAPI_start(set) != PAPI_OK)
        return -1;
    loop_turns(turns);
    return PAPI_stop(set, &n) == PAPI_OK ? n : -1;
}

static void test_count(void)
{
    int set = set_create();
    if (!ok(set != PAPI_NULL, "PAPI has PAPI_TOT_INS"))
        return;
    loop_counted(set, 10); /* the first start touches memory that later ones find */
    long long first = loop_counted(set, 1000000), again = loop_counted(set, 1000000);
    ok(first >= 2000000 && first < 2000000 + AROUND,
       "a loop of 2000000 instructions reads as such");
    is_int(again, first, "and so again, to the instruction");
    diag("read %lld, %lld", first, again);
}

static void test_overflow(void)
{
    int set = set_create();
    is_int(PAPI_overflow(set, PAPI_TOT_INS, THRESHOLD, 0, overflowed), PAPI_OK,
           "PAPI_overflow takes a threshold");
    long long total = loop_counted(set, (uint64_t)THRESHOLD * EDGES / 2 + 200000);
    is_int(overflows, total / THRESHOLD, "every overflow calls, once");
    ok(overflows >= EDGES, "there are %d or more", EDGES);
    is_int(strangers, 0, "each inside the loop");
}

static int say_denied(void)
{
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0)
        return 1;
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
        return 1;
    for (int i = 0; i < PAPI_num_components(); i++) {
        const PAPI_component_info_t *info = PAPI_get_component_info(i);
        if (strcmp(info->name, "perf_event") == 0)
            printf("disabled %d: %s\n", info->disabled, info->disabled_reason);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "denied") == 0)
        return say_denied();
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT) {
        ok(false, "PAPI starts");
        return done_testing();
    }
    test_count();
    test_overflow();
    return done_testing();
}
