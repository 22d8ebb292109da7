#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Applies plans to a library while no thread runs in it. t/isa/plan/apply.c says what it compares.
. "$(dirname "$0")/../../lib.sh"
APPLY=$REGTRACE_BUILD/t/isa/plan/apply
ISA=$REGTRACE_BUILD/isa/regtrace-isa
[ -x "$ISA" ] || skip_all "this build has no isa/ (configure says why)"
libm=$(ldconfig -p | awk '/libm\.so\.6/ && /x86-64/ { print $NF; exit }')
[ -n "$libm" ] || skip_all "no libm"
libm=$(readlink -f "$libm")

# applies REQUEST [int3]: runs the program; each of its own checks counts as a check of this test.
applies() {
    local plan line
    plan=$("$ISA" sites --cache "$T/cache" "$libm" "$1" | awk -F'\t' '$1 == "plan" { print $6 }')
    run 120 "$APPLY" "$plan" ${2+"$2"}
    is "$status" 0 "$1 ${2:-}: the program ends well"
    diag "$1: $(grep 'by jumps' <<<"$out")"
    is "$(grep -c '^ok' <<<"$out"),$(grep '^not ok' <<<"$out")" "7," "$1 ${2:-}: results and counts" || diag "$out"
}
for category in COND_BR CALL RET DATAXFER SSE AVX LOGICAL UNCOND_BR PUSH BINARY; do
    applies isa_category:$category
done
applies isa_category:COND_BR int3
applies isa_category:CALL int3
applies isa_extension:X87
applies isa_extension:SSE2
applies isa_extension:BASE
applies returns:
for name in sin exp pow tgamma; do applies enter:$name; done
done_testing
