#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The page of regtrace page: a rank that sleeps before its 40th send is diagnosed, links lead to
# where figures come from, names with < and & are text, and pages without d3 have tables.
. "$(dirname "$0")/../../lib.sh"
. "$here/../report/logged.sh"
cd "$T" || exit 99

# --- wrong usage ---
run 20 "$REGTRACE" page
is "$status" 2 "no folder is wrong usage"
mkdir run
run 20 "$REGTRACE" page -most many run
is "$status" 2 "a -most that is no number is wrong usage"
like "$err" '-most is "many": a number from 0 to' "and the message has what is legal"
run 20 "$REGTRACE" page -output= run
is "$status" 2 "an empty -output is wrong usage"
run 20 "$REGTRACE" page -rank 3-1 run
is "$status" 2 "a wrong list of ranks is wrong usage"
run 20 "$REGTRACE" page nothing
is "$status" 1 "a run that is not there is a failure"

mpi=$(mpis | head -1)
if [ -z "$mpi" ] || ! command -v "mpicc.$mpi" >/dev/null || ! command -v "mpicxx.$mpi" >/dev/null; then
    skip "pages of runs" "no MPI, or no compilers for it"
    done_testing
    exit
fi
paths=16
[ "$(uname -m)" = x86_64 ] || paths=1 # call paths need x86-64
late=$REGTRACE_SOURCE/t/tools/report/late.c
# A template's name has < and &. So has the name of the run.
cat >odd.cc <<'C'
#include <mpi.h>
#include <time.h>
/* Takes 40 ms of processor time. */
template <class T> __attribute__((noinline)) void burn(T x)
{
    for (clock_t end = clock() + 40 * CLOCKS_PER_SEC / 1000; clock() < end;)
        for (volatile T i = 0; i < 10000; i = i + x)
            ;
}
template <class T> __attribute__((noinline)) int swap_all(T &x)
{
    int rank, n = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 20; i++)
        n += MPI_Sendrecv_replace(&x, sizeof x, MPI_BYTE, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return n;
}
int main(int argc, char **argv)
{
    int x = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        MPI_Pcontrol(1, "part");
        burn<int>(1);
        x += swap_all<int>(x);
        MPI_Pcontrol(0, "done");
    }
    return MPI_Finalize() + x;
}
C
build_logged "$mpi" "$late" ./late && "mpicxx.$mpi" -O2 -g -w -o odd odd.cc || exit 99
run 60 "$REGTRACE" run -quiet -callpath $paths -o late-run -- "mpirun.$mpi" -np 2 ./late log
is "$status" 0 "a run with a late rank" || diag "$err"
odd='a <b>bold&amp; run'
run 60 "$REGTRACE" run -quiet -callpath $paths -events task-clock -events-mpi 1 -sample cpu:1ms \
    -control 'start:pcontrol:part,stop:pcontrol:done,repeat' -o "$odd" -- "mpirun.$mpi" -np 2 ./odd
is "$status" 0 "a run with odd names" || diag "$err"

# Memory traces: rank 0 has two windows, rank 1 three, of which the last one needs more room than
# there is.
cat >windows.c <<'C'
#include <mpi.h>
static volatile int numbers[1000];
static volatile unsigned at = 1;
__attribute__((noinline)) void begin(void) { at++; }
__attribute__((noinline)) void end(void) { at++; }
/* Its addresses follow no rule: each has to be recorded. */
__attribute__((noinline)) void visit(int n)
{
    begin();
    for (int i = 0; i < n; i++) {
        at = at * 1664525 + 1013904223;
        numbers[at % 1000]++;
    }
    end();
}
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 2; i++)
        visit(100);
    if (rank == 1)
        visit(1000000);
    return MPI_Finalize();
}
C
memory=-
if [ "$(uname -m)" = x86_64 ] && [ -x "$REGTRACE_BUILD/isa/regtrace-isa" ]; then
    "mpicc.$mpi" -O1 -g -w -o windows windows.c || exit 99
    run 120 "$REGTRACE" run -quiet -memory '^(visit|begin|end)$' -max-size 1M -o memory-run \
        -control 'start:enter_func:begin,stop:enter_func:end,repeat' -- "mpirun.$mpi" -np 2 ./windows
    is "$status" 0 "a run with memory traces" || diag "$err"
    run 60 "$REGTRACE" page -o memory.html memory-run
    is "$status" 0 "a page of it" || diag "$err"
    "$REGTRACE" skel replay -format count memory-run | awk '/^# rank/ { n[$3 + 0] += $10 } END { print n[0] + 0, n[1] + 0 }' >memory-bytes
    memory=memory.html
