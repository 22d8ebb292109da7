#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Output, errors and exit status of the mini-applications are the same with and without tracing,
# under each MPI; and the recorded files pass `regtrace check`.
. "$(dirname "$0")/../lib.sh"

control='start:pcontrol:solve,stop:pcontrol:solved,repeat'

# compare MPI RANKS NAME PROGRAM [ARGUMENT]...: runs the program bare, with windows, and as one
# window.
compare() {
    local mpi=$1 ranks=$2 name="$3, $2 ranks, $1" bare_out bare_err bare_status way folder set=()
    shift 3
    run 120 mpirun_for "$mpi" "$ranks" "$@"
    bare_out=$out bare_err=$err bare_status=$status
    [ -n "$bare_out" ] || { ok 1 "$name: prints something"; return; }
    for way in windows whole; do
        folder=$T/run.$((++runs))
        set=(LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$folder")
        [ $way = whole ] || set+=(REGTRACE_CONTROL="$control")
        run 120 mpirun_for "$mpi" "$ranks" "${set[@]}" "$@"
        is "$status/$out/$err" "$bare_status/$bare_out/$bare_err" "$name, $way: status, output and errors are the same"
        # Programs without a window leave no folder.
        [ $way = windows ] && [ ! -d "$folder" ] && continue
        ok_run "$name, $way: the files are consistent" "$REGTRACE" check "$folder"
        is "$("$PYTHON" -c 'import glob, sys; print(len(glob.glob(sys.argv[1] + "/rank-?????.h5")))' "$folder")" "$ranks" \
            "$name, $way: a file a rank"
        rm -rf "$folder"
    done
}
runs=0

needs mpi
[ "$PYTHON" != no ] || PYTHON=python3
export OMP_NUM_THREADS=2
for mpi in openmpi mpich; do
    have_mpi $mpi || { skip "mini-applications under $mpi" "no $mpi"; continue; }
    for app in stencil comm hybrid instrumented particles heat diffuse wave; do
        [ -x "$APPS/$app.$mpi" ] || { skip "$app under $mpi" "its compiler is missing"; continue; }
        compare $mpi 4 $app "$APPS/$app.$mpi"
    done
    compare $mpi 1 stencil "$APPS/stencil.$mpi"
    mkdir "$T/io.$mpi"
    compare $mpi 3 "comm with files" "$APPS/comm.$mpi" "$T/io.$mpi"
    compare $mpi 2 "emit with threads" "$APPS/emit.$mpi" 5000 3
done
if have_mpi openmpi && "$PYTHON" -c 'import mpi4py' 2>/dev/null; then
    # Debian's mpi4py is built for Open MPI.
    compare openmpi 3 pi "$PYTHON" "$REGTRACE_SOURCE/t/apps/pi.py"
else
    skip "Python under Open MPI" "no mpi4py"
fi
done_testing
