#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Threads can be cancelled while the tracer's signals arrive. Its handlers call no cancellation
# point: libc would wait there for its own signal while signals are blocked. Nor does libc act on an
# asynchronous cancellation within them: the thread would end with the tracer's locks, or run its
# cleanup handlers with the mask of the tracer's handler.
. "$(dirname "$0")/../../lib.sh"
cc -O1 -o "$T/cancelled" "$(dirname "$0")/cancelled.c" -pthread || exit 99
cd "$T" || exit 99

# cancelled NAME WHAT OPTION...: cancels 200 threads under `regtrace run` with these options.
cancelled() {
    local name=$1 what=$2
    shift 2
    run 100 "$REGTRACE" run -quiet -o "o.$name.$what" "$@" -- ./cancelled "$what" 200
    is "$status $out" '0 200 cancelled' "$name, $what" || diag "$err"
}

run 100 ./cancelled calls 200
is "$status $out" '0 200 cancelled' 'by itself, calls'
for what in waits calls; do
    windows='start:timeout:2ms,stop:timeout:1ms,repeat'
    cancelled plain $what -control "$windows"
    cancelled functions $what -control "$windows" -functions .
    [ "$(uname -m)" = x86_64 ] && cancelled memory $what -control "$windows" -memory .
    windows='start:timeout:300us:bcast,stop:timeout:300us:bcast,repeat'
    cancelled broadcast.functions $what -control "$windows" -functions .
    [ "$(uname -m)" = x86_64 ] && cancelled broadcast.memory $what -control "$windows" -memory .
done

points='accept|close|connect|fcntl|f(data)?sync|nanosleep|open|openat|pause|poll|p?read|p?write|recv|select|send|sleep|wait4|waitpid'
is "$(nm -D --undefined-only "$LIBREGTRACE" | sed 's/.* //; s/@.*//; s/64$//' | grep -xE "$points")" '' \
    'the library calls no cancellation point of libc'
done_testing
