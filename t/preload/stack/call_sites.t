#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The call site of each recorded MPI call is the line that the program logs: in C and Fortran,
# inlined functions, callbacks within MPI calls, calls that a window's edge cuts, libraries that
# take each other's place in memory, a second thread.
. "$(dirname "$0")/../../lib.sh"
needs addr2line
compare() { "$PYTHON" "$REGTRACE_SOURCE/t/preload/stack/call_sites.py" "$T/run" "$T/log"; }
# record MPI PROGRAM [ARGUMENT]...
record() {
    rm -rf "$T/run" "$T"/log.*
    run 60 "$REGTRACE" run -quiet -control start:pcontrol:level=1:bcast,stop:pcontrol:level=0:bcast,repeat -o "$T/run" -- "mpirun.$1" -np 2 "${@:2}"
}
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -g -D_GNU_SOURCE -pthread -o "$T/sites" \
        "$REGTRACE_SOURCE/t/preload/stack/call_sites.c" 2>"$T/cc"; then
        skip "call sites with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    # Libraries of one size, whose calls are in different lines at the same offset.
    for i in 1 2 3; do
        { for ((k = 0; k < 10 * i; k++)); do echo; done
          echo '#include <mpi.h>'
          echo 'int call_it(void) { int n; MPI_Comm_size(MPI_COMM_WORLD, &n); return __LINE__; }'; } >"$T/one$i.c"
        "mpicc.$mpi" -O2 -g -fPIC -shared -o "$T/one$i.so" "$T/one$i.c"
    done
    record $mpi "$T/sites" "$T/log" "$T/one1.so" "$T/one2.so" "$T/one3.so" "$T/one1.so"
    is "$status" 0 "$mpi: the program ends as bare" || diag "$err"
    run 60 compare
    logged=$(cat "$T"/log.* | wc -l)
    is "$out" "$logged calls compared" "$mpi: all call sites are those of the log" || diag "$err"
    [ "$logged" -ge 700 ]
    ok $? "$mpi: and they are many"
    # With -pg the program has a __gmon_start__ of its own.
    "mpicc.$mpi" -O2 -g -pg -D_GNU_SOURCE -pthread -o "$T/sites_pg" "$REGTRACE_SOURCE/t/preload/stack/call_sites.c" 2>"$T/cc"
    is $? 0 "$mpi: the program is compiled with -pg"
    GMON_OUT_PREFIX=$T/gmon record $mpi "$T/sites_pg" "$T/log" "$T/one1.so" "$T/one2.so" "$T/one3.so" "$T/one1.so"
    run 60 compare
    is "$out" "$(cat "$T"/log.* | wc -l) calls compared" "$mpi: its call sites are those of the log" || diag "$err"
    # What has no call site has none: code in no image that is known, and calls that were left. A
    # child of fork that is not traced returns from the MPI call that it was made in.
    cat >"$T/odd.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int key, forks;
static pthread_key_t local;
static pid_t child;
static void overwrite(void *p) { volatile char b[400]; memset((void *)b, 'A', sizeof b); (void)p; }
static int forget(MPI_Comm c, int k, void *a, void *e)
{
    (void)c, (void)k, (void)a, (void)e;
    if (forks)
        child = fork();
    else
        pthread_exit(NULL); /* the call has no return */
    return MPI_SUCCESS;
}
static void *leaves(void *p)
{
    pthread_setspecific(local, &key);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    return p;
}
int main(int argc, char **argv)
{
    int provided, status;
    pthread_t t;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 1; i < 3; i++) { /* the second library takes the place of the first */
        void *library = dlopen(argv[i], RTLD_NOW);
        ((int (*)(void))dlsym(library, "call_it"))();
        dlclose(library);
    }
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    forks = 1;
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    if (child == 0)
        _exit(7);
    waitpid(child, &status, 0);
    printf("child %x\n", status);
    fflush(stdout);
    forks = 0;
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
    pthread_key_create(&local, overwrite);
    pthread_create(&t, NULL, leaves, NULL);
    pthread_join(t, NULL);
    _exit(0);
}
END
    "mpicc.$mpi" -O1 -g -pthread -w -o "$T/odd" "$T/odd.c"
    # Without the compiler's start files nothing tells that the library is loaded: its call looks.
    "mpicc.$mpi" -O2 -g -fPIC -shared -nostartfiles -o "$T/silent.so" "$T/one2.c"
    rm -rf "$T/run"
    run 60 "$REGTRACE" run -quiet -follow 0 -o "$T/run" -- "mpirun.$mpi" -np 1 "$T/odd" "$T/one1.so" "$T/silent.so"
    like "$out" '^child 700$' "$mpi: an untraced child returns from the call that it was forked in" || diag "$err"
    run 60 "$REGTRACE" report -top 0 "$T/run"
    like "$out" 'MPI_Comm_size .* call_it, one1.c:12' "$mpi: a call of a library that is gone has its place"
    like "$out" 'MPI_Comm_size .* call_it, one2.c:22' "$mpi: one whose load nothing tells of has its place too"
    unlike "$out" 'MPI_Comm_size .* (one1.c:[02-9]|one1.so)' "$mpi: another library in its place is not taken for it"
    like "$out" 'MPI_Comm_delete_attr .* main, odd.c:' "$mpi: a call that returns has its call site"
    like "$out" 'MPI_Comm_delete_attr .* \(unknown\)' "$mpi: one that a thread's end left has none"
    if ! "mpif90.$mpi" -cpp -O2 -g -fallow-argument-mismatch -o "$T/sites_mpif" \
        "$REGTRACE_SOURCE/t/preload/stack/call_sites_mpif.f90" 2>"$T/fc"; then
        skip "call sites in Fortran with $mpi" "no Fortran compiler for it"
        continue
    fi
    record $mpi "$T/sites_mpif" "$T/log"
    is "$status" 0 "$mpi, Fortran: the program ends as bare" || diag "$err"
    run 60 compare
    is "$out" "60 calls compared" "$mpi, Fortran: all call sites are those of the log" || diag "$err"
done
# Python is not linked with MPI: recording begins with the first call.
if have_mpi openmpi && "$PYTHON" -c 'import mpi4py' 2>/dev/null; then
    rm -rf "$T/run"
    run 60 "$REGTRACE" run -quiet -callpath 32 -o "$T/run" -- mpirun.openmpi -np 2 "$PYTHON" -c 'import mpi4py.MPI'
    is "$status" 0 "mpi4py: a run" || diag "$err"
    run 60 "$REGTRACE" report --tree "$T/run"
    like "$out" 'MPI_Initialized' "mpi4py: its first call is in the tree"
    unlike "$out" 'no image' "mpi4py: all of its code lies in images"
else
    skip "mpi4py" "no Open MPI, or no mpi4py"
fi
done_testing
