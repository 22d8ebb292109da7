#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The estimate of the whole run that report makes from windows. The runs are synthetic
# (synthetic_windows.py describes each), so the right answers are known: they are worked out by hand
# here.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
needs h5py
export PYTHONDONTWRITEBYTECODE=1
for kind in uniform weights multipliers uncounted phases truncated whole count; do
    "$PYTHON" "$here/synthetic_windows.py" "$T/$kind" $kind || ok 1 "the synthetic run $kind was made"
done
for kind in uniform weights multipliers phases whole count; do
    run 60 "$REGTRACE" check $kind
    is "$status" 0 "$kind: a consistent run" || diag "$out$err"
done

# expect NAME PYTHON ARGUMENT...: the expression is true, where e is the estimate in the output of
# `report --json ARGUMENT...`.
expect() {
    local name=$1 expression=$2
    shift 2
    run 60 "$REGTRACE" report --json "$@"
    is "$status" 0 "$name: report" || diag "$err"
    printf '%s\n' "$out" | "$PYTHON" -c '
import json, sys
r = json.load(sys.stdin)
e = r["estimate"]
def near(got, want):
    return got is not None and abs(got - want) <= 1e-6 * abs(want)
if not eval("(" + sys.argv[1] + ")"):
    print(json.dumps(e)); sys.exit(1)' "$expression" >"$T/expect.out" 2>&1
    ok $? "$name" || diag "$(cat "$T/expect.out")"
}

# The windows hold 40,000 of 1,000,000 instructions: the factor is 25. Time: 4 x 50,000 ns. Calls: 5
# + 10 + 15 + 20, of 500, 1000, 1500 and 2000 ns.
expect 'uniform: time and calls are 25 times those in windows' \
    'e["methods"] == ["uniform"] and (e["windows"], e["threads"]) == (4, 1) and near(e["time_ns"]["estimate"], 25 * 200000)
     and near(e["mpi_calls"]["estimate"], 25 * 50) and near(e["mpi_ns"]["estimate"], 25 * 75000)' uniform
expect 'uniform: true totals are those that were measured, and no other' \
    'near(e["time_ns"]["total"], 4e6) and e["instructions"] == {"estimate": None, "total": 1000000}
     and e["mpi_ns"]["total"] is None and e["mpi_calls"]["total"] is None' uniform
expect 'uniform: a run recorded from start to end gives the true totals of MPI' \
    'near(e["mpi_ns"]["total"], 250000) and e["mpi_calls"]["total"] == 100' --total whole uniform
expect 'uniform: two of the windows give an estimate of their own' \
    'e["windows"] == 2 and near(e["mpi_calls"]["estimate"], 50 * 35)' --window 2-3 uniform
# Region r has 10 x r calls of 1000 ns and takes r x 100,000 ns, per 100,000 instructions. The
# weighted mean of r is 0.5 x 1 + 0.3 x 2 + 0.2 x 3 = 1.7.
expect 'weights: values per instruction, weighted' \
    'e["methods"] == ["weight"] and e["windows"] == 3 and near(e["weights"], 1.0)
     and near(e["mpi_calls"]["estimate"], 10_000_000 * 1.7 * 10 / 100_000) and near(e["mpi_ns"]["estimate"], 1.7e6)
     and near(e["time_ns"]["estimate"], 1.7e7)' weights
expect 'weights: windows say their region' \
    '[(w["kind"], w["region"], w["weight"], w["multiplier"]) for w in r["windows"]] == [("warm-up", "1", 0.5, None),
     ("region", "1", 0.5, None), ("region", "2", 0.3, None), ("region", "the third", 0.2, None)]' weights
# Without the third region, the weights of the other two sum to 0.8.
expect 'weights: some of the regions are scaled to one' \
    'near(e["weights"], 0.8) and near(e["mpi_calls"]["estimate"], 1000 * (0.5 * 1 + 0.3 * 2) / 0.8)' --window 0-2 weights
expect 'multipliers: sums, of instructions too' \
    'e["methods"] == ["multiplier"] and (e["windows"], e["threads"]) == (4, 2)
     and near(e["instructions"]["estimate"], 100 * 3000) and e["instructions"]["total"] == 300000
     and near(e["mpi_calls"]["estimate"], 200) and near(e["mpi_ns"]["estimate"], 200 * 500)
     and near(e["time_ns"]["estimate"], 100 * 20000)' multipliers
