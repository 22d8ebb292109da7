#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 4000
# Why overflows come as a signal of F_SETSIG and not as attr.sigtrap: both compared, without
# regtrace; and what regtrace does if the signal fails because the user's queue of signals is full.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"

diag "$(uname -r)"
declare -A cost
for how in signal trap; do
    run 2000 "$LAB_PROGRAMS/sigtrap" $how
    diag "$how: $status $out"
    is "$status $(grep -oE '^edges [0-9]+ early [0-9]+' <<<"$out")" "0 edges 200 early 0" "$how: every edge comes, none early"
    cost[$how]=$(sed -nE 's/^edges .* kernel ([0-9]+) instructions each/\1/p' <<<"$out")
    eval "$how=\$out"
done
[ "${cost[trap]}" -gt $((cost[signal] * 8 / 10)) ]
ok $? "an edge by sigtrap costs the kernel no less than 8 tenths of one by a signal"
# shellcheck disable=SC2154  # set by eval
like "$signal" '^blocked, two due: edges [2-9]' "two events that are due under a blocked signal are two signals"
# shellcheck disable=SC2154
like "$trap" '^blocked, two due: edges 1 ' "and one sigtrap: the other is lost"
like "$signal" '^queue full: killed by I/O possible' "a signal that cannot be queued is SIGIO, which kills"
like "$trap" '^queue full: edges 1 ' "a sigtrap is not"

# full NAME VARIABLE=VALUE...: runs the program with a queue of signals that has no room.
full() {
    local name=$1
    shift
    run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$name" "$@" bash -c 'ulimit -i 0; exec "$0" 12' "$LAB_PROGRAMS/icount"
    is "$status|$out|$err" "0|12 million|" "$name, queue full: the program does what it does alone"
    run 1000 "$REGTRACE" check "$T/$name"
    is "$status" 0 "$name, queue full: the file is consistent" || diag "$out$err"
    is "$(grep -c "queue of signals is full (ulimit -i)" "$T/$name/regtrace.log")" 1 "$name, queue full: the log says so"
}
full windows REGTRACE_CONTROL=uniform:4000000:1000000:3
"$REGTRACE" report --json "$T/windows" 2>/dev/null | grep -oE '"(start|stop)_(icount|requested)": [0-9]+' | awk -F': ' '{ print $2 }' | paste - - - - >"$T/edges"
diag "$(cat "$T/edges")"
is "$(awk '$1 >= $3 && $1 - $3 < 70000 && $2 >= $4 && $2 - $4 < 70000 && $3 == (NR - 1) * 4000000 && $4 == $3 + 1000000' "$T/edges" | wc -l)" 3 \
    "windows, queue full: all edges are at their places"
full samples REGTRACE_SAMPLE=instructions:1000000
samples=$("$REGTRACE" dump "$T/samples" 2>/dev/null | grep -c 'EV_SAMPLE ')
[ "$samples" -ge 12 ] && [ "$samples" -le 14 ]
ok $? "samples, queue full: one a million: $samples"
done_testing
