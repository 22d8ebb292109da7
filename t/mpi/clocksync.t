#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Clock alignment: nothing on one node; between nodes (feigned by REGTRACE_TEST_NODE) an offset near 0 with an honest bound.
. "$(dirname "$0")/../lib.sh"

shim=$REGTRACE_BUILD/t/mpi/.libs/dumpshim.so
# Two nodes of two ranks: the wrapper names the node by the rank.
cat >"$T/node" <<'END'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
REGTRACE_TEST_NODE=node$((rank / 2)) exec env LD_PRELOAD="$SHIM" "$@"
END
chmod +x "$T/node"

for mpi in openmpi mpich; do
    if ! have_mpi $mpi; then
        skip "$mpi" "no $mpi"
        continue
    fi
    rm -f "$T"/rec.*
    run 100 mpirun_for $mpi 4 SHIM="$shim" DUMPSHIM_OUT="$T/rec" CALLS_LOG="$T/log" "$T/node" "$REGTRACE_BUILD/t/mpi/calls.$mpi"
    is "$status" 0 "$mpi, two feigned nodes: the program ends well" || diag "$err"
    bound=$(cat "$T"/rec.* | awk '/^hook clock/ {bad += $4 <= 0 && $3 != 0; if ($4 > 0) n++;
        if ($3 > $4 || $3 < -$4) bad++} END {print n + 0, bad + 0}')
    is "$bound" "2 0" "$mpi: the two ranks elsewhere have an offset, which lies within its error (the truth is 0)"
    rm -f "$T"/rec.*
    run 100 mpirun_for $mpi 2 LD_PRELOAD="$shim" DUMPSHIM_OUT="$T/rec" CALLS_LOG="$T/log" "$REGTRACE_BUILD/t/mpi/calls.$mpi"
    is "$(cat "$T"/rec.* | grep -c '^hook clock 0 0$')" 2 "$mpi, one node: offset 0"
    rm -f "$T"/rec.*
    run 100 mpirun_for $mpi 4 SHIM="$shim" REGTRACE_CLOCK_SYNC=0 DUMPSHIM_OUT="$T/rec" CALLS_LOG="$T/log" "$T/node" \
        "$REGTRACE_BUILD/t/mpi/calls.$mpi"
    is "$(cat "$T"/rec.* | grep -c '^hook clock 0 0$')" 4 "$mpi: REGTRACE_CLOCK_SYNC=0 sends nothing"
done
done_testing
