#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long: runs the compiled tests (t/preload/inside.t has the whole traced-process side in one
# program) in builds for the address, undefined-behaviour and thread sanitizers by gcc, in a build
# by clang with its warnings as errors, and under valgrind.
. "$(dirname "$0")/../lib.sh"

# unit NAME OPTION...: configures in a separate folder and runs make check-unit.
unit() {
    local name=$1
    shift
    mkdir -p "$T/$name" && cd "$T/$name" || return 1
    "$REGTRACE_SOURCE/configure" "$@" >configure.out 2>&1 || { tail -20 configure.out; return 1; }
    make -j2 check-unit >check.out 2>&1 || {
        grep -E '^(FAIL|ERROR)|error:|warning:|\*\*\*' check.out | head -20
        grep -hE -A12 'SUMMARY: |ERROR: |WARNING: ThreadSanitizer|runtime error' -r t --include=*.log | head -60
        return 1
    }
    # A report of a child, or a report that the test's own exit code hides, is a finding too.
    ! grep -hE -A12 'SUMMARY: |ERROR: |WARNING: ThreadSanitizer|runtime error|^==[0-9]+== [A-Z]' -r t --include=*.log | head -60 | grep . || return 1
    grep -qE '^# PASS: *[1-9]' check.out
}

if [ -n "$(find "$REGTRACE_SOURCE" -maxdepth 1 -name config.status)" ]; then
    skip_all "the source folder is configured itself: it cannot be built elsewhere as well"
fi
unset MAKEFLAGS MFLAGS MAKELEVEL TESTS TEST_LOGS
ok_run "address and undefined-behaviour sanitizers" unit address --enable-sanitizers=address,undefined
ok_run "thread sanitizer" unit thread --enable-sanitizers=thread
if command -v clang >/dev/null; then
    ok_run "clang, warnings as errors" unit clang CC=clang --enable-werror
else
    skip "clang" "no clang"
fi
if command -v valgrind >/dev/null; then
    unit_valgrind() { REGTRACE_TEST_SLOWDOWN=15 T_LOG_COMPILER='valgrind -q --fair-sched=try --error-exitcode=9' unit valgrind CFLAGS='-O1 -g'; }
    ok_run "valgrind" unit_valgrind
else
    skip "valgrind" "no valgrind"
fi
done_testing
