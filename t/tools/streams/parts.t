#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Conversions by several processes, each with a part of the ranks: the bytes, messages and status of
# one process, or a reason; and nothing is left.
. "$(dirname "$0")/../../lib.sh"
unset REGTRACE_PARTS REGTRACE_PARTS_WAIT OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK PMI_SIZE SLURM_PROCID SLURM_STEP_NUM_TASKS

# start K N WORD...: starts process K of N, as a launcher does; sets started to its pid.
start() {
    local k=$1 n=$2
    shift 2
    PMI_RANK=$k PMI_SIZE=$n "$REGTRACE" "$@" >"$T/out.$k" 2>"$T/err.$k" </dev/null &
    started=$!
    pids[k]=$started
    kill_at_end "$started"
}

# finish: waits until all of $pids have ended; sets statuses to theirs.
pids=() alone=
finish() {
    local k
    statuses=
    for k in "${!pids[@]}"; do
        { wait "${pids[k]}"; } 2>/dev/null
        statuses+="$? "
    done
    pids=()
    # shellcheck disable=SC2034
    rt_pids=(${alone:+"$alone"}) # the numbers of those that have ended may be others' by now
}

# together N WORD...: runs N processes, without a launcher.
together() {
    local k n=$1
    shift
    for ((k = 0; k < n; k++)); do start "$k" "$n" "$@"; done
    finish
}

# said: prints what all processes have said, without what a launcher adds.
said() { grep -h '^regtrace' "$@"; }

left() { find "$T" -maxdepth 2 -name '*.parts*'; }

