#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Threads that are cancelled asynchronously within a copy of a function whose registers are all in
# use: the unwinder starts between any two instructions of the copy, and finds the callers' frames.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
needs memory
for saves in '' -DSAVES; do
    gcc -O2 -fexceptions -w $saves -o cancelled "$here/programs/memory_cancelled.c" -pthread || exit 99
    remove_run run
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_MEMORY='^walk$' REGTRACE_CONTROL='start:enter_func:open_window:bcast,stop:enter_func:close_window:bcast,repeat' LD_PRELOAD="$LIBREGTRACE" ./cancelled 40
    is "$status $out" "0 40" "${saves:-plain}: each cleanup handler has its argument"
    "$REGTRACE" skel replay -format count run >counted 2>&1
    ok_run "and accesses were recorded in ten windows and more" test "$(grep -c '^# [1-9][0-9]* accesses' counted)" -ge 10
done
done_testing
