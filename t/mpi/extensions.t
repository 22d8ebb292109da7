#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# MPIX_* extensions are recorded like other functions. Open MPI's persistent collective operations
# start and complete like those of MPI-4.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99
needs mpi

# recorded RUN: prints its MPIX_ functions, each once.
recorded() { "$REGTRACE" dump "$1" | grep -oE '\bMPIX_[A-Za-z_]+' | LC_ALL=C sort -u | xargs; }

for mpi in $(mpis); do
    program=$REGTRACE_BUILD/t/mpi/extensions.$mpi
    run 60 "$program"
    bare="$status $out"
    like "$bare" '^0 ' "$mpi: its extensions work"
    run 60 env REGTRACE_DIR="$T/$mpi" LD_PRELOAD="$LIBREGTRACE" "$program"
    is "$status $out" "$bare" "$mpi: and say the same with us"
    ok_run "$mpi: what was recorded holds" "$REGTRACE" check "$mpi"
    nm "$program" | awk '$1 == "U" {sub(/@.*/, "", $2); print $2}' | grep '^MPIX_' | LC_ALL=C sort -u | xargs >called
    isnt "$(cat called)" '' "$mpi: the program calls some"
    is "$(recorded "$mpi")" "$(cat called)" "$mpi: each is recorded"
    [ $mpi = openmpi ] || continue
    is "$(wc -w <called)" 23 'all 22 that make persistent requests, and one more'
    is "$("$REGTRACE" dump --code EV_MPI_STARTED openmpi | grep -c request=)" 44 'each request is started twice'
    is "$("$REGTRACE" dump --code EV_MPI_COMPLETE openmpi | grep -c request=)" 44 'and completes'
    like "$("$REGTRACE" dump --code MPIX_Allreduce_init openmpi)" 'bytes=8 comm=3' 'with its bytes and communicator'
    fortran=$REGTRACE_BUILD/t/mpi/extensions_mpif.openmpi
    if [ ! -x "$fortran" ]; then
        skip 'in Fortran' 'no Fortran compiler for it'
        continue
    fi
    run 60 "$fortran"
    bare=$out
    run 60 env REGTRACE_DIR="$T/fortran" LD_PRELOAD="$LIBREGTRACE" "$fortran"
    is "$status $out" "0 $bare" 'in Fortran: the same results'
    is "$(recorded fortran)" 'MPIX_Allreduce_init MPIX_Barrier_init' 'and both are recorded'
    is "$("$REGTRACE" dump --code EV_MPI_STARTED fortran | grep -c request=)" 3 'with their starts'
done
done_testing
