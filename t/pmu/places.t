#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Steps together with alarms that name places. Counts are those without the places. An alarm at a
# place reports the count at which the oracle stands there.
. "$(dirname "$0")/../lib.sh"

parts=$REGTRACE_BUILD/t/pmu/parts compare=$REGTRACE_SOURCE/t/pmu/compare.py
places=$REGTRACE_BUILD/t/preload/patch/programs/places
export XDG_CACHE_HOME=$T/cache
[ -x "$parts" ] && [ -x "$places" ] || skip_all "places are for x86-64, and need regtrace-isa"

# same PART TASK TID [KEY=VALUE]...: runs compare.py, see there.
same() { ok_run "$*" "$PYTHON" "$compare" "$REGTRACE_BUILD" "$@"; }
never=:count1000000000
everywhere=
for category in COND_BR UNCOND_BR CALL RET PUSH SYSCALL; do
    everywhere+="threadid:isa_category:$category$never;"
done
same calls 0.0 0 every=1 points=40 "with=$everywhere"
same masked 0.0 0 every=1 points=40 "with=$everywhere"
same segments 0.0 0 every=1 points=40 "with=$everywhere"
same entries 0.0 0 every=1 points=40 "with=$everywhere"
same threads 0.2 2 points=40 "with=$everywhere"
same forks 1.0 0 points=40 from=2200 "with=$everywhere"
same signals 0.0 0 points=40 late=1:5000 "with=$everywhere"
same calls 0.0 0 every=1 places=isa_category:COND_BR
same threads 0.2 2 every=1 places=isa_category:COND_BR
same signals 0.0 0 every=1 places=isa_category:RET

# The program notices neither steps nor places, also when threads are cancelled and when it blocks
# SIGTRAP.
for part in traps spawned; do
    run 120 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$part" REGTRACE_PMU=step \
        REGTRACE_CONTROL="start:icount:500,stop:icount:1000000000;${everywhere%;}" "$parts" $part
    is "$status" 0 "$part: the program sees nothing" || diag "$err"
done
for part in b c f k l; do
    run 60 "$REGTRACE_BUILD/t/pmu/ends" $part
    bare="$status $out"
    run 120 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/end-$part" REGTRACE_PMU=step \
        REGTRACE_CONTROL="start:icount:100,stop:icount:1000000000;${everywhere%%;*}" \
        "$REGTRACE_BUILD/t/pmu/ends" $part
    is "$status $out" "$bare" "ends.c, part $part: the same end and output" || diag "$err"
done

# fires N CHAIN PART TIMES [HOW]: the chain fires N times, each time at the place that the program
# prints.
export REGTRACE_CONTROLLER_LOG=$T/log
runs=0
fires() {
    local n=$1 chain=$2
    shift 2
    rm -f "$T/log"
    run 60 env REGTRACE_DIR="$T/fires-$((++runs))" REGTRACE_PMU=step REGTRACE_CONTROL="$chain" \
        LD_PRELOAD="$LIBREGTRACE" "$places" "$@"
    is "$status ${out#* } $(grep -c " event precond .* ip ${out%% *} " "$T/log")" "0 0 $n" \
        "$chain, $*: as often as it came there" || diag "$err" "$(head -3 "$T/log")"
}
fires 10 precond:ssc:111,repeat ssc 10
fires 10 precond:itext:488d842445230100,repeat itext 10
fires 5 precond:magic:7.9,repeat magic 10
fires 5 precond:magic:3.9,repeat magic_e 10
fires 5 precond:cpuid:0x123,repeat cpuid 10
fires 10 precond:int3,repeat int3 10
fires 10 precond:address:at_nop,repeat nop 10
fires 10 precond:address:at_call,repeat call 10
fires 10 precond:address:at_jump,repeat jump 10
fires 80 precond:address:at_nop,repeat nop 10 threads
fires 1 precond:address:at_nop:count75:global nop 10 threads
fires 10 precond:address:at_nop,repeat nop 10 masked
fires 20 precond:address:at_nop,repeat nop 10 fork

