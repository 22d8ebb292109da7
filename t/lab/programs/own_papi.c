/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: counts and overflows by PAPI itself for as many million instructions as argument 1
 * says. Prints PAPI's counts half-way and at the end, the overflows, how many of them were outside
 * its loop, and its next descriptor. With a second argument it counts as many events as this
 * processor has counters. */
#include "papi_loop.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static int check(int rc, const char *what)
{
    if (rc == PAPI_OK)
        return 0;
    printf("%s: %s\n", what, PAPI_strerror(rc));
    exit(1);
}

int main(int argc, char **argv)
{
    long millions = argc > 1 ? atol(argv[1]) : 10;
    long long half[8] = {0}, all[8] = {0};
    static const int more[] = {PAPI_L1_ICM, PAPI_L2_DCM, PAPI_BR_INS, PAPI_LD_INS};
    int set = PAPI_NULL;
    if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
        return 1;
    check(PAPI_create_eventset(&set), "create");
    check(PAPI_add_event(set, PAPI_TOT_INS), "add PAPI_TOT_INS");
    check(PAPI_add_event(set, PAPI_BR_MSP), "add PAPI_BR_MSP");
    for (size_t i = 0; argc > 2 && i < sizeof more / sizeof *more; i++)
        check(PAPI_add_event(set, more[i]), "add one more");
    check(PAPI_overflow(set, PAPI_TOT_INS, THRESHOLD, 0, overflowed), "overflow");
    check(PAPI_start(set), "start");
    for (long i = 0; i < millions / 2; i++)
        loop_turns(500000);
    check(PAPI_read(set, half), "read");
    for (long i = 0; i < millions / 2; i++)
        loop_turns(500000);
    check(PAPI_stop(set, all), "stop");
    printf("half %lld all %lld overflows %d strangers %d descriptor %d\n", half[0], all[0],
           overflows, strangers, open("/dev/null", O_RDONLY));
    return 0;
}
