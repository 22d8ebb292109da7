#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The emulator gets each event of a run once, in the order of time, whatever the order in its files.
. "$(dirname "$0")/../lib.sh"
STREAMS=$REGTRACE_BUILD/t/emu/streams
cc -O2 -I"$REGTRACE_SOURCE/share/include" -o "$T/threads" "$REGTRACE_SOURCE/t/emu/threads.c" -pthread || exit 99
run 60 "$REGTRACE" run -quiet -o "$T/run" -- "$T/threads"
is "$status" 0 "a run of two processes with four threads each" || diag "$err"
is "$(find "$T/run" -name 'rank-*.h5' | wc -l)" 2 "has two files"
"$STREAMS" "$T/run" >"$T/found"
is $? 0 "its events are read"
"$STREAMS" "$T/run" | cmp -s - "$T/found"
ok $? "another time they are the same"
sort -s -n -k1,1 -c "$T/found"
ok $? "they come in the order of time"
# What regtrace dump has, whose order is another's: time since the first event, thread and code.
dumped() {
    "$REGTRACE" dump --json "$1" | sed -E 's/.*"thread": ?(-?[0-9]+).*"ns": ?(-?[0-9]+).*"code": ?([0-9]+).*/\2 \1 \3/' | sort -n |
        awk 'NR == 1 { first = $1 } { print $1 - first, $2, $3 }' | sort
}
awk 'NR == 1 { first = $1 } { print $1 - first, $3, $5 }' "$T/found" | sort >"$T/sorted"
dumped "$T/run" | cmp -s - "$T/sorted"
ok $? "and all are there" || diag "$(dumped "$T/run" | diff - "$T/sorted" | head -6)"
[ "$(wc -l <"$T/found")" -gt 20000 ]
ok $? "which are many" || diag "$(wc -l "$T/found")"
cp -r "$T/run" "$T/cut"
head -c 3000 "$T/run/rank-00000.h5" >"$T/cut/rank-00000.h5"
run 60 "$STREAMS" "$T/cut"
isnt "$status" 0 "a damaged file is an error"
like "$err" 'rank-00000.h5' "which names it"
run 60 "$STREAMS" "$T/cut" skip
is "$status" 0 "where that is wished it is left out"
like "$out" 'left out: rank-00000.h5' "and told"
done_testing
