#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace recover through the command: a killed writer's file is finished, everything else is left alone.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99
mpi=$(mpis | tail -1)
[ -n "$mpi" ] || skip_all 'no MPI here'

cat >p.c <<'END'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(1, "solve");
    for (int i = 0; i < 500; i++)
        MPI_Barrier(MPI_COMM_SELF);
    while (access("killed", F_OK) != 0)
        usleep(2000);
    for (int i = 0; i < 300; i++)
        MPI_Barrier(MPI_COMM_SELF);
    MPI_Pcontrol(0, "solved");
    MPI_Finalize();
    return 0;
}
END
mpicc."$mpi" -o p p.c 2>/dev/null || skip_all "mpicc.$mpi is not here"
LD_PRELOAD=$LIBREGTRACE REGTRACE_CONTROL=start:pcontrol:solve,stop:pcontrol:solved REGTRACE_DIR=$T/run ./p 2>p.err &
pid=$!
kill_at_end $pid
wait_for 30 bash -c "ls $T/run/ctl/*.path"
sleep 1.5
run 30 "$REGTRACE" recover "$T/run"
is "$status" 0 'recover while the writer lives'
like "$out" 'left alone, its writer is alive' 'leaves the file alone'
writer=''
for p in /proc/[0-9]*; do
    [ "$(readlink "$p/exe" 2>/dev/null)" = "$(readlink -f "$REGTRACE_BUILD/writer/regtrace-writer")" ] || continue
    tr '\0' ' ' <"$p/cmdline" | grep -q -- "--dir $T/run" && writer=${p#/proc/}
done
isnt "$writer" '' 'the writer was found'
kill -9 "$writer"
touch killed
wait $pid
is "$?" 0 'the program goes on without its writer and ends well'
is "$(cat p.err)" '' 'and says nothing'
run 30 "$REGTRACE" check "$T/run"
like "$out" 'closed: its writer is gone' 'check finds the file that was left'
run 30 "$REGTRACE" report "$T/run"
like "$out" 'regtrace recover' 'the report names the remedy'
run 60 "$REGTRACE" recover "$T/run"
is "$status" 0 'recover'
like "$out" '^rank-00000.h5: recovered, [0-9]+ events from the file and [0-9]+ from the stream' 'says what it found where'
calls=$("$REGTRACE" report --json "$T/run" | "${PYTHON:-python3}" -c '
import json, sys
r = json.load(sys.stdin)["ranks"][0]
print(r["state"], [f["calls"] for f in r["functions"] if f["name"] == "MPI_Barrier"][0], r["lost"])')
is "$calls" 'recovered 800 0' 'every call is there, those after the kill too'
ok_run 'check has nothing against it' "$REGTRACE" check "$T/run"
run 60 "$REGTRACE" recover "$T/run"
like "$out" 'nothing to recover' 'a second time there is nothing to do'
done_testing
