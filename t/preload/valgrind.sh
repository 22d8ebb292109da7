# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Runs programs under valgrind, with and without the preload: the output and the end must be the
# same, valgrind must report no error of the tracer, and the files are as usual. Source it after
# lib.sh and same.sh. These parts are left out, because bare valgrind differs from the machine
# there:
# - "matrix" and "older" of handlers: valgrind delivers signals late and shows its own flags
# - "realtime_wait": signal 64 is valgrind's; a wait for it returns 128, half filled in
# - parts that fault on purpose: valgrind's reports hold addresses
command -v valgrind >/dev/null || skip_all "no valgrind"
same_limit=300

has_files() { [ "$(find "$last_trace" -name 'rank-*.h5' | wc -l)" = "$1" ]; }
# clean NAME FILES [VAR=VALUE]... PROGRAM [ARGUMENT]...: compares the runs. The run must write FILES
# rank files, all of them sound.
clean() {
    local name=$1 files=$2 env=()
    shift 2
    while [[ $1 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do
        env+=("$1")
        shift
    done
    same "$name" "${env[@]}" valgrind -q --error-exitcode=99 "$P/$1" "${@:2}"
    [ "$files" != 0 ] || return 0
    # Nobody waits for the writer of a program that ends without its destructors.
    wait_for 20 has_files "$files"
    is $? 0 "$name: its files are there" || diag "$(ls -l "$last_trace")"
    run 60 "$REGTRACE" check "$last_trace"
    is "$status" 0 "$name: and sound" || diag "$out$err"
}
