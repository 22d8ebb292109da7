# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Shared by the tests in bash: TAP output, time limits, a scratch folder, and mpirun of both MPI
# implementations.
#
# Use:
#   . "$(dirname "$0")/../lib.sh"
#   run 20 "$REGTRACE" --help; is "$status" 0 "help exits with 0"
#   like "$out" 'Usage' "help shows usage"
#   done_testing
#
# Each test runs alone: `bash t/tools/help.t` or `prove t/tools/help.t`. REGTRACE_BUILD names the
# build folder unless it is ./ or _build. The shell that sources this file counts the checks: do not
# call them in a subshell or at the end of a pipe.
#
# Sets REGTRACE_SOURCE, REGTRACE_BUILD, LIBREGTRACE, REGTRACE, REGTRACE_WRITER_PROGRAM, APPS, PYTHON
# (with h5py; "no" without), PYTHON_ANY, here (the folder of the test) and T (its scratch folder).
set -u
export LC_ALL=C

rt_tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 99
REGTRACE_SOURCE=${REGTRACE_SOURCE:-$(dirname "$rt_tests")}
if [ -z "${REGTRACE_BUILD:-}" ]; then
    for rt_here in "$PWD" "$REGTRACE_SOURCE/_build" "$REGTRACE_SOURCE"; do
        [ -x "$rt_here/config.status" ] && REGTRACE_BUILD=$rt_here && break
    done
fi
if [ ! -x "${REGTRACE_BUILD:-}/config.status" ]; then
    echo "Bail out! no build found: set REGTRACE_BUILD to the folder in which configure ran"
    exit 99
fi
REGTRACE_BUILD=$(cd "$REGTRACE_BUILD" && pwd)
LIBREGTRACE=$REGTRACE_BUILD/.libs/libregtrace.so
REGTRACE=$REGTRACE_BUILD/regtrace
REGTRACE_WRITER_PROGRAM=$REGTRACE_BUILD/writer/regtrace-writer
APPS=$REGTRACE_BUILD/t/apps
PYTHON=$(sed -n 's/^S\["PYTHON3"\]="\(.*\)"$/\1/p' "$REGTRACE_BUILD/config.status")
PYTHON_ANY=$(sed -n 's/^S\["PYTHON3_ANY"\]="\(.*\)"$/\1/p' "$REGTRACE_BUILD/config.status")
here=$(cd "$(dirname "$0")" && pwd) || exit 99
export REGTRACE_SOURCE REGTRACE_BUILD
# The caller's own settings must not affect a test.
unset LD_PRELOAD REGTRACE_CONTROL REGTRACE_DIR REGTRACE_RUN REGTRACE_DEFAULT_START
# Open MPI refuses to run as root, limits ranks to the cores, and looks for InfiniBand. Tests need
# all three switched off.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl='^openib'
export OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_btl_vader_single_copy_mechanism=none

# T: the scratch folder of this test. Streams have a separate folder in memory, so that done_testing
# finds streams that a test leaves behind.
T=$(mktemp -d "${TMPDIR:-/tmp}/regtrace-test.XXXXXX") || exit 99
rt_streams=$(mktemp -d /dev/shm/regtrace-test.XXXXXX 2>/dev/null) || rt_streams=$(mktemp -d "$T/shm.XXXXXX")
export REGTRACE_SHM=$rt_streams
# One mpirun removes the folder that all share in /tmp while another one makes its own in there, and
# then that one ends with "A call to mkdir was unable to create the desired directory".
export OMPI_MCA_orte_tmpdir_base=$T PRTE_MCA_prte_tmpdir_base=$T
leaves_streams=0 # a test that kills writers sets 1
rt_count=0 rt_failed=0 rt_planned='' rt_finished=0 rt_pids=()
# The limits in seconds below end a test that hangs. They do not decide whether a test passes. This
# factor multiplies them, for busy machines.
rt_patience=${REGTRACE_TEST_PATIENCE:-10}
# On a busy machine a writer may need more than the default of 5 s.
export REGTRACE_EXIT_WAIT=60

# Appends the processor time of this test and of all that it has run, in seconds, to a file that
# the caller names: `REGTRACE_TEST_TIMES=/tmp/times make check; sort -rn /tmp/times`.
rt_note_time() {
    times >"$T/.times"
    tr 'ms' '  ' <"$T/.times" | awk -v test="$0" '{ t += 60 * ($1 + $3) + $2 + $4 }
        END { printf "%.1f %s\n", t, test }' >>"$REGTRACE_TEST_TIMES"
}

