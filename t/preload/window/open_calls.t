#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI calls and windows that end irregularly: every enter has its leave in the same window, whatever
# interrupts the call.
. "$(dirname "$0")/../../lib.sh"

needs mpi

# edges FOLDER COUNT: prints the first COUNT enters and leaves of MPI_Send and MPI_Barrier, one on
# each line.
edges() { "$REGTRACE" dump "$1" | awk '$5 ~ /MPI_(Send|Barrier)/ {print $5, $6, ($NF ~ /\[/ ? $NF : "")}' | head -n "$2"; }

# Exceptions leave calls: an outermost call, and a call within another one that goes on. After the
# first, three seconds pass outside of calls.
cat >"$T/thrown.cc" <<'END'
#include <mpi.h>
#include <cstdio>
#include <unistd.h>
static int caught;
static MPI_Comm comm;
static void throws(MPI_Comm *, int *, ...) { throw 1; }
static void send_badly()
{
    int x = 0;
    try { MPI_Send(&x, 1, MPI_INT, 99, 0, comm); } catch (int) { caught++; }
}
static void operation(void *, void *, int *, MPI_Datatype *) { send_badly(); }
int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Op op;
    int a = 0, b = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(throws, &handler);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    send_badly();
    usleep(3000000);
    MPI_Op_create(operation, 1, &op);
    MPI_Reduce_local(&a, &b, 1, MPI_INT, op);
    std::printf("caught %d\n", caught);
    return MPI_Finalize();
}
END

for mpi in openmpi mpich; do
    have_mpi $mpi || { skip "open calls under $mpi" "no $mpi"; continue; }
    program=$REGTRACE_BUILD/t/mpi/left.$mpi
    run 60 mpirun_for $mpi 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/left.$mpi" "$program"
    is "$status $out" "0 left 10 calls" "$mpi: calls are left without a return"
    wait_for 20 "$REGTRACE" check --wait 0 "$T/left.$mpi"
    is "$(edges "$T/left.$mpi" 40 | sort | uniq -c | xargs)" \
        "10 MPI_Barrier enter 10 MPI_Barrier leave 10 MPI_Send enter 10 MPI_Send leave [cut]" \
        "$mpi: each of them ends, cut, and those after them are not nested in it"
    if command -v "mpicxx.$mpi" >/dev/null && "mpicxx.$mpi" -w -o "$T/thrown.$mpi" "$T/thrown.cc" 2>/dev/null; then
        run 60 mpirun_for $mpi 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/thrown.run.$mpi" "$T/thrown.$mpi"
        is "$status $out" "0 caught 2" "$mpi: exceptions leave calls"
        ok_run "$mpi: which end, each at its own level" "$REGTRACE" check "$T/thrown.run.$mpi"
        is "$("$REGTRACE" dump "$T/thrown.run.$mpi" | awk '$5 ~ /MPI_(Send|Reduce_local)/ {print $5, $6}' | xargs)" \
            "MPI_Send enter MPI_Send leave MPI_Reduce_local enter MPI_Send enter MPI_Send leave MPI_Reduce_local leave" \
            "$mpi: in the order in which they were left"
        long=$("$REGTRACE" dump "$T/thrown.run.$mpi" | awk '$5 == "MPI_Send" {if ($6 == "enter") t = $1; else if ($1 - t > 2) n++} END {print n + 0}')
        is "$long" 0 "$mpi: and when they were left, not at the next call"
    else
        skip "exceptions under $mpi" "no C++ compiler for it"
    fi
    for chain in start:timeout:150us,stop:timeout:150us,repeat start:timeout:130us:bcast,stop:timeout:170us:bcast,repeat; do
        name=$(tr -c 'a-z0-9\n' _ <<<"$chain.$mpi")
        run 60 mpirun_for $mpi 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$name" REGTRACE_CONTROL="$chain" "$program" 3
        is "$status $out" "0 left 10 calls" "$mpi: the same under $chain"
        ok_run "$mpi: no edge of a window falls between a call and its event" "$REGTRACE" check "$T/$name"
        windows=$("$REGTRACE" dump "$T/$name" | grep -c ' window *close')
        [ "$windows" -gt 50 ] || diag "windows: $windows"
        [ "$windows" -gt 50 ]
        ok $? "$mpi: which there were many of"
    done
done
done_testing
