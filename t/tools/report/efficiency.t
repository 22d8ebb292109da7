#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The efficiencies of report are those that an independent program computes from Paraver's files:
# of whole runs and of windows. Scaling is that of the first run.
. "$(dirname "$0")/../../lib.sh"
compare() { # NAME
    ok_run "$1: as Paraver" "$REGTRACE" prv -o "$T/prv" "$T/run"
    "$REGTRACE" report --efficiency --json "$T/run" >"$T/report"
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/report/efficiency.py" "$T/prv" "$T/report"
    like "$out" '^[1-9][0-9]* windows compared' "$1: efficiencies are those of Paraver's files"
    is "$(grep -vc 'windows compared' <<<"$out")" 0 "$1: and nothing differs" || diag "$out $err"
    rm -rf "$T/prv" "$T/run"
}
cat >"$T/phases.c" <<'END'
/* Steps with uneven work, each in a window of its own, with all kinds of dependencies. */
#include <mpi.h>
#include <stdlib.h>
static volatile double x;
static void work(int n)
{
    for (int i = 0; i < n * 2000; i++)
        x = x * 0.999 + i;
}
/* Steps in which ranks send to the next one, and so get further and further apart. */
static int drift(int rank, int size)
{
    int y = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int step = 0; step < 8; step++) {
        MPI_Pcontrol(1);
        work(rank == 1 ? 40 : 10);
        if (rank > 0)
            MPI_Recv(&y, 1, MPI_INT, rank - 1, 200, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(5 * (rank + 1));
        if (rank + 1 < size)
            MPI_Send(&y, 1, MPI_INT, rank + 1, 200, MPI_COMM_WORLD); /* 200: it does not wait */
        MPI_Pcontrol(0);
    }
    return MPI_Finalize();
}
int main(int argc, char **argv)
{
    int rank, size, y = 1, z[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        return drift(rank, size);
    for (int step = 0; step < 6; step++) {
        MPI_Request r[2];
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Pcontrol(1);
        work(10 * (size - rank));
        if (rank > 0) { /* a chain of ranks */
            MPI_Recv(&y, 1, MPI_INT, rank - 1, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            PMPI_Send(&y, 1, MPI_INT, rank - 1, 99, MPI_COMM_WORLD); /* for the library below */
        }
        work(10);
        if (rank + 1 < size)
            MPI_Send(&y, 1, MPI_INT, rank + 1, step, MPI_COMM_WORLD);
        work(5 * (rank + 1));
        MPI_Bcast(&y, 1, MPI_INT, step % size, MPI_COMM_WORLD);
        work(3);
        MPI_Irecv(&z[0], 1, MPI_INT, (rank + 1) % size, 100, MPI_COMM_WORLD, &r[0]);
        work(rank);
        MPI_Isend(&y, 1, MPI_INT, (rank + size - 1) % size, 100, MPI_COMM_WORLD, &r[1]);
        work(7);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        MPI_Reduce(&y, &z[1], 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        work(2 * (step + 1));
        MPI_Allreduce(&y, &z[2], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Ibcast(&y, 1, MPI_INT, step % size, MPI_COMM_WORLD, &r[0]);
        work(4 * (rank + 1));
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        work(step % 2 == rank % 2 ? 25 : 1);
        MPI_Iallreduce(&y, &z[3], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[0]);
        work(rank == 0 ? 12 : 2);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        MPI_Pcontrol(0);
    }
    return MPI_Finalize();
}
END
# Below regtrace: a send ends after its receiver has left the receive, as on a busy machine.
cat >"$T/slow.c" <<'END'
#include <mpi.h>
int MPI_Send(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    int rc = PMPI_Send(data, n, type, to, tag, comm), left;
    if (tag < 99)
        PMPI_Recv(&left, 1, MPI_INT, to, 99, comm, MPI_STATUS_IGNORE);
    return rc;
}
END
build() { # MPI
    "mpicc.$1" -O2 -w -shared -fPIC -o "$T/libslow.so" "$T/slow.c" &&
        "mpicc.$1" -O2 -w -o "$T/phases" "$T/phases.c" -L"$T" -lslow -Wl,-rpath,"$T"
}
for mpi in openmpi mpich; do
    for app in stencil heat diffuse wave; do
        program=$REGTRACE_BUILD/t/apps/$app.$mpi
        [ -x "$program" ] || { skip "$app with $mpi" "it is not built"; continue; }
        run 100 "$REGTRACE" run -quiet -o "$T/run" -- "mpirun.$mpi" -np 4 "$program"
        is "$status" 0 "$mpi: a run of $app" || diag "$err"
        compare "$mpi, $app"
    done
    if ! have_mpi $mpi || ! build $mpi; then
        skip "phases with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    for n in 4 2; do
        run 100 "$REGTRACE" run -quiet -control start:pcontrol:level=1,stop:pcontrol:level=0,repeat -o "$T/run" -- "mpirun.$mpi" -np $n "$T/phases"
        is "$status" 0 "$mpi: a run of $n ranks in windows" || diag "$err"
        cp -r "$T/run" "$T/kept.$n"
        compare "$mpi, phases, $n ranks"
        is "$out" "6 windows compared" "$mpi: all windows of $n ranks were compared"
    done
    run 100 "$REGTRACE" run -quiet -control start:pcontrol:level=1,stop:pcontrol:level=0,repeat -o "$T/run" -- "mpirun.$mpi" -np 3 "$T/phases" drift
    is "$status" 0 "$mpi: a run whose ranks drift apart" || diag "$err"
    like "$("$REGTRACE" report --efficiency "$T/run")" ': windows overlap in time' "$mpi: windows overlap, which is said"
    compare "$mpi, drift"
    is "$out" "8 windows compared, which overlap" "$mpi: all windows that overlap were compared"
    "$REGTRACE" report --efficiency --json "$T/kept.2" "$T/kept.4" >"$T/report"
    run 60 "$PYTHON" -c 'import json, sys
a, b = json.load(open(sys.argv[1]))["runs"]
print(abs(b["computation_scaling"] - a["useful_ns"] / b["useful_ns"]) < 1e-6, a["computation_scaling"], b["processes"])' "$T/report"
    is "$out" "True 1 4" "$mpi: scaling is relative to the first run"
    run 60 "$REGTRACE" report --efficiency "$T/kept.2" "$T/kept.4"
    like "$out" 'computation scaling +100\.0 % ' "$mpi: for people, too"
    rm -rf "$T"/kept.*
done
done_testing
