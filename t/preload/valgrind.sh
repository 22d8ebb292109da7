# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Programs under valgrind, with and without the preload: the same output and end, no error of ours, and files as ever.
# Sourced after lib.sh and same.sh. Left out, since bare valgrind is not the machine there: "matrix" and "older" of handlers (it
# delivers signals late and shows flags of its own), "realtime_wait" (signal 64 is its own: what is waited for comes back as 128,
# half filled in), and what faults on purpose (its reports hold addresses).
command -v valgrind >/dev/null || skip_all "no valgrind"
same_limit=300

# clean NAME FILES [VAR=VALUE]... PROGRAM [ARGUMENT]...: FILES rank files are written, all of them sound.
clean() {
    local name=$1 files=$2 env=()
    shift 2
    while [[ $1 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do
        env+=("$1")
        shift
    done
    same "$name" "${env[@]}" valgrind -q --error-exitcode=99 "$P/$1" "${@:2}"
    [ "$files" != 0 ] || return 0
    is "$(find "$last_trace" -name 'rank-*.h5' | wc -l)" "$files" "$name: its files are there"
    run 60 "$REGTRACE" check "$last_trace"
    is "$status" 0 "$name: and sound" || diag "$out$err"
}
