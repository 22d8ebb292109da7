# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For tests with programs that take a seed and log their messages, while windows open and close.
MESSAGES=$REGTRACE_BUILD/t/tools/messages/messages

# match_seed MPI PROGRAM SEED STEPS THREADS: runs three ranks of the program, and compares the
# matched messages with its log. Appends what is wrong to $wrong. $T/all is all that the matching
# prints, $T/got the matched messages.
match_seed() {
    local mpi=$1 program=$2 seed=$3
    shift 3
    rm -rf "$T/run" "$T"/log.*
    run 200 "$REGTRACE" run -quiet -pcontrol std -o "$T/run" -- \
        "mpirun.$mpi" -np 3 "$program" "$T" "$seed" "$@"
    [ "$status" = 0 ] || wrong+="seed $seed: exit code $status $err"
    sort "$T"/log.* >"$T/want"
    "$MESSAGES" "$T/run" >"$T/all"
    awk '/^message/ { print $1, $2, $4, $5, $6, $7 }' "$T/all" | awk '$2' | sort >"$T/got"
    wrong+=$(comm -13 "$T/want" "$T/got" | sed "s/^/seed $seed: invented /" | head -3)
    wrong+=$(comm -23 "$T/want" "$T/got" | sed "s/^/seed $seed: missing /" | head -3)
}
