#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 40000
# Records 1,000 edges at distances from 100,000 to 100 million instructions by the machine's
# counter, and 1,000 edges of uniform windows. outside/edges.sh checks them.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"

# More short distances than long ones, both limits included; the same in every run.
awk 'BEGIN { srand(7); for (i = 1; i <= 1000; i++) { u = rand() ^ 12; d = int(1e5 * 1000 ^ u)
    if (i % 250 == 1) d = 100000; if (i % 250 == 2) d = 100000000; print d } }' >"$LAB_OUT/distances"
total=$(awk '{ s += $1 } END { printf "%d", s / 1e6 + 2 }' "$LAB_OUT/distances")
awk '{ printf "%s%s:icount:%d", (NR > 1 ? "," : ""), (NR % 2 ? "start" : "stop"), $1 } END { print "" }' "$LAB_OUT/distances" >"$T/chain"
echo 'uniform:1000000:250000:500' >"$T/uniform"

# edges NAME PMU CHAIN-FILE MILLIONS: records one run.
edges() {
    run 10000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_PMU="$2" REGTRACE_DIR="$LAB_OUT/$1" REGTRACE_CONTROL_FILE="$3" "$LAB_PROGRAMS/icount" "$4"
    is "$status|$out|$err" "0|$4 million|" "$1: the program does what it does alone"
}
edges perf perf "$T/chain" "$total"
edges papi papi "$T/chain" "$total"
edges perf-uniform perf "$T/uniform" 501
done_testing