# counted CHAIN PART TIMES: sets `counted` to "EVENT REACHED REQUESTED," of each alarm that fired,
# counts relative to the first.
counted() {
    rm -f "$T/log"
    run 60 env REGTRACE_DIR="$T/counted-$((++runs))" REGTRACE_PMU=step REGTRACE_CONTROL="$1" \
        LD_PRELOAD="$LIBREGTRACE" "$places" "$2" "$3"
    counted=$(
        sed -nE 's/.* event ([a-z]+) .*icount ([0-9]+) requested ([0-9-]+) .*/\1 \2 \3/p' "$T/log" |
            awk 'NR == 1 { first = $2 }
                { printf "%s %d %s,", $1, $2 - first, $3 == "-" ? "-" : $3 - first }'
    )
}
counted precond:ssc:111,uniform:800:500:5 ssc 1000
want="precond 0 -,"
for i in 0 1 2 3 4; do
    want+="start $((800 * i)) $((800 * i)),stop $((800 * i + 500)) $((800 * i + 500)),"
done
is "$counted" "$want" "SDE's example of windows after a mark: every edge is exact"
counted start:icount:100,stop:address:at_nop:count3,repeat:2 nop 50
stop=$(sed -n 2p <<<"${counted//,/$'\n'}" | cut -d' ' -f2)
like "$counted" "^start 0 0,stop $stop -,start $((stop + 100)) $((stop + 100)),stop [0-9]+ -,$" \
    "SDE's example of a count and a place: the second pass counts from the place"

# The program's own breakpoints, calls through pointers, entries and exits of functions.
own=$T/own
cc -D_GNU_SOURCE -O2 -o "$own" "$REGTRACE_SOURCE/t/preload/patch/programs/own_breakpoints.c" || exit 99
callee=precond:enter_func:callee,precond:exit_func:callee,repeat
# Prints the number of instructions of each call of callee.
lengths() {
    sed -nE 's/.* event precond .* icount ([0-9]+) .*/\1/p' "$T/log" |
        awk 'NR % 2 { from = $1; next } { print $1 - from }' | paste -sd' '
}
for part in after_call after_pointer at_entry at_place at_two_bytes; do
    for how in '' dies blocked; do
        run 60 "$own" $part $how
        bare="$status $out"
        rm -f "$T/log"
        run 60 env REGTRACE_DIR="$T/own-$((++runs))" REGTRACE_PMU=step LD_PRELOAD="$LIBREGTRACE" \
            REGTRACE_CONTROL="$callee;threadid:address:place,repeat" "$own" $part $how
        is "$status $out" "$bare" "$part $how: as without us" || diag "$err"
        [ "$how$part" != after_call ] || is "$(lengths)" "3 3 3" "each call has three instructions"
    done
done

# The library, run and --explain refuse memory traces and values together with steps before main, in
# the same words.
refused() {
    run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/refused" REGTRACE_PMU=step \
        REGTRACE_CONTROL=start:icount:1 "REGTRACE_${1^^}=$2" "$own" at_place
    is "$status $out" "2 " "steps and -$1: the program does not run"
    local words=${err#regtrace: }
    words=${words%%$'\n'*}
    like "$words" 'cannot be combined with counting by steps .*choose one of them' "with the reason"
    run 60 "$REGTRACE" run -o "$T/refused" -pmu step -control start:icount:1 "-$1" "$2" -- \
        "$own" at_place
    is "$status" 2 "regtrace run refuses it"
    like "$err" "$(sed 's/[()]/\\&/g' <<<"$words")" "in the same words"
    run 60 "$REGTRACE" run --explain -control start:icount:1:exact -pmu step "-$1" "$2"
    like "$out" "Would be refused here: $(sed 's/[()]/\\&/g' <<<"$words")" "so does --explain"
}
refused memory foo
refused values "$own"
done_testing
