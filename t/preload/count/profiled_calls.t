#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The profile of MPI calls (-mode profile) has the calls that programs log and that events show, by
# thread, line and communicator; also beside windows, after SIGKILL of the program or the writer,
# and without room.
. "$(dirname "$0")/../../lib.sh"
needs addr2line
compare() { run 60 "$PYTHON" "$here/profiled_calls.py" "$@"; }
# record MPI RANKS OPTIONS -- PROGRAM [ARGUMENT]...
record() {
    local mpi=$1 ranks=$2 options=()
    shift 2
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    rm -rf "$T/run" "$T"/log.*
    run 60 "$REGTRACE" run -quiet -mode profile "${options[@]}" -o "$T/run" -- "mpirun.$mpi" -np "$ranks" "${@:2}"
}
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -g -D_GNU_SOURCE -pthread -o "$T/sites" \
        "$REGTRACE_SOURCE/t/preload/stack/call_sites.c" 2>"$T/cc"; then
        skip "profiles with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    for i in 1 2; do # the second library takes the place of the first
        { for ((k = 0; k < 10 * i; k++)); do echo; done
          echo '#include <mpi.h>'
          echo 'int call_it(void) { int n; MPI_Comm_size(MPI_COMM_WORLD, &n); return __LINE__; }'; } >"$T/one$i.c"
        "mpicc.$mpi" -O2 -g -fPIC -shared -o "$T/one$i.so" "$T/one$i.c"
    done
    record $mpi 2 -- "$T/sites" "$T/log" "$T/one1.so" "$T/one2.so"
    is "$status" 0 "$mpi: the program ends as bare" || diag "$err"
    logged=$(cat "$T"/log.* | wc -l)
    compare log "$T/run" "$T/log"
    is "$out" "$logged calls compared" "$mpi: the profile has the calls of the log, by line" || diag "$err"
    [ "$logged" -ge 700 ]
    ok $? "$mpi: and they are many"
    run 60 "$REGTRACE" check "$T/run"
    is "$status" 0 "$mpi: the files are consistent" || diag "$out"
    # Windows and profile together: each call is in both.
    record $mpi 2 -control 'start:pcontrol:level=1:bcast,stop:pcontrol:level=0:bcast,repeat' -- "$T/sites" "$T/log" "$T/one1.so"
    logged=$(cat "$T"/log.* | wc -l)
    compare log "$T/run" "$T/log"
    is "$out" "$logged calls compared" "$mpi: with windows, the profile is the same" || diag "$err"
    run 60 "$REGTRACE" report "$T/run"
    like "$out" 'profile of [0-9]+ MPI calls of the whole run' "$mpi: the report says that there is a profile"
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/preload/stack/call_sites.py" "$T/run" "$T/log"
    is "$out" "$logged calls compared" "$mpi: with the profile, the windows have the same calls" || diag "$err"
    if "mpif90.$mpi" -cpp -O2 -g -fallow-argument-mismatch -o "$T/sites_mpif" \
        "$REGTRACE_SOURCE/t/preload/stack/call_sites_mpif.f90" 2>"$T/fc"; then
        record $mpi 2 -- "$T/sites_mpif" "$T/log"
        compare log "$T/run" "$T/log"
        is "$out" "60 calls compared" "$mpi, Fortran: the profile has the calls of the log" || diag "$err"
    else
        skip "a profile of Fortran with $mpi" "no Fortran compiler for it"
    fi
done
have_mpi openmpi || done_testing
mpicc.openmpi -O1 -g -o "$T/calls" "$here/profiled_calls.c"
if [ "$(uname -m)" = x86_64 ]; then
    # Bytes and communicators: a program that windows show as a whole.
    REGTRACE_DEFAULT_START=1 record openmpi 2 -control 'start:enter_func:main:bcast' -- "$APPS/comm.openmpi"
    compare events "$T/run"
    like "$out" '^[0-9]+ sums compared$' "calls, bytes and communicators are those of the events" || diag "$err"

    record openmpi 1 -callpath 16 -- "$T/calls" 500
    compare calls "$T/run" MPI_Comm_rank
    is "$out" "500 2 0 0" "call paths tell callers apart"
    run 60 "$REGTRACE" report --folded "$T/run"
    like "$out" 'main, .*;other, .*;ask, .*;MPI_Comm_rank' "and the folded stacks have them"
