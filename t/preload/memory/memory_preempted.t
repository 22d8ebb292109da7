#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Schedulers preempt a thread by a signal, in windows of memory traces: the handler sends the thread
# elsewhere, and the thread comes back to the function with the registers of the handler's context.
# They must be the function's, not those of its instrumented copy.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
cc -O2 -D_GNU_SOURCE -mno-red-zone -o preempted "$here/programs/memory_preempted.c" -pthread || exit 99

for what in resumes swaps SIGBUS SIGFPE SIGSYS; do
    run 60 ./preempted $what
    is "$status $out" '0 often, 0 wrong' "$what, by itself"
    for windows in start:timeout:300us,stop:timeout:300us,repeat start:timeout:1ms,stop:timeout:5ms,repeat; do
        remove_run run
        run 100 "$REGTRACE" run -quiet -o run -memory . -control "$windows" -- ./preempted $what
        is "$status $out" '0 often, 0 wrong' "$what, $windows" || diag "$err"
    done
done
done_testing
