#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of a program that throws, by both compilers at several levels (with MEMORY_LONG at
# all levels). In a window the replay is, access for access, what single steps by ptrace show for
# the same run, also in landing pads.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/exact.inc"
quick_replays
command -v "${CXX:-c++}" >/dev/null || skip_all "there is no C++ compiler"
cc -O2 -Wall -c -o window.o "$REGTRACE_SOURCE/t/kernels/window.c" || exit 99

for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { skip "$compiler" "is not installed"; continue; }
    levels=(-O0 -O1 -O2 -O3)
    [ "$compiler" = g++ ] || [ -n "${MEMORY_LONG:-}" ] || levels=(-O0 -O2)
    for level in "${levels[@]}"; do
        $compiler -std=c++17 $level -o program "$here/programs/memory_thrown.cc" window.o 2>said || { skip "$compiler $level" "it does not compile"; continue; }
        exact_window "$compiler $level" program "" -
    done
done

# The unwinder is linked into the program.
if g++ -std=c++17 -O2 -static-libgcc -static-libstdc++ -o program "$here/programs/memory_thrown.cc" window.o 2>said; then
    ./program >bare.out
    REGTRACE_DIR=linked REGTRACE_MEMORY=. LD_PRELOAD="$LIBREGTRACE" ./program >out 2>err
    is "$? $(cat out err)" "0 $(cat bare.out)" "an unwinder in the program: it prints what it prints without"
else
    skip "an unwinder in the program" "$(head -1 said)"
fi
done_testing
