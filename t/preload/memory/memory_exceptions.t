#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# C++ exceptions reach their handlers although windows of memory traces open and close while the
# exceptions unwind, and these windows are recorded.
. "$(dirname "$0")/../../lib.sh"
needs memory
command -v "${CXX:-c++}" >/dev/null || skip_all "there is no C++ compiler"
cd "$T" || exit 99

for compiler in 'g++ -O0' 'g++ -O2' 'clang++ -O2'; do
    command -v "${compiler% *}" >/dev/null || { skip "$compiler" "it is not installed"; continue; }
    $compiler -o throws "$here/programs/memory_exceptions.cc" || exit 99
    bare=$(./throws 3000)
    for windows in 'start:timeout:2ms,stop:timeout:1ms,repeat' 'start:timeout:500us,stop:timeout:300us,repeat'; do
        for i in 1 2 3 4; do
            remove_run run
            run 60 env REGTRACE_DIR=run REGTRACE_MEMORY=. REGTRACE_CONTROL="$windows" LD_PRELOAD="$LIBREGTRACE" ./throws 3000
            is "$status $out $err" "0 $bare " "$compiler, $windows, run $i: the same exceptions are caught"
        done
        like "$("$REGTRACE" report run)" '^Windows: [1-9][0-9]' "$compiler, $windows: there are windows"
        ok_run "$compiler, $windows: the file is consistent" "$REGTRACE" check run
        "$REGTRACE" skel replay run >replayed 2>said
        is "$? $(cat said)" '0 ' "$compiler, $windows: the accesses can be replayed"
    done
done

# Edges for all threads come faster than exceptions are caught where the threads share a processor.
g++ -O1 -pthread -o threads "$here/programs/memory_thrown_in_threads.cc" || exit 99
bare=$(./threads 3)
cpu=$(taskset -cp $$ | sed "s/.*: \([0-9]*\).*/\1/")
for i in 1 2 3 4 5 6; do
    remove_run run
    run 60 env REGTRACE_DIR=run REGTRACE_MEMORY=. REGTRACE_CONTROL='start:timeout:500us:bcast,stop:timeout:500us:bcast,repeat' LD_PRELOAD="$LIBREGTRACE" taskset -c "$cpu" ./threads 3
    is "$status $out" "0 $bare" "in threads, with broadcast windows, run $i: the same exceptions are caught" || diag "$err"
done
done_testing
