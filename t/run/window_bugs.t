#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Bugs that DynamoRIO and ChampSim have had with windows: each test shows that regtrace does not
# have the bug. The numbers are those of their issues. The test reads recordings with h5py alone;
# the program knows what it did. (t/controller/automaton.c also tests ChampSim #455, and
# t/lab/inside/count.sh instruction counts.)
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99
needs h5py
export PYTHONDONTWRITEBYTECODE=1

cat >windows.c <<'END'
/* windows N: opens N windows for all threads, with calls in each and a gap between them. Threads
 * begin and end at the edges. */
#include <pthread.h>
#include <regtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static void *brief(void *n)
{
    for (long i = 0; i < (long)n; i++) {
        regtrace_region_begin("thread");
        regtrace_region_end("thread");
    }
    return n;
}
int main(int argc, char **argv)
{
    int windows = argc > 1 ? atoi(argv[1]) : 1, threads = argc > 2;
    struct timespec gap = {.tv_nsec = 30000};
    pthread_t t[2];
    for (int w = 0; w < windows; w++) {
        if (threads)
            /* Begins before the window, ends in it or after it. */
            pthread_create(&t[0], 0, brief, (void *)40L);
        regtrace_start(1);
        if (threads)
            pthread_create(&t[1], 0, brief, (void *)40L); /* begins in it */
        for (int i = 0; i < 5; i++) {
            regtrace_region_begin("in");
            regtrace_region_end("in");
        }
        if (threads && w % 2)
            pthread_join(t[0], 0);
        regtrace_stop(1);
        regtrace_region_begin("out");
        regtrace_region_end("out");
        if (threads && w % 2 == 0)
            pthread_join(t[0], 0);
        if (threads)
            pthread_join(t[1], 0);
        nanosleep(&gap, 0);
    }
    printf("%d\n", windows);
    return 0;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o windows windows.c -pthread

# holds NAME DIR EXPRESSION: the expression is true of the tables of the only rank file, with names
# of codes.
holds() {
    "$PYTHON" - "$2" "$3" >"$T/holds.out" 2>&1 <<'END'
import glob, sys, h5py, numpy as np
files = glob.glob(sys.argv[1] + "/rank-*.h5")
f = h5py.File(files[0], "r")
events, windows, threads = f["events"][:], f["windows"][:], f["threads"][:]
names = {int(r["code"]): r["name"].split(b"\0")[0].decode() for r in f["functions"][:]}
named = np.array([names[int(c)] for c in events["code"]])
heap = f["strings"][:].tobytes()
strings = {int(r["id"]): heap[int(r["offset"]):int(r["offset"]) + int(r["length"])].decode() for r in f["string_index"][:]}
region = lambda text: [e for e, n in zip(events, named) if n == "EV_REGION_BEGIN" and strings.get(int(e["a"])) == text]
value = eval("(" + sys.argv[2] + ")")
print(value)
sys.exit(not value)
END
    ok $? "$1" || diag "$(tail -5 "$T/holds.out")"
}

run 60 env REGTRACE_DEFAULT_START=0 REGTRACE_DIR="$T/many" LD_PRELOAD="$LIBREGTRACE" ./windows 3000
is "$status|$out" '0|3000' 'a program with 3000 short windows'

# 6104: the first buffer of a window had the time stamp of the previous window.
holds '#6104: no event of a window is older than its window' "$T/many" \
    'all((lambda c: c.min() == w["start_clock"] and c.max() == w["stop_clock"])(events["clock"][events["window"] == w["ordinal"]])
     for w in windows)'
holds '#6104: windows follow each other, with a gap between' "$T/many" \
    'all(a["stop_clock"] < b["start_clock"] for a, b in zip(windows, windows[1:]))'

# 6245: the last window was not written.
holds '#6245: the last window is there, with all that was in it' "$T/many" \
    'windows["ordinal"].max() == 2999 and sum(e["window"] == 2999 for e in region("in")) == 5'
holds '#6245: so is every other' "$T/many" 'sorted(e["window"] for e in region("in")) == sorted(list(range(3000)) * 5)'
holds '#6245: and nothing of what was done between them' "$T/many" 'region("out") == []'
run 60 env REGTRACE_DEFAULT_START=0 REGTRACE_DIR="$T/open" LD_PRELOAD="$LIBREGTRACE" "$PYTHON" -c '
import ctypes, os
l = ctypes.CDLL(None)
for i in range(3):
    l.regtrace_start(1)
    l.regtrace_region_begin(b"in"); l.regtrace_region_end(b"in")
    if i < 2: l.regtrace_stop(1)'
