#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# REGTRACE_EVENTS records exactly what a thread's window counted, here with kernel events that need
# no hardware.
. "$(dirname "$0")/../../lib.sh"
P=$REGTRACE_BUILD/t/preload/count/sampled
window=start:signal:SIGUSR1,stop:signal:SIGUSR2,repeat

# --- wrong requests -------------------------------------------------------------------------------
wrong() {
    run 30 env REGTRACE_DIR="$T/wrong" REGTRACE_EVENTS="$1" LD_PRELOAD="$LIBREGTRACE" "$P" work 1
    is "$status,$out" 2, "\"$1\" is refused before main"
    like "$err" "$2" "with the reason"
}
wrong bogus '"bogus" is no event that can be counted here: .*; legal are up to 8 of'
wrong page-faults, 'after the last comma'
wrong page-faults,page-faults '"page-faults" is there twice'
wrong page-faults,,cycles '"" is no event'
wrong r1,r2,r3,r4,r5,r6,r7,r8,r9 '"r9" is one too many'
run 30 "$REGTRACE" run -o "$T/wrong" -events bogus -- "$P" work 1
is "$status" 2 "regtrace run refuses it too"
like "$err" '"bogus" is no event' "with the reason"
[ ! -e "$T/wrong" ]
ok $? "and starts nothing"

run 60 "$REGTRACE" run -o "$T/probe" -events page-faults -- "$P" faults 1
if [ "$status" != 0 ]; then
    skip "counting" "$err"
    done_testing
    exit
fi

# counted NAME ARGUMENT...: runs the program. Sets counts to one line for each record: thread,
# window, event, count, running time per mille.
counted() {
    local name=$1
    shift
    run 120 env REGTRACE_DIR="$T/$name" REGTRACE_CONTROL=$window REGTRACE_EVENTS=page-faults,major-faults LD_PRELOAD="$LIBREGTRACE" "$P" "$@"
    is "$status" 0 "$name: the program ends well" || diag "$err"
    ok_run "$name: what is recorded holds" "$REGTRACE" check "$T/$name"
    run 60 "$REGTRACE" dump "$T/$name"
    counts=$(sed -nE 's/^ *[0-9.]+ +[0-9]+ +([0-9]+) +([0-9]+) +EV_COUNTER .*event="([^"]*)" count=([0-9]+) running_per_mille=([0-9]+)$/\1 \2 \3 \4 \5/p' <<<"$out")
}
counted faults faults 3000
is "$counts" "0 0 page-faults 3000 1000
0 0 major-faults 0 1000" "3,000 pages touched for the first time: 3,000 faults in the window, none of them by a disk"
run 60 "$REGTRACE" report "$T/faults"
like "$out" '^  page-faults +3000 +3000 +3000 +0$' "the report adds them up"
run 60 "$REGTRACE" report --json "$T/faults"
like "$out" '"event": "page-faults", "count": 3000, "windows": 1, "running_per_mille": 1000' "and so does its JSON"
counted more faults 20000
is "$(head -n 1 <<<"$counts")" "0 0 page-faults 20000 1000" "and 20,000"
counted many many 25
is "$(grep -c page-faults <<<"$counts")" 2000 "a record at each of 2,000 windows of 100 threads"
is "$(awk '{ print $1, $2, $3 }' <<<"$counts" | sort | uniq -d | wc -l)" 0 "each once"
counted child fork 2
is "$(awk '{ print $2, $3 }' <<<"$counts" | sort -u | head -n 2 | wc -l)" 2 "the parent's window goes on over fork"

# --- in MPI calls, and for stats-emit -------------------------------------------------------------
run 30 env REGTRACE_DIR="$T/wrong" REGTRACE_EVENTS_MPI=1 LD_PRELOAD="$LIBREGTRACE" "$P" work 1
is "$status,$out" 2, "counting in MPI calls without an event is refused"
like "$err" 'REGTRACE_EVENTS_MPI .* needs events to count: give REGTRACE_EVENTS' "with the remedy"

