#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 6000
# Another program holds all counters. perf_event_open still succeeds, but the counter never counts:
# regtrace must refuse that or report it.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"

# taken VARIABLE=VALUE...: runs the program with these variables while all counters are taken.
taken() {
    rm -rf "$T/taken"
    run 2000 "$LAB_PROGRAMS/taker" /usr/bin/env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/taken" "$@" "$LAB_PROGRAMS/icount" 3
    diag "$status $out $err"
}
remedy='all counters that it could use are taken by another \(perf stat -a, a monitoring daemon, the NMI watchdog\): stop it'
for pmu in perf papi auto; do
    taken REGTRACE_PMU=$pmu REGTRACE_CONTROL=start:icount:1000000
    is "$status,$out" 2, "$pmu: an icount is refused before main"
    like "$err" "icount is not available: .*$remedy" "$pmu: with reason and remedy"
done
# likewise NAME TEXT VARIABLE=VALUE: checks that this setting is refused too.
likewise() {
    taken "$3"
    is "$status,$out" 2, "$1: refused"
    like "$err" "$2: $remedy" "$1: with reason and remedy"
}
likewise counters 'instructions cannot be counted' REGTRACE_EVENTS=instructions
likewise samples 'instructions cannot be sampled' REGTRACE_SAMPLE=instructions:100000
like "$err" 'cpu:10ms samples by time' "samples: and what works"
likewise "a counting run" 'is not possible' REGTRACE_COUNT=1
taken REGTRACE_ON_ERROR=continue REGTRACE_CONTROL=start:icount:1000000
is "$status,$out" "0,3 million" "with REGTRACE_ON_ERROR=continue the program runs" || diag "$err"
run 2000 "$LAB_PROGRAMS/taker" /usr/bin/env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/plain" "$LAB_PROGRAMS/regions" 10
is "$status,$out" "0,10 regions" "and where nothing waits for counts it is traced" || diag "$err"
"$REGTRACE" report --json "$T/plain" >"$T/json" 2>/dev/null
is "$(grep -oE '"(start|stop)_icount": [a-z0-9]+' "$T/json" | sort -u | xargs)" 'start_icount: null stop_icount: null' "its counts are unknown, not 0"
run 1000 "$LAB_PROGRAMS/taker" "$REGTRACE" doctor
like "$out" "counters +icount and uniform alarms are refused: .*$remedy" "doctor says it"

# If the counters are taken while the program runs, it can no longer be refused.
env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/later" REGTRACE_CONTROL=start:icount:1000000 REGTRACE_EVENTS=instructions \
    "$LAB_PROGRAMS/icount" 200 >"$T/later.out" 2>&1 &
program=$!
wait_for 60 test -e "$T/later/rank-00000.h5"
run 1000 "$LAB_PROGRAMS/taker" /bin/sleep 3
wait "$program"
is "$?,$(cat "$T/later.out")" "0,200 million" "taken in the middle: the program ends as alone"
like "$(cat "$T/later/regtrace.log")" 'instructions were counted for a part of the time alone, .* icounts are too small: [0-9]{1,2}\.[0-9] %' \
    "taken in the middle: the log says so"
like "$("$REGTRACE" dump "$T/later" 2>/dev/null)" 'EV_COUNTER .*event="instructions" count=[0-9]+ running_per_mille=[0-9]{1,3}$' \
    "and the counter says how long it counted"
done_testing
