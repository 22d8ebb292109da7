#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Signal handlers, masks, waits and deaths by signal are the same as without the tracer.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../same.sh"

for chains in '' "$CHAINS" 'start:signal:SIGSEGV,stop:signal:SIGALRM,repeat'; do
    for part in matrix older nested jump fault waits signalfd realtime realtime_wait masks restarts inherited; do
        same "$part, chains '$chains'" REGTRACE_CONTROL="$chains" "$P/libc/handlers" $part
    done
    [[ $chains == *SEGV* ]] || for signo in 1 2 6 10 12 13 14 15 17 18 23 28 34 61 62 64; do
        same "killed by $signo, chains '$chains'" REGTRACE_CONTROL="$chains" "$P/libc/handlers" die $signo kill
    done
    same "raise, chains '$chains'" REGTRACE_CONTROL="$chains" "$P/libc/handlers" die 10 raise
    same "a fault, chains '$chains'" REGTRACE_CONTROL="$chains" "$P/libc/handlers" die 11 fault
    same "abort, chains '$chains'" REGTRACE_CONTROL="$chains" "$P/libc/handlers" die 6 abort
    same "SA_RESETHAND and again, chains '$chains'" REGTRACE_CONTROL="$chains" "$P/libc/handlers" die 10 reset
    same "a thread kills, chains '$chains'" REGTRACE_CONTROL="$chains" "$P/libc/handlers" die_thread 10
done
# Each signal that an alarm can name keeps its default action.
for name in HUP INT QUIT ILL TRAP ABRT BUS FPE USR1 SEGV USR2 PIPE ALRM TERM CHLD CONT URG XCPU XFSZ VTALRM PROF WINCH IO SYS; do
    same "SIG$name named and not handled" REGTRACE_CONTROL="start:signal:SIG$name" "$P/libc/handlers" die "$(kill -l $name)" kill
done
# Alternate stacks that are nearly full: the tracer's code runs on another stack. 272 bytes are what
# the kernel's minimum leaves of MINSIGSTKSZ, 2048 bytes, on many machines.
for room in 272 1024 3072 6144 12288; do
    for chains in '' 'start:signal:SIGUSR1,stop:signal:SIGUSR1,repeat'; do
        same "$room bytes of stack, chains '$chains'" REGTRACE_CONTROL="$chains" "$P/stack/small_stack" $room
        got=$("$REGTRACE" dump "$last_trace" | grep -cE "$([ "$chains" ] && echo 'window (opens|closes)' || echo 'handler begins')")
        is "$got" $((${#chains} ? 6 : 5)) "$room bytes of stack, chains '$chains': each signal is recorded"
    done
done
# Programs that take real-time signals by waiting for them: they never get the tracer's signal, and
# the tracer still does.
for part in some all; do
    same "real-time signals taken: $part" REGTRACE_CONTROL='start:timeout:2ms,stop:timeout:2ms,repeat' "$P/libc/taken" $part
    [ "$("$REGTRACE" dump "$last_trace" | grep -c 'window opens')" -gt 9 ]
    ok $? "real-time signals taken: $part: timeouts come"
done
same "a fault, named and ignored" REGTRACE_CONTROL="start:signal:SIGSEGV" "$P/libc/handlers" die 11 ignored
same "named and sent by a thread" REGTRACE_CONTROL="start:signal:SIGTERM" "$P/libc/handlers" die_thread 15
done_testing
