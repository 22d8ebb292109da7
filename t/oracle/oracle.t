#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests the oracles of instruction counts and of memory accesses with programs whose instructions
# are counted, and whose accesses are known, by hand.
. "$(dirname "$0")/../lib.sh"

oracle=$REGTRACE_BUILD/t/oracle/oracle hand=$REGTRACE_BUILD/t/oracle/hand
[ -x "$oracle" ] || skip_all "the single-stepper is for x86-64 alone"

# count LETTER WANT WHAT: hand.c numbers the instructions. The exit does not return and does not
# count.
count() {
    run 60 "$oracle" -p 0.0:5 -o "$T/out" "$hand" "$1"
    is "$status" 7 "$3: the program's exit code is passed on"
    is "$(grep count "$T/out")" "count 0.0 $2" "$3: counted as by hand"
}
count l 2008 "a loop"
like "$(cat "$T/out")" '^at 0\.0 5 hand\+0x[0-9a-f]+ 0x[0-9a-f]+$' "where it stood after the fifth is reported"
count s 25 "system calls, each once"
count r 16 "a repeated string instruction, once"
count m 40 "loads of ss, each with the instruction after it, and system calls by int"
run 60 "$oracle" -e 1 -o "$T/out" "$hand" m
is "$(grep -c '^at' "$T/out")" 40 "each is a place of its own"
run 60 "$oracle" -e 1000 -o "$T/out" "$hand" l
is "$(grep -c '^at 0.0 [12]000 ' "$T/out")" 2 "-e prints each thousandth"
run 60 "$oracle" -o "$T/out" "$hand" k
is "$status" 143 "the signal that ended it is passed on"

# Accesses: those of the entry, and 4096 bytes that are written one by one from `buffer` on; or
# three system calls, which access nothing.
if [ -x "$REGTRACE_BUILD/t/oracle/accesses" ]; then
    label() { nm "$hand" | awk -v n="$1" '$3 == n { print $1 }'; }
    accesses() { run 60 "$REGTRACE_BUILD/t/oracle/accesses" -w "$(label "$2"):$(label end)" -r "$(label _start):$(label end)" -o "$T/out" "$hand" "$1"; }
    accesses r _start
    is "$status" 7 "the program's exit code is passed on"
    is "$(grep -c '' "$T/out")" 4099 "a line for each access, and the steps"
    is "$(cut -d' ' -f1,3,4 "$T/out" | sort | uniq -c | tr -s ' ' | paste -sd,)" " 1 0 R 1, 1 0 R 8, 4096 0 W 1, 1 steps" "of these kinds"
    is "$(awk '$3 == "W" { print $5 }' "$T/out" | cmp - <(seq $((0x$(label buffer))) $((0x$(label buffer) + 4095)) | awk '{ printf "%x\n", $1 }') && echo same)" same "at these addresses"
    like "$(tail -1 "$T/out")" '^steps 4109$' "each repetition is a step"
    accesses s calls
    is "$(cat "$T/out")" "steps 17" "the window begins where it is to"

    # libc calls the program back: with -f, which does not step through libc, the same accesses.
    cat >"$T/sorts.c" <<'END'
#include <stdlib.h>
#include <string.h>
static int below(const void *a, const void *b) { return strcmp(a, b); }
int main(void) { char a[] = "zyxwvutsrqponmlkjihgfedcba"; qsort(a, 26, 1, below); return a[0]; }
END
    cc -O1 -no-pie -fno-pie -o "$T/sorts" "$T/sorts.c" || exit 99
    sorts() { nm "$T/sorts" | awk -v n="$1" '$3 == n { print $1 }'; }
    for how in '' -f; do
        # shellcheck disable=SC2086
        run 60 "$REGTRACE_BUILD/t/oracle/accesses" $how -w "$(sorts main):$(sorts _fini)" -r "$(sorts _init):$(sorts _fini)" -o "$T/out$how" "$T/sorts"
        is "$status" 97 "a program that sorts${how:+, $how}"
    done
    is "$(sed '$d' "$T/out-f")" "$(sed '$d' "$T/out")" "callbacks are stepped through, libc or not"
    ok_run "which are many" test "$(wc -l <"$T/out-f")" -gt 200
    ok_run "and libc has more steps" test "$(tail -1 "$T/out" | cut -d' ' -f2)" -gt $((3 * $(tail -1 "$T/out-f" | cut -d' ' -f2)))
else
    skip "the oracle of accesses" "it needs Zydis"
fi
done_testing
