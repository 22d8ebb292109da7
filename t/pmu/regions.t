#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Regions files in a run: regions of instruction counts open and close at exactly their counts.
. "$(dirname "$0")/../lib.sh"

parts=$REGTRACE_BUILD/t/pmu/parts
needs steps
export REGTRACE_PMU=step REGTRACE_CONTROLLER_LOG=$T/log
fired() { sed -n 's/.*event \([a-z-]*\) .* icount \([0-9]*\) requested \([0-9]*\) .*/\1:\2=\3/p' "$T/log" | paste -sd' '; }

cat >"$T/counts" <<'EOF'
comment,thread-id,region-id,start-icount,end-icount,weight
# second region first: lines need not be in order
cluster 1,0,12,5000,5500,0.25
cluster 0,0,11,2000,3000,0.75
EOF
run 60 "$REGTRACE" run -quiet -o "$T/counts-run" -regions:in "$T/counts" -- "$parts" calls
is "$status" 0 "a file of instruction counts: the program runs" || diag "$err"
is "$(fired)" 'start:2000=2000 stop:3000=3000 start:5000=5000 stop:5500=5500' "its regions open and close at their counts"
out=$("$REGTRACE" report "$T/counts-run")
like "$out" 'region 11 weight 0.75' "the window knows its region"
like "$out" 'region 12 weight 0.25' "so does the other"
rm -f "$T/log"
run 60 "$REGTRACE" run -quiet -o "$T/warm-run" -regions:warmup 400 -regions:prolog 100 -regions:epilog 50 -regions:in "$T/counts" -- "$parts" calls
is "$(fired)" 'warmup-start:1500=1500 prolog-start:1900=1900 start:2000=2000 epilog-start:3000=3000 epilog-stop:3050=3050 warmup-start:4500=4500 prolog-start:4900=4900 start:5000=5000 epilog-start:5500=5500 epilog-stop:5550=5550' \
    "with warm-up, prolog and epilog"
done_testing
