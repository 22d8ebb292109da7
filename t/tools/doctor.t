#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace doctor: the main job works here; doctor finds and names what is broken.
. "$(dirname "$0")/../lib.sh"
export TMPDIR=$T/tmp # doctors of other runs try things in /tmp
mkdir "$TMPDIR"
cd "$T" || exit 99

run 120 "$REGTRACE" doctor
is "$status" 0 'the main job works here'
for word in kernel streams clock rseq pidfd counters 'event names' ptrace limits seccomp library loader writer trial MPI launchers Python; do
    like "$out" "^(ok|note|limited) +$word " "it looked at: $word"
done
unlike "$out" '^broken' 'nothing is broken'
like "$out" '^ok +trial +.*[1-9][0-9]* events, file closed' 'the trial recorded something'
like "$out" '^ok +writer +/.*regtrace-writer; it compresses by (ISA-L$|zlib, .*libisal)' 'it says what the writer compresses by'
like "$out" 'instructions can be counted|icount and uniform alarms are refused: .*[a-z]' 'it says whether instructions can be counted, or why not'
# The findings are true of this machine.
if "$REGTRACE" run --explain -control start:icount:100 | grep -q 'Would be refused'; then
    like "$out" '^note +counters +icount and uniform alarms are refused: ' 'counters: refused, as run says'
else
    like "$out" '^ok +counters +instructions can be counted' 'counters: there are some, as run says'
fi
unlike "$out" 'REGTRACE_PMU=step.*REGTRACE_PMU=step' 'and steps are named once'
like "$out" '^(ok|note) +event names +PAPI: [^;]+; libpfm4: .' 'it says what PAPI and libpfm4 see here'
if [ "$(uname -m)" = x86_64 ]; then
    case " $(grep -m1 '^flags' /proc/cpuinfo) " in
    *' constant_tsc '*' nonstop_tsc '*) like "$out" '^ok +clock +time stamp counter, invariant' 'clock: the time stamp counter' ;;
    *) like "$out" '^(ok +clock +time stamp|limited +clock +no invariant time stamp)' 'clock: one of them' ;;
    esac
fi
for mpi in $(mpis); do
    library=$(readlink -f "$(ldd "$APPS/stencil.$mpi" | awk '$1 ~ /^libmpi(ch)?\.so/ { print $3 }')")
    case $library in
    /usr/lib/*) like "$out" "^ok +MPI .*/$(basename "$library" | sed 's/\.so.*//')\.so" "MPI: the library of $mpi is listed" ;;
    *) skip "MPI: the library of $mpi is listed" "it is not in /usr/lib" ;;
    esac
    like "$out" "^ok +launchers .*mpirun\.$mpi \($([ "$mpi" = openmpi ] && echo 'Open MPI' || echo hydra)\)" "launchers: mpirun.$mpi, and what kind it is"
done
if [ "$PYTHON" != no ]; then
    like "$out" '^ok +Python .*python3 has h5py [0-9.]+ with HDF5 [0-9.]+' 'Python: one that has h5py'
fi
run 120 "$REGTRACE" doctor --json
ok_run 'as JSON' "${PYTHON:-python3}" -c 'import json, sys; r = json.load(open(sys.argv[1])); assert r["works"] and len(r["findings"]) >= 16' "$T/.out"

mkdir without && echo 'no library' >without/libisal.so.2
run 120 env LD_LIBRARY_PATH="$T/without" "$REGTRACE" doctor
like "$out" '^ok +writer .*; it compresses by zlib, .*libisal2' 'and that it goes without ISA-L'

printf 'int main(void) { return 0; }\n' >p.c
cc -static -o static p.c
cc -o dynamic p.c
run 120 "$REGTRACE" doctor ./dynamic
is "$status" 0 'a dynamic program can be traced'
like "$out" '^ok +program .*links no MPI' 'and has no MPI'
run 120 "$REGTRACE" doctor ./static
is "$status" 1 'a static program cannot'
like "$out" '^broken +program .*statically linked' 'and it says why'
run 120 "$REGTRACE" doctor no-such-program
like "$out" '^broken +program .*in no folder of PATH' 'a program that is not there'
for mpi in $(mpis); do
    run 120 "$REGTRACE" doctor "$APPS/stencil.$mpi"
    like "$out" '^ok +program .*links (Open MPI|MPICH)' "a program of $mpi"
done
run 120 env REGTRACE_LIBRARY=/nonexistent.so "$REGTRACE" doctor
is "$status" 1 'without the library the main job cannot work'
like "$out" '^broken +library .*/nonexistent.so' 'and it says why'
run 120 env REGTRACE_WRITER="$T/nonexistent" "$REGTRACE" doctor
is "$status" 1 'without the writer it cannot either'
like "$out" '^broken +writer' 'and it says so'
like "$out" '^broken +trial' 'the trial finds it too'
run 120 env REGTRACE_SHM="$T/nonexistent" "$REGTRACE" doctor
is "$status" 1 'without memory for streams it cannot either'
like "$out" '^broken +streams' 'and it says so'
mkdir alone && cp "$LIBREGTRACE" alone/libregtrace.so
run 120 env REGTRACE_LIBRARY="$T/alone/libregtrace.so" "$REGTRACE" doctor
like "$out" '^note +event names +names of PAPI and libpfm4 are not known: regtrace-events is not beside' 'without regtrace-events: why no names are known'
unlike "$out" 'libpfm4: *$' 'and nothing empty'
# doctor names what works less well than it could.
run 120 env REGTRACE_SHMM=/x "$REGTRACE" doctor
is "$status" 0 'a misspelt variable: the main job works'
like "$out" '^limited +loader +.* runs, but says: .*REGTRACE_SHMM' 'but programs speak of it'
if (ulimit -i 20) 2>/dev/null; then
    run 120 bash -c 'ulimit -i 20; "$1" doctor' - "$REGTRACE"
    like "$out" '^limited +limits +20 signals may wait' 'few signals may wait'
else
    skip 'few signals may wait' 'ulimit -i is not for us'
fi
run 120 bash -c 'ulimit -f 40000; "$1" doctor' - "$REGTRACE"
like "$out" '^limited +limits +.*files up to (19|39) MiB' 'files may not become large'
if [ "$(stat -f -c %T "$T")" != tmpfs ]; then
    run 120 env REGTRACE_SHM="$T" "$REGTRACE" doctor
    is "$status" 0 'streams on a disk: the main job works'
    like "$out" "^limited +streams +$T works, .* is no tmpfs" 'and it says that stores reach a disk'
else
    skip 'streams on a disk' "$T is in memory"
fi
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=40m none small 2>/dev/null; then
    trap 'umount "$T/small"; rt_cleanup' EXIT
    run 120 env REGTRACE_SHM="$T/small" "$REGTRACE" doctor
    like "$out" "^limited +streams +$T/small has 40 of 40 MiB free: room for 8 ranks" 'little memory for streams: for how many ranks'
    mount -o remount,size=512k small
    run 120 env REGTRACE_SHM="$T/small" "$REGTRACE" doctor
    is "$status" 1 'too little for one stream'
    like "$out" "^broken +streams +$T/small: no stream can be made there: No space left" 'and it says so'
else
    skip 'little memory for streams' 'needs root and mount'
fi
is "$(compgen -G 'regtrace-*')" '' 'nothing is left in the current folder'
is "$(ls -A "$TMPDIR")" "" 'the trials leave nothing behind'
done_testing
