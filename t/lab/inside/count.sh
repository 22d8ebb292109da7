#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 6000
# Counting runs, chains planned from them, and the runs with these windows.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"

# instructions DIR: prints the instructions of each thread, in the order of ranks and threads, from
# report --json.
instructions() { "$REGTRACE" report --json "$1" 2>/dev/null | grep -oE '"instructions": ([0-9]+|null), "events"' | grep -oE '[0-9]+|null' | xargs; }

# about N COUNT NAME: COUNT must be at least N, which the loops execute, and at most 400,000 more,
# for the start and the end of a program or thread.
about() {
    [ "${2:-0}" -ge "$1" ] 2>/dev/null && [ "$2" -lt $(($1 + 400000)) ]
    ok $? "$3: $2"
}

run 3000 "$REGTRACE" run -quiet --count -o "$LAB_OUT/count" -- "$LAB_PROGRAMS/icount" 10
is "$status|$out|$err" "0|10 million|" "a counting run does what the program does alone"
total=$(instructions "$LAB_OUT/count")
about 10000000 "$total" "what a program of 10 million instructions executes"
is "$("$REGTRACE" report "$LAB_OUT/count" 2>/dev/null | grep -c 'No window opened')" 1 "it opens no window"
run 1000 "$REGTRACE" check "$LAB_OUT/count"
is "$status" 0 "its file is consistent" || diag "$out$err"
run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_COUNT=1 REGTRACE_DIR="$LAB_OUT/again" "$LAB_PROGRAMS/icount" 10
again=$(instructions "$LAB_OUT/again")
[ "${again:-0}" -gt $((total - 20000)) ] && [ "${again:-0}" -lt $((total + 20000)) ]
ok $? "another, by the variable, counts the same but for the environment: $again"

run 3000 "$REGTRACE" run -quiet --count -o "$LAB_OUT/threads" -- "$LAB_PROGRAMS/icount" 3 2
read -r main one two < <(instructions "$LAB_OUT/threads")
about 0 "$main" "main, which waits for two threads"
about 3000000 "$one" "the first thread"
about 3000000 "$two" "the second"
run 3000 "$REGTRACE" run -quiet --count -o "$LAB_OUT/outlive" -- "$LAB_PROGRAMS/outlive"
read -r main one < <(instructions "$LAB_OUT/outlive")
about 2000000 "$main" "main of a program whose other thread never ends"
about 3000000 "$one" "that thread, up to the end of the program"

# planned NAME PROGRAM-ARGUMENTS OPTION...: runs the program with the chains that plan derives from
# the counting run.
planned() {
    local name=$1
    shift
    run 1000 "$REGTRACE" plan "$@" "$LAB_OUT/count"
    is "$status" 0 "$name: a plan" || diag "$err"
    diag "$name: $out"
    run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/$name" REGTRACE_CONTROL="$out" "$LAB_PROGRAMS/icount" 10
    is "$status|$out|$err" "0|10 million|" "$name: the program does what it does alone"
    run 1000 "$REGTRACE" check "$LAB_OUT/$name"
    is "$status" 0 "$name: the file is consistent" || diag "$out$err"
    "$REGTRACE" report --json "$LAB_OUT/$name" >"$T/json" 2>/dev/null
    grep -oE '"kind": "[a-z-]*"|"start_requested": [0-9a-z]+|"stop_requested": [0-9a-z]+|"truncated": [a-z]+' "$T/json" |
        awk -F': ' '/kind/ {k = $2} /start_req/ {a = $2} /stop_req/ {b = $2} /truncated/ {print k, a, b, $2}' >"$T/windows"
}
planned plain --windows 10 --length 100K
is "$(wc -l <"$T/windows")" 10 "plain: 10 windows"
first=$(((total / 10 - 100000) / 2))
is "$(awk -v f=$first -v p=$((total / 10)) '$2 != f + (NR - 1) * p || $3 != $2 + 100000 || $4 != "false"' "$T/windows")" "" \
    "plain: each in the middle of its tenth of the run, and whole" || diag "$(cat "$T/windows")"
