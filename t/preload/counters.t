#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# REGTRACE_EVENTS: what a thread's window counted, exactly, by events of the kernel that need no hardware.
. "$(dirname "$0")/../lib.sh"
P=$REGTRACE_BUILD/t/preload/sampled
window=start:signal:SIGUSR1,stop:signal:SIGUSR2,repeat

# --- wrong requests ----------------------------------------------------------------------------------------------------
wrong() {
    run 30 env REGTRACE_DIR="$T/wrong" REGTRACE_EVENTS="$1" LD_PRELOAD="$LIBREGTRACE" "$P" work 1
    is "$status,$out" 2, "\"$1\" is refused before main"
    like "$err" "$2" "with the reason"
}
wrong bogus '"bogus" is no event; legal are up to 8 of'
wrong page-faults, 'behind the last comma'
wrong page-faults,,cycles '"" is no event'
wrong r1,r2,r3,r4,r5,r6,r7,r8,r9 '"r9" is one too many'
run 30 "$REGTRACE" run -o "$T/wrong" -events bogus -- "$P" work 1
is "$status" 2 "regtrace run refuses it too"
like "$err" '"bogus" is no event' "with the reason"
[ ! -e "$T/wrong" ]
ok $? "and starts nothing"

run 60 "$REGTRACE" run -o "$T/probe" -events page-faults -- "$P" faults 1
if [ "$status" != 0 ]; then
    skip "counting" "$err"
    done_testing
    exit
fi

# counted NAME ARGUMENT...: runs the program; counts: thread, window, event, count, running of each record.
counted() {
    local name=$1
    shift
    run 120 env REGTRACE_DIR="$T/$name" REGTRACE_CONTROL=$window REGTRACE_EVENTS=page-faults,major-faults LD_PRELOAD="$LIBREGTRACE" "$P" "$@"
    is "$status" 0 "$name: the program ends well" || diag "$err"
    ok_run "$name: what is recorded holds" "$REGTRACE" check "$T/$name"
    run 60 "$REGTRACE" dump "$T/$name"
    counts=$(sed -nE 's/^ *[0-9.]+ +[0-9]+ +([0-9]+) +([0-9]+) +EV_COUNTER .*event="([^"]*)" count=([0-9]+) running_per_mille=([0-9]+)$/\1 \2 \3 \4 \5/p' <<<"$out")
}
counted faults faults 3000
is "$counts" "0 0 page-faults 3000 1000
0 0 major-faults 0 1000" "3,000 pages touched for the first time: 3,000 faults in the window, none of them by a disk"
run 60 "$REGTRACE" report "$T/faults"
like "$out" '^  page-faults +3000 +3000 +3000 +0$' "the report adds them up"
run 60 "$REGTRACE" report --json "$T/faults"
like "$out" '"event": "page-faults", "count": 3000, "windows": 1, "running_per_mille": 1000' "and so does its JSON"
counted more faults 20000
is "$(head -n 1 <<<"$counts")" "0 0 page-faults 20000 1000" "and 20,000"
counted many many 25
is "$(grep -c page-faults <<<"$counts")" 2000 "a record at each of 2,000 windows of 100 threads"
is "$(awk '{ print $1, $2, $3 }' <<<"$counts" | sort | uniq -d | wc -l)" 0 "each once"
counted child fork 2
is "$(awk '{ print $2, $3 }' <<<"$counts" | sort -u | head -n 2 | wc -l)" 2 "the parent's window goes on over fork"
done_testing
