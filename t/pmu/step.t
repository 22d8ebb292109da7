#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# REGTRACE_PMU=step opens and closes at the very instruction that the oracle names.
. "$(dirname "$0")/../lib.sh"

parts=$REGTRACE_BUILD/t/pmu/parts compare=$REGTRACE_SOURCE/t/pmu/compare.py
if [ ! -x "$parts" ]; then
    run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_PMU=step REGTRACE_CONTROL=start:icount:1 true
    is "$status" 2 "without the trap flag of x86-64 it is refused"
    done_testing
fi

# The program goes on as before: its own handlers of SIGTRAP, masks, flags, children.
for part in loop calls signals threads forks masked repeats flags segments entries traps spawned; do
    run 120 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$part" REGTRACE_PMU=step \
        REGTRACE_CONTROL='start:icount:500,stop:icount:900' "$parts" $part
    is "$status" 0 "$part: the program sees nothing of the steps"
done
like "$("$REGTRACE" report "$T/loop")" ' 500/500 ' "the window opened at the count that was asked for"

# Ends by signals of every kind, waits that signals interrupt, other stacks, cancelled threads,
# children: as without steps.
for part in a b c e f i k l n s u v w; do
    run 60 "$REGTRACE_BUILD/t/pmu/ends" $part
    bare="$status $out"
    run 120 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/end-$part" REGTRACE_PMU=step \
        REGTRACE_CONTROL='start:icount:100,stop:icount:1000000000' "$REGTRACE_BUILD/t/pmu/ends" $part
    is "$status $out" "$bare" "ends.c, part $part: the same end and output as without us"
done

# A full stack that ends at every place of a page: our handler has no room left there, or not even
# its frame.
died=""
for room in {1..4100..100}; do
    run 60 setarch -R env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/full-$room" REGTRACE_PMU=step REGTRACE_CONTROL=start:icount:100 \
        T_ROOM="$(printf "%${room}d" 0)" "$REGTRACE_BUILD/t/pmu/ends" s
    [ "$status" = 5 ] || died+=" $room:$status"
done
is "$died" "" "the handler of a full stack is called, wherever the stack ends"

# Every thread is counted, whether an alarm waits for a count or not.
run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/whole" REGTRACE_PMU=step "$REGTRACE_BUILD/t/pmu/stub_calls" mpi 3
is "$status" 0 "no alarm asks for a count: the program runs all the same"
run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/named" REGTRACE_PMU=step REGTRACE_CONTROL=start:pcontrol:first,stop:pcontrol:last \
    "$REGTRACE_BUILD/t/pmu/stub_calls" mpi 3
is "$status" 0 "nor do alarms of other types"
# total PART: prints the total of a counting run. It lacks what the program executes after the
# tool's end, which is the same for each part.
total() {
    run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/total-$1" REGTRACE_PMU=step REGTRACE_COUNT=1 "$parts" "$1"
    "$REGTRACE" report --json "$T/total-$1" | sed -n 's/.*"instructions": \([0-9]*\), "events".*/\1/p'
}
of_oracle() {
    run 120 "$REGTRACE_BUILD/t/oracle/oracle" -x libregtrace.so -o "$T/out" env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DEFAULT_START=0 "$parts" "$1"
    awk '$1 == "count" && $2 == "0.0" {print $3}' "$T/out"
}
for part in calls signals; do
    is $(($(total loop) - $(total $part))) $(($(of_oracle loop) - $(of_oracle $part))) "counting runs tell by how much loop exceeds $part"
done

# same PART TASK TID ...: runs compare.py, see there.
same() { ok_run "$1, thread $2: every alarm fires where the oracle stands" "$PYTHON" "$compare" "$REGTRACE_BUILD" "$@"; }
same loop 0.0 0 every=397 twice=1
same calls 0.0 0 twice=1
same signals 0.0 0 twice=1
same masked 0.0 0
same repeats 0.0 0
same flags 0.0 0 every=5
same segments 0.0 0 every=1 points=200
same entries 0.0 0 every=1 points=200
same threads 0.2 2 twice=1
same threads 0.3 3
same forks 0.0 0
same forks 1.0 0 from=2200
done_testing
