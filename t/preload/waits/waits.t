#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No system call fails or returns early because the tracer's signals arrive while it waits.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/waits.sh"
. "$(dirname "$0")/../same.sh"

"$W" bare calls 1 1 >"$T/bare.out"
is "$(grep -cE 'interrupted 0 failed 0 errno 0 early 0' "$T/bare.out")" "$(grep -vc '^sleep' "$T/bare.out")" 'without us none is interrupted'
waits_calls 'timeouts' 60 2 -control "$TIMEOUTS"
waits_calls 'timeouts, bcast' 60 2 -control "$BCAST"
waits_asked 'ctl' 120 1
waits_calls 'timeouts, samples' 60 1 -control "$TIMEOUTS" -sample cpu:1ms
waits_calls 'bcast, page faults' 60 1 -control "$BCAST" -events page-faults
waits_calls 'bcast, memory' 60 1 -control "$BCAST" -memory=main
waits_calls 'bcast, functions' 60 1 -control "$BCAST" -functions=main
some=(nanosleep poll ppoll select epoll_wait semtimedop recv sem_timedwait raw_epoll_wait inline_poll read_woken sigsuspend_woken)
waits_calls 'stepped' 60 1 -control "$TIMEOUTS" -pmu step
some=()
waits_handlers 'handlers' 60 5 200us
for chains in "$TIMEOUTS" 'start:timeout:300us,stop:timeout:300us,repeat'; do
    same "alternate stacks, $chains" REGTRACE_CONTROL="$chains" "$P/waits/waits_stack"
done
if [ -x "$REGTRACE_BUILD/isa/regtrace-vprofiler" ] && [ "$(uname -m)" = x86_64 ]; then
    waits_calls 'bcast, values' 60 1 -control "$BCAST" -values vp-addr -values-sample cpu:1ms
else
    skip 'values' 'values are for x86-64 with Zydis'
fi
done_testing
