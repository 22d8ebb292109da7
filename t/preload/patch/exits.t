#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# exit_func in programs that were not compiled for it: it fires as often as the program itself
# counts, however a function is left. A window from entry to exit holds what the program did in the
# function, and nothing else.
. "$(dirname "$0")/../../lib.sh"
P=$T/exits plugin=$T/plugin.so
export XDG_CACHE_HOME=$T/cache
needs probes
command -v c++ >/dev/null || skip_all "there is no C++ compiler here"
# Direct calls return to places that are known beforehand, most of which get jumps. Calls by
# pointers, the only ones in the third build, return to int3s.
declare -A flags=([-O0]="-O0" [-O2]="-O2" [-pointers]="-O2 -mcmodel=large -fno-pie -no-pie")
levels="-O0 -O2 -pointers"
for level in $levels; do
    # shellcheck disable=SC2086 # words
    c++ ${flags[$level]} -foptimize-sibling-calls -I"$REGTRACE_SOURCE/share/include" -o "$P$level" "$REGTRACE_SOURCE/t/preload/patch/programs/exits.cc" -ldl -pthread || exit 99
done
cc -O2 -shared -fPIC -o "$plugin" "$REGTRACE_SOURCE/t/preload/patch/programs/called_library.c" || exit 99

# exits FUNCTION PART [ARGUMENT]: checks exit_func alarms and windows of FUNCTION. Variables:
# - also=ALARM: another alarm, so that its place has a probe as well
# - recorded=REGEX: functions to record as well
# - marks=N: marks inside FUNCTION, if not all marks of the inside are
exits() {
    local function=$1 level
    shift
    for level in $levels; do
        rm -rf "$T/run" "$T/log"
        run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL="precond:exit_func:$function,repeat${also:+;precond:$also,repeat}" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P$level" "$@"
        is "$status $(grep -c " event precond alarm precond:exit_func" "$T/log" 2>/dev/null)" "0 $out" "exit_func:$function, $* $level: as often as the program says" || diag "$err"
        [ "$out" -gt 0 ]
        ok $? "which is more than never" || diag "$out"
        rm -rf "$T/run"
        run 60 "$REGTRACE" run -quiet -o "$T/run" ${recorded:+-functions "$recorded"} -control "start:enter_func:$function,stop:exit_func:$function,repeat${also:+;precond:$also,repeat}" -- "$P$level" "$@"
        is "$status" 0 "$function, $* $level: the same as windows" || diag "$err"
        "$REGTRACE" dump "$T/run" >"$T/dump" 2>&1
        is "$(grep -c 'value=2' "$T/dump")" 0 "nothing of the outside is in them" || diag "$(cat "$T/dump")"
        is "$(grep -c 'value=1' "$T/dump")" "${marks:-$("$P$level" "$@" marks | tail -1)}" "but all of the inside" || diag "$(cat "$T/dump")"
        ok_run "what is recorded holds" "$REGTRACE" check "$T/run"
    done
}

exits once plain
exits recursive deep
exits plainly in_a_row
recorded='^plainly$' exits plainly in_a_row
recorded='^again\(|^once$' exits plainly in_a_row
recorded='^recursive$' exits recursive deep
also=enter_func:last exits interrupted array_stack
exits between exceptions
recorded='^(between|thrower)$' exits between exceptions
exits leaper leaps
exits interrupted signals
exits on_signal alternate
exits compare callbacks
exits worker threads
exits tail tails
exits ping mutual
marks=3 exits last tails
recorded='^(tail|last)$' exits tail tails
also=enter_func:last exits steps coroutines
exits forker forks
exits dies deaths
exits plugged plugin "$plugin"

# A function that stays active somewhere does not hide others.
for level in $levels; do
    rm -f "$T/log"
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL=precond:exit_func:suspended,repeat REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P$level" abandoned
    is "$status $(grep -c " event precond" "$T/log")" "0 $out" "a coroutine is given up in a function, $level: calls on other stacks are seen" || diag "$err"
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL=precond:exit_func:plainly,repeat LD_PRELOAD="$LIBREGTRACE" "$P$level" generated
    is "$status $out" "0 1" "code that the program makes calls it, $level: that code is left alone" || diag "$err"
done

# The symbol is no function: nothing that lies on its stack is taken for a return address.
for level in $levels; do
    run 60 env REGTRACE_DIR="$T/part" REGTRACE_CONTROL=start:enter_func:no_function,stop:exit_func:no_function,repeat LD_PRELOAD="$LIBREGTRACE" "$P$level" part
    is "$status $out" "0 1" "a name that is no function's, $level: its stack is left alone" || diag "$err"
done
like "$(cat "$T"/part/regtrace.log)" 'cannot see this call return' "and it is reported that its exit is not seen"

# An exit that does not fire blocks no signals, which takes two system calls.
cc -O2 -Wall -o "$T/exit_calls" "$REGTRACE_SOURCE/t/preload/patch/programs/exit_calls.c" || exit 99
run 60 env REGTRACE_DIR="$T/changes" REGTRACE_CONTROL=start:exit_func:left:count2000 "$T/exit_calls" 1000 "$LIBREGTRACE"
is "$status" 0 "a thousand exits, each counted" || diag "$err"
[ "$out" -lt 500 ]
ok $? "do not change the mask of signals" || diag "$out times"

# The request for a single place: regtrace-isa plans one instruction, of whatever image.
run 10 "$REGTRACE_BUILD/isa/regtrace-isa" sites --instruction 0x1000 90
like "$status $out" '^0 plan	instruction	1	0	0	=' "regtrace-isa makes a plan of one instruction"
for wrong in "0x1000 06" "0x1000 zz" "zz 90" "0x1000 cc"; do
    run 10 "$REGTRACE_BUILD/isa/regtrace-isa" sites --instruction $wrong
    like "$status $out" '^1 !	instruction	' "$wrong: refused with the reason"
done
done_testing
