#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Children made by clone() or by raw system calls: each records into its own file, and nothing of
# the parent's recording is lost.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../same.sh"

# count NAME: prints how many regions of that name the last trace has.
count() { "$REGTRACE" dump "$last_trace" | grep -cE "region begins.*\"$1\""; }

for part in clone returns raw_clone raw_fork fork; do
    same "$part" "$P/libc/raw_children" $part
    wait_for 20 test -e "$last_trace/regtrace.h5"
    is "$(count parent)" 4510 "$part: all of the parent's regions are there"
    is "$(count child)" 4500 "$part: and all of the children's"
    is "$(find "$last_trace" -name 'rank-*.h5' | wc -l)" 4 "$part: in a file each"
    is "$("$REGTRACE" dump "$last_trace/rank-00000.h5" | grep -cE 'region begins.*"parent"')" 4510 "$part: the parent has the rank's name"
    run 60 "$REGTRACE" check "$last_trace"
    is "$status" 0 "$part: the files are sound" || diag "$out$err"

    same "$part, nothing before" "$P/libc/raw_children" $part late
    wait_for 20 test -e "$last_trace/regtrace.h5"
    is "$(count child)" 4500 "$part: children of a parent that records nothing record"
    # The C library tells of its forks, so the parent has one event and a file.
    files=4
    [[ $part != raw_* ]] || files=3
    is "$(find "$last_trace" -name 'rank-*.h5' | wc -l)" "$files" "$part: in a file each, late"
done
same "exec after a raw system call" "$P/libc/raw_children" raw_exec
wait_for 20 test -e "$last_trace/regtrace.h5"
is "$(count parent) $(count program)" "4510 4500" "exec after a raw system call: parent and programs record"
done_testing
