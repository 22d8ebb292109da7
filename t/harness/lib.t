#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests t/lib.sh: passing, failing, skipping, limits, early ends and cleaning, each by a small
# script that uses it.
. "$(dirname "$0")/../lib.sh"

lib=$REGTRACE_SOURCE/t/lib.sh
# script BODY: runs BODY as a separate test.
script() {
    printf '. %q\n%s\n' "$lib" "$1" >"$T/script"
    bash "$T/script"
}
# has_ended PID: succeeds if the process is gone or a zombie.
has_ended() { ! grep -q '^State:[^Z]*$' "/proc/$1/status"; }

run 20 script 'ok 0 good; is a a same; like "one two" "t.o" found; done_testing'
is "$status" 0 "passing tests end with 0"
is "$out" $'ok 1 - good\nok 2 - same\nok 3 - found\n1..3' "passing tests print TAP"

run 20 script 'ok 1 bad; done_testing'
is "$status" 1 "a failing ok ends with 1"
like "$out" '^not ok 1 - bad$' "a failing ok is printed"
run 20 script 'is a b differ; done_testing'
is "$status" 1 "a failing is ends with 1"
like "$out" '^# want: b$' "a failing is shows what was wanted"
run 20 script 'isnt a a same; done_testing'
is "$status" 1 "a failing isnt ends with 1"
run 20 script 'like abc "^x" no; done_testing'
is "$status" 1 "a failing like ends with 1"
run 20 script 'out="ok|one"; status=0; relay all; done_testing'
is "$status" 0 "what a program has found right passes" || diag "$out$err"
run 20 script $'out="ok|one\nno|two|because"; status=0; relay all; done_testing'
is "$status" 1 "what it has found wrong fails"
like "$out" '^# because$' "and it says why"
run 20 script 'out="ok|one"; status=3; relay all; done_testing'
is "$status" 1 "a program that has not ended well fails"
run 20 script 'out=; status=0; relay all; done_testing'
is "$status" 1 "one that has looked at nothing fails"
run 20 script 'unlike abc "^a" no; done_testing'
is "$status" 1 "a failing unlike ends with 1"
run 20 script 'ok_run fails sh -c "echo why; exit 3"; done_testing'
is "$status" 1 "a failing ok_run ends with 1"
like "$out" '^# why$' "a failing ok_run shows the output"

run 20 script 'plan 2; ok 0 one; done_testing'
is "$status" 1 "fewer tests than planned ends with 1"
run 20 script 'ok 0 one; exit 0'
isnt "$status" 0 "a test that ends early does not pass"
like "$out" '^Bail out!' "and says so"
run 20 script 'skip one "no such thing"; done_testing'
is "$status" 0 "a skip passes"
like "$out" '^ok 1 - one # SKIP no such thing$' "a skip shows its reason"
run 20 script 'skip_all "nothing here"'
is "$out/$status" '1..0 # SKIP nothing here/0' "skip_all skips the file"

run 20 script 'rt_patience=1; run_with_limit 1 sleep 30; is $? 124 limited; done_testing'
is "$status" 0 "run_with_limit ends what takes too long"
run 20 script 'run 5 sh -c "echo o; echo e >&2; exit 7"; is "$out/$err/$status" o/e/7 captured; done_testing'
is "$status" 0 "run captures output, errors and status"

run 30 script 'echo "# $T $REGTRACE_SHM"; sleep 100 & kill_at_end $!; echo "# $!"; ok 0 x; done_testing'
read -r _ folder shm < <(head -1 <<<"$out")
pid=$(sed -n '2s/# //p' <<<"$out")
ok_run "the scratch folder is removed" test ! -e "$folder"
ok_run "the folder of streams is removed" test ! -e "$shm"
# The killed process ends a moment later, and stays a zombie until init has waited for it.
ok_run "kill_at_end ends the process" wait_for 10 has_ended "$pid"
REGTRACE_TEST_TIMES=$T/times run 20 script 'ok 0 x; done_testing'
like "$(cat "$T/times")" '^[0-9]+\.[0-9] .*/script$' "the processor time of a test is noted"
run 120 script 'rt_patience=1; touch "$REGTRACE_SHM/left"; ok 0 x; done_testing'
is "$status" 1 "a stream left behind fails the test"
run 20 script 'leaves_streams=1; touch "$REGTRACE_SHM/left"; ok 0 x; done_testing'
is "$status" 0 "unless the test says that it leaves some"

for mpi in openmpi mpich; do
    if ! have_mpi $mpi; then
        skip "mpirun_for $mpi" "no $mpi"
        continue
    fi
    # Sleep first: if the ranks exit at once, MPICH's launcher (4.0) itself dies of SIGPIPE in 5 of
    # 900 runs, as it writes to the ranks' proxy.
    run 60 mpirun_for $mpi 3 A='b c' D=e=f sh -c 'sleep 0.3; echo "$A,$D"'
    is "$out" $'b c,e=f\nb c,e=f\nb c,e=f' "mpirun_for $mpi starts the ranks with the variables"
    run 60 mpirun_for $mpi 2 sh -c 'sleep 0.3; exit 3'
    is "$status" 3 "mpirun_for $mpi gives the exit status"
done
done_testing
