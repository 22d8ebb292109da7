#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Traces mpi4py, whose MPI library is loaded RTLD_LOCAL and whose attributes are deleted inside
# MPI_Finalize.
. "$(dirname "$0")/../lib.sh"

shim=$REGTRACE_BUILD/t/mpi/.libs/dumpshim.so
have_mpi openmpi || skip_all "no Open MPI"
"$PYTHON" -c 'import mpi4py' 2>/dev/null || skip_all "no mpi4py"
run 100 mpirun_for openmpi 2 LD_PRELOAD="$shim" DUMPSHIM_OUT="$T/rec" "$PYTHON" "$REGTRACE_SOURCE/t/mpi/python_calls.py"
is "$status" 0 "the program ends well" || diag "$err"
is "$out" "done" "with its own output"
for rank in 0 1; do
    f=$(grep -lE "^hook init_done $rank 2\$" "$T"/rec.*)
    peer=$((1 - rank))
    is "$(awk '$3 == "+MPI_Sendrecv" {print $5 % 4294967296, int($5 / 4294967296), $6 % 281474976710656}' "$f")" "$peer 3 32" \
        "rank $rank: its Sendrecv, with peer, tag and bytes"
    is "$(grep -c ' +MPI_Allreduce ' "$f")" 1 "rank $rank: its Allreduce"
    is "$(awk '$3 ~ /^[+]/ {d++} $3 ~ /^-/ {d--} END {print d + 0}' "$f")" 0 "rank $rank: as many leaves as enters"
    is "$(awk '$3 == "+MPI_Finalize" {f = 1} $3 == "-MPI_Finalize" {f = 0} f && $3 ~ /^[+]/ && $3 != "+MPI_Finalize" && !int($4 / 16) {bad++} END {print bad + 0}' "$f")" \
        0 "rank $rank: calls inside MPI_Finalize are marked nested"
done
done_testing
