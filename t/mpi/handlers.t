#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Erroneous calls run the program's error handlers as often, and with the same errors, as without
# regtrace, which asks MPI about a handle only if it knows that the handle is valid. Cases that
# crash an MPI library by themselves are left out for that library.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99
needs mpi
ulimit -c 0
mkdir folder

# bare PROGRAM COUNT: runs the program untraced. Sets `without` to the cases that crash, and writes
# the output of the others to $T/bare. Each crash ends a run, and the next run leaves that case out.
bare() {
    without=()
    local last
    while run 60 "$1" count folder "${without[@]}"; printf '%s\n' "$out" >bare; last=$(tail -n 1 bare); [ "$last" != end ]; do
        last=${last%%[!a-z_]*}
        if [ -z "$last" ] || [ ${#without[@]} -ge 40 ]; then
            diag "$err"
            return 1
        fi
        without+=("$last")
    done
}

# same WHAT MODE ENVIRONMENT...: a traced run prints what the untraced one prints.
same() {
    local what=$1 mode=$2
    shift 2
    run 60 "$program" "$mode" folder "${without[@]}"
    printf '%s\n' "$out" >want
    rm -rf run
    run 60 env REGTRACE_DIR="$T/run" LD_PRELOAD="$LIBREGTRACE" "$@" "$program" "$mode" folder "${without[@]}"
    printf '%s\n' "$out" >got
    cmp -s want got
    ok $? "$mpi, $what: $(($(wc -l <want) - 1)) erroneous calls, the same handlers with the same errors" || diag "$(diff want got | head -20)"
}

for mpi in $(mpis); do
    program=$REGTRACE_BUILD/t/mpi/handlers.$mpi
    bare "$program"
    ok $? "$mpi: a bare run goes through" || continue
    diag "$mpi crashes by itself in ${#without[@]} calls: ${without[*]}"
    calls=$(($(wc -l <bare) - 1))
    [ $calls -ge 40 ]
    ok $? "$mpi: 40 erroneous calls or more ($calls)"
    like "$(cat bare)" 'barrier_null: 5 w5 MPI_Barrier' "$mpi: handlers run, and say of which function"
    same 'all recorded' count REGTRACE_CONTROL=
    ok_run "$mpi: and what was recorded holds" "$REGTRACE" check run
    same 'between windows' count REGTRACE_CONTROL=start:pcontrol:never
    same 'errors returned' return REGTRACE_CONTROL=
    # The default handler ends the program and names the function. Open MPI may lose its message on
    # the way to a file. So for Open MPI only the exit status is compared here; the name is compared
    # above, as handlers get it.
    for call in barrier_null send_comm_null send_type_null comm_dup_null after_finalize; do
        run 60 "$program" fatal folder $call
        want="$status"
        [ $mpi = openmpi ] || want+=" $(grep -oE 'MPIX?_[A-Z][a-z_]+' <<<"$out$err" | head -n 1)"
        rm -rf run
        run 60 env REGTRACE_DIR="$T/run" LD_PRELOAD="$LIBREGTRACE" "$program" fatal folder $call
        got="$status"
        [ $mpi = openmpi ] || got+=" $(grep -oE 'MPIX?_[A-Z][a-z_]+' <<<"$out$err" | head -n 1)"
        is "$got" "$want" "$mpi: $call with the default handler: the same end, the same name"
    done

    fortran=$REGTRACE_BUILD/t/mpi/handlers_mpif.$mpi
    if [ ! -x "$fortran" ]; then
        skip "$mpi: Fortran" 'no Fortran compiler for it'
        continue
    fi
    run 60 "$fortran"
    want=$out
    like "$want" 'barrier +[1-9][0-9]* +1' "$mpi: in Fortran a handler runs"
    run 60 env REGTRACE_DIR="$T/fortran.$mpi" LD_PRELOAD="$LIBREGTRACE" "$fortran"
    is "$out" "$want" "$mpi: and as often with us"
done

# The program makes its communicator and type by PMPI_* calls, which regtrace does not see. It
# learns of them only after the first call with them has succeeded. The leave event of that call has
# their facts.
cat >hidden.c <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    int data[6] = {0}, got[6];
    MPI_Comm hidden;
    MPI_Datatype pair;
    MPI_Request r;
    MPI_Init(&argc, &argv);
    PMPI_Comm_dup(MPI_COMM_SELF, &hidden);
    PMPI_Type_contiguous(2, MPI_INT, &pair);
    PMPI_Type_commit(&pair);
    for (int i = 0; i < 2; i++) {
        MPI_Isend(data, 3, pair, 0, 0, hidden, &r);
        MPI_Recv(got, 6, MPI_INT, 0, 0, hidden, MPI_STATUS_IGNORE);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    return MPI_Finalize();
}
END
for mpi in $(mpis); do
    mpicc.$mpi -o hidden.$mpi hidden.c || exit 99
    run 60 env REGTRACE_DIR="$T/hidden.of.$mpi" LD_PRELOAD="$LIBREGTRACE" ./hidden.$mpi
    is "$status" 0 "$mpi: handles made behind our back"
    is "$("$REGTRACE" dump --code MPI_Isend hidden.of.$mpi | grep -oE '(enter|leave|bytes=[0-9]+|comm=[0-9]+)' | xargs)" \
        'enter bytes=0 leave bytes=24 comm=3 enter bytes=24 comm=3 leave' "$mpi: the first leave says their facts, then the enter does"
    if [ "$PYTHON" != no ]; then
        run 60 env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$REGTRACE_SOURCE/share/python" "$PYTHON" -c '
import sys, regtrace
c = regtrace.open(sys.argv[1]).mpi_calls(function="MPI_Isend")
print(list(c["bytes"]), list(c["comm"]))' "hidden.of.$mpi"
        is "$out" '[24, 24] [3, 3]' "$mpi: and so does the Python package" || diag "$err"
    fi
    like "$("$REGTRACE" report hidden.of.$mpi)" 'MPI_Isend +2 .* 48' "$mpi: and the report"
done
done_testing
