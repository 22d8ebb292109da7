#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI_Comm_spawn: the second world has ranks 0 and 1 too. No file takes another's name, and every
# call is in one of the files.
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
report=$("$REGTRACE" report "$T/run")
like "$report" '^ +MPI_Barrier +64 ' 'the report has the calls of all' || diag "$report"
like "$report" '^ +MPI_Init +4 ' 'of both worlds'
is "$(grep -cE '^ +[01] \(world [0-9]+, pid [0-9]+\) +0 +0 region' <<<"$report")" 2 'windows of the other world name it'
unlike "$("$REGTRACE" report "$T/run/$(grep -m1 -E '\.[0-9]+\.h5$' <<<"$(printf '%s\n' "${files[@]}")")")" 'No MPI call' 'the report of one of its files has its calls'

# Many jobs, some of them spawned by spawned jobs or by MPI_Comm_spawn_multiple, with more ranks
# than the first world. All of them belong to one run, even without `regtrace run`.
cat >many.c <<'END'
#include <mpi.h>
#include <stdlib.h>
static void join(MPI_Comm *other)
{
    MPI_Barrier(*other);
    MPI_Comm_disconnect(other);
}
int main(int argc, char **argv)
{
    char *nested[] = {"nested", NULL}, *plain[] = {"plain", NULL}, *programs[] = {argv[0], argv[0]};
    char **arguments[] = {plain, plain};
    MPI_Comm parent, other;
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        for (int i = 0; i < 3; i++) {
            MPI_Comm_spawn(argv[0], plain, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
            join(&other);
        }
        MPI_Comm_spawn(argv[0], nested, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
        join(&other);
        MPI_Comm_spawn_multiple(2, programs, arguments, (int[]){1, 2}, infos, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
        join(&other);
    } else {
        if (argv[1][0] == 'n') {
            MPI_Comm_spawn(argv[0], plain, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
            join(&other);
        }
        join(&parent);
    }
    MPI_Finalize();
    return 0;
}
END
mpicc.openmpi -o many many.c 2>/dev/null
mkdir jobs
run 120 mpirun_for openmpi 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/jobs/run" ./many
is "$status" 0 'many jobs end well' || diag "$err"
wait_for 30 test -e jobs/run/regtrace.h5
is "$(ls jobs)" run 'one folder for all of them, and nothing left beside it'
files() { (cd jobs/run && printf '%s\n' rank-*.h5); }
is "$(files | wc -l)" 9 'a file for each of 9 processes'
is "$(files | grep -cE '^rank-[0-9]+\.h5$')" 1 'the plain name is the first world'\''s alone'
is "$(files | grep -cE '^rank-0000[012]\.[0-9]+\.[0-9]+\.h5$')" 8 'the others carry their process'
worlds=$("$REGTRACE" report --json jobs/run | grep -oE '"world": [0-9]+' | grep -oE '[0-9]+$' | sort -n | xargs)
is "$worlds" '1 2 3 4 5 6 7 7 7' 'each knows its world'
like "$("$REGTRACE" report jobs/run)" '^ +2 \(world 7, pid [0-9]+\)' 'the report tells them apart'
ok_run 'their files hold' "$REGTRACE" check jobs/run
ok_run 'they can be shown by Paraver' "$REGTRACE" prv -o jobs/prv jobs/run
like "$(cat jobs/prv/*.row jobs/prv.row 2>/dev/null)" '^rank 2 \(world 7, pid [0-9]+\)$' 'with their worlds'
ok_run 'and exported' "$REGTRACE" export --chrome jobs/json jobs/run
like "$(cat jobs/json)" 'rank 2 of world 7' 'with them too'
if [ "$PYTHON" != no ]; then
    is "$(PYTHONPATH="$REGTRACE_SOURCE/share/python" "$PYTHON" -c '
import regtrace, sys
ranks = regtrace.open(sys.argv[1]).ranks
print(*sorted(ranks["world"]), len(ranks[["rank", "process"]].drop_duplicates()))' jobs/run 2>&1 | tail -n 1)" '1 2 3 4 5 6 7 7 7 9' 'Python has a row for each, with its world'
else
    skip 'Python' 'no h5py'
fi
done_testing
