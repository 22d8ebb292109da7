#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Clock alignment: none on one node; between nodes (feigned by REGTRACE_TEST_NODE) the offset and
# the drift of the other clock, within the error that is recorded.
. "$(dirname "$0")/../lib.sh"

shim=$REGTRACE_BUILD/t/mpi/.libs/dumpshim.so
# Two nodes of two ranks: the wrapper names the node by the rank. UNTRACED: the rank that is not
# preloaded. FEIGNED: the clock of the second node, as DUMPSHIM_CLOCK.
cat >"$T/node" <<'END'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
export REGTRACE_TEST_NODE=node$((rank / 2))
[ -z "$FEIGNED" ] || [ "$rank" -lt 2 ] || export DUMPSHIM_CLOCK="$FEIGNED"
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

# measured AHEAD PPM: prints of how many ranks offset and drift are those of a clock that is AHEAD
# ns ahead and gains PPM us a second, within the recorded error, and of how many that error is less
# than half of the drift. The errors of the two measurements make that of the drift, over the time
# between them; it grows with the time from the start to the first one.
measured() {
    cat "$T"/rec.* | awk -v ahead="$1" -v ppm="$2" '
        function size(x) { return x < 0 ? -x : x }
        $2 == "begin" { begin = $3 }
        $2 == "end" { end = $3 }
        $2 == "final" { offset = $3; error = $4 }
        $2 == "start_and_drift" && error > 0 {
            start = $3
            rate = 1 + ppm / 1e6
            wanted = (start - ahead) / rate - start
            drift = 1 / rate - 1
            loose = 2 * error / (end - begin)
            right += size(offset - wanted) <= error + loose * (begin - start) + 1000 && size($4 / 1e9 - drift) <= loose + 1e-8
            sharp += loose < size(drift) / 2
            printf "# offset %.0f for %.0f, drift %.0f for %.0f, error %.0f\n", offset, wanted, $4, drift * 1e9, error >"/dev/stderr"
        }
        END { print right + 0, sharp + 0 }'
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
    for ppm in 200000 -200000; do
        clocks $mpi 4 FEIGNED=-5000000000,$ppm DUMPSHIM_DIR="$(folder "$mpi.$ppm")"
        if late && [ "$all $zero" = '4 4' ]; then
            skip "$mpi: a clock that gains $ppm us a second" "a rank was given no processor for 1.5 s"
            continue
        fi
        read -r right sharp < <(measured -5000000000 $ppm)
        is "$right" 2 "$mpi: offset and drift of a clock that gains $ppm us a second"
        [ "$sharp" = 2 ] || skip "$mpi: and no others would do" "the machine is busy: the error is larger than half of the drift"
    done
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