# same NAME HOW WORD...: the command makes the same in $T/made when it runs as HOW says: a number of
# processes, or an MPI and a number.
same() {
    local name=$1 how=$2 n=${2##* } code k wrong=''
    shift 2
    rm -rf "$T/made" "$T/one"
    "$REGTRACE" "$@" >"$T/one.out" 2>"$T/one.err" </dev/null
    code=$?
    [ ! -e "$T/made" ] || mv "$T/made" "$T/one"
    rm -f "$T"/out.* "$T"/err.*
    if [ "$n" = "$how" ]; then
        together "$n" "$@"
        for k in $statuses; do [ "$k" = "$code" ] || wrong+=" statuses: $statuses, one: $code;"; done
        [ "$(cat "$T"/err.[1-9]* "$T"/out.[1-9]*)" = '' ] || wrong+=' others than the first have said something;'
    else
        mpirun_for "${how% *}" "$n" "$REGTRACE" "$@" >"$T/out.0" 2>"$T/err.0" </dev/null
        k=$?
        [ $k = "$code" ] || wrong+=" status: $k, one: $code;"
    fi
    cmp -s "$T/one.out" "$T/out.0" || wrong+=' stdout differs;'
    [ "$(said "$T/one.err")" = "$(said "$T/err.0")" ] || wrong+=' words differ;'
    if [[ $name == *strict ]]; then
        : # what was made before it stopped is no result
    elif [ -e "$T/one" ]; then
        diff -r "$T/one" "$T/made" >/dev/null 2>&1 || wrong+=' bytes differ;'
    elif [ -e "$T/made" ]; then
        wrong+=' something was made;'
    fi
    [ -z "$(left)" ] || wrong+=" left: $(left)"
    [ -z "$wrong" ]
    ok $? "$name, $how" || diag "$wrong $(head -3 "$T/err.0" "$T/one.err")"
}

cc -O2 -I"$REGTRACE_SOURCE/share/include" -o "$T/threads" "$REGTRACE_SOURCE/t/tools/streams/busy_threads.c" -pthread || exit 99
run 60 "$REGTRACE" run -quiet -o "$T/run" -- "$T/threads"
is "$status" 0 'a run of two processes with four threads each' || diag "$err"
M=$T/made
PMI_RANK=1 PMI_SIZE=2 REGTRACE_PARTS_WAIT=1 "$REGTRACE" prv -o "$T/never" "$T/run" >"$T/alone" 2>&1 </dev/null &
alone=$!
kill_at_end "$alone"
for n in 2 5; do same 'prv' $n prv -o "$M" "$T/run"; done
[ "$(wc -l <"$M/thread.prv")" -gt 6000 ]
ok $? 'in more than one turn'
same 'emulate' 3 emulate -o "$M" "$T/run"
same 'timeline' 2 timeline -o "$M" "$T/run"
same 'csv' 2 export -csv "$M" "$T/run"
same 'csv to standard output' 3 export -csv - "$T/run"
same 'chrome' 3 export -chrome "$M" "$T/run"
same 'ovni' 5 export -ovni "$M" "$T/run"
same 'otf2' 2 export -otf2 "$M" "$T/run"
same 'a part of the time' 3 export -chrome "$M" -from 0.01 -to 0.05 "$T/run"
same 'observed processors, lint' 2 prv -policy lint -cpu observed -o "$M" "$T/run"
same 'no rank' 2 prv -rank 7 -o "$M" "$T/run"

# Two files with the same events at the same times: the order of the files is the order of the
# events.
mkdir "$T/ties"
file=$(find "$T/run" -name 'rank-*.h5' | sort | head -1)
cp "$file" "$T/ties/rank-00000.h5"
cp "$file" "$T/ties/rank-00001.h5"
same 'events of one time' 2 prv -o "$M" "$T/ties"

# Recordings that cannot be right: the message appears once.
mkdir "$T/wrong"
"$REGTRACE_BUILD/t/tools/paraver/wrong" "$REGTRACE_BUILD/writer/regtrace-writer" "$T/wrong" "$T/wrong.stream"
is $? 0 'a recording that cannot be right'
same 'what cannot be right, strict' 2 prv -o "$M" "$T/wrong"
same 'what cannot be right, salvage' 3 prv -policy salvage -o "$M" "$T/wrong"
cp -r "$T/run" "$T/cut"
file=$(find "$T/cut" -name 'rank-*.h5' | sort | tail -1)
head -c 3000 "$T/run/$(basename "$file")" >"$file"
rm -f "$T/cut/regtrace.h5"
same 'a file that cannot be opened, strict' 2 prv -o "$M" "$T/cut"
same 'a file that cannot be opened, salvage' 3 prv -policy salvage -o "$M" "$T/cut"
if [ -n "$PYTHON" ] && "$PYTHON" -c 'import h5py' 2>/dev/null; then
    # Its table /pieces is wrong: only a process that reads its events finds that.
    cp -r "$T/run" "$T/lie"
    file=$(find "$T/lie" -name 'rank-*.h5' | sort | tail -1)
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/streams/pieces.py" "$file" lie
    is "$status" 0 'a file whose events are not what it says' || diag "$err"
    same 'a file that one of them finds damaged' 2 emulate -o "$M" "$T/lie"
    like "$(cat "$T/err.0")" 'is damaged' 'which the first says'
else
    skip 'a file that one of them finds damaged' 'no python3 with h5py'
fi

# Processes that never come, that are killed, or that a signal ends.
rm -rf "$M" "$T/one"
"$REGTRACE" prv -o "$T/one" "$T/run" >/dev/null
export REGTRACE_PARTS_WAIT=1
start 0 2 prv -o "$M" "$T/run"
finish
is "$statuses" '1 ' 'one that never comes is not waited for for ever'
like "$(cat "$T/err.0")" 'process 1 of 2 has not come to .*made.parts within 1 s.*REGTRACE_PARTS=0' 'but named, with the remedy'
is "$(left)" '' 'and nothing is left'
wait "$alone"
is $? 1 'nor is the first waited for for ever'
alone=

export REGTRACE_PARTS_WAIT=100
start 1 3 prv -o "$M" "$T/run"
first=$started
start 0 3 prv -o "$M" "$T/run"
wait_for 60 test -s "$M.parts/here-0" -a -s "$M.parts/here-1"
ok $? 'one has come'
kill -9 "$first"
start 2 3 prv -o "$M" "$T/run"
finish
is "$statuses" '1 137 1 ' 'it is killed: the others end'
like "$(cat "$T/err.0")" 'process 1 of 3 .* is gone, and with it its part' 'and the first says why'
is "$(left)" '' 'and nothing is left'

start 1 3 prv -o "$M" "$T/run"
start 0 3 prv -o "$M" "$T/run"
wait_for 60 test -s "$M.parts/here-0" -a -s "$M.parts/here-1"
run 60 env PMI_RANK=0 PMI_SIZE=3 "$REGTRACE" prv -o "$M" "$T/run"
is "$status" 1 'another conversion to the same place is refused'
like "$err" 'is at work in .*made.parts' 'with the reason'
kill -TERM "${pids[@]}"
finish
is "$statuses" '143 143 ' 'SIGTERM ends them'
is "$(left)" '' 'and nothing is left'

start 1 3 prv -o "$M" "$T/run"
start 0 3 prv -o "$M" "$T/run"
wait_for 60 test -s "$M.parts/here-0" -a -s "$M.parts/here-1"
kill -9 "${pids[@]}"
finish
isnt "$(left)" '' 'SIGKILL leaves their folder'
same 'which the next ones take over' 3 prv -o "$M" "$T/run"

# A process that has no others beside it.
rm -rf "$M"
run 60 env PMI_RANK=1 PMI_SIZE=3 REGTRACE_PARTS=0 "$REGTRACE" prv -o "$M" "$T/run"
is "$status" 0 'REGTRACE_PARTS=0: each for itself'
diff -r "$T/one" "$M" >/dev/null
ok $? 'and all of it' || diag "$err"
rm -rf "$M"
run 60 env SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_JOB_ID=1 "$REGTRACE" prv -o "$M" "$T/run"
is "$status" 0 'in a batch script of Slurm, which alone runs, likewise' || diag "$err"
rm -rf "$M"
run 60 env PMI_RANK=0 PMI_SIZE=1 "$REGTRACE" prv -o "$M" "$T/run"
is "$status" 0 'and one process of a launcher' || diag "$err"

first_mpi=
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -D_GNU_SOURCE -I"$REGTRACE_SOURCE/share/include" -o "$T/exchange" "$REGTRACE_SOURCE/t/tools/messages/exchange.c" -pthread 2>/dev/null; then
        skip "runs of $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    rm -rf "$T/run" "$T"/log.*
    run 100 "$REGTRACE" run -quiet -pcontrol std -o "$T/run" -- "mpirun.$mpi" -np 4 "$T/exchange" "$T" windows
    is "$status" 0 "$mpi: four ranks that exchange messages in windows" || diag "$err"
    same 'prv' "$mpi 3" prv -o "$M" "$T/run"
    first_mpi=${first_mpi:-$mpi}
    [ "$mpi" = "$first_mpi" ] || continue
    same 'emulate some ranks' "$mpi 5" emulate -rank 0,2-3 -o "$M" "$T/run"
    same 'chrome of a window' "$mpi 3" export -chrome "$M" -window 1-2 "$T/run"
    same 'ovni of some ranks' "$mpi 2" export -ovni "$M" -rank 1-3 "$T/run"
    same 'wrong usage' "$mpi 2" prv -policy soft "$T/run"
    "mpicc.$mpi" -O1 -DWITH_MPI -I"$REGTRACE_SOURCE/share/include" -o "$T/late" "$REGTRACE_SOURCE/t/tools/paraver/shown.c" || exit 99
    rm -rf "$T/run"
    run 100 "$REGTRACE" run -quiet -o "$T/run" -- "mpirun.$mpi" -np 2 "$T/late" late "$T/log"
    same 'a late message' "$mpi 2" prv -o "$M" "$T/run"
done
done_testing
