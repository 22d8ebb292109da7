#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Matched messages are those that the program itself has logged: what each receive got, by numbers that the senders put into it.
. "$(dirname "$0")/../lib.sh"
MESSAGES=$REGTRACE_BUILD/t/emu/messages
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -D_GNU_SOURCE -I"$REGTRACE_SOURCE/share/include" -o "$T/exchange" \
        "$REGTRACE_SOURCE/t/emu/exchange.c" -pthread 2>"$T/cc"; then
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
    # Of requests that threads make at once the recorder may not tell which is which: what is missing of those is counted.
    is "$(comm -23 "$T/want" "$T/got" | awk '$6 < 100' | head -3)" "" "$mpi: all of one thread are there"
    is "$(awk '/^left/ { n += $2 } END { print n + 0 }' "$T/all")" "$(comm -23 "$T/want" "$T/got" | wc -l)" \
        "$mpi: as many are counted as are missing"
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
    like "$(cat "$T/all")" '^left [1-9].* outside windows' "$mpi: and what is not sure is counted"
done
done_testing
