#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A count that all threads share: with 8 threads the alarm is never early, and less than 1 % late.
. "$(dirname "$0")/../lib.sh"

program=$REGTRACE_BUILD/t/pmu/global
needs steps h5py
export REGTRACE_PMU=step REGTRACE_CONTROLLER_LOG=$T/log

# overshoot N CHAIN THREADS [LATE]: runs threads that follow the start at once, since its stop is
# armed for them. Sets total to what all of them had executed then, and published to the lateness
# that the event reports.
overshoot() {
    rm -rf "$T/log" "$T/run"
    run 200 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/run" ${4:+T_REGTRACE_LATE=$4} REGTRACE_CONTROL="$2" "$program" "$3" $(($1 * 3 / 2 / $3))
    is "$status" 0 "$3 threads: the program runs"
    total=$("$PYTHON" - "$T/run" <<'EOF'
import glob, sys, h5py
for name in glob.glob(sys.argv[1] + "/rank-*.h5"):
    with h5py.File(name, "r") as f:
        w = f["windows"][:]
        w = w[w["ordinal"] == 0]
        print(int(w["start_icount"].sum()) if len(w) == len(f["threads"]) and (w["start_icount"] >= 0).all() else -1)
EOF
    )
    published=$(sed -n 's/.*event start .* icount \([0-9]*\) requested \([0-9]*\) .*/\1 \2/p' "$T/log" | awk 'NR == 1 {print $1 - $2}')
    diag "$1 asked for, $total executed by $3 threads at the start, $published published"
}
chain=start:icount:200000:global:bcast,stop:icount:1000000000:global:bcast
overshoot 200000 $chain 8
is "$((total >= 200000))" 1 "not early"
is "$((total < 202000))" 1 "less than 1 % over it"
is "$((${published:--1} >= 0 && published <= total - 200000))" 1 "what is published is part of that"
# With a counter that is late by up to 200 instructions at each report, these are added.
overshoot 200000 $chain 8 3:200
is "$((total >= 200000 && total < 202000 + 8 * 200))" 1 "with a counter that is late: not more than that besides"
# Threads that wait take part with what they have executed.
overshoot 60000 start:icount:60000:global:bcast,stop:icount:1000000000:global:bcast 1
is "$((total >= 60000 && total < 60600))" 1 "one thread and one that waits: less than 1 % over it"
done_testing
