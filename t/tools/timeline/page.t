#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The page of regtrace timeline in a real browser: compares its contents with the Python package's
# reading of the same files, and tries what the page does.
. "$(dirname "$0")/../../lib.sh"
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || skip_all "no chromium (apt-get install chromium)"
[ "$PYTHON" != no ] || skip_all "no python3 with h5py and pandas"
mpi=$(mpis | head -1)
[ -n "$mpi" ] || skip_all "no MPI"
cd "$T" || exit 99
"mpicc.$mpi" -O1 -finstrument-functions -I"$REGTRACE_SOURCE/share/include" -o phases "$REGTRACE_SOURCE/t/tools/timeline/phases.c" -pthread || exit 99
rt_limit=120
small() {
    mpirun_for "$mpi" 3 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/small" REGTRACE_FUNCTIONS=1 \
        REGTRACE_CONTROL='start:pcontrol:solve,stop:pcontrol:solved,repeat' ./phases 10 20000
}
large() { mpirun_for "$mpi" 3 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/large" REGTRACE_FUNCTIONS=1 ./phases 500 50; }
for name in small large; do
    run 120 $name
    is "$status" 0 "a $name run" || diag "$err"
    run 60 "$REGTRACE" timeline -wait 30 $name
    is "$status" 0 "its page" || diag "$err"
done
run 60 "$REGTRACE" timeline -most 20000 -o few.html large
is "$status" 0 "a page of summaries" || diag "$err"
like "$err" 'more than 20000 of them.*-window.*-rank.*-most' "which is reported, with the remedy"
run 60 "$REGTRACE" timeline -cpu observed -o seen.html small
is "$status" 0 "a page with processors as observed" || diag "$err"
# A stream that is too small for the events, and a process that does not wait.
cc -O2 -I"$REGTRACE_SOURCE/share/include" -finstrument-functions -x c -o much - <<'C' || exit 99
#include <regtrace.h>
static void inner(int i)
{
    regtrace_region_begin(i % 2 ? "odd" : "even");
    regtrace_region_end(i % 2 ? "odd" : "even");
}
int main(void)
{
    for (int i = 0; i < 500000; i++)
        inner(i);
    return 0;
}
C
REGTRACE_FULL=drop REGTRACE_BUFFER=128K run 60 "$REGTRACE" run -quiet -functions 1 -o drop -- ./much
run 60 "$REGTRACE" timeline -policy salvage drop
[ -s drop.html ]
ok $? "the page of a run that has lost events" || diag "$err"
PYTHONPATH=$REGTRACE_SOURCE/share/python:$REGTRACE_SOURCE/t/tools/timeline run 240 "$PYTHON" "$REGTRACE_SOURCE/t/tools/timeline/page.py" "$T/small" "$T/small.html" "$T/large" "$T/large.html" "$T/few.html" "$T/drop.html" "$T/seen.html"
relay "all was looked at"
done_testing