cat >"$T/calls.c" <<'END'
#include <mpi.h>
#include <string.h>
#include <sys/mman.h>
static char *pages;
static void touch(int n)
{
    for (int i = 0; i < n; i++, pages += 4096)
        *pages = 1;
}
static void handler(MPI_Comm *comm, int *code, ...)
{
    int rank;
    touch(*code);
    MPI_Comm_rank(*comm, &rank); /* a call inside the call */
    if (*code != 20)
        return;
    MPI_Pcontrol(1, "close"); /* the window ends in the middle of it, and another begins */
    MPI_Pcontrol(1, "open");
    touch(30);
}
int main(int argc, char **argv)
{
    MPI_Errhandler h;
    MPI_Init(&argc, &argv);
    pages = mmap(NULL, 8192 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Comm_create_errhandler(handler, &h);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, h);
    /* So the pages that the call itself touches first do not count below. */
    MPI_Comm_call_errhandler(MPI_COMM_SELF, 1);
    MPI_Pcontrol(1, "open");
    touch(300);
    MPI_Comm_call_errhandler(MPI_COMM_SELF, 700);
    MPI_Pcontrol(1, "emit");
    touch(40);
    MPI_Comm_call_errhandler(MPI_COMM_SELF, 11);
    MPI_Pcontrol(1, "both");
    touch(5);
    MPI_Pcontrol(1, "emit");
    MPI_Comm_call_errhandler(MPI_COMM_SELF, 20);
    MPI_Pcontrol(1, "close");
    MPI_Errhandler_free(&h);
    MPI_Finalize();
    return 0;
}
END
for mpi in $(mpis); do
    "mpicc.$mpi" -o "$T/calls.$mpi" "$T/calls.c" || { skip "in MPI calls, $mpi" "mpicc.$mpi is not here"; continue; }
    run 60 mpirun_for "$mpi" 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/calls-$mpi" REGTRACE_EVENTS=page-faults,major-faults REGTRACE_EVENTS_MPI=1 \
        REGTRACE_CONTROL='start:pcontrol:open,stop:pcontrol:close,repeat;stats-emit:pcontrol:emit,stats-emit-reset:pcontrol:both,stats-emit:pcontrol:emit' \
        "$T/calls.$mpi"
    is "$status" 0 "$mpi: the program ends well" || diag "$err"
    wait_for 30 test -e "$T/calls-$mpi/regtrace.h5"
    run 60 "$REGTRACE" dump "$T/calls-$mpi"
    is "$(sed -nE 's/.* EV_MPI_COUNTER .*event="page-faults" count=([0-9]+) .*/\1/p' <<<"$out" | xargs)" "700 11" \
        "$mpi: what was touched in the calls, without the one that an edge of the window cuts" || diag "$out"
    # The recorder also touches its own pages for the first time in a window, so up to 9 more faults
    # are right.
    is "$(sed -nE 's/.* EV_(STATS_)?COUNTER .*event="page-faults" count=([0-9]+) .*/\1 \2/p' <<<"$out" | awk '
        { wanted = substr("1000 1051 0005 1076 0030", 5 * NR - 4, 4) + 0; print ($0 ~ /STATS/), ($NF >= wanted && $NF <= wanted + 9) }' | xargs)" \
        "1 1 1 1 1 1 0 1 0 1" "$mpi: stats-emit, since the counters began and since the last reset; and the window's own" || diag "$out"
    is "$(grep -cE 'EV_MPI_COUNTER .*major-faults' <<<"$out")" 2 "$mpi: of outermost calls alone, each event once"
    run 60 "$REGTRACE" report "$T/calls-$mpi"
    like "$out" '^  MPI_Comm_call_errhandler +711 +0$' "$mpi: the report has them by function"
    like "$out" '^  outside of MPI +(39[5-9]|40[0-9]) +0$' "$mpi: and what was counted outside"
    run 60 "$REGTRACE" report --json "$T/calls-$mpi"
    like "$out" '"name": "MPI_Comm_call_errhandler".*"counted": \{"page-faults": 711, "major-faults": 0\}' "$mpi: the JSON too"
    ok_run "$mpi: what is recorded holds" "$REGTRACE" check "$T/calls-$mpi"
    # A window that the size limit cuts off has no record of its counts.
    run 60 mpirun_for "$mpi" 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/full-$mpi" REGTRACE_EVENTS=page-faults REGTRACE_EVENTS_MPI=1 \
        REGTRACE_MAX_SIZE=512k REGTRACE_BUFFER=256k "$APPS/stencil.$mpi" 3 2000 16
    is "$status" 0 "$mpi: a program that records more than the limit ends well" || diag "$err"
    wait_for 30 test -e "$T/full-$mpi/regtrace.h5"
    run 60 "$REGTRACE" report "$T/full-$mpi"
    like "$out" '^  not in these: what was counted in 1 windows that have no end' "$mpi: what is missing is reported"
    unlike "$out" 'outside of MPI' "$mpi: and nothing is worked out with it"
done
done_testing