planned warmed --windows 5 --length 100K --warmup 200K
is "$(grep -c '"region"' "$T/windows") $(grep -c '"warm-up"' "$T/windows")" "5 5" "warmed: 5 windows and their warm-ups" || diag "$(cat "$T/windows")"
is "$(awk '/warm-up/ {w = $2} /region/ && $2 != w + 200000' "$T/windows")" "" "warmed: each window comes 200,000 after its warm-up" ||
    diag "$(cat "$T/windows")"
is "$(awk '/region/ && $3 != $2 + 100000' "$T/windows")" "" "warmed: and is 100,000 long" || diag "$(cat "$T/windows")"

# Regions with warm-up, prolog, epilog and weight
cat >"$T/regions.csv" <<'END'
comment,thread-id,region-id,start-icount,end-icount,weight
cluster 0,0,1,1000000,1200000,0.75
cluster 1,0,2,6000000,6100000,0.25
END
run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/regions" REGTRACE_REGIONS_IN="$T/regions.csv" \
    REGTRACE_REGIONS_WARMUP=300000 REGTRACE_REGIONS_PROLOG=200000 REGTRACE_REGIONS_EPILOG=100000 "$LAB_PROGRAMS/icount" 10
is "$status|$out|$err" "0|10 million|" "regions: the program does what it does alone"
run 1000 "$REGTRACE" check "$LAB_OUT/regions"
is "$status" 0 "regions: the file is consistent" || diag "$out$err"
is "$("$REGTRACE" report --json "$LAB_OUT/regions" 2>/dev/null |
    grep -oE '"kind": "[a-z-]*"|"region": "[0-9]*"|"weight": [0-9.]*|"start_requested": [0-9a-z]+|"stop_requested": [0-9a-z]+' |
    sed 's/.*: //; s/"//g' | xargs -n 5)" \
    "warm-up 1 0.75 500000 800000
prolog 1 0.75 800000 1000000
region 1 0.75 1000000 1200000
epilog 1 0.75 1200000 1300000
warm-up 2 0.25 5500000 5800000
prolog 2 0.25 5800000 6000000
region 2 0.25 6000000 6100000
epilog 2 0.25 6100000 6200000" "regions: each with its warm-up, prolog and epilog, at its place"

# DynamoRIO #7524: there, the first threshold alone decided whether to count.
run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/later" \
    REGTRACE_CONTROL='precond:timeout:1ms,start:icount:1000000,stop:icount:1000000' "$LAB_PROGRAMS/icount" 10
is "$("$REGTRACE" report --json "$LAB_OUT/later" 2>/dev/null | grep -c '"closed_by": "alarm"')" 1 "an icount after a first alarm that needs no counter (DynamoRIO #7524)"

# Each of 2 ranks is counted and gets its windows.
run 3000 mpirun_for openmpi 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_COUNT=1 REGTRACE_DIR="$LAB_OUT/ranks-count" "$APPS/stencil.openmpi" 3 5 16
is "$status" 0 "2 ranks are counted" || diag "$out$err"
wait_for 60 test -e "$LAB_OUT/ranks-count/regtrace.h5"
run 1000 "$REGTRACE" plan --windows 4 --length 200K "$LAB_OUT/ranks-count"
is "$status" 0 "a plan for 2 ranks" || diag "$err"
diag "$out"
run 3000 mpirun_for openmpi 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL="${out//$'\n'/;}" REGTRACE_DIR="$LAB_OUT/ranks" \
    "$APPS/stencil.openmpi" 3 5 16
is "$status" 0 "2 ranks run with its windows" || diag "$out$err"
wait_for 60 test -e "$LAB_OUT/ranks/regtrace.h5"
run 1000 "$REGTRACE" check "$LAB_OUT/ranks"
is "$status" 0 "their files are consistent" || diag "$out$err"

done_testing
