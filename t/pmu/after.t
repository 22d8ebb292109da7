#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# After the last window that is possible, nothing is stepped any more, and what is not counted is
# not shown as a count.
. "$(dirname "$0")/../lib.sh"

program=$REGTRACE_BUILD/t/pmu/after
needs steps
edges='start:pcontrol:first,stop:pcontrol:last' all='start:pcontrol:first:bcast,stop:pcontrol:last:bcast'
# slower NAME CHAINS [ARGUMENT] [VARIABLE=VALUE]...: runs the program. Sets out to how many times
# longer a turn takes before the window than after it.
slower() {
    local name=$1 chains=$2 argument=${3:-}
    shift 2
    [ $# = 0 ] || shift
    run 300 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$name" REGTRACE_PMU=step REGTRACE_CONTROL="$chains" "$@" "$program" $argument
    is "$status" 0 "$name: the program ends well" || diag "$err"
}
# stops NAME, goes_on NAME: check by $out that stepping has ended, or goes on.
stops() { is "$((${out:-0} > 50))" 1 "$1: after the last window it runs at its own speed, $out times that of before"; }
goes_on() { is "$((${out:-99} < 10))" 1 "$1: it is counted to the end ($out)"; }
totals() { "$REGTRACE" report --json "$T/$1" | grep -oE '"instructions": [0-9a-z]+' | sort | uniq -c | awk '{print $3}' | xargs; }
slower once "$edges"
stops once
is "$(totals once)" null 'the total is not known, nor shown'
like "$("$REGTRACE" report --json "$T/once")" '"start_icount": [0-9]+, "stop_icount": [0-9]+,' 'counts of the window are'
like "$("$REGTRACE" report --json "$T/once")" '"start_icount": null, "stop_icount": null,' 'a window that the program opens later has none'
ok_run 'what is recorded holds' "$REGTRACE" check "$T/once"
slower never "$edges;start:pcontrol:never"
goes_on 'an alarm still waits'
like "$(totals never)" '^[1-9][0-9]*$' 'and its total is known'
slower again "$edges,repeat:2"
goes_on 'the window may come again'
slower counted "$edges" '' REGTRACE_COUNT=1
goes_on 'a counting run'
slower all "$all" thread
stops 'the other thread, which a broadcast edge concerns'
slower each "$edges" thread
goes_on 'a thread whose own window has not been'
done_testing