holds '#6245: a last window that the end of the program closes is there too' "$T/open" \
    'len(windows) == 3 and windows[2]["reason"] == 1 and [int(e["window"]) for e in region("in")] == [0, 1, 2]'

# 5487: there were thousands of files, and headers appeared twice.
is "$(find many -maxdepth 1 -name '*.h5' | sort | xargs)" 'many/rank-00000.h5 many/regtrace.h5' '#5487: one file for 3000 windows, and the index'
holds '#5487: each window is opened and closed once' "$T/many" \
    '(named == "EV_WINDOW_OPEN").sum() == (named == "EV_WINDOW_CLOSE").sum() == len(windows) == len(set(windows["ordinal"])) == 3000'
run 120 "$REGTRACE" split --window 1000-1019 many
is "$(find many-windows -name 'rank-*' | wc -l)" 20 '#5487: split makes as many files as are asked for'
for table in threads windows calibration; do
    is "$("$PYTHON" -c 'import glob, h5py, sys
print(sorted({len(h5py.File(p)[sys.argv[1]]) for p in glob.glob("many-windows/*/rank-*")}))' $table)" \
        "$("$PYTHON" -c 'import h5py, sys
n = len(h5py.File("many/rank-00000.h5")["calibration"])
print([n if sys.argv[1] == "calibration" else 1])' $table)" "#5487: /$table of a split window stands in it once"
done

# 7960: footers appeared twice, for threads that end at the same time as a window.
run 120 env REGTRACE_DEFAULT_START=0 REGTRACE_DIR="$T/threads" LD_PRELOAD="$LIBREGTRACE" ./windows 300 threads
is "$status|$out" '0|300' 'threads that come and go at the edges of 300 windows'
holds '#7960: a row and an end for each thread' "$T/threads" \
    'len(threads) == len(set(threads["thread"])) and (threads["state"] == 3).all() and (threads["ended"] > 0).all()'
holds '#7960: a thread is in each window once, and leaves it once' "$T/threads" \
    'len({(w["ordinal"], w["thread"]) for w in windows}) == len(windows) == (named == "EV_WINDOW_CLOSE").sum()
     and (windows["truncated"] == 0).all()'
holds '#7960: threads that ended in a window did so' "$T/threads" '(windows["reason"] == 2).sum() > 0'
run 60 "$REGTRACE" check threads
is "$status" 0 'and all else holds' || diag "$out"

# 7524: only the first threshold decided whether to count at all. regtrace sees before the start
# that a later threshold needs a counter.
run 60 "$REGTRACE" run -pmu none -control start:pcontrol:solve,stop:pcontrol:solved,start:icount:5,stop:icount:5 -- ./windows
is "$status|$out" '2|' '#7524: an icount anywhere in a chain needs the counter'
like "$err" 'icount is not available: REGTRACE_PMU .option -pmu. is none' 'which is reported'
run 60 "$REGTRACE" run -pmu none -control start:pcontrol:a,stop:pcontrol:b -control start:pcontrol:c,stop:icount:7 -- ./windows
is "$status|$out" '2|' '#7524: in any chain'

# 7769, 4948: an instruction with REP was counted at each iteration, so that windows were not where
# perf stat says.
cat >rep.c <<'END'
#include <stdlib.h>
int main(void)
{
#if defined(__x86_64__)
    enum { BYTES = 1 << 20 };
    void *to = malloc(BYTES);
    for (int i = 0; i < 100; i++) {
        void *at = to;
        unsigned long n = BYTES;
        __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(0) : "memory");
    }
#endif
    return 0;
}
END
cc -o rep rep.c
run 60 "$REGTRACE" run -quiet --count -o "$T/repeated" -- ./rep
# A machine without a counter steps.
[ "$status" = 0 ] || run 60 "$REGTRACE" run -quiet --count -pmu step -o "$T/repeated" -- ./rep
if [ "$(uname -m)" != x86_64 ]; then
    skip '#7769, #4948: REP counts once' 'there is no REP on this processor'
elif [ "$status" = 2 ]; then
    skip '#7769, #4948: REP counts once' "${err#*possible: }"
else
    count=$("$REGTRACE" report --json repeated | grep -oE '"instructions": [0-9]+, "events"' | grep -oE '[0-9]+')
    [ "${count:-0}" -gt 100 ] && [ "${count:-0}" -lt 10000000 ]
    ok $? "#7769, #4948: 100 instructions that write 100 MiB by REP count as such: $count in all"
fi
done_testing