rt_cleanup() {
    local rc=$?
    trap - EXIT
    [ -z "${REGTRACE_TEST_TIMES:-}" ] || rt_note_time
    for pid in "${rt_pids[@]}"; do kill -9 "$pid" 2>/dev/null; done
    rm -rf "$T" "$rt_streams"
    # A test that ends before done_testing has failed, even if its last command exited with 0.
    [ "$rt_finished" = 1 ] || { echo "Bail out! the test ended early (status $rc)"; [ "$rc" != 0 ] || rc=99; }
    exit "$rc"
}
trap rt_cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# quick_replays: from here on regtrace skel replay compiles skeletons without optimization, in a
# third of the time. For tests of what is recorded, whose recordings are small.
quick_replays() { export CC=$rt_tests/quick_cc.sh; }

plan() { rt_planned=$1; echo "1..$1"; }
diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

# ok STATUS NAME: passes if STATUS is 0. Use as: command; ok $? "name".
ok() {
    rt_count=$((rt_count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $rt_count - $2"
        return 0
    fi
    rt_failed=$((rt_failed + 1))
    echo "not ok $rt_count - $2"
    diag "status $1, at ${BASH_SOURCE[-1]} line ${BASH_LINENO[-2]:-?}"
    return 1
}

# ok_run NAME COMMAND...: passes if the command exits with 0; otherwise shows its output.
ok_run() {
    local name=$1 output rc
    shift
    output=$("$@" 2>&1)
    rc=$?
    ok "$rc" "$name" || { diag "$(printf '%s' "$output" | tail -n 40)"; return 1; }
}

# is GOT WANT NAME: passes if both texts are the same.
is() {
    if [ "$1" = "$2" ]; then ok 0 "$3"; return 0; fi
    ok 1 "$3"
    diag "got:  $1"
    diag "want: $2"
    return 1
}

# isnt GOT OTHER NAME: passes if the texts differ.
isnt() {
    if [ "$1" != "$2" ]; then ok 0 "$3"; return 0; fi
    ok 1 "$3"
    diag "got, and did not want: $1"
    return 1
}

# like TEXT ERE NAME: passes if some line matches. unlike TEXT ERE NAME: passes if no line does.
like() {
    if grep -qE -e "$2" <<<"$1"; then ok 0 "$3"; return 0; fi
    ok 1 "$3"
    diag "got:    $1"
    diag "wanted: /$2/"
    return 1
}
unlike() {
    if ! grep -qE -e "$2" <<<"$1"; then ok 0 "$3"; return 0; fi
    ok 1 "$3"
    diag "got:       $1"
    diag "unwanted:  /$2/"
    return 1
}

# skip NAME REASON: reports one test that cannot run here. Every summary shows the reason.
skip() {
    rt_count=$((rt_count + 1))
    echo "ok $rt_count - $1 # SKIP ${2:?skip needs a reason}"
}

# skip_all REASON: ends this file, because none of its tests can run here.
skip_all() {
    echo "1..0 # SKIP $1"
    rt_finished=1
    exit 0
}

# needs WHAT...: skips the file unless this build and this machine have all of these: memory
# (traces), probes, values, steps, h5py, mpi, or a command of that name.
needs() {
    local what x86_64=0
    [ "$(uname -m)" = x86_64 ] && x86_64=1
    for what; do
        case $what in
        memory) [ $x86_64 = 1 ] && [ -x "$REGTRACE_BUILD/isa/regtrace-isa" ] || skip_all "memory traces are for x86-64 with Zydis" ;;
        probes) [ -x "$REGTRACE_BUILD/isa/regtrace-isa" ] || skip_all "probes are for x86-64 with Zydis" ;;
        values) [ $x86_64 = 1 ] && [ -x "$REGTRACE_BUILD/isa/regtrace-vprofiler" ] || skip_all "values are for x86-64 with Zydis" ;;
        steps) [ $x86_64 = 1 ] || skip_all "counting by steps is for x86-64 alone" ;;
        h5py) [ "$PYTHON" != no ] || skip_all "no python3 with h5py" ;;
        mpi) [ -n "$(mpis)" ] || skip_all "no MPI" ;;
        *) command -v "$what" >/dev/null || skip_all "no $what" ;;
        esac
    done
}

