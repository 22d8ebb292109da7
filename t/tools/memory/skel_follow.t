#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `regtrace skel replay -follow`: all accesses come while the program runs, each once. Also
# mid-function entries, threads that start late, ranks, killed programs and readers that leave.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
mkdir "$T/tmp" && export TMPDIR=$T/tmp
WINDOWS='start:enter_func:open_window,stop:enter_func:close_window,repeat:100000'
gcc -O2 -g -o program "$here/skel_program.c" -lpthread || exit 99

# start FOLDER ARGUMENT...: records a program in the background; sets started to the pid.
start() {
    local folder=$1
    shift
    "$REGTRACE" run -quiet -o "$folder" -memory . -control "$WINDOWS" -- "$@" >"$folder.out" 2>"$folder.err" &
    started=$!
    kill_at_end $started
}
same_as_replayed() {
    "$REGTRACE" skel replay "$1" >replayed
    "$PYTHON_ANY" "$here/skel_follow.py" followed replayed 2>&1 | sed 's/^[0-9]\{5,\} /many /'
}

# follow_held FOLDER LINE COUNT: follows FOLDER, whose program stops halfway until "go" exists.
# Waits until COUNT lines match LINE, then lets the program go on.
follow_held() {
    "$REGTRACE" skel replay -follow "$1" 2>said >followed &
    follower=$!
    wait_for 60 sh -c "[ \$(grep -c '$2' followed) -ge $3 ]"
    came=$?
    kill -0 $started
    alive=$?
    touch go
    wait $follower
    follower=$?
    rm go
}

# Windows that close.
HOLD=go start windows ./program 3 20
follow_held windows '^# rank.*window ' 24
is "$came $alive" "0 0" "windows of the first half come while the program stands still"
is "$follower $(cat said)" "0 " "a run is followed"
wait_for 60 sh -c "! kill -0 $started"
is $? 0 "until it has ended" && wait $started
is "$(same_as_replayed windows)" "many accesses, 60 windows, 3 threads" "windows: all accesses, once, in order"

# Windows that stay open and come in many pieces.
HOLD=go start pieces ./program 2 1 0 330
follow_held pieces '^# rank' 2
is "$came $alive" "0 0" "pieces of an open window come while the program stands still"
is "$follower $(cat said)" "0 " "long windows"
is "$(same_as_replayed pieces)" "many accesses, 2 windows, 2 threads" "long windows: all accesses"
like "$(cat followed)" '^# rank 0, pid [0-9]*, thread 1, window [01], continued$' "threads by turns"

# Many short windows: how much each recorded and how much was computed from it.
start short ./program 3 1000 2
"$REGTRACE" skel replay -follow -format count short 2>said >followed
is "${PIPESTATUS[0]} $(cat said)" "0 " "short windows"
"$REGTRACE" skel replay -format count short >replayed
is "$("$PYTHON_ANY" "$here/skel_follow.py" followed replayed 2>&1)" "0 accesses, 3000 windows, 3 threads" "short windows: each, once, in order"

# Binary records, lackey's lines and HDF5.
start records ./program 3 12 2
"$REGTRACE" skel replay -follow -format binary records >followed.bin
is $? 0 "records"
"$PYTHON_ANY" "$here/skel_records.py" <followed.bin >followed
is "$(same_as_replayed records)" "many accesses, 36 windows, 3 threads" "records: all accesses"
gcc -O2 -o skel_cache "$REGTRACE_SOURCE/share/examples/skel_cache.c"
is "$(./skel_cache <followed.bin | wc -l)" 36 "which the example reads"
# The end of a window and the beginning of the next are written at once, after another thread's
# records.
start dense ./program 4 100 .3
"$REGTRACE" skel replay -follow -format binary dense >dense.bin
"$PYTHON_ANY" "$here/skel_records.py" <dense.bin 2>said >followed
is "$(cat said) $(same_as_replayed dense)" " many accesses, 400 windows, 4 threads" "records of threads that are faster than their reader"
start lackey ./program 2 5 1
"$REGTRACE" skel replay -follow -format lackey lackey | grep -v '^#' | sort >followed
is "$(cksum <followed)" "$("$REGTRACE" skel replay -format lackey lackey | grep -v '^#' | sort | cksum)" "lackey's lines"
start hdf5 ./program 3 20 3
run 60 "$REGTRACE" skel replay -follow -format hdf5 -o followed.h5 hdf5
is "$status $err" "0 " "HDF5"
kill -0 $started 2>/dev/null
isnt $? 0 "when the run has ended"
if [ "$PYTHON" != no ]; then
    "$REGTRACE" skel replay -format hdf5 -o replayed.h5 hdf5
    "$PYTHON" - <<'E2'
import h5py, numpy
a, b = h5py.File("followed.h5"), h5py.File("replayed.h5")
assert set(a["recordings"]) == set(b["recordings"]) and len(a["recordings"]) == 3
for name in a["recordings"]:
    assert (a["recordings"][name][()] == b["recordings"][name][()]).all() and len(a["recordings"][name]) > 1000
