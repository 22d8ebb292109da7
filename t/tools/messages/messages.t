#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Matched messages are those that the program itself has logged: what each receive got, by numbers
# that the senders put into the payload.
. "$(dirname "$0")/../../lib.sh"
MESSAGES=$REGTRACE_BUILD/t/tools/messages/messages
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -D_GNU_SOURCE -I"$REGTRACE_SOURCE/share/include" -o "$T/exchange" \
        "$REGTRACE_SOURCE/t/tools/messages/exchange.c" -pthread 2>"$T/cc"; then
        skip "messages with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    rm -rf "$T/run" "$T"/log.*
    run 100 "$REGTRACE" run -quiet -o "$T/run" -- "mpirun.$mpi" -np 4 "$T/exchange" "$T"
    is "$status" 0 "$mpi: a run of four ranks" || diag "$err"
    sort "$T"/log.* >"$T/want"
    "$MESSAGES" "$T/run" >"$T/all"
    is $? 0 "$mpi: its messages are matched"
    grep '^message' "$T/all" | sort >"$T/got"
    is "$(comm -13 "$T/want" "$T/got" | head -3)" "" "$mpi: none is invented"
    is "$(comm -23 "$T/want" "$T/got" | head -3)" "" "$mpi: all are there, also those of threads"
    is "$(grep '^left' "$T/all")" "" "$mpi: none is counted as without a partner"
    [ "$(wc -l <"$T/got")" -gt 1000 ]
    ok $? "$mpi: and they are many"
    "$MESSAGES" "$T/run" | cmp -s - "$T/all"
    ok $? "$mpi: another time they are the same"
    rm -rf "$T/run" "$T"/log.*
    run 100 "$REGTRACE" run -quiet -pcontrol std -o "$T/run" -- "mpirun.$mpi" -np 4 "$T/exchange" "$T" windows
    is "$status" 0 "$mpi: a run whose ranks open and close windows by themselves" || diag "$err"
    sort "$T"/log.* >"$T/want"
    "$MESSAGES" "$T/run" >"$T/all"
    is "$(grep '^message' "$T/all" | sort | comm -13 "$T/want" - | head -3)" "" "$mpi: none is invented there either"
    like "$(cat "$T/all")" '^left [1-9].* outside windows' "$mpi: and what has only one end in a window is counted"
    is "$(grep -c '^left .*without a number' "$T/all")" 0 "$mpi: each has a number"
    "mpicc.$mpi" -O2 -D_GNU_SOURCE -I"$REGTRACE_SOURCE/share/include" -o "$T/kinds" "$REGTRACE_SOURCE/t/tools/messages/kinds.c" 2>"$T/cc"
    is $? 0 "$mpi: a program of rarer kinds of messages is built" || diag "$(cat "$T/cc")"
    rm -rf "$T/run" "$T"/log.*
    run 100 "$REGTRACE" run -quiet -o "$T/run" -- "mpirun.$mpi" -np 4 "$T/kinds" "$T"
    is "$status" 0 "$mpi: a run of it" || diag "$err"
    sort "$T"/log.* >"$T/want"
    "$MESSAGES" "$T/run" >"$T/all"
    grep 'message' "$T/all" | grep -v '^left' | sort >"$T/got"
    is "$(diff "$T/want" "$T/got" | head -4)" "" "$mpi: all $(wc -l <"$T/want") are there, and no other"
    [ "$(wc -l <"$T/got")" -gt 5000 ]
    ok $? "$mpi: and they are many"
    is "$(grep '^left' "$T/all")" "" "$mpi: none is without a partner"
    rm -rf "$T/run" "$T"/log.*
    run 100 "$REGTRACE" run -quiet -o "$T/run" -- "mpirun.$mpi" -np 4 "$T/kinds" "$T" killed
    sort "$T"/log.* >"$T/want"
    "$MESSAGES" "$T/run" >"$T/all"
    is "$(grep '^message' "$T/all")" "$(cat "$T/want")" "$mpi: of a rank that is killed, what it has received before"
    like "$(cat "$T/all")" '^left 2 0 the partner is outside windows or not in the recording' "$mpi: what it has not received is alone"
    like "$(cat "$T/all")" '^left 0 1 not complete' "$mpi: and what is awaited from it is not complete"
done
done_testing
