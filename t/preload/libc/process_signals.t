#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Signals of the process each run one handler, in the main thread unless that blocks them, and
# interrupt no call of a thread that does not run it.
. "$(dirname "$0")/../../lib.sh"
cc -D_GNU_SOURCE -O1 -pthread -o "$T/process_signals" "$here/process_signals.c" || exit 99
cd "$T" || exit 99
KINDS="main alarm jumps suspended blocked ended exited child"

# Signals of 500 that other threads may get although the main thread does not block them: on a busy
# machine it may not run for 200 ms.
MOST=25
# is_right NAME KIND: checks $status and $out of a run.
is_right() {
    local in_main others wrong interrupted right=false
    read -r _ in_main _ others _ wrong _ interrupted <<<"$out"
    case $2 in
        main | alarm | jumps | suspended | child)
            ((in_main + others == 500 && others <= MOST && interrupted <= others)) && right=true
            ;;
        blocked) ((in_main == 0 && others == 500 && interrupted > 0)) && right=true ;;
        children) ((in_main + others == 100 && others <= MOST / 5 && interrupted <= others)) && right=true ;;
        ended | exited) ((in_main == 0 && others == 500)) && right=true ;;
    esac
    is "$status $wrong $right" '0 0 true' "$1 ($2)" || diag "$out $err"
}
# same OPTION...: the same of each kind with windows by time and these options.
same() {
    for kind in ${kinds:-$KINDS}; do
        run 100 "$REGTRACE" run -quiet -o "o.$((runs += 1))" "$@" -- ./process_signals $kind
        is_right "with $*" $kind
    done
}
for kind in $KINDS children; do
    run 60 ./process_signals $kind
    is_right 'by itself' $kind
done
runs=0
WINDOWS=start:timeout:300us,stop:timeout:300us,repeat
same -control "$WINDOWS"
kinds=children same -control "$WINDOWS" # each child has a writer, which takes time
same -control "$WINDOWS" -sample cpu:1ms
if [ "$(uname -m)" = x86_64 ]; then
    same -control "$WINDOWS" -functions .
    same -control "$WINDOWS" -memory .
    same -control "$WINDOWS" -values addr
fi
done_testing
