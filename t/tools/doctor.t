#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace doctor: the main job works here; what is broken is found and named.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99

run 120 "$REGTRACE" doctor
is "$status" 0 'the main job works here'
for word in kernel streams clock rseq pidfd counters ptrace limits seccomp library loader writer trial MPI launchers Python; do
    like "$out" "^(ok|note|limited) +$word " "it looked at: $word"
done
unlike "$out" '^broken' 'nothing is broken'
like "$out" '^ok +trial +.*[1-9][0-9]* events, file closed' 'the trial recorded something'
like "$out" 'instructions can be counted|icount and uniform alarms are refused: .*[a-z]' 'it says whether instructions can be counted, or why not'
run 120 "$REGTRACE" doctor --json
ok_run 'as JSON' "${PYTHON:-python3}" -c 'import json, sys; r = json.load(open(sys.argv[1])); assert r["works"] and len(r["findings"]) >= 16' "$T/.out"

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
run 120 env REGTRACE_WRITER=/nonexistent "$REGTRACE" doctor
is "$status" 1 'without the writer it cannot either'
like "$out" '^broken +writer' 'and it says so'
like "$out" '^broken +trial' 'the trial finds it too'
run 120 env REGTRACE_SHM=/nonexistent "$REGTRACE" doctor
is "$status" 1 'without memory for streams it cannot either'
like "$out" '^broken +streams' 'and it says so'
left=("${TMPDIR:-/tmp}"/regtrace-doctor-*)
is "${left[0]}" "${TMPDIR:-/tmp}/regtrace-doctor-*" 'the trials leave nothing behind'
done_testing
