#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages in windows: those that are matched are those that the program itself has logged. They are
# marked as likely and counted, and left out on request.
. "$(dirname "$0")/../../lib.sh"
MESSAGES=$REGTRACE_BUILD/t/tools/messages/messages
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -D_GNU_SOURCE -I"$REGTRACE_SOURCE/share/include" -o "$T/patterns" \
        "$REGTRACE_SOURCE/t/tools/messages/patterns.c" 2>"$T/cc"; then
        skip "messages in windows with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    for pattern in ring ahead behind; do
        rm -rf "$T/run" "$T"/log.*
        run 100 "$REGTRACE" run -quiet -pcontrol std -o "$T/run" -- "mpirun.$mpi" -np 3 "$T/patterns" "$T" $pattern 1 300 100 1 64
        is "$status" 0 "$mpi, $pattern: a run whose ranks open and close windows" || diag "$err"
        sort "$T"/log.* >"$T/want"
        "$MESSAGES" "$T/run" >"$T/all"
        is $? 0 "$mpi, $pattern: its messages are looked at"
        sed -n 's/^likely/message/p' "$T/all" | awk '$2 && $3' | sort >"$T/likely"
        is "$(comm -13 "$T/want" "$T/likely" | head -3)" "" "$mpi, $pattern: none that is likely is wrong"
        is "$(grep '^message' "$T/all" | awk '$2 && $3' | sort | comm -13 "$T/want" - | head -3)" "" "$mpi, $pattern: nor one that is sure"
        [ $pattern = ring ] || continue
        # Every rank awaits the token in every round, so it is clear what it has waited for.
        [ "$(wc -l <"$T/likely")" -gt 100 ]
        ok $? "$mpi: a token that goes round is found ($(wc -l <"$T/likely") of $(wc -l <"$T/want"))"
        "$MESSAGES" "$T/run" | cmp -s - "$T/all"
        ok $? "$mpi: another time they are the same"
        n=$(grep -c '^likely' "$T/all") s=$(grep -c '^message' "$T/all")
        like "$("$REGTRACE" report "$T/run")" "$s sure, $n likely" "$mpi: report counts them apart"
        like "$("$REGTRACE" report -messages sure "$T/run")" "$s sure, 0 likely" "$mpi: and leaves them out"
        # Ranks that are left out, or whose file is missing, do not change the matches of the
        # others.
        awk '/^(likely|message)/ && $4 < 2 && $5 < 2' "$T/all" >"$T/two"
        pair="$(grep -c '^message' "$T/two") sure, $(grep -c '^likely' "$T/two") likely"
        two=$("$REGTRACE" report -rank 0,1 "$T/run")
        like "$two" "[(]${pair}[)]" "$mpi: of two ranks alone as many are reported"
        like "$two" '[0-9]{3} sends and [0-9]{3} receives could not be matched [(]the partner is not in the recording[)]' "$mpi: those of the third are counted for what they are"
        cp -r "$T/run" "$T/part"
        rm "$T/part/rank-00002.h5"
        "$MESSAGES" "$T/part" | grep -E '^(likely|message)' | diff "$T/two" - >"$T/out"
        is "$(head -3 "$T/out")" "" "$mpi: without the file of the third too"
        rm -rf "$T/part"
        "$REGTRACE" export -chrome "$T/json" -force "$T/run" 2>"$T/err"
        is "$(grep -o '"likely": *true' "$T/json" | wc -l)" $((2 * n)) "$mpi: in JSON both ends are marked"
        like "$(cat "$T/err")" "$n of $((n + s)) messages are likely" "$mpi: and it is reported"
        "$REGTRACE" export -chrome "$T/json" -messages none -force "$T/run" 2>"$T/err"
        is "$(grep -c '"cat": *"message"' "$T/json")" 0 "$mpi: -messages none has none"
        like "$("$REGTRACE" prv -o "$T/prv" "$T/run" 2>&1)" "$n of these messages are likely" "$mpi: for Paraver they are counted"
        is "$(grep -c '^3:' "$T/prv/thread.prv")" $((n + s)) "$mpi: and have lines"
        rm -rf "$T/prv"
        "$REGTRACE" prv -messages sure -o "$T/prv" "$T/run" >"$T/out" 2>&1
        is "$(grep -c '^3:' "$T/prv/thread.prv")" "$s" "$mpi: which -messages sure leaves out"
        rm -rf "$T/prv"
    done
done
run 10 "$REGTRACE" prv -messages some "$T/nothing"
is "$status" 2 'another word is wrong'
like "$err" 'likely, sure and none are legal' 'and says what is legal'
done_testing
