#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 9000
# Counters that are read without a system call, if the kernel allows that (kernel.perf_user_access),
# give the same values, and the windows use them.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"

allow() { echo "$1" >/proc/sys/kernel/perf_user_access; }
# windows DIR: prints of each window the requested and the actual start, the requested and the
# actual stop.
windows() {
    "$REGTRACE" report --json "$1" 2>/dev/null |
        grep -oE '"start_icount": [0-9]+|"stop_icount": [0-9]+|"start_requested": [0-9]+|"stop_requested": [0-9]+' |
        awk -F': ' '/start_icount/ {a = $2} /stop_icount/ {b = $2} /start_req/ {r = $2} /stop_req/ {print r, a, $2, b}'
}
declare -A reads
for on in 0 1; do
    allow $on
    run 2000 "$LAB_PROGRAMS/direct"
    diag "$out"
    like "$status $out" "^0 mapped $on wrong 0 " "access $on: 3,000 readings are each between two of read(2)'s"
    kernel=$(sed -nE 's/.* kernel ([0-9]+) directly .*/\1/p' <<<"$out")
    if [ $on = 0 ]; then [ "$kernel" -gt 200 ]; else [ "$kernel" -lt 50 ]; fi
    ok $? "access $on: the kernel executes $kernel instructions for one"
    run 4000 "$LAB_PROGRAMS/reads" /usr/bin/env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/$on" REGTRACE_CONTROL=uniform:1000000:300000:20 \
        REGTRACE_EVENTS=PAPI_TOT_INS,PAPI_TOT_CYC,PAPI_L1_DCM "$LAB_PROGRAMS/icount" 22
    is "$status|$(head -n 1 <<<"$out")|$err" "0|22 million|" "access $on: the program does what it does alone"
    reads[$on]=$(tail -n 1 <<<"$out")
    run 1000 "$REGTRACE" check "$LAB_OUT/$on"
    is "$status" 0 "access $on: the file is consistent" || diag "$out$err"
    is "$(windows "$LAB_OUT/$on" | awk '$1 == (NR - 1) * 1000000 && $3 == $1 + 300000 && $2 >= $1 && $2 - $1 < 70000 && $4 >= $3 && $4 - $3 < 70000' | wc -l)" \
        20 "access $on: 20 windows at their places" || diag "$(windows "$LAB_OUT/$on")"
    "$REGTRACE" dump "$LAB_OUT/$on" 2>/dev/null | sed -nE 's/.* EV_COUNTER .*event="PAPI_TOT_INS" count=([0-9]+) running_per_mille=1000$/\1/p' >"$T/counts"
    is "$(awk '$1 > 230000 && $1 < 370000' "$T/counts" | wc -l)" 20 "access $on: each counted its 300,000 instructions" || diag "$(cat "$T/counts")"
done
diag "counters read by read(2): ${reads[0]}, where they may be read directly ${reads[1]}"
[ "${reads[0]}" -gt 200 ] && [ "${reads[1]}" -le 2 ]
ok $? "read(2) is called at each edge without access, and for the share at the end alone with it"
allow 1
# A child of fork does not have its parent's pages. It maps its own.
run 4000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/forked" REGTRACE_CONTROL=uniform:200000:50000:1000 REGTRACE_EVENTS=instructions \
    "$LAB_PROGRAMS/counted" "$LAB_PROGRAMS/icount" 5
is "$status|$(head -n 1 <<<"$out")|$err" "0|5 million|" "a program that forks does what it does alone"
run 1000 "$REGTRACE" check "$LAB_OUT/forked"
is "$status" 0 "its files are consistent" || diag "$out$err"
rt_limit=4000
ok_program "icount, read directly" bash "$REGTRACE_SOURCE/t/lab/inside/icount.sh"
# Whenever the kernel handles the event, also at a tick of its clock, it writes to the page that
# direct reading is no longer allowed.
for told in off told; do
    allow 1
    run 2000 "$LAB_PROGRAMS/direct" $told
    diag "$told: status $status, $out"
    [ "$status" = 132 ] || [[ "$status $out" == "0 mapped 1 wrong 0 "* ]]
    ok $? "$told: forbidding it during a run ends programs that read counters so (SIGILL), as dev/counting.md says, except those that have been told"
done
is "$status $(sed -nE 's/.*(wrong [0-9]+) .*/\1/p' <<<"$out")" "0 wrong 0" "who has been told reads by read(2)"
allow 0
done_testing
