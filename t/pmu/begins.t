#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A thread's counts begin at its first instruction, although it first records much later. Where they
# are not known, none is shown. Windows that a thread's end, the program's end or a fork closes or
# opens have counts as well. Compares with the oracle, and with runs whose recording begins before
# main.
. "$(dirname "$0")/../lib.sh"

begins=$REGTRACE_BUILD/t/pmu/begins
[ -x "$begins" ] || skip_all "counting by steps is for x86-64 alone"
# Names are resolved at the start: else the thread that is first to call a function executes the
# resolver as well.
export LD_BIND_NOW=1
windows='start:pcontrol:main;start:pcontrol:thread;start:pcontrol:never'

# counts KIND N [CHAIN]: prints a line for each window, "window THREAD START STOP", and for each
# thread, "total THREAD INSTRUCTIONS".
counts() {
    rm -rf "$T/run"
    run 120 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/run" REGTRACE_PMU=step REGTRACE_CONTROL="$windows${3:-}" "$begins" "$1" "$2"
    [ "$status" = 0 ] || diag "exit $status: $err"
    "$REGTRACE" report --json "$T/run" >"$T/json"
    "$PYTHON" - "$T/json" <<'END'
import json, sys
run = json.load(open(sys.argv[1]))
for w in sorted(run["windows"], key=lambda w: (not w["main"], w["thread"])):
    print("window", w["thread"], w["start_icount"], w["stop_icount"])
for r in sorted(run["ranks"], key=lambda r: not r["main"]):
    for t in sorted(r["threads"], key=lambda t: t["thread"]):
        print("total", t["thread"], t["instructions"])
END
}
# oracle KIND N: prints what each thread executes without the tracer, "THREAD COUNT".
oracle() {
    run 120 "$REGTRACE_BUILD/t/oracle/oracle" -o "$T/out" "$begins" "$1" "$2"
    sed -n 's/^count 0\.\([0-9]*\) \([0-9]*\).*/\1 \2/p' "$T/out" | sort
}
# more A B: prints by how much each number of B is greater than that of A, in the order of the
# lines.
more() { paste -d' ' <(grep -o '[0-9]*$' <<<"$1") <(grep -o '[0-9]*$' <<<"$2") | awk '{print $2 - $1}' | paste -sd' '; }

few=$(counts ends 5000) many=$(counts ends 7000)
is "$(more "$(grep total <<<"$few")" "$(grep total <<<"$many")")" "$(more "$(oracle ends 5000)" "$(oracle ends 7000)")" \
    "the totals of two threads grow as the oracle's do"
is "$few" "$(counts ends 5000 ';precond:icount:1')" "and all counts are those of a run that records from the start"
is "$(awk '$1 == "window" {print $4}' <<<"$few" | paste -sd' ')" "$(awk '$1 == "total" {print $3}' <<<"$few" | paste -sd' ')" \
    "windows that are ended by a thread's end and the program's end at their totals"

few=$(counts thread 5000) many=$(counts thread 7000)
# near A B: prints B if A differs from it by at most 300, else A. The number of system calls varies
# where the two threads wait for each other.
near() { awk -v a="$1" -v b="$2" 'BEGIN {print (a >= b - 300 && a <= b + 300 ? b : a)}'; }
is "$(near "$(awk '/window 1/ {print $3}' <<<"$few"$'\n'"$many" | paste -sd' ' | awk '{print $2 - $1}')" 4000)" 4000 \
    "a thread that was there before: its own loop is counted"
early=$(counts thread 5000 ';precond:icount:1' | awk '/window 0/ {print $3}')
is "$(near "$(awk '/window 0/ {print $3}' <<<"$few")" "$early")" "$early" "and what the main thread had executed, as in a run that records from the start"

few=$(counts forks 5000)
is "$(grep -c None <<<"$few")" 0 "a window that goes on in a child knows its counts" || diag "$few"
is "$(awk '/window/ && ++n == 2 {print ($3 > 30000 && $4 - $3 > 10000 && $4 - $3 < 12000)}' <<<"$few")" 1 "which go on from the parent's, and are those of its loop" || diag "$few"
is "$few" "$(counts forks 5000 ';precond:icount:1')" "all as in a run that records from the start"

few=$(counts unseen 5000 ';stop:icount:20')
is "$(grep ' 1 ' <<<"$few" | paste -sd' ')" 'window 1 None None total 1 None' "a thread that nobody saw begin has no counts" || diag "$few"
done_testing
