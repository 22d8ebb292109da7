#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Instrumented copies record as they run, by each plan. What they record is byte for byte the
# recording that is derived from single steps by ptrace, the program's output is the same, and the
# skeletons compute the processor's accesses from it.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
[ "$(getconf LONG_BIT)" = 64 ] && setarch -R true 2>/dev/null || skip_all "addresses cannot be without randomization here"
ISA=$REGTRACE_BUILD/isa/regtrace-isa
CHECK=$REGTRACE_BUILD/t/isa/memory/skeleton
STEPPER=$REGTRACE_BUILD/t/oracle/accesses
cc -O2 -Wall -Wextra -Werror -shared -fPIC -D_GNU_SOURCE -I"$REGTRACE_SOURCE" -o copies.so "$here/copies.c" || exit 99

# variables ENTER: sets variables to the whole environment of a run. Its length is always the same,
# since the stack begins after the environment.
variables() { variables=(COPIES_FILE=copies COPIES_ENTER="$1" COPIES_STREAM=recorded LD_PRELOAD=./copies.so); }
# with ENTER COMMAND...: runs the command in this environment.
with() {
    variables "$1"
    setarch -R env -i "${variables[@]}" "${@:2}" </dev/null
}
# place PROGRAM SECTION FIELD: prints a field of the section table in hexadecimal: 4 is the address,
# 6 the size.
place() { readelf -W -S "$1" | sed 's/^ *\[ *[0-9]*\] *//' | awk -v n="$2" -v f="$3" '$1 == n { print $(f - 1) }'; }
# recorded NAME PROGRAM ARGUMENT...: tests a program by each plan.
recorded() {
    local name=$1 program=$2 bias=0 from to plan
    shift
    ! readelf -h "$program" | grep -q 'Type:.*DYN' || bias=0x555555554000
    from=$((bias + 0x$(place "$program" .init 4))) to=$((bias + 0x$(place "$program" .text 4) + 0x$(place "$program" .text 6)))
    "$ISA" skel --copies copies "$program" >said
    variables 0
    timeout 500 "$STEPPER" -f -g -r "$(printf '%x:%x' $from $to)" -o steps "${variables[@]}" "$@" </dev/null >/dev/null || diag "the single-stepper: $?"
    "$@" >bare.out </dev/null
    for plan in skeleton registers addresses; do
        by_plan $plan $bias "$name, $plan" "$@"
    done
}
# by_plan PLAN BIAS NAME PROGRAM ARGUMENT...: tests one plan against the single steps of the
# program.
by_plan() {
    local plan=$1 bias=$2 name=$3 program=$4 said
    shift 3
    rm -f recorded
    said=$("$ISA" skel --plan "$plan" --copies copies "$program") || diag "$said"
    diag "$name: $(head -1 <<<"$said")"
    unlike "$said" 'not analysed' "$name: every function has a copy"
    with 1 "$@" >copied.out
    is "$? $(cksum <copied.out)" "0 $(cksum <bare.out)" "$name: prints what it prints without them"
    "$ISA" skel --plan "$plan" --source "$program" >all.c && gcc -O0 -w -shared -fPIC -o all.so all.c || diag "no skeletons"
    awk -f "$here/functions.awk" all.c >functions
    SKELETON_PLAN=$plan SKELETON_KNOWN=1 "$CHECK" "$program" "$(printf %x $((bias)))" steps functions stream trace >said || diag "$(tail -3 said)"
    ok_run "$name: the recording is what single steps say" cmp stream recorded
    "$ISA" skel --replay recorded --base "$(printf %x $((bias)))" all.so >replayed
    ok_run "$name: its replay is the processor's accesses" cmp trace replayed
    ok_run "$name: and many" test "$(wc -l <replayed)" -gt 3000
    diag "$name: $(wc -l <replayed) accesses of $(stat -c %s recorded) bytes"
    rm -f recorded
    "$ISA" skel --plan "$plan" --clobber --copies copies "$program" >said
    with 1 "$@" >copied.out
    is "$? $(cksum <copied.out)" "0 $(cksum <bare.out)" "$name: prints that too where registers that matter to nobody are changed"
    ok_run "$name: and none of them is recorded" cmp stream recorded
}

for compiler in gcc clang; do
    command -v $compiler >/dev/null || { skip "$compiler" "it is not installed"; continue; }
    all=(-O0 -O1 -O2 -O3 -Os '-O3 -march=x86-64-v3 -funroll-loops' '-O2 -fno-omit-frame-pointer -fno-jump-tables -fno-inline' '-O2 -fno-pie -no-pie')
    [ -n "${SKELETON_LONG:-}" ] || [ $compiler = gcc ] || all=(-O0)
    [ -n "${SKELETON_LONG:-}" ] || [ $compiler = clang ] || all=(-O2 -Os '-O3 -march=x86-64-v3 -funroll-loops')
    for flags in "${all[@]}"; do
        # shellcheck disable=SC2086
        $compiler $flags -o kernels "$here/kernels.c" -lm 2>compile.err || { ok 1 "$compiler $flags" || diag "$(cat compile.err)"; continue; }
        case $flags in
        *v3*) ./kernels >/dev/null 2>&1 || { skip "$compiler $flags" "this processor has no AVX2"; continue; } ;;
        esac
        recorded "$compiler $flags" ./kernels 4
    done
done
# Hand-written operands of every kind
for flags in '' '-no-pie -fno-pie'; do
    # shellcheck disable=SC2086
    gcc -O1 $flags -o addresses "$here/addresses.c" || exit 99
    wide=
    ! ./addresses wide >/dev/null 2>&1 || wide=wide
    recorded "operands${flags:+, }$flags" ./addresses $wide
done
[ -n "$wide" ] || skip "operands with EVEX" "this processor has no AVX-512"
# Test the comparison itself: it must find a byte too many.
cp recorded changed
printf '\000' >>changed
ok_run "a byte too many is seen" bash -c '! cmp -s stream changed'
run 20 "$ISA" skel --copies /nowhere/copies ./kernels
is "$status" 1 "a file that cannot be written"
like "$err" '/nowhere/copies cannot be written' "the error says so"
done_testing
