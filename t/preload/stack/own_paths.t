#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The call paths of regions and functions are those that the program notes itself: by libraries'
# callbacks, in handlers, from aligned and variable frames, in two threads, and with MPI_Pcontrol.
. "$(dirname "$0")/../../lib.sh"
needs addr2line h5py
S=$REGTRACE_SOURCE/t/preload/stack
# compare MOST WHAT
compare() { run 60 "$PYTHON" "$S/own_paths.py" "$T/run" "$T/program" "$1" "$T/log" "$2"; }
# record MOST [OPTION]...
record() {
    remove_run "$T/run"
    run 60 "$REGTRACE" run -quiet -callpath "$1" -o "$T/run" "${@:2}" -- "$T/program" "$T/log"
    is "$status" 0 "$kind, $1 callers: the program ends well" || diag "$err"
}
compile() { # FLAG...
    cc -g -pthread "$@" -I"$REGTRACE_SOURCE/share/include" -o "$T/program" "$S/own_paths.c"
}
# are MOST WHAT COUNT: are the paths those that the program notes?
are() {
    compare "$1" "$2"
    case $1 in
    64) like "$out" "^$3 compared, $3 whole\$" "$kind, $1 callers: $2 have the program's paths" ;;
    8) like "$out" "^$3 compared, [1-9][0-9]* whole\$" "$kind, $1 callers: $2 have the program's paths" ;;
    *) like "$out" "^$3 compared, 0 whole\$" "$kind, $1 callers: $2 have the program's paths" ;;
    esac || diag "$err"
    is "$(wc -l <<<"$out")" 1 "$kind, $1 callers: and marks where they were cut" || diag "$out"
}
paths=64
[ "$(uname -m)" = x86_64 ] || paths=1
for kind in "-O2" "-O0"; do
    compile "$kind" || exit 99
    for most in 1 3 8 $paths; do
        [ "$most" -le "$paths" ] || continue
        record "$most"
        are "$most" regions 81
    done
done
if [ "$paths" = 64 ]; then
    for kind in "-O2" "-O0"; do
        for most in 3 64; do
            compile "$kind" -finstrument-functions || exit 99
            record "$most" -functions 1
            kind="$kind -finstrument-functions" are "$most" functions 216
            [ -x "$REGTRACE_BUILD/isa/regtrace-isa" ] || continue
            compile "$kind" || exit 99
            record "$most" -functions '^work_'
            kind="$kind, by name" are "$most" functions 216
        done
    done
    run 60 "$REGTRACE" dump "$T/run"
    like "$out" 'function leave .* path=[0-9]+' "dump has their paths"
    ok_run "what is recorded holds" "$REGTRACE" check "$T/run"
fi
record 1
run 60 "$REGTRACE" dump "$T/run"
like "$out" 'region begins +region="[0-9>]+" path=[0-9]+' "dump has the path of a region"
record 0
run 60 "$REGTRACE" dump "$T/run"
like "$out" 'region begins' "-callpath 0 records regions" || diag "$err"
unlike "$out" 'region begins.*path=' "which have no path"

# The Python package names the line of the call, though regtrace.h has an inlined function there.
record 1
cat >"$T/lines.py" <<'END'
import sys, regtrace
run = regtrace.open(sys.argv[1])
paths = run.paths().set_index("path")["line"]
regions = run.regions()
print(len(regions), sum(paths[p].endswith("own_paths.c:" + n.split(">")[-1]) for p, n in zip(regions["path"], regions["name"])))
END
run 60 env PYTHONPATH="$REGTRACE_SOURCE/share/python" "$PYTHON" "$T/lines.py" "$T/run"
is "$out" "81 81" "Python: regions() and paths() have their lines" || diag "$err"

cat >"$T/pcontrol.c" <<'END'
#include <mpi.h>
#define STRING(x) #x
#define LINE(x) STRING(x)
__attribute__((noinline)) static void work(void)
{
    MPI_Pcontrol(1, LINE(__LINE__));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(-1, LINE(__LINE__));
}
int main(void)
{
    MPI_Init(NULL, NULL);
    work();
    MPI_Pcontrol(1, LINE(__LINE__));
    MPI_Pcontrol(-1, "none");
    return MPI_Finalize();
}
END
for mpi in openmpi mpich; do
    have_mpi $mpi && "mpicc.$mpi" -g -O2 -o "$T/program" "$T/pcontrol.c" 2>"$T/cc" ||
        { skip "regions of MPI_Pcontrol with $mpi" "no $mpi, or no compiler for it"; continue; }
    remove_run "$T/run"
    run 60 "$REGTRACE" run -quiet -pcontrol ipm -o "$T/run" -- "mpirun.$mpi" -np 1 "$T/program"
    compare 1 regions
    is "$out" "2 compared, 0 whole" "$mpi: regions of MPI_Pcontrol have the lines of their calls" || diag "$err"
done
done_testing
