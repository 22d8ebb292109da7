#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The oracle of instruction counts against programs whose instructions are counted by hand.
. "$(dirname "$0")/../lib.sh"

oracle=$REGTRACE_BUILD/t/oracle/oracle hand=$REGTRACE_BUILD/t/oracle/hand
[ -x "$oracle" ] || skip_all "the single-stepper is for x86-64 alone"

# count LETTER WANT WHAT: hand.c says beside each instruction which it is. The exit, which does not return, is not in it.
count() {
    run 60 "$oracle" -p 0.0:5 -o "$T/out" "$hand" "$1"
    is "$status" 7 "$3: the program's exit code is passed on"
    is "$(grep count "$T/out")" "count 0.0 $2" "$3: counted as by hand"
}
count l 2008 "a loop"
like "$(cat "$T/out")" '^at 0\.0 5 hand\+0x[0-9a-f]+ 0x[0-9a-f]+$' "where it stood after the fifth is said"
count s 25 "system calls, each once"
count r 14 "a repeated string instruction, once"
run 60 "$oracle" -e 1000 -o "$T/out" "$hand" l
is "$(grep -c '^at 0.0 [12]000 ' "$T/out")" 2 "-e prints each thousandth"
run 60 "$oracle" -o "$T/out" "$hand" k
is "$status" 143 "the signal that ended it is passed on"
done_testing
