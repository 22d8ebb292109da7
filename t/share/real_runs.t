#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The Python package and the examples on real runs: both MPIs, a run that still goes on, and a rank
# killed in a call.
# shellcheck source=t/lib.sh disable=SC2317  # functions are called through wait_for
. "$(dirname "$0")/../lib.sh"
case $PYTHON in "" | no) skip_all "no Python with h5py, pandas and matplotlib" ;; esac
[ -n "$(mpis)" ] || skip_all "no MPI, or no mini-applications"
examples=$REGTRACE_SOURCE/share/examples
export PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR=$T/matplotlib PYTHONPATH=$REGTRACE_SOURCE/share/python

# traced MPI N DIR CHAINS PROGRAM...: runs PROGRAM with the library preloaded, as users start it.
traced() {
    local mpi=$1 n=$2 dir=$3 chains=$4
    shift 4
    mpirun_for "$mpi" "$n" REGTRACE_SHM="$REGTRACE_SHM" REGTRACE_DIR="$dir" LD_PRELOAD="$LIBREGTRACE" \
        REGTRACE_CONTROL="$chains" "$@"
}

for mpi in openmpi mpich; do
    have_mpi $mpi || { skip "$mpi" "$mpi is not installed"; continue; }
    dir=$T/$mpi
    run 120 traced $mpi 4 "$dir" 'start:pcontrol:solve,stop:pcontrol:solved,repeat' "$APPS/stencil.$mpi"
    is "$status" 0 "$mpi: stencil ran traced" || diag "$err"
    run 60 "$REGTRACE" report --json "$dir"
    is "$status" 0 "$mpi: report reads it"
    printf '%s\n' "$out" >"$T/report.json"
    ok_run "$mpi: frames agree with the program and with the report" "$PYTHON" "$here/real_run_check.py" "$dir" "$T/report.json" \
        stencil
    for script in mpi_profile window_timeline; do
        ok_run "$mpi: $script" "$PYTHON" "$examples/$script.py" "$dir" -o "$T/$script.png"
        ok_run "$mpi: $script wrote a picture" test "$(wc -c <"$T/$script.png")" -gt 10000
    done
done

# Programs of other kinds: all of MPI, threads, Fortran, OpenMP; the whole run is one window.
for mpi in $(mpis); do
    for app in comm particles wave hybrid; do
        [ -x "$APPS/$app.$mpi" ] || { skip "$app.$mpi" "it was not built"; continue; }
        dir=$T/$app.$mpi
        run 120 traced "$mpi" 3 "$dir" '' "$APPS/$app.$mpi"
        "$REGTRACE" report --json "$dir" >"$T/report.json" 2>"$T/report.err"
        ok_run "$app.$mpi: frames agree with the report" "$PYTHON" "$here/real_run_check.py" "$dir" "$T/report.json" "$app"
    done
done

# A run that goes on: the files are read while they grow.
mpi=$(mpis | head -n 1)
traced "$mpi" 2 "$T/live" 'start:pcontrol:solve,stop:pcontrol:solved,repeat' "$APPS/stencil.$mpi" 1000000 10 8 \
    >"$T/live.out" 2>&1 </dev/null &
live=$!
kill_at_end $live
grown() {
    "$PYTHON" - "$T/live" <<'GROWN'
import sys, time, regtrace
run = regtrace.open(sys.argv[1])
states, before = set(run.ranks["state"]), run.ranks["events"].min()
calls = run.mpi_calls()
assert len(run.files) == 2 and states == {"live"} and before > 1000 and len(calls) > 500, (states, before, len(calls))
time.sleep(2)
after = run.ranks["events"].min()
assert after > before, (before, after)
GROWN
}
ok_run "a run that goes on is read while it grows" wait_for 60 grown

# One rank dies in a call: its file ends there and says in which call.
pid=$("$PYTHON" -c 'import regtrace, sys; print(regtrace.open(sys.argv[1]).ranks.query("rank == 1")["pid"].iloc[0])' "$T/live")
kill -9 "$pid"
wait $live 2>/dev/null
killed() {
    "$PYTHON" - "$T/live" <<'KILLED'
import sys, warnings, regtrace
warnings.simplefilter("ignore")
run = regtrace.open(sys.argv[1])
rank = run.ranks.query("rank == 1").iloc[0]
assert rank["state"] == "closed" and "killed" in rank["end_reason"], dict(rank)
assert len(run.mpi_calls(rank=1)) > 500
left = run.mpi_open(rank=1)
assert len(left) <= 1 and set(left["edge"]) <= {"enter"}, left
last = run.windows(rank=1).iloc[-1]
assert not last["truncated"] or last["closed_by"] == "killed", dict(last)
KILLED
}
ok_run "a rank killed with SIGKILL: the file is closed and says so" wait_for 30 killed

# The named calls with the library itself, from Fortran and from C linked with -no-pie.
ok_run "C program" gcc -fno-pie -no-pie -I"$REGTRACE_SOURCE/share/include" -o "$T/named.c" "$here/named_calls.c"
programs=(c)
if command -v gfortran >/dev/null; then
    ok_run "Fortran program" gfortran -J "$T" -o "$T/named.fortran" "$REGTRACE_SOURCE/share/fortran/regtrace.f90" \
        "$here/named_calls.f90"
    programs+=(fortran)
else
    skip "Fortran program" "no gfortran"
fi
for name in "${programs[@]}"; do
    run 30 env REGTRACE_DEFAULT_START=0 REGTRACE_DIR="$T/calls.$name" LD_PRELOAD="$LIBREGTRACE" "$T/named.$name"
    is "$status|$out|$err" "0|done|" "$name: named calls leave the program as it was"
    ok_run "$name: windows, region and marks of the named calls" "$PYTHON" - "$T/calls.$name" <<'CALLS'
import sys, regtrace
run = regtrace.open(sys.argv[1])
windows, regions, marks = run.windows(), run.regions(), run.marks()
assert windows["opened_by"].tolist() == ["API"] * 2 and windows["closed_by"].tolist() == ["API"] * 2, windows
assert windows["bcast"].tolist() == [False, True], windows
assert regions["name"].tolist() == ["solve"] and regions["window"].tolist() == [0], regions
assert marks["action"].tolist() == ["push", "pop", "set"] and marks["value"].tolist() == [3, 3, 5000000000], marks
assert marks["title"].tolist()[:2] == ["phases of the day"] * 2 and marks["label"].tolist()[:2] == ["noon"] * 2, marks
CALLS
done
done_testing
