#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Threads can be cancelled while the tracer's signals arrive: its handlers call no cancellation
# point. If they did, libc would wait there for its own signal while signals are blocked.
. "$(dirname "$0")/../../lib.sh"
cc -O1 -o "$T/cancelled" "$(dirname "$0")/cancelled.c" -pthread || exit 99
cd "$T" || exit 99

# cancelled NAME OPTION...: cancels 200 threads under `regtrace run` with these options.
cancelled() {
    local name=$1
    shift
    run 100 "$REGTRACE" run -o "$T/o.$name" -control 'start:timeout:2ms,stop:timeout:1ms,repeat' "$@" -- ./cancelled 200
    is "$status $out" '0 200 cancelled' "$name: threads that wait are cancelled" || diag "$err"
}

cancelled plain
cancelled memory -memory .
cancelled functions -functions .

points='accept|close|connect|fcntl|f(data)?sync|nanosleep|open|openat|pause|poll|p?read|p?write|recv|select|send|sleep|wait4|waitpid'
is "$(nm -D --undefined-only "$LIBREGTRACE" | sed 's/.* //; s/@.*//; s/64$//' | grep -xE "$points")" '' \
    'the library calls no cancellation point of libc'
done_testing
