#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace split: compares the files of single windows with the run they come from, read by h5py.
# Also unusual runs, folders and inputs.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
needs h5py
export PYTHONDONTWRITEBYTECODE=1

# split_is_right NAME RUN [CHECKED]: splits RUN and compares the result with the oracle. Every
# window must pass check, report and the Python package.
split_is_right() {
    local name=$1 run=$2 w
    run 120 "$REGTRACE" split -o "$run.split" "$run"
    is "$status $err" '0 ' "$name: split"
    like "$out" '^.*: [0-9]+ files? of [0-9]+ windows?, [0-9]+ events?; [0-9]+ lie outside' "$name: it says what it did"
    "$PYTHON" "$here/split_oracle.py" "$run" "$run.split" >"$T/oracle.out"
    ok $? "$name: the files hold what the windows held" || diag "$(grep -v '^ok' "$T/oracle.out")"
    diag "$name: $(tail -1 "$T/oracle.out") comparisons"
    for w in "$run.split"/window-*; do
        "$REGTRACE" check "$w" >"$T/check.out" 2>&1
        ok $? "$name: $(basename "$w") passes check" || diag "$(cat "$T/check.out")"
    done
    PYTHONPATH=$REGTRACE_SOURCE/share/python "$PYTHON" - "$run" "$run.split" >"$T/package.out" 2>&1 <<'END'
import glob, sys, regtrace
whole = regtrace.open(sys.argv[1], origin="monotonic")
for path in sorted(glob.glob(sys.argv[2] + "/window-*")):
    part, ordinal = regtrace.open(path, origin="monotonic"), int(path[-5:])
    for of in (lambda r: r.mpi_calls(window=ordinal), lambda r: r.windows(window=ordinal).drop(columns=["opened_by"]),
               lambda r: r.events(window=ordinal)):
        a, b = of(whole), of(part)
        assert list(a.columns) == list(b.columns) and len(a) == len(b), (path, len(a), len(b))
        assert (a.astype(str).values == b.astype(str).values).all(), (path, a, b)
END
    ok $? "$name: the package reads the same of both" || diag "$(cat "$T/package.out")"
}

mpi=$(mpis | tail -1)
if [ -n "$mpi" ]; then
    mpirun_for "$mpi" 3 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=start:pcontrol:solve,stop:pcontrol:solved,repeat \
        REGTRACE_DIR="$T/mpi" "$APPS/stencil.$mpi" >/dev/null 2>&1
    split_is_right "$mpi" "$T/mpi"
    for n in 0 1 2; do
        "$REGTRACE" report --json --window $n "$T/mpi" >whole.json
        "$REGTRACE" report --json "$T/mpi.split/window-0000$n" >part.json
        "$PYTHON" - <<'END'
import json
whole, part = (json.load(open(n)) for n in ("whole.json", "part.json"))
assert part["windows"] and part["mpi"] and len(part["ranks"]) == 3 and part["missing"] == []
assert whole["mpi"] == part["mpi"] and whole["windows"] == part["windows"], (whole["windows"], part["windows"])
assert whole["origin_monotonic_ns"] == part["origin_monotonic_ns"]
END
        ok $? "report of window $n alone is that of --window $n"
    done
    like "$("$REGTRACE" report "$T/mpi.split/window-00001")" 'slow path +unknown of one window' 'what is not known of a window is reported'
    run 60 "$REGTRACE" split --window 1 --rank 0,2 -o one "$T/mpi"
    is "$status $(find one -name 'rank*' | sort | tr '\n' ' ')" '0 one/window-00001/rank-00000.h5 one/window-00001/rank-00002.h5 ' \
        'only the windows and ranks that are asked for'
    run 60 "$REGTRACE" report one/window-00001
    like "$out" 'no file of rank 1' 'whose report names the rank that is not there'
    run 60 "$REGTRACE" split -o onefile mpi/rank-00001.h5
    is "$status $(find onefile -name 'rank*' | wc -l)" '0 3' 'one rank file is enough'
    run 60 "$REGTRACE" split -o again one/window-00001
    is "$status $(find again -name 'rank*' | wc -l)" '0 2' 'a window can be split again'
    cmp -s <("$REGTRACE" dump again/window-00001) <("$REGTRACE" dump one/window-00001)
    ok $? 'and is the same'
