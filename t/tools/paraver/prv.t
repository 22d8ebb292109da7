#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Paraver's traces, read by an independent reader (prv.py): they follow their format, and show what
# the programs themselves logged.
. "$(dirname "$0")/../../lib.sh"
PRV=$REGTRACE_SOURCE/t/tools/paraver/prv.py
prv() { PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$PRV" "$@"; }
needs h5py
# whole DIR NAME: both traces of DIR follow their format.
whole() {
    prv "$1" thread check >"$T/check" 2>"$T/check.err" && prv "$1" cpu check >>"$T/check" 2>>"$T/check.err"
    ok $? "$2: both traces are what their format says" || diag "$(cat "$T/check.err")"
}

cc -O1 -I"$REGTRACE_SOURCE/share/include" -o "$T/shown" "$REGTRACE_SOURCE/t/tools/paraver/shown.c" || exit 99
run 60 "$REGTRACE" run -quiet -o "$T/run" -- "$T/shown" regions "$T/log"
is "$status" 0 'a program with regions and marks'
run 60 "$REGTRACE" prv "$T/run"
is "$status" 0 'a trace of it' || diag "$err"
whole "$T/run/prv" 'regions'
prv "$T/run/prv" thread 311 2>"$T/err" | sed 's/^0 //; s/^0$/-/' >"$T/got"
cmp -s "$T/got" "$T/log"
ok $? 'each region is there, in order' || diag "$(cat "$T/err"; diff "$T/got" "$T/log" | head -5)"
is "$(prv "$T/run/prv" thread 103 | sed -n 1,3p | tr '\n' ',')" '0 warm,0 41,0 42,' 'marks with their labels'
like "$(cat "$T/run/prv/thread.pcf")" 'temperature' 'and their title'
[ "$(ls "$T/run/prv/cfg" | wc -l)" -ge 8 ]
ok $? 'and a view of each channel'
run 60 "$REGTRACE" prv -o "$T/again" "$T/run"
diff -r "$T/run/prv" "$T/again" >/dev/null
ok $? 'another time it is the same, byte by byte'
cd "$T" || exit 99
for run in run*; do "$REGTRACE" check "$run"; done >"$T/check" 2>&1
ok $? 'nothing that looks like another run is put beside the run' || diag "$(cat "$T/check")"
# A state that lasts longer than what the emulator holds in memory at once.
cc -O2 -I"$REGTRACE_SOURCE/share/include" -x c -o "$T/much" - <<'C' || exit 99
#include <regtrace.h>
int main(void)
{
    for (int i = 0; i < 300000; i++) {
        regtrace_region_begin("inner");
        regtrace_region_end("inner");
    }
    return 0;
}
C
"$REGTRACE" run -quiet -o "$T/much.run" -- "$T/much" && run 60 "$REGTRACE" prv "$T/much.run"
is "$status" 0 'a run of 600,000 events in one state' || diag "$err"
whole "$T/much.run/prv" 'much'
is "$(grep -c '^1:.*:1$' "$T/much.run/prv/thread.prv")" 1 'has one line for it'

run 60 "$REGTRACE" prv -policy lint -cpu observed -o "$T/observed" "$T/run"
is "$status" 0 'lint finds nothing; processors as observed' || diag "$err"
whole "$T/observed" 'observed'

run 60 "$REGTRACE" run -quiet -o "$T/killed" -- "$T/shown" killed "$T/log"
for policy in strict lint; do
    run 60 "$REGTRACE" prv -policy $policy "$T/killed"
    is "$status" 1 "$policy refuses a process that was killed"
    like "$err" 'rank 0 \(rank-00000.h5\): the process ended like this: killed' 'with the cause'
    like "$err" '    so window 0 of thread 0 was never closed' 'and what follows from it'
    like "$err" '-policy salvage' 'and the remedy'
done
[ ! -e "$T/killed/prv" ]
ok $? 'and makes no folder'
run 60 "$REGTRACE" prv -policy salvage "$T/killed"
is "$status" 0 'salvage takes it' || diag "$err"
whole "$T/killed/prv" 'salvage'
is "$(prv "$T/killed/prv" thread 311 | tail -1)" '0 0' 'its thread is over at the end'
is "$(prv "$T/killed/prv" thread 311 | tail -2 | head -1)" '0 never ends' 'in the region that it was in'

# A thread that still exists when its process ends normally.
cc -O1 -I"$REGTRACE_SOURCE/share/include" -pthread -x c -o "$T/outlived" - <<'C' || exit 99
#include <pthread.h>
#include <regtrace.h>
#include <semaphore.h>
#include <unistd.h>
static sem_t there;
static void *waits(void *unused)
{
    regtrace_region_begin("waits");
    sem_post(&there);
    pause();
    return unused;
}
int main(void)
{
    pthread_t thread;
    regtrace_region_begin("whole");
    sem_init(&there, 0, 0);
    pthread_create(&thread, NULL, waits, NULL);
    sem_wait(&there);
    regtrace_region_end("whole");
    return 0;
}
C
run 60 "$REGTRACE" run -quiet -o "$T/outlived.run" -- "$T/outlived"
run 60 "$REGTRACE" report --json "$T/outlived.run"
is "$(grep -o '"closed_by": "[a-z ]*"' <<<"$out" | sort | tr '\n' ',')" '"closed_by": "end of program","closed_by": "exited with the process",' 'a thread that ends with its process was not killed' || diag "$err"
is "$(PYTHONPATH=$REGTRACE_SOURCE/share/python "$PYTHON" -c 'import sys, regtrace; print(sorted(regtrace.open(sys.argv[1]).windows()["closed_by"]))' "$T/outlived.run")" "['end of program', 'exited with the process']" 'in Python likewise'
run 60 "$REGTRACE" prv "$T/outlived.run"
is "$status" 0 'and its run is whole' || diag "$err"
whole "$T/outlived.run/prv" 'a thread that ends with its process'

# The recorder never does this: a function is left that was not entered.
mkdir -p "$T/wrong"
"$REGTRACE_BUILD/t/tools/paraver/wrong" "$REGTRACE_BUILD/writer/regtrace-writer" "$T/wrong" "$T/wrong.stream"
is $? 0 'a recording that cannot be right'
run 60 "$REGTRACE" prv -o "$T/wrong-prv" "$T/wrong"
is "$status" 1 'strict stops there'
like "$err" 'rank -1, thread 0, row 2 of rank-00000.h5 \(EV_FUNCTION_LEAVE, function leave\), at [0-9.]* s: func.name: pop of 2, which is not on top \(the stack, top first: 1\)' 'and says where, and what'
run 60 "$REGTRACE" prv -policy salvage -o "$T/salvaged" "$T/wrong"
is "$status" 1 'salvage goes on, and says so by its status'
like "$err" '1 events could not be right; what they leave unknown is marked' 'and in words'
whole "$T/salvaged" 'what is wrong'
is "$(prv "$T/salvaged" thread 320 | tr '\n' ',')" '0 Not recorded,0 0,0 0x1000,0 Unknown,0 0x3000,0 0,0 Not recorded,' 'it is marked, until it is known again'

run 60 "$REGTRACE" prv "$T/run"
is "$status" 1 'a folder that is there is left alone'
like "$err" 'run/prv is there already: -force replaces it; -output DIR' 'with the remedy'
run 60 "$REGTRACE" prv -rank 7 -o "$T/none" "$T/run"
is "$status" 1 'a rank that is not there'
like "$err" 'none of the ranks asked for' 'the error says so'
run 60 "$REGTRACE" prv -policy soft "$T/run"
is "$status" 2 'a policy that is none'
like "$err" 'strict, lint and salvage are legal' 'says what is legal'
run 60 "$REGTRACE" prv -cpu here "$T/run"
is "$status" 2 'likewise for -cpu'

for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -D_GNU_SOURCE -I"$REGTRACE_SOURCE/share/include" -o "$T/exchange" "$REGTRACE_SOURCE/t/tools/messages/exchange.c" -pthread 2>/dev/null; then
        skip "messages with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    rm -rf "$T/run" "$T/run/prv" "$T"/log.*
    run 100 "$REGTRACE" run -quiet -o "$T/run" -- "mpirun.$mpi" -np 4 "$T/exchange" "$T"
    run 60 "$REGTRACE" prv "$T/run"
    is "$status" 0 "$mpi: a trace of four ranks that exchange messages" || diag "$err"
    whole "$T/run/prv" "$mpi"
    prv "$T/run/prv" thread messages | sort >"$T/got"
    sort "$T"/log.* >"$T/want"
    is "$(comm -13 "$T/want" "$T/got" | head -3)" '' "$mpi: no line of communication is invented"
    is "$(comm -23 "$T/want" "$T/got" | awk '$6 < 100' | head -3)" '' "$mpi: all of one thread are there"
    is "$(sed -n 's/.* \([0-9]*\) messages$/\1/p' <<<"$out")" "$(wc -l <"$T/got")" "$mpi: as many as it said"
    like "$(prv "$T/run/prv" thread calls "$T/run" 2>&1)" '^0 True' "$mpi: states and calls are those of /events"
    isnt "$(awk -F: '$1 == 1 && $8 == 4' "$T/run/prv/thread.prv" | wc -l)" 0 "$mpi: MPI_Send has the state Blocking Send"
    "mpicc.$mpi" -O1 -DWITH_MPI -I"$REGTRACE_SOURCE/share/include" -o "$T/late" "$REGTRACE_SOURCE/t/tools/paraver/shown.c" || exit 99
    rm -rf "$T/run" "$T/run/prv"
    run 100 "$REGTRACE" run -quiet -o "$T/run" -- "mpirun.$mpi" -np 2 "$T/late" late "$T/log"
    run 60 "$REGTRACE" prv "$T/run"
    like "$out" ' 1 messages' "$mpi: a message that is received long after it was sent" || diag "$err"
    whole "$T/run/prv" "$mpi, a late message"
    is "$(prv "$T/run/prv" thread check | cut -d' ' -f3)" 1 "$mpi: is in its place"
done
done_testing
