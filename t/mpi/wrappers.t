#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The wrappers record what the program itself logs: C, mpif.h, mpi_f08; every installed MPI; 2 and 4
# ranks.
. "$(dirname "$0")/../lib.sh"

shim=$REGTRACE_BUILD/t/mpi/.libs/dumpshim.so

# record MPI N PROGRAM: runs it under the shim. Recordings are $T/run/rec.PID, the program's logs
# $T/run/log.RANK.
record() {
    rm -rf "$T/run"
    mkdir "$T/run"
    run 100 mpirun_for "$1" "$2" LD_PRELOAD="$shim" DUMPSHIM_OUT="$T/run/rec" CALLS_LOG="$T/run/log" \
        APP_LOG="$T/run/log" "$3" "$T/run"
}
# recording RANK N: prints the file of that rank.
recording() { grep -lE "^hook init_done $1 $2\$" "$T"/run/rec.*; }

for mpi in openmpi mpich; do
    for program in calls comm calls_mpif calls_f08; do
        binary=$REGTRACE_BUILD/t/mpi/$program.$mpi
        [ $program != comm ] || binary=$APPS/comm.$mpi
        if ! have_mpi $mpi || [ ! -x "$binary" ]; then
            skip "$program with $mpi" "not built: no $mpi, or no Fortran for it"
            continue
        fi
        fortran=
        [[ $program != *_* ]] || fortran=fortran
        for n in 2 4; do
            record $mpi $n "$binary"
            is "$status" 0 "$program, $n ranks of $mpi: exits with 0" || diag "$err"
            rt_limit=100 mpirun_for $mpi $n CALLS_LOG="$T/bare" APP_LOG= "$binary" "$T" >"$T/bare" 2>/dev/null
            # Launchers join the ranks' output in pieces as they come, even within a line.
            is "$(tr -d '\n' <<<"$out")" "$(tr -d '\n' <"$T/bare")" "its output is that of a bare run"
            for ((rank = 0; rank < n; rank++)); do
                # shellcheck disable=SC2086
                ok_run "rank $rank of $n: each call once, with its peer, tag and bytes" \
                    "$PYTHON" "$REGTRACE_SOURCE/t/mpi/compare.py" "$(recording $rank $n)" "$T/run/log.$rank" $fortran
            done
        done
        is "$(cat "$T"/run/rec.* | grep -c '^hook init_begin')" 4 "init_begin once a rank"
        is "$(cat "$T"/run/rec.* | grep -c '^hook init_done')" 4 "init_done once a rank"
        is "$(cat "$T"/run/rec.* | grep -c '^hook finalize_done')" 4 "finalize_done once a rank"
        if [ $program = calls ]; then
            is "$(cat "$T"/run/rec.* | grep -c '^hook pcontrol 2 5')" 4 "Pcontrol's string is read"
            is "$(cat "$T"/run/rec.* | grep -c '^hook pcontrol 3 -1')" 4 "and is gone from a call with the level alone"
        elif [ $program = calls_mpif ]; then
            is "$(cat "$T"/run/rec.* | grep -c '^hook pcontrol 4 -2')" 4 "Fortran's Pcontrol gives the level"
        fi
    done
    if have_mpi $mpi; then
        windows=$REGTRACE_BUILD/t/mpi/windows.$mpi
        bare=$(rt_limit=100 mpirun_for $mpi 2 "$windows" 2>/dev/null | sort)
        record $mpi 2 "$windows"
        is "$(sort <<<"$out")" "$bare" "$mpi: errors of requests are those of a bare run"
        for file in "$T"/run/rec.*; do
            awk '$3 ~ /MPI_(Reduce_local|Type_size)$/ {print $3, $4}' "$file" | xargs >>"$T/run/edges"
            awk '$3 == "EV_MPI_COMPLETE" && ($6 == 1901 * 2^32 || $6 == 1902 * 2^32) {print $6 / 2^32, $4}' "$file" >>"$T/run/straddling"
            awk '$3 == "EV_MPI_COMPLETE" && $6 == "18446744073709551615"' "$file" >>"$T/run/empty"
            awk '$3 == "EV_MPI_COMPLETE" && $6 == 6 * 2^32' "$file" >"$T/run/beside.${file##*.}"
            awk '$3 == "EV_MPI_COMPLETE"' "$file" | wc -l >>"$T/run/completions"
        done
        # 4 = cut, 16 = nested: the window closes in the first reduction and opens in the second.
        is "$(sort -u "$T/run/edges")" "+MPI_Reduce_local 0 -MPI_Reduce_local 4 +MPI_Reduce_local 4 +MPI_Type_size 16 -MPI_Type_size 16 -MPI_Reduce_local 0" "$mpi: windows' edges inside a call cut it"
        is "$(awk '$1 >= 1000' "$T/run/completions" | wc -l)" 2 "$mpi: a thousand requests waited for at once all complete"
        is "$(cat "$T/run/empty")" "" "$mpi: an inactive request does not complete"
        beside=3 # two of the thousands, and the one beside a failing one, which MPICH calls pending
        [ $mpi = openmpi ] || beside=2
        is "$(cat "$T"/run/beside.* | wc -l)" $beside "$mpi: of requests that end with a failing one, those that the library calls complete are"
        is "$(sort "$T/run/straddling" | uniq -c | xargs)" "2 1901 0 2 1902 0" "$mpi: a request made outside the window in which it completes is known"
        record $mpi 1 "$REGTRACE_BUILD/t/mpi/threads.$mpi"
        if [ "$status" = 77 ]; then
            skip "threads with $mpi" "no MPI_THREAD_MULTIPLE"
        else
            is "$status" 0 "threads with $mpi"
            is "$(cat "$T"/run/rec.* | awk '$3 == "+MPI_Sendrecv" {n[$2]++} END {for (t in n) print n[t]}' | uniq -c | xargs)" \
                "4 500" "every thread's calls are there"
            is "$(cat "$T"/run/rec.* | grep -c ' EV_MPI_COMM ')" 1 "a communicator is described once"
        fi
    fi
done
done_testing
