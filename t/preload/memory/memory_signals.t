#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Windows of memory traces meet handlers of the program: on small stacks, on stacks that are gone,
# in children of vfork, and while a thread is stepped out of an instrumented copy. String
# instructions are not stepped through.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
quick_replays
needs memory
cc -O2 -o signals "$here/programs/memory_signals.c" -pthread || exit 99

# same NAME HOW OPTION...: checks that the program prints what it prints without the tracer.
same() {
    local name=$1 how=$2
    shift 2
    ./signals "$how" >bare 2>&1 || exit 99
    remove_run run
    timeout 100 "$REGTRACE" run -quiet -o run "$@" -- ./signals "$how" >out 2>err
    is "$? $(cat out err)" "0 $(cat bare)" "$name"
}
often='start:timeout:500us,stop:timeout:100us,repeat:100000'
same "a stack that is gone" gone
same "a stack that is gone, traced" gone -memory . -control 'start:timeout:1ms'
same "a small stack, no window" small -memory . -control 'start:pcontrol:7'
same "a small stack" small
other=(-control start:enter_func:begin_other)
for k in 1 2 3; do
    same "handlers while a thread is stepped, $k" ticks -memory . -control "$often" "${other[@]}"
done
same "a long string instruction" fill -memory . -control 'start:timeout:20ms,stop:timeout:100us,repeat:16' "${other[@]}"

"$REGTRACE" run -quiet -o forked -memory . -control 'start:timeout:20ms,stop:timeout:500us,repeat:16' -- ./signals vfork >out 2>err
is "$? $(cat err)" "0 " "after a child of vfork that has ended in a handler"
"$REGTRACE" skel replay forked >replayed 2>said
is "$? $(cat said)" "0 " "its replay"
elements=$(grep -c " W 8 0*$(sed 's/...$//' out)" replayed)
ok_run "it has what the loop has written ($elements)" test "$elements" -gt 100
done_testing
