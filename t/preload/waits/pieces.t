#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Calls that wait for several pieces of data, timeouts of sockets and terminals, and threads that
# are cancelled on small stacks: the same results while the tracer's signals arrive.
. "$(dirname "$0")/../../lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "calls are continued on x86-64"
P=$REGTRACE_BUILD/t/preload/waits/pieces

run 60 "$P" 1
bare=$out
is "$status $(wc -l <<<"$bare")" "0 $(grep -q '^ring' <<<"$bare" && echo 17 || echo 16)" "without the tracer"
unlike "$bare" 'early' "without the tracer nothing is early"
for options in '' '-sample cpu:1ms' '-functions=main'; do
    rm -rf "$T/run"
    # shellcheck disable=SC2086  # separate words
    run 60 "$REGTRACE" run -quiet -o "$T/run" -control 'start:timeout:2ms,stop:timeout:2ms,repeat' $options -- "$P" 4
    is "$status $out" "0 $bare" "windows by time $options: the same results" || diag "$err"
done
done_testing
