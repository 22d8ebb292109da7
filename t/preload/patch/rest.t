#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Probes that are removed from the code while nothing is armed, and come back: no alarm is missed
# and nobody is killed, whatever the program has done in between.
. "$(dirname "$0")/../../lib.sh"
P=$T/rest
export XDG_CACHE_HOME=$T/cache
needs probes
cc -O2 -D_GNU_SOURCE -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/rest.c" -ldl -pthread -lrt || exit 99

# rests PART CHAINS [any]: checks that as many alarms fire as the program says. any: does not check
# that number.
rests() {
    rm -rf "$T/run"
    run 120 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL="$2" LD_PRELOAD="$LIBREGTRACE" "$P" "$1"
    is "$status" 0 "$1: the program ends well" || diag "$err"
    [ "${3:-}" = any ] || is "$(for f in "$T"/run/rank-*.h5; do "$REGTRACE" dump "$f"; done | grep -c 'EV_FIRED .*event="precond"')" "$out" "$1: each thread has its event"
    ok_run "what is recorded holds" "$REGTRACE" check "$T/run"
}
rests forked precond:enter_func:placed
rests files precond:enter_func:placed
rests small precond:enter_func:placed
rests timer precond:enter_func:placed any
like "$(cat "$T/run/regtrace.log")" 'has SIGTRAP blocked: probes that were out of the text are not put back' "what may be missed then is reported"
rests raw precond:exit_func:placed,repeat any

# Probes of recorded functions are out between windows, beside alarms at other functions' ends too.
# One call leads to a recorded function and to one whose end closes the window.
cc -O1 -o "$T/between" "$REGTRACE_SOURCE/t/preload/patch/programs/between.c" || exit 99
for chain in start:enter_func:begin,stop:exit_func:closing,repeat start:enter_func:begin,stop:enter_func:closing,repeat; do
    rm -rf "$T/run"
    run 60 "$REGTRACE" run -o "$T/run" -functions '^hot$' -control "$chain" -- "$T/between"
    is "$out" '90, changed: within 10, between 0' "$chain: code between windows is as compiled" || diag "$err"
    is "$("$REGTRACE" report "$T/run" | awk '/^Windows:/ { print $2 } $NF == "hot" { print $1 }' | tr '\n' ' ')" '10 30 ' "$chain: windows and calls"
done
done_testing
