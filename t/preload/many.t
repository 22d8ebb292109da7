#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Many chains, functions, texts and nested calls: what exceeds a limit is refused or reported, never
# dropped silently.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99

printf '#include <unistd.h>\nint main(void) { usleep(1000); return 0; }\n' >nap.c
cc -o nap nap.c
lines() { for ((i = 0; i < $1; i++)); do printf "$2\n" $i $i; done; }
lines 129 'start:pcontrol:a%d,stop:pcontrol:b%d' >chains
run 20 env REGTRACE_CONTROL_FILE=chains REGTRACE_DIR="$T/refused" LD_PRELOAD="$LIBREGTRACE" ./nap
is "$status" 2 '258 alarms of one type are refused'
like "$err" 'the chains have 258 alarms of type pcontrol; at most 256' 'with the reason'
run 20 "$REGTRACE" run -o "$T/refused" -control-file chains -- ./nap
is "$status" 2 'by regtrace run, too'
like "$err" 'at most 256' 'with the same reason'
lines 128 'start:pcontrol:a%d,stop:pcontrol:b%d' >chains
run 20 env REGTRACE_CONTROL_FILE=chains REGTRACE_DIR="$T/taken" LD_PRELOAD="$LIBREGTRACE" ./nap
is "$status" 0 '256 are taken'

# The texts of chains get the room that they need.
lines 1200 'start:timeout:1%d0,stop:enter_func:a_function_with_a_rather_long_name_%d' >chains
REGTRACE_CONTROL_FILE=chains REGTRACE_CONTROL=start:timeout:100us REGTRACE_DIR=$T/room LD_PRELOAD=$LIBREGTRACE ./nap
is "$("$REGTRACE" report --json "$T/room" | grep -o "enter_func:a_function_with_a_rather_long_name_[0-9]*" | sort -u | wc -l)" 1200 "of 1200 chains each alarm is in the file" ||
    diag "$("$REGTRACE" report --json "$T/room" | grep -m 3 a_function)"

# Alarms of one function.
cat >solve.c <<'END'
void solve(void);
void solve(void) {}
int main(void)
{
    for (int i = 0; i < 30; i++)
        solve();
    return 0;
}
END
cc -finstrument-functions -o solve solve.c
lines 12 'start:enter_func:solve:count%d1,stop:exit_func:solve' >chains
REGTRACE_CONTROL_FILE=chains REGTRACE_DIR=$T/o.solve LD_PRELOAD=$LIBREGTRACE ./solve
is "$(grep -c 'warning: more than 8 alarms name one function.*: solve$' "$T/o.solve/regtrace.log")" 1 'more than 8 alarms of one function: said once, with its name'

# Texts of regions.
cat >texts.c <<'END'
#include <regtrace.h>
#include <stdio.h>
int main(void)
{
    for (int i = 0; i < 9000; i++) {
        char name[32];
        snprintf(name, sizeof name, "region %d", i);
        regtrace_region_begin(name);
        regtrace_region_end(name);
    }
    return 0;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o texts texts.c
REGTRACE_DIR=$T/o.texts LD_PRELOAD=$LIBREGTRACE ./texts
like "$("$REGTRACE" report "$T/o.texts")" '^  [1-9][0-9]* texts .* lost' 'report says that texts were lost'

# A buffer size that is too small is raised to the minimum.
REGTRACE_BUFFER=1 REGTRACE_DIR=$T/least LD_PRELOAD=$LIBREGTRACE ./texts
like "$(cat "$T/least/regtrace.log")" 'REGTRACE_BUFFER is less than' 'REGTRACE_BUFFER=1: what is taken'
unlike "$(cat "$T/least/regtrace.log")" 'little room' 'and not that there is little room'

# Names and files that are not plain text.
odd=$'o "q" \'it'
program=$'pr\ng\xff'
cp texts "$program"
run 60 "$REGTRACE" run -o "$T/$odd" -- "./$program"
is "$(eval "printf %s $(sed -n 's/.*regtrace report //p' <<<"$err")")" "$T/$odd" 'the folder is quoted for the shell'
like "$("$REGTRACE" report "$T/$odd")" '^  program pr.ng.xff, 1 file' 'report keeps a program name in its line'
printf '\xef\xbb\xbfstart:pcontrol:a\n' >bom
run 20 "$REGTRACE" run --explain -control-file bom
is "$status" 0 'a control file may begin with a byte order mark'

# Nested MPI calls: a user-defined operator that reduces again.
for mpi in openmpi mpich; do
    have_mpi $mpi && command -v mpicc.$mpi >/dev/null || { skip "$mpi: calls in calls" "no mpicc.$mpi"; continue; }
    cat >deep.c <<'END'
#include <mpi.h>
static MPI_Op op;
static int depth;
static void reduce(void *in, void *out, int *n, MPI_Datatype *type)
{
    int a = 1, b = 2;
    (void)in;
    (void)out;
    (void)n;
    (void)type;
    if (++depth < 25)
        MPI_Reduce_local(&a, &b, 1, MPI_INT, op);
}
int main(int c, char **v)
{
    int a = 1, b = 2;
    MPI_Init(&c, &v);
    MPI_Op_create(reduce, 1, &op);
    MPI_Reduce_local(&a, &b, 1, MPI_INT, op);
    MPI_Op_free(&op);
    MPI_Finalize();
    return 0;
}
END
    mpicc.$mpi -o deep.$mpi deep.c
    run 60 mpirun_for $mpi 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/o.deep.$mpi" ./deep.$mpi
    is "$(grep -c 'warning: MPI calls are nested more than 10 deep' "$T/o.deep.$mpi/regtrace.log")" 1 "$mpi: calls nested too deeply are spoken of once"
done
done_testing
