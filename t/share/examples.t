#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The example analyses on a run made by hand: right numbers, plots that are not empty, and helpful
# errors.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/../lib.sh"
case $PYTHON in "" | no) skip_all "no Python with h5py, pandas and matplotlib" ;; esac
examples=$REGTRACE_SOURCE/share/examples
export PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR=$T/matplotlib
unset PYTHONPATH

# picture FILE NAME COLOUR...: FILE is a large enough picture in which each colour (hex) covers at
# least one pixel in 2000.
picture() {
    local file=$1 name=$2
    shift 2
    ok_run "$name" "$PYTHON" - "$file" "$@" <<'CHECK'
import sys
import matplotlib.image
import numpy as np
image = (matplotlib.image.imread(sys.argv[1])[..., :3] * 255).round().astype(int)
height, width = image.shape[:2]
assert width >= 1000 and height >= 300, f"{width} x {height}"
for colour in sys.argv[2:]:
    want = [int(colour[i : i + 2], 16) for i in (0, 2, 4)]
    share = np.mean(np.abs(image - want).max(axis=2) <= 8)
    assert share >= 1 / 2000, f"{colour} covers {share:.5f} of the picture"
CHECK
}

ok_run "a run of 4 ranks is made by hand" "$PYTHON" "$here/synthetic.py" "$T/run" 4

run 60 "$PYTHON" "$examples/mpi_profile.py" "$T/run" -o "$T/profile.png"
is "$status|$err" "0|" "mpi_profile succeeds silently"
# 3 windows of 5 rounds on 4 ranks. Send takes 0.1 ms, Recv 0.2 ms, Barrier 0.25 ms, but 0.05 ms on
# rank 1.
like "$out" '^MPI_Send +60 +0\.006 +0\.0015 +0\.0015 +0 +1$' "time in MPI_Send as made"
like "$out" '^MPI_Recv +60 +0\.012 +0\.003 +0\.003 +0 +1$' "time in MPI_Recv as made"
like "$out" '^MPI_Barrier +60 +0\.012 +0\.003 +0\.00375 +0 +1\.25$' "time in MPI_Barrier and its imbalance as made"
like "$out" 'all of MPI: mean 0\.0075 s, max 0\.00825 s on rank 0, imbalance 1\.100$' "the whole as made"
picture "$T/profile.png" "the profile shows three functions" 0072B2 E69F00 009E73
run 60 "$PYTHON" "$examples/mpi_profile.py" "$T/run" --window 1 -o "$T/one.pdf"
like "$out" '^MPI_Send +20 ' "--window takes one window only"
run 60 "$PYTHON" "$examples/mpi_profile.py" "$T/run" --window 1-2 -o "$T/two.pdf"
like "$out" '^MPI_Send +40 ' "or a span of them"
is "$(head -c 5 "$T/one.pdf")" "%PDF-" "pdf by its name"

run 60 "$PYTHON" "$examples/window_timeline.py" "$T/run" -o "$T/timeline.png"
is "$status|$err" "0|" "window_timeline succeeds silently"
like "$out" '3 windows, 180 MPI calls on 4 lines' "it says what is drawn"
picture "$T/timeline.png" "the timeline shows windows and three functions" E4E8EE 0072B2 E69F00 009E73
run 60 "$PYTHON" "$examples/window_timeline.py" "$T/run" --window 2 --rank 1 3 -o "$T/zoom.png"
like "$out" '1 windows, 30 MPI calls on 2 lines' "it zooms by window and rank"

for script in mpi_profile window_timeline; do
    run 60 "$PYTHON" "$examples/$script.py" "$T/nowhere"
    is "$status|$out" "1|" "$script: a missing folder is an error"
    like "$err" "^$script: .*/nowhere: no such file or folder" "$script: and says so without a traceback"
    run 60 "$PYTHON" "$examples/$script.py" "$T/run" --window 9 -o "$T/none.png"
    is "$status" 1 "$script: a window that is not there is an error"
    unlike "$err" 'Traceback' "$script: and says so without a traceback"
done
# A Python without the packages that they need (-S: no site packages).
run 30 "$PYTHON" -S "$examples/mpi_profile.py" "$T/run"
is "$status|$out" "1|" "a Python without matplotlib is an error"
like "$err" '^mpi_profile: .* has no matplotlib: install python3-h5py' "and the remedy is named"
done_testing
