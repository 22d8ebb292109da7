#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A program whose threads wait for each other ends, however many threads record and however small
# the stream is. Each recording thread holds a chunk, and the last thread must not wait for the
# chunks of the others.
. "$(dirname "$0")/../lib.sh"
cc -O1 -o "$T/crowd" "$(dirname "$0")/crowd.c" -pthread || exit 99
cd "$T" || exit 99
# In memory: a disk that takes 2 s to create a file, as while other tests remove theirs, would make
# the threads give up waiting for the writer.
runs=$(mktemp -d /dev/shm/regtrace-crowd.XXXXXX 2>/dev/null) || runs=$T
trap '(rc=$?; [ "$runs" = "$T" ] || rm -rf "$runs"; exit $rc); rt_cleanup' EXIT

# crowd NAME THREADS [VARIABLE=VALUE]...: runs the program and checks its exit code and output. Its
# run is in $runs/o.NAME.
crowd() {
    local name=$1 threads=$2
    shift 2
    run 60 env "$@" REGTRACE_DIR="$runs/o.$name" LD_PRELOAD="$LIBREGTRACE" ./crowd "$threads"
    is "$status $out" "0 $threads threads" "$name: $threads threads come to their barrier" || diag "$err"
}

# recorded NAME THREADS: checks that the run has each thread's region and lost nothing.
recorded() {
    is "$("$REGTRACE" dump "$runs/o.$1" | grep -c 'EV_REGION_BEGIN.*together')" "$2" "$1: each thread's region is recorded"
    like "$("$REGTRACE" report "$runs/o.$1")" 'events recorded, 0 lost' "$1: nothing is lost"
    ok_run "$1: the file is consistent" "$REGTRACE" check "$runs/o.$1"
}

crowd default 300
recorded default 300
crowd small 40 REGTRACE_BUFFER=64k
recorded small 40
crowd dropping 300 REGTRACE_FULL=drop

# A limit on file sizes leaves room for the first chunks only.
most=$(ulimit -f)
ulimit -S -f 6000
crowd limited 300
ulimit -S -f "$most"
report=$("$REGTRACE" report "$runs/o.limited")
like "$report" 'events recorded, [1-9][0-9,]* lost' 'limited: the report counts what is lost'
like "$(cat "$runs/o.limited/regtrace.log")" 'more threads record than there is shared memory for' 'limited: the log says why'
done_testing
