#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 6000
# Samples by overflow of the machine's counters: one a period, in every thread, only in windows.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"

# sampled NAME EVENT CHAIN ARGUMENT...: runs the program; sets samples to their number and by_thread
# to the samples of each thread.
sampled() {
    local name=$1 event=$2 chain=$3
    shift 3
    run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/$name" REGTRACE_CONTROL="$chain" REGTRACE_SAMPLE="$event" "$LAB_PROGRAMS/icount" "$@"
    is "$status|$out|$err" "0|$1 million|" "$name: the program does what it does alone" || diag "$(cat "$LAB_OUT/$name"/*.log)"
    run 1000 "$REGTRACE" check "$LAB_OUT/$name"
    is "$status" 0 "$name: the file is consistent" || diag "$out$err"
    "$REGTRACE" dump "$LAB_OUT/$name" >"$T/dump"
    samples=$(grep -c 'EV_SAMPLE ' "$T/dump")
    by_thread=$(awk '/EV_SAMPLE / { n[$3]++ } END { for (t in n) print t, n[t] }' "$T/dump" | sort -n | tr '\n' ' ')
    diag "$name: $samples samples, by thread: $by_thread"
}
# Samples that the start of a process and regtrace's own work add
few=4

sampled whole instructions:1000000 '' 60
[ "$samples" -ge 60 ] && [ "$samples" -le $((60 + few)) ]
ok $? "60 million instructions: 60 samples"

sampled window instructions:500000 start:icount:20000000,stop:icount:50000000 80
[ "$samples" -ge 99 ] && [ "$samples" -le 101 ]
ok $? "a window of 50 million: 100 of half a million"

sampled threads PAPI_TOT_INS:1M '' 40 3
is "$(tr ' ' '\n' <<<"$by_thread" | paste - - | awk -v few=$few '$1 > 0 && $2 >= 40 && $2 <= 40 + few' | wc -l)" 3 "three threads: each its own 40"

run 300 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/none" REGTRACE_SAMPLE=rffff00:1000 "$LAB_PROGRAMS/icount" 1
like "$status $err" '^(2 .*raw events cannot be sampled: |0 )' "an event that this machine may not know is refused, or counts nothing"
done_testing
