#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# From 1 to 64 ranks on this machine: output and status are the same with and without tracing, and
# every rank has a file.
. "$(dirname "$0")/../lib.sh"

needs mpi
control='start:pcontrol:solve,stop:pcontrol:solved,repeat'

# compare MPI RANKS APP [ARGUMENT]...: compares APP with and without tracing.
compare() {
    local mpi=$1 ranks=$2 app=$3 folder
    local name="$3, $2 ranks, $1"
    shift 3
    [ -x "$APPS/$app.$mpi" ] || { skip "$name" "its compiler is missing"; return; }
    rt_limit=300
    run 300 mpirun_for "$mpi" "$ranks" "$APPS/$app.$mpi" "$@"
    local bare="$status/$out/$err"
    folder=$T/$app.$mpi.$ranks
    run 300 mpirun_for "$mpi" "$ranks" LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$folder" REGTRACE_CONTROL="$control" \
        "$APPS/$app.$mpi" "$@"
    is "$status/$out/$err" "$bare" "$name: status, output and errors are the same"
    wait_for 30 test -e "$folder/regtrace.h5"
    is "$(find "$folder" -name 'rank-?????.h5' | wc -l)" "$ranks" "$name: a file a rank"
    ok_run "$name: the files are consistent" "$REGTRACE" check "$folder"
    is "$("$REGTRACE" report --json "$folder" | "$PYTHON" -c 'import json, sys
r = json.load(sys.stdin)
print(len(r["ranks"]), sum(x["lost"] for x in r["ranks"]), len(r["windows"]))')" "$ranks 0 $((3 * ranks))" \
        "$name: the report has all ranks, their 3 windows, and no loss"
}

[ "$PYTHON" != no ] || PYTHON=python3
for mpi in openmpi mpich; do
    have_mpi $mpi || { skip "ranks under $mpi" "no $mpi"; continue; }
    for ranks in 1 2; do compare $mpi $ranks stencil; done
    # Ranks of MPICH wait for each other on the processor, which the others need: few iterations.
    compare $mpi 16 stencil 3 5 16
    compare $mpi 64 stencil 3 2 16
done
done_testing
