#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# If samples are requested more often than there is time for, the tool takes fewer, the program goes
# on, and no signals pile up. Without that these runs take 15 to 300 times the program's time, or
# never end, and fill the user's queue of signals (ulimit -i), which all processes share. The limit
# is each process's own: where it is 0, every signal of an event comes as SIGIO.
. "$(dirname "$0")/../../lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "values are for x86-64"
cd "$T" || exit 99

cat >busy.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double numbers[1024];

__attribute__((noinline)) double strided(const double *at, long n);
double strided(const double *at, long n)
{
    double sum = 0;
    for (long i = 0; i < n; i += 2)
        __asm__ volatile("addsd (%1), %0" : "+x"(sum) : "r"(at + i));
    return sum;
}

static long queued(void)
{
    char line[200];
    long n = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && n < 0 && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "SigQ: %ld", &n) != 1)
            n = -1;
    if (f != NULL)
        fclose(f);
    return n;
}

/* Prints the sum of the work, its CPU time in ms, and the most by which the user's queue of signals
 * grew. */
int main(void)
{
    struct timespec t;
    double sum = 0;
    long before = queued(), most = before;
    for (int i = 0; i < 1000; i++) {
        for (long k = 0; k < 1000; k++)
            sum += 1 + strided(numbers, 1024);
        long now = queued();
        most = now > most ? now : most;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    printf("%g %ld %ld\n", sum, t.tv_sec * 1000 + t.tv_nsec / 1000000, most - before);
    return 0;
}
END
cc -O2 -o busy busy.c || exit 99
read -r sum bare _ < <(./busy)

limit=$(ulimit -i)
# at NAME OPTION...: checks that the program gives the same result, takes no large multiple of its
# processor time, and lets no signals pile up.
at() {
    local name=$1 ms grown got
    shift
    rm -rf run
    run 300 "$REGTRACE" run -quiet -o run "$@" -- prlimit --sigpending="$limit" ./busy
    if [ "$status" = 2 ] && [[ $err == *task-clock* ]]; then
        skip "$name" "$err"
        return
    fi
    read -r got ms grown <<<"$out"
    diag "$name: $bare ms alone, $ms ms; $grown signals more in the queue"
    is "$status ${got:-}" "0 $sum" "$name: ends as it would" || diag "$err"
    is "$((${ms:-1000000} < 6 * bare + 500))" 1 "$name: in a time that is no large multiple of its own"
    is "$((${grown:-1000000} < 1000))" 1 "$name: signals do not pile up"
    ok_run "$name: the run is sound" "$REGTRACE" check run
}

at "samples of 10 us" -sample task-clock:10000
if [ -x "$REGTRACE_BUILD/isa/regtrace-vprofiler" ]; then
    at "values, 10 us, 64 followed" -values vp-classic -values-sample task-clock:10000 -values-follow 64
    if [ "$status" = 0 ]; then
        listed=$("$REGTRACE" values run 2>&1)
        like "$(head -5 <<<"$listed" | tr '\n' ' ')" ' [1-9][0-9]* samples, .*[1-9][0-9]* periods without a sample, as samples took too much time' 'there are samples, and how many periods had none is reported'
    fi
    at "values, 20 us, 1 followed" -values vp-addr -values-sample task-clock:20000 -values-follow 1
    limit=0
    at "a full queue of signals, values, 10 us, 64 followed" -values vp-classic -values-sample task-clock:10000 -values-follow 64
    at "a full queue of signals, values, 192 us, 16 followed" -values vp-classic -values-sample task-clock:192000 -values-follow 16
else
    skip "values" "no regtrace-vprofiler (Zydis)"
fi
limit=0
at "a full queue of signals, samples of 10 us" -sample task-clock:10000
run 60 "$REGTRACE" run -quiet -o no -values vp-addr -values-sample task-clock:100 -- ./busy
like "$status $err" '^2 .*(the period is below 10000, in ns|task-clock cannot be)' 'a period that the kernel has not is refused'
done_testing
