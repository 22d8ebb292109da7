#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace export, in each format, of an MPI run with windows, threads, regions, marks, functions,
# signals and counters: whole, in part, with a killed rank, and with lost events. Independent
# readers (judge.py, otf2-print) compare each export with regtrace dump.
. "$(dirname "$0")/../../lib.sh"
export PYTHONDONTWRITEBYTECODE=1
[ -n "$PYTHON" ] && [ "$PYTHON" != no ] || skip_all 'no Python to read exports with'
cd "$T" || exit 99

formats='chrome csv ovni'
if ! grep -q 'DHAVE_OTF2' "$REGTRACE_BUILD/config.status"; then
    skip 'OTF2' 'built without libopen-trace-format2-dev'
elif ! command -v otf2-print >/dev/null; then
    skip 'OTF2' 'no otf2-print (otf2-tools)'
else
    formats="$formats otf2"
fi

# readable FORMAT EXPORT: prints the name of the file that judge.py can read.
readable() {
    [ "$1" = otf2 ] || { echo "$2"; return; }
    { otf2-print -G "$2/traces.otf2" && otf2-print "$2/traces.otf2"; } >"$2.txt" 2>"$2.err" || diag "otf2-print: $(tail -3 "$2.err")"
    echo "$2.txt"
}
# right NAME RUN DUMP [OPTION...] [-- JUDGE...]: exports RUN in each format and compares it with the
# dump.
right() {
    local name=$1 run=$2 dump=$3 options=() f
    shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1") && shift; done
    [ $# = 0 ] || shift
    for f in $formats; do
        rm -rf "out.$f"
        run 60 "$REGTRACE" export "--$f" "out.$f" "${options[@]}" "$run"
        is "$status" 0 "$name: exported as $f" || diag "$err"
        said=$err
        ok_run "$name: $f is what dump has" "$PYTHON" "$here/judge.py" "$f" "$dump" "$(readable "$f" "out.$f")" said="$said" "$@"
    done
}
# again NAME RUN: exports have the same bytes each time.
again() {
    local f
    for f in $formats; do
        rm -rf one two
        "$REGTRACE" export "--$f" one "$2" 2>/dev/null && sleep 0.01 && "$REGTRACE" export "--$f" two "$2" 2>/dev/null && diff -r one two >diff.out
        ok $? "$1: $f has the same bytes each time" || diag "$(head -3 diff.out)"
    done
}

for mpi in $(mpis); do
    "mpicc.$mpi" -w -O1 -g -finstrument-functions -rdynamic -I"$REGTRACE_SOURCE/share/include" -o "program.$mpi" "$here/program.c" -pthread ||
        { skip "$mpi" "mpicc.$mpi cannot compile"; continue; }
    run 120 mpirun_for $mpi 3 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$mpi" REGTRACE_DEFAULT_START=0 REGTRACE_FUNCTIONS=1 \
        REGTRACE_EVENTS=page-faults REGTRACE_EVENTS_MPI=1 "./program.$mpi"
    is "$status" 0 "a run with $mpi" || diag "$err"
    "$REGTRACE" dump --json "$mpi" >"$mpi.json"
    for kind in MPI_Allreduce EV_REGION_BEGIN EV_MARK_PUSH EV_MARK_SET EV_FUNCTION_ENTER EV_WINDOW_OPEN EV_SIGNAL_ENTER EV_MPI_COUNTER EV_COUNTER; do
        grep -q "\"name\": \"$kind\"" "$mpi.json" || echo $kind
    done >none
    # Counters need perf_event_open, so they may be missing.
    is "$(grep -v COUNTER none)" "" "$mpi: it has what is to be exported"
    right "$mpi" "$mpi" "$mpi.json"
    again "$mpi" "$mpi"
    "$REGTRACE" dump --json --rank 1-2 "$mpi" >ranks.json
    right "$mpi, two ranks" "$mpi" ranks.json -rank 1-2
    right "$mpi, two windows" "$mpi" "$mpi.json" -window 2-3 -- windows=2-3
    # A selection whose edges lie within windows: at its ends, calls of all kinds are open.
    middle=$("$PYTHON" -c 'import json, sys
times = sorted(e["ns"] for e in map(json.loads, open(sys.argv[1])) if e["window"] is not None)
print(times[len(times) // 3], times[2 * len(times) // 3])' "$mpi.json")
    read -r from to <<<"$middle"
    seconds() { printf '%d.%09d' $(($1 / 1000000000)) $(($1 % 1000000000)); }
    right "$mpi, from and to" "$mpi" "$mpi.json" -from "$(seconds "$from")" -to "$(seconds "$to")" -- "from=$from" "to=$to"
    right "$mpi, from" "$mpi" "$mpi.json" -from "$(seconds "$from")" -- "from=$from"
    right "$mpi, to" "$mpi" "$mpi.json" -to "$(seconds "$to")" -- "to=$to"
    leaves_streams=1
    run 120 mpirun_for $mpi 3 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$mpi.killed" REGTRACE_FUNCTIONS=1 "./program.$mpi" kill
    isnt "$status" 0 "$mpi: a run of which a rank is killed"
    run 60 "$REGTRACE" dump --json "$mpi.killed"
    cp "$T/.out" killed.json
    right "$mpi, killed" "$mpi.killed" killed.json
    like "$said" '[1-9][0-9]* windows, regions and calls have no end' "$mpi, killed: what has no end is counted"
    again "$mpi, killed" "$mpi.killed"
    # ovni's own emulator, where it is installed; it looks for its configurations in its own folder.
    if command -v ovniemu >/dev/null; then
        for r in "$mpi" "$mpi.killed"; do
            rm -rf out.ovni
            "$REGTRACE" export --ovni out.ovni "$r" 2>/dev/null
            ok_run "$r: ovniemu -l takes it" ovniemu -l out.ovni
        done
    else
        skip "$mpi: ovniemu -l takes it" 'no ovniemu (ovni 1.14)'
    fi
done

# Without MPI, with a forked child: two files of one rank.
cc -O2 -I"$REGTRACE_SOURCE/share/include" -o threads "$REGTRACE_SOURCE/t/tools/streams/busy_threads.c" -pthread || exit 99
run 60 "$REGTRACE" run -quiet -o "$T/forked" -- ./threads
"$REGTRACE" dump --json forked >forked.json
right 'a forked child' forked forked.json
run 60 "$REGTRACE" export -chrome - forked
is "$status" 2 'JSON is for a file'
one=$(find forked -name 'rank-00000.h5')
run 60 "$REGTRACE" export -csv - "$one"
is "$(tail -n +2 "$T/.out" | wc -l)" "$("$REGTRACE" dump --json "$one" | wc -l)" 'one file, to standard output'

# Handlers that are left by a jump have no end: they end with the function in which they came.
cat >jump.c <<'END'
#include <setjmp.h>
#include <signal.h>
static sigjmp_buf back;
static void handler(int n)
{
    (void)n;
    siglongjmp(back, 1);
}
__attribute__((noinline)) static void outer(void)
{
    if (sigsetjmp(back, 1) == 0)
        raise(SIGUSR1);
}
int main(void)
{
    signal(SIGUSR1, handler);
    for (int i = 0; i < 3; i++)
        outer();
}
END
cc -O1 -finstrument-functions -rdynamic -o jump jump.c || exit 99
run 60 "$REGTRACE" run -quiet -functions 1 -o "$T/jumped" -- ./jump
"$REGTRACE" dump --json jumped >jumped.json
right 'handlers left by a jump' jumped jumped.json -- kinds=function,window
for f in $formats; do
    run 60 "$REGTRACE" export "--$f" "out.$f" -force jumped
    if [ "$f" = csv ]; then
        unlike "$err" 'have no end' "$f: it has no spans, and ends none"
    else
        like "$err" 'warning: 3 windows, regions and calls have no end' "$f: their number is reported"
    fi
    unlike "$err" 'times a region' "$f: none goes on"
done

# Names of any bytes: JSON stays JSON; CSV has one line per event and gives the bytes back.
cat >names.c <<'END'
#include <regtrace.h>
int main(void)
{
    char name[300];
    int n = 0;
    for (int c = 1; c < 256; c++)
        name[n++] = (char)c;
    name[n++] = (char)0xc3;
    name[n++] = (char)0xa4;
    name[n] = 0;
    regtrace_region_begin(name);
    regtrace_region_end(name);
    regtrace_mark_type(1, 1, name);
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o names names.c || exit 99
run 60 "$REGTRACE" run -quiet -o "$T/named" -- ./names
"$REGTRACE" dump --json named >named.json
for f in chrome ovni; do
    rm -rf out.$f
    "$REGTRACE" export --$f out.$f named
    ok_run "any bytes: $f is what dump has" "$PYTHON" "$here/judge.py" $f named.json out.$f
done
"$REGTRACE" export --csv out.csv -force named
ok_run 'any bytes: CSV' "$PYTHON" - out.csv <<'END'
import csv, re, sys
text = open(sys.argv[1], encoding="utf-8", newline="").read()
rows = list(csv.DictReader(text.split("\n")[:-1], strict=True))
name = bytes(range(1, 256)) + "\u00e4".encode()
def back(t):
    return re.sub(rb"\\(x[0-9a-f]{2}|\\)", lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1][1:], 16)]), t.encode())
regions = [back(r["region"]) for r in rows if r["region"]]
titles = [back(f[6:]) for r in rows for f in r["fields"].split(";") if f.startswith("title=")]
assert regions == [name, name] and titles == [name], (regions, titles)
END

# ovni's stacks hold 512 values: of 600 nested regions, the inner 88 are left out. Other formats
# have them.
cat >deep.c <<'END'
#include <regtrace.h>
int main(void)
{
    for (int i = 0; i < 600; i++)
        regtrace_region_begin("deep");
    for (int i = 0; i < 600; i++)
        regtrace_region_end("deep");
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o deep deep.c || exit 99
run 60 "$REGTRACE" run -quiet -o "$T/deeper" -- ./deep
"$REGTRACE" dump --json deeper >deeper.json
right '600 regions' deeper deeper.json -- kinds=window
run 60 "$REGTRACE" export --ovni out.ovni -force deeper
like "$err" '88 calls or regions are left out: they lie within 512 others' 'those that ovni cannot have are counted'
is "$(cat out.ovni/loom*/proc*/thread*/stream.obs | tr -d '\0' | grep -aoE 'OM[][]' | sort | uniq -c | tr -s ' \n' ' ')" ' 513 OM[ 513 OM] ' 'and the others are there'

# Lost events: the remaining spans are balanced, and the windows are those of the run.
cat >many.c <<'END'
#include <regtrace.h>
int main(void)
{
    for (int w = 0; w < 4; w++) {
        regtrace_start(0);
        for (int i = 0; i < 100000; i++) {
            regtrace_region_begin("outer");
            regtrace_region_begin("inner");
            regtrace_region_end("inner");
            regtrace_region_end("outer");
        }
        regtrace_stop(0);
    }
}
END
cc -I"$REGTRACE_SOURCE/share/include" -O2 -o many many.c || exit 99
REGTRACE_DEFAULT_START=0 REGTRACE_BUFFER=128K REGTRACE_FULL=drop REGTRACE_DIR=$T/dropped LD_PRELOAD=$LIBREGTRACE ./many
"$REGTRACE" dump --json dropped >dropped.json
like "$(grep -c '"name": "EV_DROPPED"' dropped.json)" '^[1-9]' 'a run that has lost events'
right 'lost events' dropped dropped.json -- kinds=window
done_testing
