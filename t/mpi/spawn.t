#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI_Comm_spawn: the second world has ranks 0 and 1 as well; no file takes another's name, and every call is in one of them.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99
have_mpi openmpi || skip_all 'no openmpi here'

cat >spawn.c <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Comm parent, other;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    int barriers = parent == MPI_COMM_NULL ? 10 : 20;
    for (int i = 0; i < barriers; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(parent == MPI_COMM_NULL ? other : parent);
    MPI_Comm_disconnect(parent == MPI_COMM_NULL ? &other : &parent);
    MPI_Finalize();
    return 0;
}
END
mpicc.openmpi -o spawn spawn.c 2>/dev/null || skip_all 'mpicc.openmpi is not here'
run 120 "$REGTRACE" run -o "$T/run" -- mpirun.openmpi --oversubscribe -np 2 ./spawn
is "$status" 0 'the job ends well' || diag "$err"
wait_for 30 test -e "$T/run/regtrace.h5"
mapfile -t files < <(cd "$T/run" && ls rank-*.h5)
is "${#files[@]}" 4 'four processes: four files' || diag "${files[*]}"
is "$(printf '%s\n' "${files[@]}" | grep -cx 'rank-0000[01]\.h5')" 2 'rank 0 and rank 1 of one world have the plain names'
is "$(printf '%s\n' "${files[@]}" | grep -cE '^rank-0000[01]\.[0-9]+\.[0-9]+\.h5$')" 2 'those of the other carry their process'
counts=''
for file in "${files[@]}"; do
    counts+="$("$REGTRACE" dump --code MPI_Barrier "$T/run/$file" | grep -c 'MPI_Barrier.*[Ee]nter') "
done
is "$(tr ' ' '\n' <<<"$counts" | sort -n | xargs)" '11 11 21 21' 'every call of both worlds is in a file of its own' || diag "$counts"
ok_run 'the files hold' "$REGTRACE" check "$T/run"
done_testing
