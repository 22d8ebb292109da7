# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Runs a program with and without the preload: the output, the errors and the way it ends must be
# the same. Source it after lib.sh.

P=$REGTRACE_BUILD/t/preload
same_runs=0

# ended_with COMMAND...: runs the command. Writes "exit N" or "signal N", as its parent sees it, to
# the file $ENDED.
ended_with() { "$P/ended" "${same_limit:-60}" "$@"; }

# same NAME [VAR=VALUE]... COMMAND...: compares two runs of the command. The variables are set only
# with the preload.
same() {
    local name=$1 env=() d=$T/same.$((same_runs += 1))
    shift
    while [[ $# -gt 0 && $1 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do
        env+=("$1")
        shift
    done
    mkdir "$d"
    ENDED=$d/bare.end ended_with "$@" >"$d/bare.out" 2>"$d/bare.err"
    ENDED=$d/traced.end ended_with env REGTRACE_DIR="$d/trace" "${env[@]}" LD_PRELOAD="$LIBREGTRACE" "$@" \
        >"$d/traced.out" 2>"$d/traced.err"
    local difference
    difference=$(for part in out err end; do diff "$d/bare.$part" "$d/traced.$part"; done 2>&1)
    grep -qE '^(exit|signal) ' "$d/bare.end" || difference+="without the preload: $(cat "$d/bare.end")"
    is "$difference" "" "$name: the same with the preload ($(cat "$d/bare.end"))"
    last_trace=$d/trace
}

# Tests call same() with nothing requested, with these chains on signals, and with nothing recorded.
CHAINS='start:signal:SIGUSR1,stop:signal:SIGUSR2,repeat'
