#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of signal handlers: what they do in windows is recorded, apart from what they have
# interrupted, and as often as they run.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
quick_replays
needs memory

for flags in '-O0' '-O2 -no-pie -fno-pie' '-O2'; do
    # shellcheck disable=SC2086
    gcc $flags -o handlers "$here/programs/memory_handlers.c" || exit 99
    for how in plain nested jump stack window; do
        rm -rf run log
        MEMORY_LOG="$T/log" "$REGTRACE" run -quiet -o run -memory . -control 'start:enter_func:open_window,stop:enter_func:close_window,repeat' -- ./handlers $how 8 >out 2>err
        is "$? $(cat out err)" "0 done" "$how, $flags: runs as it does"
        "$REGTRACE" skel replay run >replayed 2>said
        is "$? $(cat said)" "0 " "$how, $flags: its replay"
        said=$("$PYTHON_ANY" "$here/memory_handlers.py" log replayed)
        like "$said" '^8 windows, [1-9][0-9]* handlers, [0-9]* nested$' "$how, $flags: what handlers did"
        diag "$how, $flags: $said"
        [ $how != nested ] || unlike "$said" ' 0 nested' "$how, $flags: handlers within handlers too"
    done
done

# Check of the check: it must find a missing write.
"$PYTHON_ANY" "$here/memory_handlers.py" log replayed -miss >said
is $? 1 "a write that is missing is seen"
like "$(cat said)" 'wrote 4 times' "and told"
done_testing
