#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The call paths of samples, at random moments, are the backtraces that gdb makes there: in
# recursion, callbacks of libc, aligned and variable frames, tail calls, handlers, two threads.
# MOMENTS: how many (default 60).
. "$(dirname "$0")/../../lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "call paths need x86-64"
needs gdb
compile() { ${CC:-cc} -g -D_GNU_SOURCE -pthread "${@:2}" -o "$T/$1" "$REGTRACE_SOURCE/t/preload/stack/moments.c"; }
compare() { # PROGRAM
    run 600 env MOMENTS="${MOMENTS:-60}" gdb -nx -batch -ex "set env REGTRACE_DIR $T/run" -ex "set env REGTRACE_CALLPATH 64" \
        -ex "set env REGTRACE_SAMPLE cpu:1ms" -ex "set env LD_PRELOAD $LIBREGTRACE" -ex "set startup-with-shell off" \
        -ex "source $REGTRACE_SOURCE/t/preload/stack/call_paths_gdb.py" --args "$T/$1" 3600
}
for kind in "-O2" "-O0" "-O2 -march=native" "-O2 -fno-omit-frame-pointer -fcf-protection"; do
    # shellcheck disable=SC2086
    compile moments $kind || { skip "$kind" "the compiler does not have it"; continue; }
    compare moments
    like "$out" "^${MOMENTS:-60} moments, [0-9]+ frames, [0-9]+ depths, 0 differ$" "$kind: call paths are those of gdb" ||
        diag "$(tail -40 <<<"$out") $(tail -5 <<<"$err")"
    remove_run "$T/run"
done
done_testing
