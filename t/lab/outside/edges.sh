#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks the edges of inside/edges.sh with h5py: they are at the sums of the requested distances,
# none early, none lost, each as late as the hardware was and no later, whatever came before.
. "$(dirname "$0")/../../lib.sh"
for run in "$LAB_OUT"/*/; do
    run 60 "$REGTRACE" check "$run"
    is "$status" 0 "$(basename "$run"): regtrace check passes" || diag "$out$err"
done
[ "$PYTHON" != no ] || { skip "what h5py reads" "no python3 with h5py"; done_testing; }
cat >"$T/edges.py" <<'END'
import sys, h5py, numpy as np
folder, kind = sys.argv[1:]
with h5py.File(folder + "/" + kind + "/rank-00000.h5") as f:
    fired, windows = f["fired"][:], f["windows"][:]
if kind.endswith("uniform"):
    want = np.arange(500)[:, None] * 1000000 + np.array([0, 250000])
    want = want.ravel()
else:
    want = np.cumsum(np.loadtxt(folder + "/distances", dtype=np.int64))
print(len(fired), "fired of", len(want))
assert len(fired) == len(want) == 1000 and len(windows) == 500
assert (fired["requested"] == want).all(), fired["requested"][:5]
skid = fired["actual"] - fired["requested"]
print("skid", skid.min(), np.median(skid), skid.max(), "first and last hundred", np.median(skid[:100]), np.median(skid[-100:]))
# 70,000: up to some 60,000 of the machine's tick, and the time of a second interrupt.
assert skid.min() >= 0 and skid.max() < 70000 and skid.max() > 1000
windows.sort(order="ordinal")
got = np.column_stack([windows["start_requested"], windows["stop_requested"]]).ravel()
assert (got == want).all(), got[:5]
got = np.column_stack([windows["start_icount"], windows["stop_icount"]]).ravel()
assert (got == fired["actual"]).all(), (got - fired["actual"])[:5]
END
for run in "$LAB_OUT"/*/; do
    name=$(basename "$run")
    run 60 "$PYTHON" "$T/edges.py" "$LAB_OUT" "$name"
    is "$status" 0 "$name: 1,000 edges at their places, none early, none lost" || diag "$err"
    diag "$name: $out"
done
done_testing
