#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Levels and strings of MPI_Pcontrol: alarms on them and the presets of REGTRACE_PCONTROL, in C and
# Fortran, with both MPIs.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
[ -n "$(mpis)" ] || skip_all 'no MPI'

# levels LEVEL[=TEXT]...: calls MPI_Pcontrol for each argument, then sets a mark whose value is the
# argument's position. "kill": ends by SIGKILL.
cat >levels.c <<'END'
#include <mpi.h>
#include <regtrace.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "kill") == 0)
            raise(SIGKILL);
        char *text = strchr(argv[i], '=');
        if (text != NULL)
            MPI_Pcontrol(atoi(argv[i]), text + 1);
        else
            MPI_Pcontrol(atoi(argv[i]));
        regtrace_mark_set(1, i);
    }
    MPI_Finalize();
    return 0;
}
END
cat >levels.f90 <<'END'
program levels
  implicit none
  include 'mpif.h'
  integer :: ierror
  call MPI_Init(ierror)
  call MPI_Pcontrol(3)
  call MPI_Barrier(MPI_COMM_SELF, ierror)
  call MPI_Pcontrol(4)
  call MPI_Finalize(ierror)
end program
END

# traced NAME [VAR=VALUE]... COMMAND...: runs the command. Sets events to the dump, and windows to
# "ordinal bcast closed-by" of each window.
traced() {
    local name=$1.$mpi
    shift
    run 60 mpirun_for "$mpi" 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$name" "$@"
    is "$status" 0 "$name: the program runs" || diag "$err"
    events=$("$REGTRACE" dump "$T/$name" 2>/dev/null)
    windows=$("$REGTRACE" report --json "$T/$name" 2>/dev/null | "${PYTHON_ANY:-python3}" -c '
import json, sys
print(*("%d %d %s" % (w["ordinal"], w["bcast"], w["closed_by"].replace(" ", "_")) for w in json.load(sys.stdin)["windows"]), sep="; ")')
}
# marks: prints the marks in the file as "value in window".
marks() { sed -n 's/^ *[0-9.]* *[0-9]* *[0-9]* *\([-0-9]*\) *EV_MARK_SET .*value=\([0-9]*\).*/\2 in \1/p' <<<"$events" | tr '\n' ';'; }
# of EVENT FIELD: prints this field of each such event.
of() { sed -n "s/.* $1 .* $2=\"\{0,1\}\([^\" ]*\)\"\{0,1\}.*/\1/p" <<<"$events" | tr '\n' ' '; }

for mpi in $(mpis); do
    if ! "mpicc.$mpi" -I"$REGTRACE_SOURCE/share/include" -o "levels.$mpi" levels.c 2>/dev/null; then
        skip "MPI_Pcontrol of $mpi" "mpicc.$mpi is not here"
        continue
    fi
    idle=REGTRACE_DEFAULT_START=0

    # Alarms on a level or on a string, whichever the call has.
    traced level REGTRACE_CONTROL=start:pcontrol:level=3,stop:pcontrol:level=-4,repeat "./levels.$mpi" 4 3 2 -4 3=x 1 -4=y 5
    is "$windows" '0 0 alarm; 1 0 alarm' "$mpi: alarms on levels, on no other level"
    is "$(marks)" '2 in 0;3 in 0;5 in 1;6 in 1;' "$mpi: and at that call"
    traced text REGTRACE_CONTROL=start:pcontrol:go,stop:pcontrol:halt,repeat "./levels.$mpi" 1=gone 7 1=go 7 0=go 1=halt 7 -3=go
    is "$windows" '0 0 alarm; 1 0 end_of_program' "$mpi: alarms on strings, whatever the level"
    is "$(marks)" '3 in 0;4 in 0;5 in 0;8 in 1;' "$mpi: a call with the level alone has none"
    # Without a preset, levels are marks and nothing else.
    traced none "./levels.$mpi" 0 1 2 5=s -5
    is "$windows" '0 1 end_of_program' "$mpi: no preset: levels open and close nothing"
    is "$(of EV_MPI_PCONTROL level)" '0 1 2 5 -5 ' "$mpi: no preset: each call is a mark with its level"

    # Presets.
    for preset in std mpip; do
        traced $preset $idle REGTRACE_PCONTROL=$preset "./levels.$mpi" 2 1 7 0 7 1 1 0 0
        is "$windows" '0 1 API; 1 1 API' "$mpi: $preset: 1 opens a window for all threads, 0 closes it"
        is "$(marks)" '2 in 0;3 in 0;6 in 1;7 in 1;' "$mpi: $preset: what lies between is recorded"
    done
    traced reports REGTRACE_PCONTROL=mpip "./levels.$mpi" 2 3 4 5
    is "$(awk '$5 ~ /^EV_STATS/ { print $5 }' <<<"$events" | xargs)" 'EV_STATS_RESET EV_STATS_EMIT EV_STATS_EMIT' \
        "$mpi: mpip: 2 resets, 3 and 4 report"
    traced flush REGTRACE_PCONTROL=std "./levels.$mpi" 2 3 4
    unlike "$events" 'EV_STATS' "$mpi: std: they do not"
    # A thread's row counts the events that it has handed over. Without a flush that is nothing of a
    # chunk that is not full.
    if [ "$PYTHON" != no ]; then
        for flush in "" 2; do
            rm -rf "$T/handed"
            run 60 mpirun_for "$mpi" 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/handed" REGTRACE_PCONTROL=std \
                "./levels.$mpi" 7 ${flush:+"$flush"} 8 kill
            wait_for 20 test -e "$T/handed/regtrace.h5"
            "$PYTHON" - "$T/handed/rank-00000.h5" <<'END'
import sys
import h5py
with h5py.File(sys.argv[1], "r") as f:
    events, threads = f["events"][:], f["threads"][:]
events = events[events["thread"] == 0]
marks = (events["code"] == 0x3d4d4b).nonzero()[0]  # KM=
print(len(marks), "marks,", int(threads[threads["thread"] == 0]["recorded"][0]) - (int(marks[1]) if len(marks) == 3 else 0))
END
        done >handed.out 2>&1
        # The last record handed over is that of the call with level 2. It follows the mark of level
        # 7.
        is "$(cat handed.out)" $'2 marks, 0\n3 marks, 0' "$mpi: std: 2 hands over what the thread has recorded, that call included"
    else
        skip "$mpi: std: 2 hands over what the thread has recorded" 'no python3 with h5py'
    fi
    traced ipm REGTRACE_PCONTROL=ipm REGTRACE_CONTROL=start:pcontrol:in,stop:pcontrol:last,repeat \
        "./levels.$mpi" 1=out -1=out 1=in 1=deep -1=deep 0=note -1=in 2=no 1=last
    is "$windows" '0 0 alarm' "$mpi: ipm: a region that begins fires pcontrol:NAME"
    is "$(of EV_REGION_BEGIN region)" 'in deep ' "$mpi: ipm: (1, name) begins a region"
    is "$(of EV_REGION_END region)" 'deep in ' "$mpi: ipm: (-1, name) ends it"
    traced ipm_ends REGTRACE_PCONTROL=ipm REGTRACE_CONTROL=start:pcontrol:in,stop:pcontrol:end=in,repeat \
        "./levels.$mpi" 1=out -1=out -1=in 1=in 1=deep -1=deep -1=in 1=in -1=in -1=in
    is "$windows" '0 0 alarm; 1 0 alarm' "$mpi: ipm: a region that ends fires pcontrol:end=NAME, and nothing else"
    is "$(of EV_REGION_BEGIN region)/$(of EV_REGION_END region)" 'in deep in /deep in in ' "$mpi: ipm: both ends of the region are in its window"
    traced aps_ends REGTRACE_PCONTROL=aps REGTRACE_CONTROL=start:pcontrol:7,stop:pcontrol:end=7,repeat "./levels.$mpi" 5 7 -7 -5 7 -7 6
    is "$windows" '0 0 alarm; 1 0 alarm' "$mpi: aps: likewise"
    traced ipm REGTRACE_PCONTROL=ipm REGTRACE_CONTROL=start:pcontrol:in,stop:pcontrol:last,repeat \
        "./levels.$mpi" 1=out -1=out 1=in 1=deep -1=deep 0=note -1=in 2=no 1=last
    like "$events" 'EV_MPI_PCONTROL .*level=0 name="note"' "$mpi: ipm: (0, name) is a mark"
    traced aps REGTRACE_PCONTROL=aps REGTRACE_CONTROL=start:pcontrol:5,stop:pcontrol:12,repeat "./levels.$mpi" 4 5 7 -7 -4 -5 6 12
    is "$windows" '0 0 alarm' "$mpi: aps: a region that begins fires pcontrol:N"
    is "$(of EV_REGION_BEGIN region)/$(of EV_REGION_END region)" '5 7 6 /7 5 6 ' "$mpi: aps: N from 5 on begins a region, -N ends it"
    run 60 mpirun_for "$mpi" 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_PCONTROL=apc "./levels.$mpi" 1
    isnt "$status" 0 "$mpi: a preset that is none is refused"
    like "$err" 'REGTRACE_PCONTROL.*"apc".*std\|ipm\|aps\|mpip' "$mpi: with those that are"

    if command -v "mpif90.$mpi" >/dev/null && "mpif90.$mpi" -o "levels_f.$mpi" levels.f90 2>/dev/null; then
        traced fortran REGTRACE_CONTROL=start:pcontrol:level=3,stop:pcontrol:level=4 "./levels_f.$mpi"
        is "$windows" '0 0 alarm' "$mpi: Fortran's levels fire alarms"
        like "$events" ' 0  EV_MPI_PCONTROL .*level=3.*\[fortran\]' "$mpi: and are marked as Fortran's"
        is "$(grep -c 'MPI_Barrier' <<<"$events")" 2 "$mpi: between them is what was called there"
    else
        skip "$mpi: Fortran's levels" "no mpif90.$mpi"
    fi
done
done_testing
