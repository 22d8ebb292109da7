#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Calls that move much data move all of it, and the right bytes, while the tracer's signals arrive.
# A handler of the program ends them early, as without the tracer.
. "$(dirname "$0")/../../lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "calls are continued on x86-64"
cc -D_GNU_SOURCE -O1 -o "$T/transfers" "$(dirname "$0")/transfers.c" -pthread || exit 99
cd "$T" || exit 99

# whole NAME N OPTION...: checks that no call is short. The run "small" has a small alternate stack.
whole() {
    local name=$1 n=$2 small=
    shift 2
    [ "$name" != small ] || small=small
    run 100 "$REGTRACE" run -o "$T/o.$name" -control 'start:timeout:1ms,stop:timeout:500us,repeat' "$@" -- \
        ./transfers calls "$n" $small
    is "$status$(grep -v ': 0 short, 0 wrong$' <<<"$out")" 0 "$name: no call is short" || diag "$err"
    is "$(grep -c ': 0 short, 0 wrong$' <<<"$out")" 18 "$name: each kind of call"
}

whole plain 20
whole small 20
whole sampled 10 -sample cpu:1ms
whole memory 10 -memory .

run 60 ./transfers handlers
bare=$out
run 60 "$REGTRACE" run -o "$T/o.handlers" -control 'start:timeout:1ms,stop:timeout:500us,repeat' -- ./transfers handlers
is "$status $out" "0 $bare" 'handlers of the program end these calls as without us' || diag "$err"
done_testing
