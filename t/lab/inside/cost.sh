#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 12000
# The cost between edges, in instructions that the program's thread executes in user mode, bare and
# traced. They are exact here, and a separate counter counts them. One run is thirteen times as long
# as the other, so that their difference contains no start and no end.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"

# executed NAME MILLIONS VARIABLE=VALUE...: sets executed to the instructions of a run.
executed() {
    local name=$1 millions=$2
    shift 2
    run 4000 "$LAB_PROGRAMS/counted" /usr/bin/env REGTRACE_DIR="$T/$millions" REGTRACE_EXIT_WAIT=0 "$@" "$LAB_PROGRAMS/icount" "$millions"
    is "$status|$(head -n 1 <<<"$out")|$err" "0|$millions million|" "$name: $millions million instructions" || return
    executed=$(tail -n 1 <<<"$out")
}
# between NAME VARIABLE=VALUE...: sets between to the difference of the two runs.
between() {
    local short
    rm -rf "$T/50" "$T/650"
    executed "$1" 50 "${@:2}" && short=$executed && executed "$1" 650 "${@:2}" && between=$((executed - short))
}
# at_most NAME PER-MILLION: checks the difference from bare. The runs do not wait for the writer at
# the end, because the time of that wait varies.
at_most() {
    local extra=$((between - bare))
    [ $((${extra#-} * 1000000)) -le $((bare * $2)) ]
    ok $? "$1: at most $2 in a million from bare"
    diag "$1: $between instructions, bare $bare: $extra more, $(awk -v a="$between" -v b="$bare" 'BEGIN { printf "%.7f", a / b }') times"
}
between bare X=1
bare=$between
pmu=perf
# An edge each 100 million instructions, alternately a start and a stop.
between "$pmu, an edge each 100 million" LD_PRELOAD="$LIBREGTRACE" REGTRACE_PMU="$pmu" \
    REGTRACE_CONTROL=uniform:200000000:100000000:1000
at_most "$pmu, an edge each 100 million" 100
wait_for 60 test -e "$T/650/regtrace.h5"
is "$("$REGTRACE" report --json "$T/650" 2>/dev/null | grep -o '"ordinal"' | wc -l)" 4 "$pmu: the windows of 650 million are there"
diag "$pmu: an edge costs $(((between - bare) / 6)) instructions"
done_testing