else
    skip 'windows of an MPI program' 'no MPI here'
fi

# Threads in broadcast windows: one ends in a window, one begins in a window. Also strings of all
# kinds, and the default output name.
cat >threads.c <<'END'
#include <pthread.h>
#include <regtrace.h>
#include <unistd.h>
static pthread_barrier_t b;
static void *work(void *a)
{
    for (int i = 0; i < 40; i++) {
        if (i % 10 == 0)
            pthread_barrier_wait(&b);
        regtrace_region_begin(a);
        usleep(200);
        regtrace_region_end(a);
    }
    return a;
}
int main(void)
{
    pthread_t t[3];
    pthread_barrier_init(&b, 0, 4);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, work, (void *)(i == 0 ? "alpha" : i == 1 ? "beta = 1\n" : "gamma"));
    for (int i = 0; i < 4; i++) {
        regtrace_start(1);
        pthread_barrier_wait(&b);
        usleep(1500);
        regtrace_stop(1);
    }
    regtrace_start(1);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    pthread_create(&t[0], 0, (void *(*)(void *))(void *)usleep, (void *)10);
    return pthread_join(t[0], 0);
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o threads threads.c -pthread
REGTRACE_DEFAULT_START=0 "$REGTRACE" run -quiet -o "$T/threads.run" -- ./threads
split_is_right 'threads' "$T/threads.run"
REGTRACE_DEFAULT_START=0 REGTRACE_DIR="$T/bound" LD_PRELOAD="$LIBREGTRACE" "$REGTRACE_BUILD/t/preload/affinity" >/dev/null
split_is_right 'threads that are bound' "$T/bound"
run 60 "$REGTRACE" split threads.run/
is "$status $(ls -d threads.run-windows)" '0 threads.run-windows' 'without -output it is the name of the run with -windows'
before=$(cd threads.run-windows && find . -type f -exec cksum {} + | sort)
run 60 "$REGTRACE" split threads.run
is "$status" 1 'a folder that holds something'
like "$err" 'threads.run-windows is there and holds something, which is left alone; -output DIR' 'is refused with the remedy'
is "$(cd threads.run-windows && find . -type f -exec cksum {} + | sort)" "$before" 'and left alone'

