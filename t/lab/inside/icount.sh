#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 6000
# icount and uniform alarms by the machine's counter: none early, none lost, no drift.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"

# traced NAME CHAIN ARGUMENT...: runs the program under this chain. $T/NAME.windows gets of each
# window the requested and the actual start, the requested and the actual stop, and the thread.
traced() {
    local name=$1 chain=$2
    shift 2
    run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/$name" REGTRACE_CONTROL="$chain" "$LAB_PROGRAMS/icount" "$@"
    is "$status|$out|$err" "0|$1 million|" "$name: the program does what it does alone" || diag "$(cat "$LAB_OUT/$name"/*.log)"
    run 1000 "$REGTRACE" check "$LAB_OUT/$name"
    is "$status" 0 "$name: the file is consistent" || diag "$out$err"
    "$REGTRACE" report --json "$LAB_OUT/$name" >"$T/json"
    grep -oE '"thread": [0-9]+, "ordinal"|"start_icount": [0-9a-z]+|"stop_icount": [0-9a-z]+|"start_requested": [0-9a-z]+|"stop_requested": [0-9a-z]+' "$T/json" |
        awk -F': ' '/thread/ {sub(/,.*/, "", $2); t = $2} /start_icount/ {a = $2} /stop_icount/ {b = $2} /start_requested/ {r = $2} /stop_requested/ {print r, a, $2, b, t}' >"$T/$name.windows"
    diag "$(cat "$T/$name.windows")"
}
# The lateness of an overflow here, and regtrace's own instructions until it reads the counter.
skid=70000

traced one start:icount:3000000,stop:icount:2000000 10
is "$(awk '{print $1, $3}' "$T/one.windows")" "3000000 5000000" "a window from 3 to 5 million"
is "$(awk -v s=$skid '$2 >= $1 && $2 - $1 < s && $4 >= $3 && $4 - $3 < s' "$T/one.windows" | wc -l)" 1 "both edges at their counts or late by the skid"

traced uniform uniform:4000000:1000000:20 100
is "$(wc -l <"$T/uniform.windows")" 20 "20 windows"
is "$(awk '$1 != (NR - 1) * 4000000 || $3 != $1 + 1000000' "$T/uniform.windows")" "" "each asked for at its place: no drift"
is "$(awk -v s=$skid '$2 < $1 || $2 - $1 > s || $4 < $3 || $4 - $3 > s' "$T/uniform.windows")" "" "and found there, never early"

traced late start:icount:1000000:tid2,stop:icount:1000000:tid2,repeat:3 8 3
is "$(awk '{print $1, $3, $5}' "$T/late.windows" | xargs)" "1000000 2000000 2 3000000 4000000 2 5000000 6000000 2" "windows of the second thread alone"
done_testing
