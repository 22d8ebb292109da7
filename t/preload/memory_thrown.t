#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of a program that throws, by both compilers at several levels (MEMORY_LONG: all): in a window the replay is, access for access, what single steps by
# ptrace say of the same run; in landing pads too.
. "$(dirname "$0")/../lib.sh"
PYTHON_ANY=$(sed -n 's/^S\["PYTHON3_ANY"\]="\(.*\)"$/\1/p' "$REGTRACE_BUILD/config.status")
here=$(cd "$(dirname "$0")" && pwd)
kernels=$REGTRACE_SOURCE/t/kernels
cd "$T" || exit 1
[ -x "$REGTRACE_BUILD/isa/regtrace-skel" ] && [ "$(uname -m)" = x86_64 ] || skip_all "memory traces are for x86-64 with Zydis"
setarch -R true 2>/dev/null || skip_all "addresses cannot be without randomisation here"
command -v "${CXX:-c++}" >/dev/null || skip_all "there is no C++ compiler"
cc -O2 -Wall -c -o window.o "$kernels/window.c" || exit 99

symbol() { nm "$1" | awk -v n="$2" '$3 == n { print "0x" $1 }'; }
section() { readelf -W -S "$1" | sed 's/^ *\[ *[0-9]*\] *//' | awk '$1 == ".text" { print "0x" $3, "0x" $5 }'; }
bias_of() { if readelf -h "$1" | grep -q 'Type:.*DYN'; then echo $((0x555555554000)); else echo 0; fi; }
# variables COUNT FUNCTIONS: those of a run, all of it; its window is opened by the call of that number.
variables() {
    variables=(REGTRACE_DIR="$T/exact" REGTRACE_SHM="$REGTRACE_SHM" REGTRACE_MEMORY="$2" LD_PRELOAD="$LIBREGTRACE"
        REGTRACE_CONTROL="start:enter_func:open_window:count$1,stop:enter_func:close_window:count$1")
}
# stepped: to steps; the same run but for its window.
stepped() {
    local bias from to at size
    bias=$(bias_of program) from=$(symbol program open_window) to=$(symbol program close_window)
    read -r at size < <(section program)
    rm -rf exact
    variables 1000001 "$1"
    timeout 500 "$REGTRACE_BUILD/t/oracle/accesses" -w "$(printf '%x:%x' $((bias + from)) $((bias + to)))" -r "$(printf '%x:%x' $((bias + at)) $((bias + at + size)))" \
        -o steps "${variables[@]}" ./program >bare.out 2>bare.err </dev/null || diag "the single-stepper: $?, $(cat bare.err)"
}
# recorded FUNCTIONS: to replayed.
recorded() {
    rm -rf exact
    variables 0000001 "$1"
    setarch -R env -i "${variables[@]}" ./program >cloned.out 2>cloned.err </dev/null
    "$REGTRACE" skel replay exact >replayed 2>said || diag "$(cat said)"
}
# exact FLAGS FUNCTIONS [WITHOUT]
exact() {
    local said
    stepped "$2"
    recorded "$2"
    is "$(cat cloned.out) $(cat cloned.err)" "$(cat bare.out) $(cat bare.err)" "$1: prints what it prints without"
    said=$("$PYTHON_ANY" "$kernels/exact.py" steps program "$(printf %x "$(bias_of program)")" steps replayed -without "${3:+$3,}-" 2>&1)
    like "$said" '^[0-9]+ accesses of 1 threads' "$1: single steps"
    diag "$1: $said, $(grep -c '^# rank' replayed) stretches, of $(sed -n 's/^# rank.* \([0-9]*\) bytes.*/\1/p' replayed | paste -sd+ | bc) bytes"
}

for compiler in g++ clang++; do
    command -v $compiler >/dev/null || { skip "$compiler" "is not installed"; continue; }
    levels=(-O0 -O1 -O2 -O3)
    [ "$compiler" = g++ ] || [ -n "${MEMORY_LONG:-}" ] || levels=(-O0 -O2)
    for level in "${levels[@]}"; do
        $compiler -std=c++17 $level -o program "$here/memory_thrown.cc" window.o 2>said || { skip "$compiler $level" "it does not compile"; continue; }
        exact "$compiler $level" .
    done
done
done_testing