for f in a, b:
    last = {}
    for s in f["stretches"][()]:
        assert s["rows"] == len(f["accesses"][s["first"]:s["first"] + s["rows"]]) and s["end"] == 0
        assert s["thread"] not in last or last[s["thread"]] < s["window"]
        last[s["thread"]] = s["window"]
used = set(a["places"]["address"])
assert used <= set(b["places"]["address"]) and b"backwards" in set(a["functions"]["name"])
E2
    ok $? "it has what one has that is made afterwards, and functions that were entered late"
fi

# Runs that have ended, and folders without memory accesses.
"$REGTRACE" skel replay -follow records >followed
is "$(same_as_replayed records)" "many accesses, 36 windows, 3 threads" "a run that is over"
"$REGTRACE" skel replay -follow -thread 1 -window 3-20 records >part
is "$(grep -c '^# rank' part) $(sed -n 's/.*thread \([0-9]*\),.*/\1/p' part | sort -u)" "$("$REGTRACE" skel replay -thread 1 -window 3-20 records | grep -c '^# rank') 1" "parts of it"
mkdir empty
run 20 "$REGTRACE" skel replay -follow empty
is "$status" 1 "a folder of no run"
like "$err" 'empty has no memory accesses' "the error says so"
run 20 "$REGTRACE" skel replay nosuch
is "$status $err" "1 regtrace skel: cannot open nosuch: No such file or directory" "no folder"
"$REGTRACE" run -quiet -o without -- ./program 1 1 >/dev/null 2>&1
run 20 "$REGTRACE" skel replay -follow without
is "$status" 1 "a run without"
run 20 "$REGTRACE" skel replay -follow -rank 9 records
is "$status" 1 "a rank that there is not"
like "$err" 'nothing was recorded in records' "the error says so"
run 20 "$REGTRACE" skel replay -follow -window 99999 records
is "$status $(grep -c 'in window 99999 ' <<<"$err")" "1 1" "a window that there is not"

gcc -O2 -o handlers "$here/../../preload/memory/programs/memory_handlers.c" || exit 99
MEMORY_LOG=$T/log start handled ./handlers nested 40
"$REGTRACE" skel replay -follow handled 2>said >followed
is "${PIPESTATUS[0]} $(cat said)" "0 " "handlers of signals"
is "$(same_as_replayed handled | sed 's/^[a-z0-9]* accesses, [0-9]* windows/accesses/')" "accesses, 3 threads" "handlers: each apart"

# A program killed in its window: its last accesses are still in the buffer.
leaves_streams=1
start killed ./program 2 1 30 100
"$REGTRACE" skel replay -follow killed 2>said >followed &
follower=$!
wait_for 20 sh -c 'ls killed/memory/*-1.0.rec' && sleep 2
program=$(basename "$(echo killed/memory/*-1.0.rec)" | cut -d- -f1)
kill -9 "$program"
wait $follower
is "$(cat said)" "" "a program that is killed"
is "$(same_as_replayed killed)" "many accesses, 2 windows, 2 threads" "all that it had recorded"
is "$(grep -c ' accesses, .*functions entered, cut off: the thread or process ended' followed)" 2 "and how it ended"

# Readers that leave, and signals.
start leaves ./program 3 200 20
"$REGTRACE" skel replay -follow leaves 2>said | head -c 1000 >/dev/null
is "${PIPESTATUS[0]} $(cat said)" "141 " "a reader that leaves"
"$REGTRACE" skel replay -follow leaves >/dev/full 2>said
is "$? $(grep -c 'No space' said)" "1 1" "a full disk"
rm followed
"$REGTRACE" skel replay -follow leaves >followed 2>said &
follower=$!
wait_for 20 test -s followed
kill -TERM $follower
wait $follower
is "$? $(cat said)" "143 " "a signal"
is "$(wait_for 10 sh -c "! ls -A '$TMPDIR' | grep -q ." && echo gone)" gone "nothing is left behind"
kill -TERM $started
wait $started 2>/dev/null

# Ranks.
if have_mpi openmpi; then
    "$REGTRACE" run -quiet -o ranks -memory . -- \
        mpirun.openmpi --oversubscribe -np 3 "$APPS/stencil.openmpi" 2 5 16 >out 2>err &
    started=$!
    kill_at_end $started
    "$REGTRACE" skel replay -follow ranks 2>said >followed
    wait $started
    if [ -d ranks/memory ]; then
        is "$(same_as_replayed ranks | sed 's/^[a-z0-9]* accesses, [0-9]* windows/accesses/')" "accesses, 3 threads" "3 ranks"
    else
        ok 1 "3 ranks" || diag "$(cat out err said)"
    fi
else
    skip "ranks" "no Open MPI, or no mini-applications"
fi
run 20 "$REGTRACE" skel replay -follow -jobs 2 records
is "$status" 2 "a number of processes"
like "$err" '-jobs is not for -follow' "is refused"
done_testing