else
    skip "memory traces in pages" "memory traces are for x86-64 with Zydis"
fi

functions=-
if [ -x "$REGTRACE_BUILD/isa/regtrace-isa" ]; then
    run 60 "$REGTRACE" run -quiet -functions '^give$' -o functions -- "mpirun.$mpi" -np 2 ./late calls
    is "$status" 0 "a run with a function" || diag "$err"
    run 60 "$REGTRACE" page -o functions.html functions
    is "$status" 0 "a page of it" || diag "$err"
    functions=functions.html
else
    skip "functions in pages" "probes are for x86-64 with Zydis"
fi

# --- files ---
run 60 "$REGTRACE" page late-run
is "$status" 0 "a page is made" || diag "$err"
[ -s late-run-page.html ]
ok $? "beside the run"
run 60 "$REGTRACE" page late-run
is "$status" 1 "what is there is not replaced"
like "$err" 'late-run-page.html is there already: -force' "and the message has the remedy"
run 60 "$REGTRACE" page -force late-run
is "$status" 0 "-force replaces it" || diag "$err"
run 60 "$REGTRACE" page -o nowhere/page.html late-run
is "$status" 1 "a folder that is not there is a failure"
like "$err" 'nowhere/page.html cannot be made: No such file' "which the message names"
run 60 "$REGTRACE" page -o - late-run
is "$status" 1 "a page does not go to standard output"
is "$(ls -d -- *unfinished* 2>/dev/null)" "" "nothing unfinished is left"
run 60 "$REGTRACE" page -o odd.html "$odd"
is "$status" 0 "a page of the run with odd names" || diag "$err"
run 60 "$REGTRACE" page -window 1 -o part.html "$odd"
is "$status" 0 "a page of one window" || diag "$err"

# A file that cannot be read is named, and the page has the rest.
cp -r late-run damaged
: >damaged/rank-00001.h5
rm -f damaged/regtrace.h5
run 60 "$REGTRACE" page -o damaged.html damaged
is "$status" 1 "a file that cannot be read is a failure"
like "$err" 'rank-00001.h5' "which names the file"
[ -s damaged.html ]
ok $? "and the page has the rest"

# --- the contents ---
if [ "$PYTHON" = no ]; then
    skip "what pages have" "no python3 with h5py and pandas"
    done_testing
    exit
fi
line() { grep -n "$1" "$late" | cut -d: -f1; }
path="main, late.c:$(line ' second(i);') > second, late.c:$(line '/. from second') > give, late.c:$(line '/. the send')"
before="main, late.c:$(line 'MPI_Recv(&x, 1, MPI_INT, 0, 2')"
[ $paths = 16 ] || path="give, late.c:$(line '/. the send')"
"$REGTRACE" report --efficiency --json late-run >efficiency.json
"$REGTRACE" report --json late-run >report.json
run 60 "$PYTHON" "$here/blocks.py" late-run-page.html odd.html part.html damaged.html "$path" log
relay "the pages' data were looked at"
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null; then
    skip "pages in a browser" "no chromium (apt-get install chromium)"
    done_testing
    exit
fi
PYTHONPATH=$REGTRACE_SOURCE/share/python:$REGTRACE_SOURCE/t/tools/timeline run 240 \
    "$PYTHON" "$here/page.py" late-run late-run-page.html odd.html \
    damaged.html $memory $functions "give, called in second, late.c:$(line '/. from second')" \
    "$path" "$before" log efficiency.json report.json
relay "all was looked at"
done_testing
