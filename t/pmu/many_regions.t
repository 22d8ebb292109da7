#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Files of many regions and of many intervals: each opens and closes at exactly its count, and none
# is lost. T_MANY: how many.
. "$(dirname "$0")/../lib.sh"

parts=$REGTRACE_BUILD/t/pmu/parts
needs steps
export REGTRACE_PMU=step REGTRACE_CONTROLLER_LOG=$T/log

# lines N FORMAT: prints regions of 20 instructions, one in 50, from 20000 on, not in their order.
lines() {
    awk -v n="$1" -v format="$2" 'BEGIN {
        for (i = 0; i < n; i++) { k = (i * 7) % n; at = 20000 + 50 * k
            if (format == "regions") printf "c,0,%d,%d,%d,%.9f\n", k, at, at + 20, 1 / n
            else printf "%d,20\n", at } }'
}
# wanted N: prints what must fire, in order.
wanted() { awk -v n="$1" 'BEGIN { for (k = 0; k < n; k++) { at = 20000 + 50 * k; print "start", at, at; print "stop", at + 20, at + 20 } }'; }
fired() { sed -n 's/.*event \([a-z-]*\) .* icount \([0-9]*\) requested \([0-9]*\) .*/\1 \2 \3/p' "$T/log"; }

# check OPTION N FORMAT: runs with a file of N regions or intervals, and checks all edges and
# windows.
check() {
    rm -f "$T/log"
    lines "$2" "$3" >"$T/file"
    run 300 "$REGTRACE" run -quiet -o "$T/$3-$2" "$1" "$T/file" -- "$parts" long
    is "$status|$err" '0|' "$2 $3: the program runs"
    wanted "$2" >"$T/wanted"
    fired >"$T/fired"
    ok_run "each opens and closes at its count" cmp "$T/wanted" "$T/fired"
    "$REGTRACE" report --json "$T/$3-$2" >"$T/json"
    is "$(grep -o '"start_requested": *[0-9]*' "$T/json" | sort -u | wc -l)" "$2" "and there are as many windows in the file"
    is "$(grep -c 'never fired' "$T/json")|$(cat "$T/$3-$2/regtrace.log" 2>/dev/null)" '0|' "nothing was lost on the way"
}
for n in ${T_MANY:-40 3000}; do
    check -regions:in "$n" regions
    check -trace_instr_intervals_file "$n" intervals
done
done_testing