else
    skip "bytes beside events, and call paths" "probes and call paths are for x86-64"
fi

record openmpi 1 -- "$T/calls" 1234 kill
compare calls "$T/run" MPI_Comm_size
is "$out" "1234 1 0 0" "after SIGKILL all calls are there"

: >"$T/wait"
rm -rf "$T/run"
"$REGTRACE" run -quiet -mode profile -o "$T/run" -- mpirun.openmpi -np 1 "$T/calls" 777 "$T/wait" &
program=$!
writer() { "$PYTHON" -c "
import h5py, sys
with h5py.File(sys.argv[1], swmr=True) as f: print(f.attrs['writer_pid'] if len(f['events']) or len(f['tail']) else '')" "$T/run/rank-00000.h5" 2>/dev/null; }
while [ -z "${pid:-}" ] && kill -0 $program 2>/dev/null; do pid=$(writer); done
kill -KILL "$pid"
ok $? "the writer is killed"
rm "$T/wait"
wait $program
leaves_streams=1
run 60 "$REGTRACE" recover "$T/run"
is "$status" 0 "a killed writer's file is recovered" || diag "$out$err"
compare calls "$T/run" MPI_Comm_size
is "$out" "1554 1 0 0" "with all calls, those after the writer's death too"

run 60 "$REGTRACE" report "$T/run"
like "$out" '^A profile without windows: ' "the report says what a profile is"
unlike "$out" 'No window opened' "and nothing that reads like a failure"
like "$out" '^ +0 .* - +[0-9.]+ [a-z]+ .* - +recovered' "what a profile does not know is no 0"

# More call sites than there is room for: later ones are summed up by function.
{ echo '#include <mpi.h>'
  echo 'int main(int argc, char **argv) { int n; MPI_Init(&argc, &argv);'
  for ((i = 0; i < 6500; i++)); do echo 'MPI_Comm_size(MPI_COMM_WORLD, &n);'; done
  echo 'return MPI_Finalize(); }'; } >"$T/many.c"
mpicc.openmpi -O0 -o "$T/many" "$T/many.c"
record openmpi 1 -- "$T/many"
compare calls "$T/run" MPI_Comm_size
read -r calls paths without lost <<<"$out"
is "$calls $lost" "6500 0" "without room no call is lost"
is "$((paths + without))" 6500 "calls beyond the room have no call site"
[ "$without" -gt 0 ] && [ "$paths" -gt 6000 ]
ok $? "and the others have one" || diag "$out"
like "$(cat "$T/run/regtrace.log")" 'profile has no room' "the log says so"

PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$REGTRACE_SOURCE/share/python run 60 "$PYTHON" -c "
import regtrace, sys
run = regtrace.open(sys.argv[1])
rows, times = run.mpi_profile(), run.mpi_profile_times()
asked = rows[rows['function'] == 'MPI_Comm_size']
print(asked['calls'].sum(), times['calls'].sum() == rows['calls'].sum(), (rows['total_ns'] >= rows['calls'] * rows['min_ns']).all())" "$T/run"
is "$out" "6500 True True" "the Python package has the same" || diag "$err"
"$PYTHON" -c "
import h5py, sys
with h5py.File(sys.argv[1], 'r+') as f:
    row = f['mpi_profile'][0]
    row['calls'] += 1
    f['mpi_profile'][0] = row" "$T/run/rank-00000.h5"
run 60 "$REGTRACE" check "$T/run"
is "$status" 1 "regtrace check finds a call too many"
like "$out$err" 'profile: row 0 of /mpi_profile' "and says where"

run 60 "$REGTRACE" run -mode profiles -o "$T/wrong" -- true
like "$err" 'REGTRACE_MODE .* legal is trace\|profile' "a wrong mode is refused"
run 60 "$REGTRACE" run -mode profile -mpi 0 -o "$T/wrong" -- "$T/calls" 1
like "$err" 'leave out one of the two' "a profile without MPI calls is refused"
run 60 "$REGTRACE" run -mode profile -o "$T/none" -- "$REGTRACE_BUILD/t/preload/ended"
like "$err" 'nothing was recorded: the program made no MPI call' "a program without MPI has no profile"
done_testing
