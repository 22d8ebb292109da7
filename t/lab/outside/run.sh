#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reads the recordings of inside/run.sh on another machine: with this machine's regtrace and with
# h5py.
. "$(dirname "$0")/../../lib.sh"

for run in program ranks; do
    run 60 "$REGTRACE" check "$LAB_OUT/$run"
    is "$status" 0 "$run: regtrace check passes" || diag "$out$err"
done
if [ "$PYTHON" = no ]; then
    skip "what h5py reads" "no python3 with h5py"
    done_testing
fi
is "$("$PYTHON" -B - "$LAB_OUT" <<'PY' 2>&1
import glob, sys, h5py
ranks = sorted(glob.glob(sys.argv[1] + "/ranks/rank-?????.h5"))
for path in ranks:
    with h5py.File(path, "r") as f:
        print(f["/windows"].shape[0], f["/events"].shape[0] > 3 * 5 * 10)
PY
)" "$(printf '3 True\n3 True\n3 True\n3 True')" "ranks: h5py reads 3 windows of each, and their events"
run 60 "$REGTRACE" report --json "$LAB_OUT/ranks"
is "$("$PYTHON" -c 'import json, sys
r = json.load(sys.stdin)
print(len(r["ranks"]), sum(x["lost"] for x in r["ranks"]), len(r["windows"]))' <<<"$out" 2>&1)" "4 0 12" \
    "ranks: the report has all ranks, 3 windows of each, and no loss"
done_testing