# done_testing: fails if streams are left behind, prints the plan if there was none, ends the test.
done_testing() {
    local i=0
    if [ "$leaves_streams" = 0 ]; then
        while [ -n "$(ls -A "$rt_streams" 2>/dev/null)" ] && [ $i -lt $((100 * rt_patience)) ]; do sleep 0.1; i=$((i + 1)); done
        if [ -n "$(ls -A "$rt_streams" 2>/dev/null)" ]; then
            ok 1 "no stream is left in memory"
            diag "$(date +%T; ls -l --time-style=full-iso "$rt_streams")"
            diag "writers alive: $(pgrep -a regtrace-writer)"
        fi
    fi
    if [ -z "$rt_planned" ]; then
        echo "1..$rt_count"
    elif [ "$rt_planned" != "$rt_count" ]; then
        echo "not ok $((rt_count + 1)) - planned $rt_planned tests, ran $rt_count"
        rt_failed=$((rt_failed + 1))
    fi
    rt_finished=1
    [ "$rt_failed" = 0 ] && exit 0
    exit 1
}

# run_with_limit SECONDS COMMAND...: returns the command's exit status, or 124 if it hangs and is
# killed. Runs it in the foreground, so that it keeps this shell's session and its terminal signals.
run_with_limit() {
    local limit=$(($1 * rt_patience))
    shift
    timeout --foreground -k 5 "$limit" "$@"
}

# run SECONDS COMMAND...: sets out, err and status. The command may be a function of the test.
# shellcheck disable=SC2034  # read by the tests
run() {
    local limit=$1
    shift
    if [ "$(type -t "$1")" = function ]; then
        rt_limit=$limit "$@" >"$T/.out" 2>"$T/.err" </dev/null
    else
        run_with_limit "$limit" "$@" >"$T/.out" 2>"$T/.err" </dev/null
    fi
    status=$?
    out=$(tr -d '\0' <"$T/.out")
    err=$(tr -d '\0' <"$T/.err")
}

# relay NAME: reports the checks of the program that run() has run, which has printed "ok|CHECK" or
# "no|CHECK|WHY" for each. Fails if the program did not exit with 0.
relay() {
    local result check why
    while IFS='|' read -r result check why; do
        [ "$result" = ok ]
        ok $? "$check" || diag "$why"
    done <<<"$out"
    is "$status" 0 "$1" || diag "$err"
}

# kill_at_end PID: kills this process of the test when the test ends.
kill_at_end() { rt_pids+=("$1"); }

# wait_for SECONDS COMMAND...: repeats the command until it succeeds; returns 1 if it never does.
wait_for() {
    local end=$((SECONDS + $1 * rt_patience))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

# remove_run FOLDER: removes the folder of a run when its writers have ended. Nobody waits for the
# writer of a program that ends by a raw system call, by a signal or under a debugger.
no_streams() { [ -z "$(ls -A "$rt_streams")" ]; }
remove_run() { wait_for 20 no_streams; wait_for 20 rm -rf "$1"; }

# have_mpi openmpi|mpich: succeeds if its mpirun exists and its mini-applications are built.
have_mpi() { [ -x "$APPS/stencil.$1" ] && command -v "mpirun.$1" >/dev/null; }

# mpis: prints the MPI implementations to test with, one a line.
mpis() {
    local m
    for m in openmpi mpich; do
        have_mpi $m && echo $m
    done
}

# mpirun_for openmpi|mpich N [VAR=VALUE]... PROGRAM [ARGUMENT]...: runs N ranks on this machine,
# more than its cores if need be. The variables reach the ranks, not mpirun. rt_limit: seconds, 120
# unless set.
mpirun_for() {
    local mpi=$1 n=$2 env=()
    shift 2
    while [[ $# -gt 0 && $1 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do
        case $mpi in
        openmpi) env+=(-x "$1") ;;
        mpich) env+=(-genv "${1%%=*}" "${1#*=}") ;;
        esac
        shift
    done
    case $mpi in
    openmpi) run_with_limit "${rt_limit:-120}" mpirun.openmpi --oversubscribe -np "$n" "${env[@]}" "$@" ;;
    mpich) run_with_limit "${rt_limit:-120}" mpirun.mpich -np "$n" "${env[@]}" "$@" ;;
    *) diag "unknown MPI $mpi"; return 99 ;;
    esac
}
