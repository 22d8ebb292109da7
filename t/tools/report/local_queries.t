#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Local queries, as MPI_Wtime, are no communication: regtrace report has their share of the time in
# MPI if it is more than 1 %.
. "$(dirname "$0")/../../lib.sh"
needs h5py
cd "$T" || exit 99

# queries NAME CALL...: reports a run with these calls.
queries() {
    "$PYTHON" "$here/local_queries.py" "$@"
    run 60 "$REGTRACE" report "$1"
    is "$status" 0 "$1: a report" || diag "$err"
}
queries many MPI_{Barrier=890,Wtime=20,Comm_rank=15,Wtime=20,Comm_size=15,Wtime=25,Wtick=15}
like "$out" '^  all of MPI .outermost calls. +7 +1\.00 us 100\.0%' 'the time in MPI is that of all'
want='  11.0% of it are local queries, which no other rank delays: 6 calls, most time in MPI_Wtime'
is "$(grep 'local queries' <<<"$out")" "$want" 'local queries have their share'
queries more MPI_{Send=989,Wtime=11}
like "$out" '^  1\.1% of it are local queries.*: 1 call, most time in MPI_Wtime$' 'also a small one'
queries few MPI_{Send=990,Wtime=10}
unlike "$out" 'local queries' 'but not one of 1 %'
queries none MPI_{Send=500,Barrier=500}
unlike "$out" 'local queries' 'nor calls that communicate'
done_testing
