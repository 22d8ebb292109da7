#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A page names the rank with most work in a window, also if that rank calls no MPI there.
. "$(dirname "$0")/../../lib.sh"
needs h5py
export REGTRACE_DEFAULT_START=0
mpi=$(mpis | head -1)
source=$here/../report/quiet.c
flags=(-O2 -g -w "-I$REGTRACE_SOURCE/share/include")
if [ -z "$mpi" ] || ! command -v "mpicc.$mpi" >/dev/null; then
    skip "work by rank in pages" "no MPI, or no compiler for it"
    done_testing
    exit
fi
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null; then
    skip "work by rank in pages" "no chromium (apt-get install chromium)"
    done_testing
    exit
fi
"mpicc.$mpi" "${flags[@]}" -DBELOW -shared -fPIC -o "$T/libbelow.so" "$source" &&
    "mpicc.$mpi" "${flags[@]}" -o "$T/quiet" "$source" -pthread -L"$T" -lbelow -Wl,-rpath,"$T" || exit 99
run 100 "$REGTRACE" run -quiet -o "$T/run" -- "mpirun.$mpi" -np 3 "$T/quiet" inside "$T/log"
is "$status" 0 "the program ends" || diag "$err"

# The program's rank 1 has most work in window 0, and rank 2 in window 1, as it waits there for the
# others to close their windows. Neither calls MPI in that window.
for window in 0:1 1:2; do
    page=$T/page-${window%:*}.html
    run 60 "$REGTRACE" page -window "${window%:*}" -o "$page" "$T/run"
    is "$status" 0 "a page of window ${window%:*}" || diag "$err"
    PYTHONPATH=$REGTRACE_SOURCE/share/python:$REGTRACE_SOURCE/t/tools/timeline run 120 \
        "$PYTHON" "$here/balance.py" "$page" "${window#*:}" "$T/log.${window#*:}" "${window%:*}"
    relay "the page was looked at"
done
done_testing
