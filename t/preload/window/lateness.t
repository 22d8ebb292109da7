#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A thread that follows a start for all threads late records how late it was; one that follows a
# stop late has been in the window up to the stop. The thread that made the edge is never late. The
# program reads the clock around both, which gives the bounds. A thread that began within the window
# counts its lateness from its own begin.
. "$(dirname "$0")/../../lib.sh"
needs h5py

# The program prints eight times: before and after the start, before and after the first event of
# the other thread after it, and the same for the stop. Between the two lines it prints the times
# before and after the creation of a thread.
cat >"$T/follows.c" <<'END'
#include <pthread.h>
#include <regtrace.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static sem_t go, done;
static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static long long before, after, asked, followed;
static void *other(void *nothing)
{
    for (int i = 0; i < 3; i++) {
        sem_wait(&go);
        asked = now();
        regtrace_mark_set(1, i + 1);
        followed = now();
        sem_post(&done);
    }
    return nothing;
}
static void edge(void (*make)(int))
{
    before = now();
    if (make != NULL)
        make(1);
    after = now();
    usleep(60000);
    sem_post(&go);
    sem_wait(&done);
    if (make != NULL)
        printf("%lld %lld %lld %lld\n", before, after, asked, followed);
}
static void *young(void *nothing)
{
    followed = now();
    return nothing;
}
static void create(void)
{
    pthread_t t;
    before = now();
    pthread_create(&t, NULL, young, NULL);
    pthread_join(t, NULL);
    printf("%lld %lld\n", before, followed);
}
static void start(int all) { regtrace_start(all); }
static void stop(int all) { regtrace_stop(all); }
int main(void)
{
    pthread_t t;
    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&t, NULL, other, NULL);
    edge(NULL); /* it is known by now, and has nothing to follow */
    edge(start);
    create();
    edge(stop);
    pthread_join(t, NULL);
    return 0;
}
END
cc -I "$REGTRACE_SOURCE/share/include" -o "$T/follows.out" "$T/follows.c" -pthread
run 60 env REGTRACE_DIR="$T/trace" REGTRACE_DEFAULT_START=0 LD_PRELOAD="$LIBREGTRACE" "$T/follows.out"
is "$status" 0 'two threads, edges for both'
times=$out
verdict=$("$PYTHON" - "$T/trace/rank-00000.h5" "$times" <<'END'
import sys
import h5py
start, create, stop = [[int(v) for v in line.split()] for line in sys.argv[2].splitlines()]
with h5py.File(sys.argv[1], "r") as f:
    points, rows = f["calibration"][:], f["windows"][:]
    nominal = float(f.attrs["nominal_ns_per_tick"])
first, last = points[0], points[-1]
ns = int(last["monotonic_ns"]) - int(first["monotonic_ns"])
rate = ns / (int(last["ticks"]) - int(first["ticks"])) if ns > 10**6 else nominal
mine, others, young = (rows[rows["thread"] == n] for n in range(3))
print("rows", len(mine), len(others), len(young), len(set(rows["ordinal"])))
print("firing", *mine["firing"], *others["firing"])
print("on time", *mine["start_late"], *mine["stop_late"], *others["stop_late"])
before, after, asked, followed = start
late = int(others[0]["start_late"]) * rate
least, most = asked - after, followed - before
# The straight line between two readings of the clocks is off by far less than 1 %.
print("start", "right" if 0.99 * least <= late <= 1.01 * most else "late %d ns, not %d to %d" % (late, least, most))
before, after, asked, followed = stop
end = int(first["monotonic_ns"]) + (int(others[0]["stop_clock"]) - int(first["ticks"])) * rate
slack = 0.01 * (asked - after)
print("stop", "right" if before - slack <= end <= after + slack else "%d ns after it" % (end - after))
late = int(young[0]["start_late"]) * rate
print("young", "right" if late <= 1.01 * (create[1] - create[0]) else "late %d ns of %d" % (late, create[1] - create[0]))
END
)
is "$verdict" "rows 1 1 1 1
firing 1 0
on time 0 0 0
start right
stop right
young right" 'the one that made them was on time, and the one that followed late'
run 60 "$REGTRACE" check "$T/trace"
is "$status" 0 'the invariants hold' || diag "$out$err"
done_testing
