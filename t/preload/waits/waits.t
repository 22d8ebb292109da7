#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No system call fails or returns early because the tracer's signals arrive while it waits.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/waits.sh"
. "$(dirname "$0")/../same.sh"

# A thread also sleeps twice when a page of its has to be read: not in three calls of three.
"$W" bare calls 3 1 >"$T/bare.out"
wrong=$(grep -v '^sleep' "$T/bare.out" | grep -vE 'interrupted [0-2] failed 0 errno 0 early 0')
is "$(grep -c calls "$T/bare.out") $wrong" '67 ' 'without us no function is interrupted in each call, and none fails or returns early'
waits_calls 'timeouts' 60 2 -control "$TIMEOUTS"
waits_calls 'timeouts, bcast' 60 2 -control "$BCAST"
waits_asked 'ctl' 120 1
waits_calls 'timeouts, samples' 60 1 -control "$TIMEOUTS" -sample cpu:1ms
waits_calls 'bcast, page faults' 60 1 -control "$BCAST" -events page-faults
waits_calls 'bcast, memory' 60 1 -control "$BCAST" -memory=main
waits_calls 'bcast, functions' 60 1 -control "$BCAST" -functions=main
some=(inline_nanosleep inline_poll inline_ppoll inline_epoll_wait inline_rax inline_al)
waits_calls 'memory of functions with system calls' 60 5 -control "$TIMEOUTS" -memory=inline
some=()
# libc's thread for timers blocks all signals: handlers look for such threads, and pause meanwhile.
some=(nanosleep poll futex) how=notified
waits_calls 'bcast, functions, a thread of libc' 60 20 -control "$BCAST" -functions=main
how=
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
