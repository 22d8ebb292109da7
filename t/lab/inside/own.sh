#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 6000
# icounts leave out the instructions that wrappers of MPI execute outside windows: 100,000 calls
# count as many instructions as without regtrace.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"

# bare N TURNS: prints all instructions of the program without regtrace.
bare() {
    run 3000 "$LAB_PROGRAMS/counted" "$LAB_PROGRAMS/own_calls" "$1" "$2"
    tail -n 1 <<<"$out"
}
# traced N TURNS: prints the instructions between the two regions, by the icounts of alarms. No
# window opens.
traced() {
    rm -rf "$T/log" "$T/run"
    run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/run" REGTRACE_PMU="$pmu" REGTRACE_CONTROLLER_LOG="$T/log" \
        REGTRACE_CONTROL='precond:pcontrol:first,precond:pcontrol:last,start:pcontrol:never;precond:icount:1' "$LAB_PROGRAMS/own_calls" "$1" "$2"
    sed -n 's/.*pcontrol:\(first\|last\) .* icount \([0-9]*\) .*/\2/p' "$T/log" | paste -sd' ' | awk '{print $2 - $1}'
}
for pmu in perf papi; do
    for turns in 0 1000; do
        of_program=$(($(bare 50000 $turns) - $(bare 0 $turns))) counted=$(($(traced 50000 $turns) - $(traced 0 $turns)))
        off=$((counted > of_program ? counted - of_program : of_program - counted))
        is "$((of_program > 100000 && off * 1000 <= of_program))" 1 "$pmu: 100,000 calls, $turns turns after each: $counted counted, $of_program executed, $off apart: within 0.1 %"
    done
done
done_testing
