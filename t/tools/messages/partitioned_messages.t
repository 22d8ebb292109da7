#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Partitioned messages, among others with the same tags, while windows open and close: exactly those
# are matched whose start and completion were in windows, by the program's own log. REGTRACE_SEEDS:
# how many runs of each kind (default 3). Then requests whose order is not known, or of which there
# are more partners and tags than the tables hold: they are counted, and others matched.
. "$(dirname "$0")/../../lib.sh"
. "$here/seeded.sh"
found=0
for mpi in openmpi mpich; do
    echo '#include <mpi.h>
int main(void) { return MPI_Psend_init(0, 1, 1, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, 0); }' >"$T/has.c"
    if ! have_mpi $mpi || ! "mpicc.$mpi" -Werror=implicit-function-declaration -o "$T/has" "$T/has.c" 2>"$T/cc"; then
        skip "partitioned messages with $mpi" "no $mpi, or one without them"
        continue
    fi
    "mpicc.$mpi" -O2 -D_GNU_SOURCE -I"$REGTRACE_SOURCE/share/include" -o "$T/partitioned" \
        "$REGTRACE_SOURCE/t/tools/messages/partitioned_messages.c" -pthread 2>"$T/cc"
    is $? 0 "$mpi: the program is compiled" || diag "$(cat "$T/cc")"
    for threads in 1 3; do
        wrong="" found=0
        for ((seed = 1; seed <= ${REGTRACE_SEEDS:-3}; seed++)); do
            match_seed $mpi "$T/partitioned" $seed 40 $threads
            wrong+=$(grep -v '^message\|^marked\|^left .*\(outside windows\|not complete\)' "$T/all" | sed "s/^/seed $seed: /")
            # the sizes of those that are partitioned
            found=$((found + $(awk '$6 > 16 && $6 < 360' "$T/got" | wc -l)))
        done
        is "$wrong" "" "$mpi, $threads threads: $found partitioned messages, and others: those of the log"
        [ $found -gt $((20 * ${REGTRACE_SEEDS:-3})) ]
        ok $? "$mpi, $threads threads: and they are many"
    done
done
done_testing
