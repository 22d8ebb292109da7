#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A second tool of the profiling interface, preloaded after regtrace: both see every call once.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99
needs mpi

cat >tool.c <<'END'
#include <mpi.h>
#include <stdio.h>
static long barriers;
int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}
int MPI_Finalize(void)
{
    fprintf(stderr, "the other tool saw %ld\n", barriers);
    return PMPI_Finalize();
}
END
cat >program.c <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 100; i++)
        MPI_Barrier(MPI_COMM_SELF);
    return MPI_Finalize();
}
END
for mpi in $(mpis); do
    mpicc.$mpi -shared -fPIC -o tool.$mpi.so tool.c && mpicc.$mpi -o program.$mpi program.c
    is "$?" 0 "$mpi: a tool and a program"
    for order in "$LIBREGTRACE $T/tool.$mpi.so" "$T/tool.$mpi.so $LIBREGTRACE"; do
        first=$(basename "${order%% *}")
        rm -rf run
        run 60 env REGTRACE_DIR="$T/run" LD_PRELOAD="$order" ./program.$mpi
        is "$status" 0 "$mpi, $first first: the program ends well"
        like "$err" 'the other tool saw 100$' "$mpi, $first first: the other tool sees every call once"
        if [ "$first" = libregtrace.so ]; then
            is "$("$REGTRACE" dump --code MPI_Barrier run | grep -c 'MPI_Barrier.*[Ee]nter')" 100 "$mpi: so do we"
            wait_for 20 no_streams # of a daemon that a program of one rank starts
            ok_run "$mpi: and what we recorded holds" "$REGTRACE" check run
        fi
    done
    run 60 env REGTRACE_LIBRARY="$LIBREGTRACE" LD_PRELOAD="$T/tool.$mpi.so" "$REGTRACE" run -o "$T/by.$mpi" -- ./program.$mpi
    like "$err" 'the other tool saw 100' "$mpi: by regtrace run, with the tool in LD_PRELOAD: it sees them"
    is "$("$REGTRACE" dump --code MPI_Barrier "$T/by.$mpi" | grep -c 'MPI_Barrier.*[Ee]nter')" 100 "$mpi: and so do we"
done
done_testing