# A program killed in its window: that window is truncated, and so is its file.
cat >killed.c <<'END'
#include <regtrace.h>
#include <signal.h>
int main(void)
{
    for (int i = 0; i < 3; i++) {
        regtrace_start(0);
        for (int k = 0; k < 3000; k++) {
            regtrace_region_begin("r");
            if (i == 2 && k == 2000)
                raise(SIGKILL);
            regtrace_region_end("r");
        }
        regtrace_stop(0);
    }
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o killed killed.c
(REGTRACE_DEFAULT_START=0 REGTRACE_DIR=$T/killed.run LD_PRELOAD=$LIBREGTRACE ./killed; :) 2>/dev/null
"$REGTRACE" report "$T/killed.run" >/dev/null
split_is_right 'killed' "$T/killed.run"
like "$("$REGTRACE" report "$T/killed.run.split/window-00002")" '\(truncated\)' 'the last window of a killed program is truncated in its file'

# Dropped events: each window's file accounts for the losses of that window.
cc -I"$REGTRACE_SOURCE/share/include" -O2 -o many -xc - <<'END'
#include <regtrace.h>
int main(void)
{
    for (int w = 0; w < 6; w++) {
        regtrace_start(0);
        for (int i = 0; i < 200000; i++) {
            regtrace_region_begin("r");
            regtrace_region_end("r");
        }
        regtrace_stop(0);
    }
}
END
REGTRACE_DEFAULT_START=0 REGTRACE_BUFFER=128K REGTRACE_FULL=drop REGTRACE_DIR=$T/dropped LD_PRELOAD=$LIBREGTRACE ./many
lost=$("$REGTRACE" report --json dropped | "$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["lost"])')
[ "$lost" -gt 0 ]
ok $? "a run that lost $lost events"
split_is_right 'drops' "$T/dropped"
sum=$(for w in dropped.split/window-*; do "$REGTRACE" report --json "$w"; done | grep -o '^  "lost": [0-9]*' | awk '{ s += $2 } END { print s }')
[ "$sum" -gt 0 ] && [ "$sum" -le "$lost" ]
ok $? "of which its windows' files account for $sum"

# Runs without a window, and invalid inputs.
printf 'int main(void) { return 0; }\n' >none.c && cc -o none none.c
"$REGTRACE" run -quiet -o "$T/no-window" -control start:signal:USR1 -- ./none
run 60 "$REGTRACE" split no-window
is "$status $out" '1 ' 'a run without a window'
like "$err" 'no window in no-window: there is nothing to split' 'has nothing to split, which is an error'
[ ! -e no-window-windows ]
ok $? 'and leaves no folder'
run 60 "$REGTRACE" split --window 77 -o none.split threads.run
is "$status" 1 'a window that is not there'
like "$err" 'window 77 in threads.run: there is nothing to split; `regtrace report --all`' 'is named, with who knows better'
run 60 "$REGTRACE" split --rank 5 -o none.split threads.run
is "$status" 1 'a rank that is not there'
like "$err" 'none of the ranks asked for .-rank. is in threads.run' 'is an error too'
mkdir -p some-windows/window-00007 some-windows/window-00003
run 60 "$REGTRACE" report some-windows
is "$status $err" "1 regtrace report: some-windows holds windows of a run (regtrace split): name one of them, for example some-windows/window-00003" 'a folder that split made'
run 60 "$REGTRACE" split nowhere
is "$status" 1 'no such folder'
like "$err" 'nowhere' 'is named'
run 60 "$REGTRACE" split /etc/passwd
is "$status" 1 'a foreign file'
like "$err" 'is not an HDF5 file' 'is said to be none'
run 60 "$REGTRACE" split -o /proc/nothing threads.run
is "$status" 1 'a folder that cannot be made'
like "$err" 'cannot make the folder /proc/nothing: .*; -output DIR names another' 'is an error with the remedy'
# No room for a file: split leaves no incomplete file behind.
run 60 bash -c 'trap "" XFSZ; ulimit -f 40; exec "$@"' - "$REGTRACE" split -o no-room dropped
is "$status" 1 'a file that becomes too large for its place'
like "$err" 'cannot (write|create) no-room/window-00000/rank-00000.h5: File too large' 'is an error that names it'
is "$(find no-room -name 'rank-*' 2>/dev/null)" '' 'and is not left behind'
mkdir file-there && : >file-there/plain
run 60 "$REGTRACE" split -o file-there/plain threads.run
is "$status" 1 'a file where the folder should be'
like "$err" 'cannot write to file-there/plain' 'is an error'
cp -r threads.run cut && truncate -s 9000 cut/rank-00000.h5
run 60 "$REGTRACE" split cut
is "$status" 1 'a truncated file'
like "$err" 'rank-00000.h5: .*(damaged|not an HDF5)' 'is said to be damaged'
[ ! -e cut-windows ]
ok $? 'and leaves no folder'
cp -r threads.run ordinals
"$PYTHON" -c 'import h5py, sys
with h5py.File("ordinals/rank-00000.h5", "r+") as f:
    row = f["windows"][0]; row["ordinal"] = 2**31 - 1; f["windows"][0] = row'
run 60 "$REGTRACE" split ordinals
is "$status" 1 'ordinals that cannot be'
like "$err" 'ordinals of its windows are damaged; .regtrace check' 'are damage'

# A run that goes on: split refuses it. A killed writer: the file must be recovered first.
leaves_streams=1
cat >sleeps.c <<'END'
#include <regtrace.h>
#include <unistd.h>
int main(void)
{
    regtrace_region_begin("r");
    regtrace_region_end("r");
    sleep(60);
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o sleeps sleeps.c
REGTRACE_DIR=$T/live LD_PRELOAD=$LIBREGTRACE ./sleeps &
pid=$!
kill_at_end $pid
wait_for 20 test -s "$T/live/rank-00000.h5"
run 60 "$REGTRACE" split live
is "$status" 1 'a run that goes on'
like "$err" 'rank-00000.h5 is still being written: split it when the program has ended' 'is not split'
writer=$("$PYTHON" -c 'import h5py; print(h5py.File("live/rank-00000.h5", "r", libver="latest", swmr=True).attrs["writer_pid"])')
kill -9 "$writer"
kill -9 $pid
wait $pid 2>/dev/null
run 60 "$REGTRACE" split --wait 1 live
is "$status" 1 'a file that its writer left'
like "$err" 'rank-00000.h5 was left by its writer; .regtrace recover. finishes it' 'is not split either'
like "$("$REGTRACE" report --wait 1 live)" 'recorded, 0 lost and an unknown number more$' 'report does not say that nothing is lost'
like "$("$REGTRACE" report --wait 1 --json live)" '"lost_unknown": true' 'nor in JSON'
"$REGTRACE" recover live >/dev/null
like "$("$REGTRACE" report live)" 'recorded, 0 lost$' 'before it is recovered'
split_is_right 'recovered' "$T/live"

# Memory accesses are split too: each window replays as it does in the run. One run has signal
# handlers. Another is larger than a recording's buffer, and is killed in its last window.
cat >traced.c <<'END'
#include <regtrace.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
static volatile unsigned room[65536];
static volatile long hits[8];
static void handler(int s)
{
    for (int i = 0; i < 8; i++)
        hits[i] += s;
}
__attribute__((noinline)) unsigned wander(unsigned n, unsigned x)
{
    for (unsigned i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        room[x >> 16] ^= x;
        if (room[x & 65535] & 1)
            x += 3;
    }
    return x;
}
int main(int argc, char **argv)
{
    int killed = argc > 1 && strcmp(argv[1], "killed") == 0;
    const char *next = argc > 1 && !killed ? argv[1] : NULL;
    unsigned x = 7;
    signal(SIGUSR1, handler);
    for (int w = 0; w < 3; w++) {
        regtrace_start(1);
        for (int i = 0; i < 3; i++) {
            x = wander(killed ? 100000 : 500, x);
            raise(SIGUSR1);
        }
        if (killed && w == 2)
            raise(SIGKILL);
        regtrace_stop(1);
    }
    return next != NULL ? execl(next, next, (char *)NULL) : 0;
}
END
cc -g -O1 -I"$REGTRACE_SOURCE/share/include" -o traced traced.c && cp traced other || exit 99
if [ "$(uname -m)" = x86_64 ] && REGTRACE_DEFAULT_START=0 "$REGTRACE" run -quiet -memory . -o memory-plain -- ./traced 2>traced.err; then
    REGTRACE_DEFAULT_START=0 "$REGTRACE" run -quiet -memory . -o memory-killed -- ./traced killed 2>/dev/null
    for how in plain killed; do
        run 60 "$REGTRACE" split memory-$how
        is "$status" 0 "memory accesses, $how: split" || diag "$err"
        like "$out" '^6 files of memory accesses' 'and says that there are some'
        for w in 0 1 2; do
            "$REGTRACE" skel replay -window $w memory-$how >whole.out 2>&1
            "$REGTRACE" skel replay "memory-$how-windows/window-0000$w" >part.out 2>&1
            [ "$(wc -l <part.out)" -gt 1000 ] && cmp whole.out part.out
            ok $? "$how: window $w replays to the same accesses" || diag "$(head -3 part.out)"
        done
    done
    run 60 "$REGTRACE" split --window 1 -o only memory-plain
    is "$(find only -path '*memory/*.rec' | wc -l) $(find only -name memory)" '2 only/window-00001/memory' 'of one window: those of that window alone'
    REGTRACE_DEFAULT_START=0 "$REGTRACE" run -quiet -memory . -o memory-exec -- ./traced ./other 2>/dev/null
    for file in memory-exec/*.h5; do
        [ "$file" != memory-exec/regtrace.h5 ] || continue
        rm -rf one
        run 60 "$REGTRACE" split -o one "$file"
        program=$("$PYTHON" -c 'import sys, h5py; p = h5py.File(sys.argv[1]).attrs["program"]; print(getattr(p, "decode", lambda: p)())' "$file")
        is "$(grep -ralE --include='*.rec' "/$program" one | wc -l) $(find one -name '*.rec' | wc -l)" '6 6' "of one file, $program, of a process that called exec: those of that program alone"
    done
    plain=$(find memory-plain/memory -name '*.0.rec')
    truncate -s 2000000 "$plain"
    "$PYTHON" -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(4096); f.write(b"damage")' "$plain"
    run 60 "$REGTRACE" split -o broken memory-plain
    like "$status $err" '^1 .*memory-plain/memory/.*rec is damaged: a segment is missing' 'a damaged recording is named'
else
    skip 'memory accesses' "$(cat traced.err)"
fi

# Values are not known by window: each file has the values of the whole process, and regtrace values
# says so.
cat >spins.c <<'END'
#include <regtrace.h>
static volatile long room[64];
int main(void)
{
    for (int w = 0; w < 2; w++) {
        regtrace_start(1);
        for (int k = 0; k < 4000; k++) /* work, not time, as in damage.t */
            for (int i = 0; i < 10000; i++) { /* samples come to memory accesses, at most */
                room[0]++;
                room[1]++;
                room[2]++;
                room[3]++;
                room[4]++;
                room[5]++;
                room[6]++;
                room[7]++;
            }
        regtrace_stop(1);
    }
    return 0;
}
END
cc -g -O1 -I"$REGTRACE_SOURCE/share/include" -o spins spins.c || exit 99
if REGTRACE_DEFAULT_START=0 "$REGTRACE" run -quiet -values vp-addr -values-sample cpu:1ms -o values.run -- ./spins 2>spins.err; then
    run 60 "$REGTRACE" split values.run
    is "$status" 0 'values: split' || diag "$err"
    "$PYTHON" - <<'END'
import h5py
with h5py.File("values.run/rank-00000.h5") as whole:
    assert len(whole["value_instructions"]) > 0
    for w in 0, 1:
        with h5py.File(f"values.run-windows/window-0000{w}/rank-00000.h5") as part:
            for name in "value_instructions", "value_hot":
                assert (whole[name][:] == part[name][:]).all(), name
            assert list(whole["value_threads"]["samples"]) == list(part["value_threads"]["samples"])
END
    ok $? 'each file has those of the process'
    run 60 "$REGTRACE" values values.run-windows/window-00001
    like "$out" '^  of whole processes: values are not known by window' 'which regtrace values says'
    "$REGTRACE" values values.run | grep -A3 'captured [0-9]* times' >whole.out
    grep -A3 'captured [0-9]* times' <<<"$out" | cmp - whole.out
    ok $? 'and it lists the same'
    "$REGTRACE" values values.run-windows/window-0000[01] >both.out
    grep -A3 'captured [0-9]* times' both.out | cmp - whole.out
    ok $? 'two windows of a process count it once' || diag "$(head -4 both.out)"
    ok_run 'and check has nothing against them' "$REGTRACE" check values.run-windows/window-00001
else
    skip 'values' "$(cat spins.err)"
fi
done_testing
