# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by t/preload/waits/waits.t and waits_long.t: runs t/preload/waits/waits under windows.
# Source it after lib.sh.

W=$REGTRACE_BUILD/t/preload/waits/waits
TIMEOUTS='start:timeout:2ms,stop:timeout:2ms,repeat'
BCAST='start:timeout:2ms:bcast,stop:timeout:2ms:bcast,repeat'
ASKED='start:interactive,stop:interactive,repeat'

# faults FILE: prints the lines of `waits calls` that are wrong.
faults() {
    [ -s "$1" ] || echo 'no output'
    grep -vE '^[a-z0-9_]+: calls [1-9][0-9]* interrupted [1-9][0-9]* failed 0 errno 0 early 0( |$)' "$1"
}

# waits_calls NAME SECONDS N OPTION...: interrupts each call N times, with these options of
# `regtrace run`. The array some limits it to the calls that it names. How may be "notified".
some=() how=
waits_calls() {
    local name=$1 limit=$2 n=$3
    shift 3
    rm -rf "$T/waits"
    timeout "$limit" "$REGTRACE" run -o "$T/waits" "$@" -- "$W" $how calls "$n" 10 "${some[@]}" >"$T/waits.out" 2>"$T/waits.err"
    is "$?$(faults "$T/waits.out")" 0 "$name: no call fails or returns early" || sed 's/^/# /' "$T/waits.err"
}

# asks DIR: fires events in the run DIR as long as $T/asking exists.
asks() {
    while [ -e "$T/asking" ]; do
        "$REGTRACE" ctl "$1" fire >/dev/null 2>&1 || sleep 0.1
    done
}

waits_asked() {
    local name=$1 limit=$2 n=$3 asker
    shift 3
    touch "$T/asking"
    asks "$T/waits" &
    asker=$!
    waits_calls "$name" "$limit" "$n" -control "$ASKED" "$@"
    rm "$T/asking"
    wait "$asker"
}

# waits_handlers NAME SECONDS N PERIOD: checks that the program's own handlers see what they see
# without the tracer.
waits_handlers() {
    rm -rf "$T/waits"
    timeout "$2" "$W" bare handlers "$3" >"$T/bare.out"
    timeout "$2" "$REGTRACE" run -o "$T/waits" -control "start:timeout:$4,stop:timeout:$4,repeat" -- "$W" handlers "$3" \
        >"$T/waits.out" 2>"$T/waits.err"
    is "$?$(diff "$T/bare.out" "$T/waits.out")" 0 "$1: a handler of the program's own ends each call as without us" ||
        sed 's/^/# /' "$T/waits.err"
    is "$(grep -c 'eintr [1-9]' "$T/bare.out")" "$(grep -cvE 'SA_RESTART: eintr 0' "$T/bare.out")" "$1: which is EINTR"
}
