#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI calls and windows that do not end as they began: every enter has its leave in its window, whatever cuts in.
. "$(dirname "$0")/../lib.sh"

[ -n "$(mpis)" ] || skip_all "no MPI"

# edges FOLDER: the calls of the first part, one a line.
edges() { "$REGTRACE" dump "$1" | awk '$5 ~ /MPI_(Send|Barrier)/ {print $5, $6, ($NF ~ /\[/ ? $NF : "")}' | head -n "$2"; }

for mpi in openmpi mpich; do
    have_mpi $mpi || { skip "open calls under $mpi" "no $mpi"; continue; }
    program=$REGTRACE_BUILD/t/mpi/left.$mpi
    run 60 mpirun_for $mpi 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/left.$mpi" "$program"
    is "$status $out" "0 left 10 calls" "$mpi: calls are left without a return"
    wait_for 20 "$REGTRACE" check --wait 0 "$T/left.$mpi"
    is "$(edges "$T/left.$mpi" 40 | sort | uniq -c | xargs)" \
        "10 MPI_Barrier enter 10 MPI_Barrier leave 10 MPI_Send enter 10 MPI_Send leave [cut]" \
        "$mpi: each of them ends, cut, and those after them are not nested in it"
    for chain in start:timeout:150us,stop:timeout:150us,repeat start:timeout:130us:bcast,stop:timeout:170us:bcast,repeat; do
        name=$(tr -c 'a-z0-9\n' _ <<<"$chain.$mpi")
        run 60 mpirun_for $mpi 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$name" REGTRACE_CONTROL="$chain" "$program" 3
        is "$status $out" "0 left 10 calls" "$mpi: the same under $chain"
        ok_run "$mpi: no edge of a window falls between a call and its event" "$REGTRACE" check "$T/$name"
        windows=$("$REGTRACE" dump "$T/$name" | grep -c ' window *close')
        [ "$windows" -gt 500 ] || diag "windows: $windows"
        [ "$windows" -gt 500 ]
        ok $? "$mpi: which there were many of"
    done
done
done_testing
