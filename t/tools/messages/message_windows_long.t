#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages in windows, in many random runs: windows by MPI_Pcontrol and by the clock; few and many
# ranks and tags; small and large messages; while other programs use the processors. None is
# invented. REGTRACE_SEEDS: how many runs of each kind (default 8).
. "$(dirname "$0")/../../lib.sh"
MESSAGES=$REGTRACE_BUILD/t/tools/messages/messages
busy=()
for _ in 1 2 3 4; do
    timeout 900 sh -c 'while :; do :; done' &
    busy+=($!)
done
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -D_GNU_SOURCE -I"$REGTRACE_SOURCE/share/include" -o "$T/patterns" \
        "$REGTRACE_SOURCE/t/tools/messages/patterns.c" 2>"$T/cc"; then
        skip "messages in windows with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    for pattern in neighbours ring master anybody bursts ahead behind; do
        found=0 wrong=0
        for ((seed = 1; seed <= ${REGTRACE_SEEDS:-8}; seed++)); do
            rm -rf "$T/run" "$T"/log.*
            if ((seed % 2)); then
                how=(-pcontrol std) what=($((20 + seed * 37 % 130)) $((1 + seed % 3)) $((seed % 4 == 1 ? 8 : 5000)))
            else
                how=(-control "start:timeout:$((7 + seed % 9))ms,stop:timeout:$((25 + seed * 13 % 200))ms,repeat") what=(0 1 64)
            fi
            ((seed % 3)) || what+=(sleep)
            run 200 "$REGTRACE" run -quiet "${how[@]}" -o "$T/run" -- "mpirun.$mpi" -np $((2 + seed % 3)) "$T/patterns" "$T" $pattern $seed 400 "${what[@]}"
            sort "$T"/log.* >"$T/want"
            "$MESSAGES" "$T/run" | grep '^message' | awk '$2 && $3' | sort >"$T/got"
            found=$((found + $(wc -l <"$T/got")))
            wrong=$((wrong + $(comm -13 "$T/want" "$T/got" | wc -l)))
        done
        is $wrong 0 "$mpi, $pattern: of $found messages none is wrong"
    done
done
kill "${busy[@]}"
wait "${busy[@]}" 2>/dev/null
done_testing
