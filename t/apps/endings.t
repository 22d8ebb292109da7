#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# However a rank ends, and whatever processes it starts: output and exit status are the same with and without tracing, and
# each rank that recorded has its file, closed and consistent.
. "$(dirname "$0")/../lib.sh"

[ -n "$(mpis)" ] || skip_all "no MPI"

# What MPICH's launcher says of a rank that ended badly holds a process id.
tidy() { printf '%s\n' "$1" | grep -vE '^=|^$'; }

# all_closed FOLDER: no file is open any more; h5py opens each plainly.
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
        run 60 mpirun_for $mpi 2 "$APPS/endings.$mpi" "$way"
        bare=$status/$(tidy "$out")
        run 60 mpirun_for $mpi 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$way.$mpi" "$APPS/endings.$mpi" "$way"
        is "$status/$(tidy "$out")" "$bare" "$way under $mpi: the same status and output" || diag "$err"
        if [ "$PYTHON" = no ]; then
            skip "$way under $mpi: files" "no h5py"
            continue
        fi
        wait_for 20 all_closed "$T/$way.$mpi"
        ok $? "$way under $mpi: the files are closed"
        ok_run "$way under $mpi: the files are consistent" "$REGTRACE" check "$T/$way.$mpi"
    done
done
done_testing