expect 'uncounted: without the instructions there is nothing to scale with' \
    'e["threads"] == 0 and e["threads_uncounted"] == 1 and e["mpi_calls"] == {"estimate": None, "total": None}' uncounted
expect 'uncounted: a counting run has them' \
    'e["threads"] == 1 and near(e["mpi_calls"]["estimate"], 25 * 50) and e["instructions"]["total"] == 1000000' \
    --total count uncounted
expect 'truncated: the window that the end cut off is left out' \
    'e["windows"] == 3 and e["windows_unfinished"] == 1 and near(e["mpi_calls"]["estimate"], 1_000_000 / 30_000 * 30)' truncated
expect 'phases: windows chosen for what is in them say nothing of the rest' 'e is None' phases
expect 'no windows, no estimate' 'e is None' count

run 60 "$REGTRACE" report --total whole uniform
like "$out" 'estimated from its windows by uniform sampling' 'for people: the method'
like "$out" '^  instructions +the scale +1000000' 'what it is scaled with'
like "$out" '^  MPI calls +1250 +100 +\+1150.00%' 'estimate, true total, and how far off'
like "$out" '^  time of threads +5.00 ms +4.00 ms +\+25.00%' 'of times too'
run 60 "$REGTRACE" report weights
like "$out" 'time in MPI +1.70 ms +not measured' 'what was not measured is said so'
like "$out" 'total DIR takes true totals' 'with the remedy'
like "$out" 'region the third weight 0.2' 'windows show their region'
run 60 "$REGTRACE" report uncounted
like "$out" 'left out: 1 threads whose instructions nobody counted; -total DIR .*run --count' 'what is left out, and the remedy'
run 60 "$REGTRACE" report --total count phases
like "$err" 'total has no use: no window of phases stands for a whole run' 'a needless -total is reported'
run 60 "$REGTRACE" report --total nowhere uniform
is "$status $out" '1 ' '-total that is not there'
like "$err" 'nowhere' 'is an error'
run 60 "$REGTRACE" report --total /etc/passwd uniform
is "$status" 1 'a foreign file as -total'
cp -r count cut && cp count/rank-00000.h5 cut/rank-00001.h5 && truncate -s 3000 cut/rank-00001.h5
run 60 "$REGTRACE" report --total cut uniform
is "$status" 0 'a damaged -total does not hide the run'
like "$err" 'total: rank-00001.h5: ' 'and is reported'

# Files of older versions lack these columns: report reads them as files without such values.
"$PYTHON" - <<'END'
import h5py, numpy as np
for name in ("phases", "uniform"):
    with h5py.File(f"{name}/rank-00000.h5", "r+", libver="latest") as f:
        for table, new in (("windows", ("region", "weight", "multiplier")), ("threads", ("instructions",))):
            rows = f[table][:]
            old = np.dtype([d for d in rows.dtype.descr if d[0] not in new])
            kept = np.zeros(len(rows), dtype=old)
            for n in old.names:
                kept[n] = rows[n]
            del f[table]
            f.create_dataset(table, data=kept, maxshape=(None,), chunks=(16,))
END
rm -f phases/regtrace.h5 uniform/regtrace.h5
expect 'an older file: windows without regions, threads not counted' \
    'e["threads_uncounted"] == 1 and {w["region"] for w in r["windows"]} == {None}
     and [t["instructions"] for t in r["ranks"][0]["threads"]] == [None]' uniform
run 60 "$REGTRACE" check phases
is "$status" 0 'and is as consistent as it was' || diag "$out$err"
PYTHONPATH=$REGTRACE_SOURCE/share/python run 60 "$PYTHON" -c '
import regtrace
old, new = regtrace.open("phases"), regtrace.open("weights")
assert old.windows()["region"].isna().all() and old.threads()["instructions"].isna().all()
w = new.windows()
assert list(w["region"]) == ["1", "1", "2", "the third"] and list(w["weight"]) == [0.5, 0.5, 0.3, 0.2], w
assert w["multiplier"].isna().all() and list(new.threads()["instructions"]) == [10_000_000]
assert list(regtrace.open("multipliers").windows()["multiplier"]) == [40, 40, 60, 60]'
is "$status" 0 'the package reads both' || diag "$err"
done_testing
