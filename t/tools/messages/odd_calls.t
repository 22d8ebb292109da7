#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages and waits at calls that seldom happen: communicators that are freed too early, or made
# by MPI_Comm_idup and MPI_Comm_accept, collective calls that fail, requests that another thread
# waits for, and sessions. The messages are those that the program itself has logged.
. "$(dirname "$0")/../../lib.sh"
MESSAGES=$REGTRACE_BUILD/t/tools/messages/messages
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -D_GNU_SOURCE -o "$T/odd_calls" \
        "$REGTRACE_SOURCE/t/tools/messages/odd_calls.c" -pthread 2>"$T/cc"; then
        skip "odd calls with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    for what in freed idup ports failed thread session; do
        if [ $what = ports ] || [ $what = failed ]; then
            run 60 "mpirun.$mpi" -np 3 "$T/odd_calls" "$T" $what
            [ "$status" = 0 ] || { skip "$mpi, $what" "this $mpi opens no ports, or does not check arguments"; continue; }
        fi
        rm -rf "$T/run" "$T"/log.*
        run 100 "$REGTRACE" run -quiet -pcontrol std -o "$T/run" -- "mpirun.$mpi" -np 3 "$T/odd_calls" "$T" $what
        is "$status" 0 "$mpi, $what: a run of three ranks" || diag "$err"
        "$MESSAGES" "$T/run" >"$T/all"
        is "$(grep '^message' "$T/all" | sort | diff <(sort "$T"/log.*) - | head -4)" "" \
            "$mpi, $what: its $(cat "$T"/log.* | wc -l) messages are matched, and no other"
        is "$(grep '^left' "$T/all")" "" "$mpi, $what: none is without a partner"
        is "$(cd "$T/run" && echo rank-*.h5)" "rank-00000.h5 rank-00001.h5 rank-00002.h5" "$mpi, $what: all ranks are known"
        case $what in failed | thread)
            if [ "$PYTHON" = no ]; then
                skip "$mpi, $what: waits" "no Python with h5py"
            else
                run 60 "$PYTHON" "$here/odd_waits.py" "$T/run" $what
                is "$out" agree "$mpi, $what: the waits are those for the last call" || diag "$err"
            fi ;;
        esac
    done
done
done_testing
