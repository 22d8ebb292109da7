#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks count in the efficiency and the critical path of a window whether they call MPI in it or
# not, from the return of MPI_Init to the begin of MPI_Finalize: by the program's own log, by
# Paraver's files and by the rank files. Where nothing is known, it says why.
. "$(dirname "$0")/../../lib.sh"
needs h5py
export REGTRACE_DEFAULT_START=0
source=$REGTRACE_SOURCE/t/tools/report/quiet.c
build() { # MPI
    local flags=(-O2 -g -w "-I$REGTRACE_SOURCE/share/include")
    "mpicc.$1" "${flags[@]}" -DBELOW -shared -fPIC -o "$T/libbelow.so" "$source" &&
        "mpicc.$1" "${flags[@]}" -o "$T/quiet" "$source" -pthread -L"$T" -lbelow -Wl,-rpath,"$T"
}
record() { # MODE [OPTION...]
    rm -rf "$T/run" "$T"/log*
    run 100 "$REGTRACE" run -quiet "${@:2}" -o "$T/run" -- "mpirun.$mpi" -np 3 "$T/quiet" "$1" "$T/log"
    is "$status" 0 "$mpi, $1: the program ends" || diag "$err"
}
report() {
    "$REGTRACE" report --efficiency --json "$T/run" >"$T/efficiency"
    "$REGTRACE" report --json "$T/run" >"$T/report"
}
by_log() { # MODE
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/report/quiet.py" "$1" "$T/log" "$T/efficiency" "$T/report"
}
by_paraver() {
    rm -rf "$T/prv"
    "$REGTRACE" prv -o "$T/prv" "$T/run" >/dev/null
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/report/efficiency.py" "$T/prv" "$T/efficiency"
}
unknown() { # WHAT REASON: nothing is known of the run, for this reason, in text and JSON
    run 60 "$REGTRACE" report --efficiency "$T/run"
    like "$out" ": not known: $2" "$1: says why" || diag "$err"
    unlike "$out" 'nan|%' "$1: and no figures"
    run 60 "$REGTRACE" report --efficiency --json "$T/run"
    run 60 "$PYTHON" -c 'import json, sys
run = json.loads(sys.argv[1])["runs"][0]
names = ("length_ns", "useful_ns", "parallel_efficiency", "load_balance", "communication_efficiency", "serialisation", "transfer", "windows_ns")
print([run[n] for n in names if run[n] is not None], run["processes"], len(run["windows"]), run["why_not"])' "$out"
    like "$out" "^\\[\\] 0 0 $2" "$1: as JSON, too" || diag "$err"
    run 60 "$REGTRACE" report --critical-path "$T/run"
    like "$out" '(No critical path is known|The critical path is unknown): ' "$1: nor a critical path"
}
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! build $mpi 2>"$T/cc"; then
        skip "ranks without MPI calls, $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    record inside
    report
    by_log inside
    is "$out" "4 windows of 3 processes" "$mpi, inside: as the program has logged" || diag "$err"
    by_paraver
    is "$out" "4 windows compared" "$mpi, inside: as Paraver's files" || diag "$err"
    for w in 0 1 2 3; do
        "$REGTRACE" report --json -window $w "$T/run" >"$T/report.$w"
    done
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/report/delays.py" "$T/run" "$T"/report.[0-3]
    is "$out" "4 windows compared" "$mpi, inside: critical paths as by the rank files" || diag "$err"
    # The files of one window say that MPI was up in it.
    rm -rf "$T/split"
    "$REGTRACE" split -o "$T/split" "$T/run" >/dev/null
    "$REGTRACE" report --efficiency --json -window 1 "$T/run" | grep -v '"dir"' >"$T/whole"
    "$REGTRACE" report --efficiency --json "$T/split/window-00001" | grep -v '"dir"' >"$T/part"
    is "$(cat "$T/part")" "$(cat "$T/whole")" "$mpi, inside: a window that is split off has the same figures"
    # The checks themselves.
    sed -i 's/"processes": 3/"processes": 2/' "$T/efficiency"
    by_log inside
    is "$(grep -c 'window [0-3]: 2 processes, by the log 3' <<<"$out")" 4 "$mpi: the log shows a rank that is left out"
    by_paraver
    is "$(grep -c '^window [0-3]: processes 2' <<<"$out")" 4 "$mpi: and so do Paraver's files"

    record edges
    report
    by_log edges
    is "$out" "3 windows of 3 processes" "$mpi, edges: windows from MPI_Init to MPI_Finalize, as logged" || diag "$err"
    by_paraver
    is "$out" "3 windows compared" "$mpi, edges: as Paraver's files" || diag "$err"
    record elsewhere
    report
    by_log elsewhere
    is "$out" "1 windows of 3 processes" "$mpi, elsewhere: another thread calls MPI" || diag "$err"
    record before
    unknown "$mpi, before" 'no window has ended between MPI_Init and MPI_Finalize; '
    record within
    unknown "$mpi, within" 'no window has ended between MPI_Init and MPI_Finalize; '
    record inside -mpi 0
    unknown "$mpi, -mpi 0" 'windows have no MPI calls, as -mpi is 0; record '
done
cat >"$T/alone.c" <<'END'
#include <regtrace.h>
int main(void)
{
    regtrace_start(0);
    regtrace_stop(0);
    return 0;
}
END
cc "-I$REGTRACE_SOURCE/share/include" -o "$T/alone" "$T/alone.c"
rm -rf "$T/run"
run 60 "$REGTRACE" run -quiet -o "$T/run" -- "$T/alone"
is "$status" 0 'a program without MPI ends' || diag "$err"
unknown 'without MPI' 'no process has called MPI_Init, .*; if the program uses MPI, .regtrace doctor PROGRAM. says why'
done_testing
