#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages in windows: those that are matched are those that the program itself has logged, and all
# that were sent and received in windows are.
. "$(dirname "$0")/../../lib.sh"
MESSAGES=$REGTRACE_BUILD/t/tools/messages/messages

# in_windows FOUND LOG: prints the messages of the log whose send and post have marks in windows.
in_windows() {
    awk 'FNR == NR { if ($1 == "marked") marked[$2, $3] = 1; next } marked[1, $2] && marked[2, $3]' "$1" "$2"
}

for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -D_GNU_SOURCE -I"$REGTRACE_SOURCE/share/include" -o "$T/patterns" \
        "$REGTRACE_SOURCE/t/tools/messages/patterns.c" 2>"$T/cc"; then
        skip "messages in windows with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    for pattern in neighbours ring master anybody bursts ahead behind; do
        rm -rf "$T/run" "$T"/log.*
        run 100 "$REGTRACE" run -quiet -pcontrol std -o "$T/run" -- "mpirun.$mpi" -np 3 "$T/patterns" "$T" $pattern 1 300 20 2 64
        is "$status" 0 "$mpi, $pattern: a run whose ranks open and close windows" || diag "$err"
        sort "$T"/log.* >"$T/want"
        "$MESSAGES" "$T/run" >"$T/all"
        is $? 0 "$mpi, $pattern: its messages are looked at"
        grep '^message' "$T/all" | awk '$2 && $3' | sort >"$T/got"
        is "$(comm -13 "$T/want" "$T/got" | head -3)" "" "$mpi, $pattern: none is invented"
        is "$(grep -c '^left .*\(at once\|differ\|without a number\)' "$T/all")" 0 "$mpi, $pattern: each has a number, and their sizes agree"
        # In the other patterns receives are posted in one window and complete in another.
        [ $pattern = ahead ] || [ $pattern = behind ] ||
            is "$(in_windows "$T/all" "$T/want" | comm -23 - "$T/got" | head -3)" "" "$mpi, $pattern: all that are in windows are there"
        [ "$(wc -l <"$T/got")" -gt 100 ]
        ok $? "$mpi, $pattern: and they are many ($(wc -l <"$T/got") of $(wc -l <"$T/want"))"
        [ $pattern = ring ] || continue
        "$MESSAGES" "$T/run" | cmp -s - "$T/all"
        ok $? "$mpi: another time they are the same"
        n=$(grep -c '^message' "$T/all")
        like "$("$REGTRACE" report "$T/run")" "Messages from rank to rank: $n messages," "$mpi: report counts them"
        # Ranks that are left out, or whose file is missing, do not change the matches of the
        # others.
        awk '/^message/ && $4 < 2 && $5 < 2' "$T/all" >"$T/two"
        two=$("$REGTRACE" report -rank 0,1 "$T/run")
        like "$two" "Messages from rank to rank: $(wc -l <"$T/two") messages," "$mpi: of two ranks alone as many are reported"
        like "$two" '[0-9]+ sends and [0-9]+ receives could not be matched [(]the partner is outside windows or not in the recording[)]' "$mpi: those of the third are counted for what they are"
        like "$two" "Waits for them are in no table above: longer windows, and a report of all ranks, have more" "$mpi: with what that means, and the remedy"
        lone=$("$REGTRACE" report "$T/run" | sed -n 's/.* sends and \([0-9]*\) receives could not be matched.*/\1/p' | awk '{ n += $1 } END { print n + 0 }')
        is "$("$REGTRACE" report --critical-path "$T/run" | sed -n 's/^Waits in \([0-9]*\) receives are not known, .*/\1/p')" \
            "$([ "$lone" = 0 ] || echo "$lone")" "$mpi: and the critical path says of how many receives"
        cp -r "$T/run" "$T/part"
        rm "$T/part/rank-00002.h5"
        "$MESSAGES" "$T/part" | grep '^message' | diff "$T/two" - >"$T/out"
        is "$(head -3 "$T/out")" "" "$mpi: without the file of the third too"
        rm -rf "$T/part"
        "$REGTRACE" export -chrome "$T/json" -messages none -force "$T/run" 2>"$T/err"
        is "$(grep -c '"cat": *"message"' "$T/json")" 0 "$mpi: -messages none has none"
        "$REGTRACE" prv -o "$T/prv" "$T/run" >"$T/out" 2>&1
        is "$(grep -c '^3:' "$T/prv/thread.prv")" "$n" "$mpi: for Paraver they have lines"
        rm -rf "$T/prv"
    done
done
run 10 "$REGTRACE" prv -messages some "$T/nothing"
is "$status" 2 'another word is wrong'
like "$err" 'all and none are legal' 'and says what is legal'
done_testing
