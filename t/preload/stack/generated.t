#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Call paths go through code that a program generates, and perf maps name it: of regions, samples
# and MPI calls, in report and Python. The writer keeps the map of this process alone.
. "$(dirname "$0")/../../lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "call paths need x86-64"
compile() { "$1" -O2 -g "${@:2}" -I"$REGTRACE_SOURCE/share/include" "$REGTRACE_SOURCE/t/preload/stack/generated.c"; }
# record [OPTION]... -- PROGRAM...: the program prints the path of its map.
record() {
    remove_run "$T/run"
    run 60 "$REGTRACE" run -quiet -callpath 32 -o "$T/run" "$@"
    is "$status" 0 "$what: the program ends well" || diag "$err"
    xargs -I{} rm -f {} {}.target <<<"$out"
}
kept() { find "$T/run" -name 'perf-*.map' | wc -l; }
folded() { "$REGTRACE" report --hot --folded "$T/run" | sed -n 's/.*;main;/main;/; s/ [0-9]*$//; /;spin$/p' | sort -u; }

compile cc -o "$T/program" || exit 99
what="a map"
record -sample cpu:10ms -- "$T/program"
is "$(kept)" 1 "the run's folder has the map"
is "$(folded)" 'main;py::outer:/code.py;first;js::inner code.js:3;second;spin' "samples have whole paths, with names"
run 30 "$REGTRACE" report --hot "$T/run"
like "$out" '\[jit\] +spin' "and are in a function of the map"
# names: prints the region's path as Python has it.
names() { run 30 env PYTHONPATH="$REGTRACE_SOURCE/share/python" "$PYTHON" "$T/names.py" "$T/run"; }
if [ "$PYTHON" != no ]; then
    cat >"$T/names.py" <<'END'
import sys, regtrace
run = regtrace.open(sys.argv[1])
paths, names = run.paths().set_index("path"), []
at = run.regions()["path"][0]
while at != 0:
    name = paths.loc[at, "function"]
    names.insert(0, name if isinstance(name, str) else "unknown")
    at = paths.loc[at, "parent"]
print(*names[names.index("main") if "main" in names else 0:], sep=";")
END
    names
    is "$out" 'main;py::outer:/code.py;first;js::inner code.js:3;second' "Python: the region's path, too" || diag "$err"
fi

what="no map"
record -sample cpu:10ms -- "$T/program" none
is "$(kept)/$(folded)" "0/" "nothing is kept and named"
if [ "$PYTHON" != no ]; then
    names
    is "$out" "[cut];unknown;second" "nor are frames guessed: a path ends at such code" || diag "$err"
fi
for what in old link; do
    record -- "$T/program" "$what"
    is "$(kept)" 0 "a map that is $what is not kept"
done

for mpi in openmpi mpich; do
    what=$mpi
    have_mpi $mpi && compile "mpicc.$mpi" -DWITH_MPI -o "$T/program" 2>"$T/cc" ||
        { skip "generated code with $mpi" "no $mpi, or no compiler for it"; continue; }
    record -- "mpirun.$mpi" -np 2 "$T/program"
    is "$(kept)" 2 "$mpi: each rank has its map"
    run 30 "$REGTRACE" report --folded "$T/run"
    like "$out" '^main, generated.c:[0-9]+;py::outer:/code.py in \[jit\];first, [^;]*;js::inner code.js:3 in \[jit\];second, [^;]*;MPI_Barrier [0-9]+$' \
        "$mpi: the path of an MPI call"
    is "$(grep -c ';MPI_Barrier ' <<<"$out")" 1 "which is one for both ranks"
done

# A real interpreter: CPython 3.12 and later.
python=''
cat >"$T/has_perf.py" <<'END'
import os, sys
active = hasattr(sys, "is_stack_trampoline_active") and sys.is_stack_trampoline_active()
if active:
    os.unlink(f"/tmp/perf-{os.getpid()}.map")
sys.exit(not active)
END
for candidate in python3.12 python3.13 python3.14 python3; do
    [ -z "$python" ] && "$candidate" -X perf "$T/has_perf.py" 2>"$T/no_perf" && python=$candidate
done
if [ -n "$python" ]; then
    cat >"$T/work.py" <<'END'
import os, time
def work(key):
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    return key
def sorts():
    return sorted([2, 1], key=work)
sorts()
print(f"/tmp/perf-{os.getpid()}.map")
END
    what=$python
    record -sample cpu:10ms -- "$python" -X perf "$T/work.py"
    like "$("$REGTRACE" report --hot --folded "$T/run")" ';py::sorts:[^;]*work.py;.*;py::work:[^;]*work.py' "Python's functions are in the paths"
else
    skip "frames of Python" "no CPython 3.12 or later with -X perf"
fi
done_testing
