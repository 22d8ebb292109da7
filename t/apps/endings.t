#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# However a rank ends, and whichever processes it starts, output and exit status are the same with
# and without tracing, and each rank that recorded has a closed, consistent file.
. "$(dirname "$0")/../lib.sh"

needs mpi

# Ways after which the program goes on. After the other ways the launcher kills the other ranks. Its
# own messages then, and the output that it still forwards, depend on timing: so for those ways the
# test compares one rank, whose output goes to a file.
goes_on=' none fork vfork spawn system popen failing_exec threads signals daemon '

# outcome MPI RANKS WAY [VAR=VALUE]...: prints the exit status and the program's own output.
outcome() {
    local mpi=$1 ranks=$2 way=$3
    shift 3
    rm -f "$T/printed"
    # shellcheck disable=SC2016  # for the inner shell
    run 60 mpirun_for "$mpi" "$ranks" "$@" PRINTED="$T/printed" sh -c 'exec "$0" "$@" >>"$PRINTED"' "$APPS/endings.$mpi" "$way"
    printf '%s\n' "$status" "$(cat "$T/printed")"
}

# all_closed FOLDER: succeeds if no file is open any more, that is, if h5py can open each.
all_closed() {
    "$PYTHON" - "$1" <<'END'
import glob, sys, h5py
files = glob.glob(sys.argv[1] + "/rank-*.h5")
sys.exit(not files or any(not h5py.File(f, "r") for f in files))
END
}

for mpi in openmpi mpich; do
    have_mpi $mpi || { skip "endings under $mpi" "no $mpi"; continue; }
    for way in $("$APPS/endings.$mpi" list); do
        ranks=1
        folder=$T/$way.$mpi
        case $goes_on in *" $way "*) ranks=2 ;; esac
        bare=$(outcome $mpi $ranks "$way")
        like "$bare" '^before$' "$way under $mpi: the bare program gets there"
        traced=$(outcome $mpi $ranks "$way" LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$folder")
        # MPICH's launcher returns 1, whatever the program's status, if it sees that the connection
        # to a rank is closed before it sees that the rank has ended: on a busy machine in 1 of 150
        # runs of a bare program that ends without MPI_Finalize. Then both run once more.
        for again in 1 2 3 4; do
            [ $mpi = mpich ] && [ "$traced" != "$bare" ] && [[ $traced == 1$'\n'* || $bare == 1$'\n'* ]] || break
            diag "$way under $mpi: bare ${bare//$'\n'/ }, traced ${traced//$'\n'/ }; both once more ($again)"
            bare=$(outcome $mpi $ranks "$way")
            traced=$(outcome $mpi $ranks "$way" LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$folder")
        done
        is "$traced" "$bare" "$way under $mpi: the same status and output"
        if [ $ranks = 1 ]; then
            # Run again with a second rank, whose file must be closed too. Use another folder: the
            # first run's writer may still be at work.
            folder=$folder.2
            outcome $mpi 2 "$way" LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$folder" >/dev/null
        fi
        if [ "$PYTHON" = no ]; then
            skip "$way under $mpi: files" "no h5py"
            continue
        fi
        wait_for 20 all_closed "$folder"
        ok $? "$way under $mpi: the files are closed"
        ok_run "$way under $mpi: the files are consistent" "$REGTRACE" check "$folder"
    done
done
done_testing
