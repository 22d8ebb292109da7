#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages that are received from any source or with any tag, by several open receives, cancelled
# ones, matched probes and persistent ones, while windows open and close: exactly those are matched
# whose both ends were in windows, by the program's own log. REGTRACE_SEEDS: how many runs of each
# kind (default 3). At last, more partners and tags than the tables hold, and cancelled receives of
# those that have no room: the program does what it does bare, and what has no number is counted.
. "$(dirname "$0")/../../lib.sh"
. "$here/seeded.sh"
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -D_GNU_SOURCE -I"$REGTRACE_SOURCE/share/include" -o "$T/wildcards" \
        "$REGTRACE_SOURCE/t/tools/messages/wildcards.c" -pthread 2>"$T/cc"; then
        skip "wildcards with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    for threads in 1 2; do
        wrong="" found=0
        for ((seed = 1; seed <= ${REGTRACE_SEEDS:-3}; seed++)); do
            match_seed $mpi "$T/wildcards" $seed 60 $threads
            wrong+=$(grep '^left .*\(without a number\|sizes\|at once\)' "$T/all" | sed "s/^/seed $seed: /")
            found=$((found + $(wc -l <"$T/got")))
        done
        is "$wrong" "" "$mpi, $threads threads: $found messages, those of the log"
        [ $found -gt 500 ]
        ok $? "$mpi, $threads threads: and they are many"
    done
    cat >"$T/full.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int cancelled = 0, is;
    for (int tag = 0; tag < 30000; tag++) {
        char x = 0, y;
        MPI_Request r;
        MPI_Status s;
        MPI_Irecv(&y, 1, MPI_BYTE, 0, tag, MPI_COMM_SELF, &r);
        if (tag % 3 == 0)
            MPI_Cancel(&r);
        else
            MPI_Send(&x, 1, MPI_BYTE, 0, tag, MPI_COMM_SELF);
        MPI_Wait(&r, &s);
        MPI_Test_cancelled(&s, &is);
        cancelled += is;
    }
    printf("%d cancelled\n", cancelled);
    return MPI_Finalize();
}
END
    "mpicc.$mpi" -O1 -o "$T/full" "$T/full.c"
    rm -rf "$T/run"
    run 60 env REGTRACE_DIR="$T/run" LD_PRELOAD="$LIBREGTRACE" "$T/full"
    is "$status $out" "0 10000 cancelled" "$mpi: more tags than the tables hold" || diag "$err"
    like "$("$MESSAGES" "$T/run")" '^left [1-9][0-9]* [1-9][0-9]* without a number' "$mpi: what has no number is counted"
    # A receive from any source fails, as its message is too long: it is over all the same, and
    # messages of other communicators are matched.
    cat >"$T/failing.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int x[4] = {0}, y, failed = 0;
    MPI_Request r, s;
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    MPI_Irecv(&y, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &r);
    MPI_Isend(x, 4, MPI_INT, 0, 1, MPI_COMM_SELF, &s);
    failed += MPI_Wait(&r, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    MPI_Wait(&s, MPI_STATUS_IGNORE);
    for (int i = 0; i < 50; i++)
        MPI_Sendrecv(x, 1, MPI_INT, 0, 1, &y, 1, MPI_INT, 0, 1, other, MPI_STATUS_IGNORE);
    for (int i = 0; i < 50; i++)
        MPI_Sendrecv(x, 1, MPI_INT, 0, 2, &y, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    printf("%d failed\n", failed);
    return MPI_Finalize();
}
END
    "mpicc.$mpi" -O1 -o "$T/failing" "$T/failing.c"
    rm -rf "$T/run"
    run 60 env REGTRACE_DIR="$T/run" LD_PRELOAD="$LIBREGTRACE" "$T/failing"
    like "$status $out" '^0 [01] failed$' "$mpi: a receive from any source that fails" || diag "$err"
    fails=${out%% *}
    "$MESSAGES" "$T/run" >"$T/all"
    [ "$(grep -c '^message' "$T/all")" -ge 50 ]
    ok $? "$mpi: messages of the other communicator are matched" || diag "$(grep -v '^message' "$T/all")"
    # Open MPI does not say that a message to the own rank is too long.
    [ "$fails" = 0 ] || like "$("$REGTRACE" report "$T/run")" 'rank 0: [1-9][0-9]* times messages of a partner and tag could not be numbered' "$mpi: and report says what has no number"
done
done_testing
