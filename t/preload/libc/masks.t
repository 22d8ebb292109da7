#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The program sees and gets the masks of signals that it has set, whatever sets them: jumps,
# contexts, coroutines, and handlers that change the mask to which they return.
. "$(dirname "$0")/../../lib.sh"
cc -D_GNU_SOURCE -O1 -pthread -o "$T/masks" "$here/masks.c" || exit 99
cd "$T" || exit 99

run 60 ./masks
is "$status" 0 'the program runs by itself' || diag "$out"
bare=$out
isnt "$(grep -c ': [1-9]* traps$' <<<"$bare")" 0 'and gets traps'
# same NAME OPTION...: the same output with these options.
same() {
    local name=$1
    shift
    run 100 "$REGTRACE" run -o "o.$name" "$@" -- ./masks
    is "$status $out" "0 $bare" "the same with $name" || diag "$err"
}
like "$bare" $'\n0 handlers had a wrong mask\n' 'its handlers find the masks that they expect'
WINDOWS=start:timeout:1ms,stop:timeout:1ms,repeat
same windows -control "$WINDOWS"
is "$(grep 'real-time' o.windows/regtrace.log)" '' 'and no word of real-time signals, of which it takes none'
same samples -sample cpu:1ms
if [ "$(uname -m)" = x86_64 ]; then
    same functions -functions .
    same memory -memory .
    same alarm -control 'start:enter_func:probed,stop:exit_func:probed,repeat'
fi
done_testing
