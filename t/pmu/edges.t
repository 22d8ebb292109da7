#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Edges of several chains at one instruction count: the events that end a window come first, then
# the chains in their order.
. "$(dirname "$0")/../lib.sh"

parts=$REGTRACE_BUILD/t/pmu/parts
needs steps
export REGTRACE_PMU=step REGTRACE_CONTROLLER_LOG=$T/log

# fired CHAINS: sets fired to the fired events in order, "EVENT:ICOUNT" each, and windows to
# "OPENED-CLOSED" of each window.
fired() {
    rm -rf "$T/log" "$T/run"
    run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/run" REGTRACE_CONTROL="$1" "$parts" calls
    fired=$(sed -n 's/.*event \([a-z-]*\) .* icount \([0-9]*\) requested.*/\1:\2/p' "$T/log" | paste -sd' ')
    windows=$("$PYTHON" - "$T/run" <<'EOF'
import glob, sys, h5py
for name in glob.glob(sys.argv[1] + "/rank-*.h5"):
    with h5py.File(name, "r") as f:
        print(*(f"{w['start_icount']}-{w['stop_icount']}" for w in f["windows"][:]))
EOF
    )
}

fired 'start:icount:1000,stop:icount:1000;start:icount:2000,stop:icount:500'
is "$fired" 'start:1000 stop:2000 start:2000 stop:2500' "a chain's stop comes before the next chain's start"
is "$windows" '1000-2000 2000-2500' "and so there are two windows"
fired 'start:icount:2000,stop:icount:500;start:icount:1000,stop:icount:1000'
is "$fired" 'start:1000 stop:2000 start:2000 stop:2500' "in whatever order the chains stand"
fired 'start:icount:2000,stop:icount:500;precond:icount:1000,uniform:4000:1000:1'
is "$fired" 'precond:1000 start:1000 stop:2000 start:2000 stop:2500' "the end of a uniform window likewise"
fired 'prolog-start:icount:1000,prolog-stop:icount:1000;start:icount:2000,stop:icount:1000;epilog-start:icount:3000,epilog-stop:icount:100'
is "$fired" 'prolog-start:1000 prolog-stop:2000 start:2000 stop:3000 epilog-start:3000 epilog-stop:3100' "prolog, region, epilog"
fired 'precond:icount:100,precond:icount:900,start:icount:100000000;threadid:icount:1000;stats-emit:icount:1000'
is "$fired" 'precond:100 precond:1000 threadid:1000 stats-emit:1000' "what ends nothing comes in the order of the chains"
done_testing
