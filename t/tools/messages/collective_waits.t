#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Waits in collective calls of all kinds are those that the program's log implies: nonblocking ones,
# calls that make communicators of some ranks, calls on files; in a whole run and in windows.
. "$(dirname "$0")/../../lib.sh"
[ "$PYTHON" != no ] || skip_all "no Python with h5py"
# compared: sets `out` to what the oracle says of $T/run.
compared() {
    run 60 "$PYTHON" "$here/collective_waits.py" "$T/run" "$T"
}
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -g -w -D_GNU_SOURCE -o "$T/collective_waits" "$here/collective_waits.c" 2>"$T/cc"; then
        skip "waits with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    for seed in ${COLLECTIVE_SEEDS:-1 2}; do
        rm -rf "$T/run" "$T"/log.* "$T/file" "$T/held"
        run 100 "$REGTRACE" run -quiet -o "$T/run" -- "mpirun.$mpi" -np 4 "$T/collective_waits" "$T" "$seed"
        is "$status" 0 "$mpi, seed $seed: a whole run of four ranks" || diag "$err"
        compared
        like "$out" '^[1-9][0-9]+ waits agree' "$mpi, seed $seed: its waits are those of its log" || diag "$out $err"
        [ "$seed" != 1 ] || for function in Wait Waitall Comm_create_group Intercomm_create File_close; do
            like "$out" "MPI_$function\\b" "$mpi: there are waits in MPI_$function"
        done
        run 60 "$REGTRACE" report --json "$T/run"
        like "$out" '"unmatched_collectives": 0' "$mpi, seed $seed: all calls are matched"
        rm -rf "$T/run" "$T"/log.* "$T/file"
        run 100 "$REGTRACE" run -quiet -control start:pcontrol:level=1,stop:pcontrol:level=0,repeat -o "$T/run" -- \
            "mpirun.$mpi" -np 4 "$T/collective_waits" "$T" "$seed" windows
        is "$status" 0 "$mpi, seed $seed: a run in windows" || diag "$err"
        compared
        like "$out" '^[1-9][0-9]+ waits agree' "$mpi, seed $seed: waits in windows are those of its log" || diag "$out $err"
        run 60 "$REGTRACE" report --rank 0-2 "$T/run"
        like "$out" 'ranks \(other ranks of their communicator made them in no window' \
            "$mpi, seed $seed: calls of which a rank is missing are counted, with the reason"
    done
    sed -i '1s/ [0-9]*$/ 0/;1s/^[0-9]*/999999/' "$T/log.0"
    compared
    unlike "$out" 'waits agree' "$mpi: a log of another run does not agree"
done
done_testing
