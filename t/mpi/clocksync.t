#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Clock alignment: none on one node; between nodes (feigned by REGTRACE_TEST_NODE) an offset near 0
# with an honest bound.
. "$(dirname "$0")/../lib.sh"

shim=$REGTRACE_BUILD/t/mpi/.libs/dumpshim.so
# Two nodes of two ranks: the wrapper names the node by the rank. UNTRACED: the rank that is not
# preloaded.
cat >"$T/node" <<'END'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
export REGTRACE_TEST_NODE=node$((rank / 2))
[ "$rank" = "${UNTRACED:-none}" ] || exec env LD_PRELOAD="$SHIM" "$@"
exec "$@"
END
chmod +x "$T/node"

# folder NAME: creates a run's folder and prints it.
folder() { mkdir -p "$T/$1/.regtrace" && echo "$T/$1"; }

# late: succeeds if a rank asked so long after another that the other had rightly given it up.
# Otherwise they have to agree.
late() { cat "$T"/rec.* | awk '/^hook asked / { if (!n++ || $3 < first) first = $3; if ($3 > last) last = $3 } END { exit !(last - first >= 1490) }'; }

# clocks MPI RANKS [VAR=VALUE]...: runs the program. Sets all (lines), zero (those without an
# offset), sound (those whose offset lies within its error, as the true offset is 0).
clocks() {
    local mpi=$1 ranks=$2
    shift 2
    rm -f "$T"/rec.*
    run 60 mpirun_for "$mpi" "$ranks" SHIM="$shim" DUMPSHIM_OUT="$T/rec" CALLS_LOG="$T/log" "$@" "$T/node" \
        "$REGTRACE_BUILD/t/mpi/calls.$mpi"
    all=$(cat "$T"/rec.* | grep -c '^hook clock ')
    zero=$(cat "$T"/rec.* | grep -c '^hook clock 0 0$')
    sound=$(cat "$T"/rec.* | awk '/^hook clock/ && $4 > 0 && $3 <= $4 && $3 >= -$4 {n++} END {print n + 0}')
}

for mpi in openmpi mpich; do
    if ! have_mpi $mpi && [ ! -x "$REGTRACE_BUILD/t/mpi/calls.$mpi" ]; then
        skip "$mpi" "no $mpi"
        continue
    fi
    clocks $mpi 4 DUMPSHIM_DIR="$(folder $mpi)"
    is "$status" 0 "$mpi, two feigned nodes: the program ends well" || diag "$err"
    agreed="$(find "$T/$mpi/.regtrace/together" -type f | wc -l) $(readlink "$T/$mpi/.regtrace/together/decision")"
    if late && [ "$agreed" = '0 no' ]; then
        is "$all $zero" "4 4" "$mpi: a rank came too late, and there is no offset"
        skip "$mpi: they agreed before" "a rank was given no processor for 1.5 s"
    else
        is "$all $zero $sound" "4 2 2" "$mpi: the two ranks elsewhere have an offset, which lies within its error"
        is "$agreed" "0 yes" "$mpi: they agreed before"
    fi
    clocks $mpi 4 DUMPSHIM_DIR="$T/$mpi"
    is "$status $all $zero" "0 4 4" "$mpi: a second world in that folder does without"
    for missing in 0 2 3; do
        clocks $mpi 4 UNTRACED=$missing DUMPSHIM_DIR="$(folder $mpi.$missing)"
        is "$status $all $zero" "0 3 3" "$mpi, rank $missing is not traced: nobody waits for it in MPI"
    done
    clocks $mpi 4
    is "$status $all $zero" "0 4 4" "$mpi, no folder: no alignment"
    clocks $mpi 4 REGTRACE_CLOCK_SYNC=0 DUMPSHIM_DIR="$(folder $mpi.off)"
    is "$status $all $zero" "0 4 4" "$mpi: REGTRACE_CLOCK_SYNC=0 sends nothing"
    is "$(find "$T/$mpi.off/.regtrace" -mindepth 1 | wc -l)" 0 "$mpi: and asks nobody"
    rm -f "$T"/rec.*
    run 100 mpirun_for $mpi 2 LD_PRELOAD="$shim" DUMPSHIM_OUT="$T/rec" DUMPSHIM_DIR="$(folder $mpi.one)" CALLS_LOG="$T/log" \
        "$REGTRACE_BUILD/t/mpi/calls.$mpi"
    is "$(cat "$T"/rec.* | grep -c '^hook clock 0 0$')" 2 "$mpi, one node: offset 0"
done
done_testing
