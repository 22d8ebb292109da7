#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of handlers that leave their own functions by exceptions or longjmp and go on. All
# that they do then is recorded, and all that the interrupted functions do. The program's own counts
# say how much that is.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
quick_replays
needs memory

# written REPLAYED: prints "ADDRESS TIMES" for the cells that the program has printed to the file
# out.
written() {
    awk 'NR == FNR { times[$1] = 0; order[FNR] = $1; next } ($2 == "W" || $2 == "M") && $4 in times { times[$4]++ }
        END { for (k = 1; k in order; k++) print order[k], times[order[k]] }' out "$1"
}
for flags in g++' -O0' g++' -O2' clang++' -O2'; do
    command -v "${flags% -O*}" >/dev/null || { skip "$flags" "it is not installed"; continue; }
    # shellcheck disable=SC2086
    $flags -w -o within "$here/programs/memory_within.cc" || exit 99
    for how in thrown jumped both 'both stack'; do
        remove_run run
        # shellcheck disable=SC2086
        "$REGTRACE" run -quiet -o run -memory . -control 'start:enter_func:open_window,stop:enter_func:close_window' -- ./within $how >out 2>err
        is "$? $(cat err)" "0 " "$how, $flags: runs as it does"
        like "$(cut -d ' ' -f 2 out | xargs)" '^[1-9][0-9]* [1-9][0-9]* .* 5 5 5 5 5 0 0 0 0$' "$how, $flags: and far"
        "$REGTRACE" skel replay run >replayed 2>said
        is "$? $(cat said)" "0 " "$how, $flags: its replay"
        is "$(written replayed)" "$(cat out)" "$how, $flags: every write of the handlers and of whom they interrupt"
        like "$(grep '^#' replayed)" 'in a handler of signal 10, left by a jump' "$how, $flags: what was left is reported"
    done
done
done_testing
