#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# While nothing can be recorded, the wrappers jump to the library, so that the program itself is the
# caller. A named call ends that, and objects that were made before are known then. A program that
# the loader binds to named calls never sleeps, so that its messages have numbers from MPI_Init on.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99
needs mpi

cat >tool.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int MPI_Barrier(MPI_Comm comm)
{
    Dl_info info;
    const char *who = dladdr(__builtin_return_address(0), &info) != 0 ? info.dli_fname : "nobody";
    printf("called by %s\n", strstr(who, "libregtrace") != NULL ? "us" : "the program");
    return PMPI_Barrier(comm);
}
END
cat >program.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#ifdef BOUND
#include <regtrace.h>
#define start() regtrace_start(0)
#define stop() regtrace_stop(0)
#else
#define start() ((void (*)(int))dlsym(RTLD_DEFAULT, "regtrace_start"))(0)
#define stop() ((void (*)(int))dlsym(RTLD_DEFAULT, "regtrace_stop"))(0)
#endif
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int in = 0, out = 7;
    MPI_Comm twin;
    MPI_Request r;
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    MPI_Recv_init(&in, 1, MPI_INT, MPI_ANY_SOURCE, 3, twin, &r);
    MPI_Barrier(MPI_COMM_SELF); /* finds the real function */
    MPI_Barrier(MPI_COMM_SELF);
    if (argc > 1) {
        start();
        MPI_Barrier(MPI_COMM_SELF);
        MPI_Start(&r);
        MPI_Send(&out, 1, MPI_INT, 0, 3, twin);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        stop();
        MPI_Barrier(MPI_COMM_SELF);
    }
    MPI_Request_free(&r);
    MPI_Comm_free(&twin);
    return MPI_Finalize();
}
END
for mpi in $(mpis); do
    mpicc.$mpi -shared -fPIC -o tool.$mpi.so tool.c -ldl &&
        mpicc.$mpi -o program.$mpi program.c -ldl &&
        mpicc.$mpi -DBOUND -I"$REGTRACE_SOURCE/share/include" -o bound.$mpi program.c -ldl
    is "$?" 0 "$mpi: a tool and a program"
    pair="$LIBREGTRACE $T/tool.$mpi.so"
    run 60 env REGTRACE_DEFAULT_START=0 REGTRACE_DIR="$T/none.$mpi" LD_PRELOAD="$pair" ./program.$mpi
    is "$out" "called by us
called by the program" "$mpi: idle: the second call comes from the program"
    is "$(ls "$T/none.$mpi" 2>/dev/null)" "" "$mpi: and nothing is recorded"
    run 60 env REGTRACE_DEFAULT_START=0 REGTRACE_DIR="$T/run.$mpi" LD_PRELOAD="$pair" ./program.$mpi start
    is "$out" "called by us
called by the program
called by us
called by us" "$mpi: a named call wakes the wrappers"
    is "$("$REGTRACE" dump --code MPI_Barrier "$T/run.$mpi" | grep -c 'MPI_Barrier.*[Ee]nter')" 1 "$mpi: and what comes after it is recorded"
    like "$("$REGTRACE" dump "$T/run.$mpi")" 'EV_MPI_COMPLETE .*source=0 tag=3' "$mpi: with the receive that was made before"
    like "$("$REGTRACE" dump "$T/run.$mpi")" 'EV_MPI_READY .*rank=0 size=1' "$mpi: and with what MPI_Init has said"
    ok_run "$mpi: it holds" "$REGTRACE" check "$T/run.$mpi"
    run 60 env REGTRACE_DEFAULT_START=0 REGTRACE_DIR="$T/awake.$mpi" LD_PRELOAD="$pair" ./bound.$mpi start
    is "$(grep -c 'called by us' <<<"$out")" 4 "$mpi: a program bound to named calls: they stay awake"
    like "$("$REGTRACE" dump "$T/awake.$mpi")" 'EV_MPI_RECEIVE_NUMBER .*source=0 tag=3 number=0' "$mpi: and its messages have numbers"
    run 60 env REGTRACE_CONTROL=start:pcontrol:never REGTRACE_DIR="$T/chain.$mpi" LD_PRELOAD="$pair" ./program.$mpi
    is "$out" "called by us
called by us" "$mpi: a chain that may open a window: they stay awake"
done
done_testing
