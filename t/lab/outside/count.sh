#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks the counting runs and windows of inside/count.sh outside: totals, estimates, one file a
# window.
. "$(dirname "$0")/../../lib.sh"
for run in count plain warmed regions ranks-count ranks; do
    run 60 "$REGTRACE" check "$LAB_OUT/$run"
    is "$status" 0 "$run: regtrace check passes" || diag "$out$err"
done
[ "$PYTHON" != no ] || { skip "what h5py reads" "no python3 with h5py"; done_testing; }

# expect RUN NAME EXPRESSION...: the expression is about `r`, the report as JSON.
expect() {
    "$REGTRACE" report --json --total "$LAB_OUT/count" "$LAB_OUT/$1" >"$T/json" 2>"$T/json.err"
    "$PYTHON" -c '
import json, sys
r = json.load(open(sys.argv[1]))
e = r["estimate"]
if not eval("(" + sys.argv[2] + ")"):
    print(e, [w for w in r["windows"]][:4]); sys.exit(1)' "$T/json" "$3" >"$T/expect" 2>&1
    ok $? "$1: $2" || diag "$(cat "$T/expect")"
}
# The accuracy of the estimated time is chance here, since program and writer share the one
# processor. So only the sum is computed again.
expect plain 'the time of the run is estimated from its windows' \
    'e["methods"] == ["uniform"] and e["windows"] == 10 and e["time_ns"]["total"] > 0
     and abs(e["time_ns"]["estimate"] / (r["ranks"][0]["threads"][0]["instructions"]
     * sum(w["stop_ns"] - w["start_ns"] for w in r["windows"])
     / sum(w["stop_icount"] - w["start_icount"] for w in r["windows"])) - 1) < 1e-6'
expect warmed 'warm-up windows are not taken for more' 'e["methods"] == ["uniform"] and e["windows"] == 5'
expect regions 'regions by their weights' 'e["methods"] == ["weight"] and e["windows"] == 2 and e["weights"] == 1.0'
expect regions 'the total is the thread'"'"'s own' 'e["instructions"]["total"] == r["ranks"][0]["threads"][0]["instructions"] > 10_000_000'
expect ranks 'every rank has windows, and not one is lost' \
    'len(r["ranks"]) == 2 and all(k["windows"] >= 3 and k["lost"] == 0 for k in r["ranks"])'
expect ranks-count 'every rank is counted' 'len(r["ranks"]) == 2 and all(k["threads"][0]["instructions"] > 1000000 for k in r["ranks"])'
run 60 "$REGTRACE" split -o "$T/split" "$LAB_OUT/plain"
is "$status" 0 "plain: split" || diag "$err"
run 60 "$REGTRACE" check "$T/split/window-00007"
is "$status" 0 "a window of its own is consistent" || diag "$out"
done_testing
