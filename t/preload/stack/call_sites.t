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
done_testing
