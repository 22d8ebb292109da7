#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of functions with jumps of which nobody knows beforehand where they lead: in a window the replay is, access for access, what single
# steps by ptrace say of the same run; what cannot be recorded is said.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/same.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$T" || exit 1
[ -x "$REGTRACE_BUILD/isa/regtrace-skel" ] && [ "$(uname -m)" = x86_64 ] || skip_all "memory traces are for x86-64 with Zydis"
setarch -R true 2>/dev/null || skip_all "addresses cannot be without randomisation here"
STEPPER=$REGTRACE_BUILD/t/oracle/accesses

symbol() { nm "$1" | awk -v n="$2" '$3 == n { print "0x" $1 }'; }
section() { readelf -W -S "$1" | sed 's/^ *\[ *[0-9]*\] *//' | awk '$1 == ".text" { print "0x" $3, "0x" $5 }'; }
bias_of() { if readelf -h "$1" | grep -q 'Type:.*DYN'; then echo $((0x555555554000)); else echo 0; fi; }
# variables COUNT: those of a run, all of it; its window is opened by the call of that number.
variables() {
    variables=(REGTRACE_DIR="$T/exact" REGTRACE_SHM="$REGTRACE_SHM" REGTRACE_MEMORY=. LD_PRELOAD="$LIBREGTRACE"
        REGTRACE_CONTROL="start:enter_func:open_window:count$1,stop:enter_func:close_window:count$1")
}
# recorded TITLE PART: to replayed; what it prints is what it prints without.
recorded() {
    local title=$1 part=$2
    rm -rf exact
    variables 0000001
    timeout 60 setarch -R env -i "${variables[@]}" ./wild "$part" >out 2>err </dev/null
    is "$? $(cat out)" "0 $(./wild "$part")" "$title: prints what it prints without" || diag "$(cat err)"
    "$REGTRACE" skel replay exact >replayed 2>said
    is "$? $(cat said)" "0 " "$title: its replay"
}
# exact TITLE PART
exact() {
    local title=$1 part=$2 bias from to at size said
    bias=$(bias_of wild) from=$(symbol wild open_window) to=$(symbol wild close_window)
    read -r at size < <(section wild)
    rm -rf exact
    variables 1000001
    timeout 100 "$STEPPER" -w "$(printf '%x:%x' $((bias + from)) $((bias + to)))" -r "$(printf '%x:%x' $((bias + at)) $((bias + at + size)))" -o steps \
        "${variables[@]}" ./wild "$part" >bare.out 2>bare.err </dev/null || diag "the single-stepper: $?, $(cat bare.err)"
    recorded "$title" "$part"
    said=$("$PYTHON_ANY" "$REGTRACE_SOURCE/t/kernels/exact.py" steps wild "$(printf %x "$bias")" steps replayed 2>&1)
    like "$said" '^[0-9]+ accesses of' "$title: single steps"
    diag "$title: $said"
}
for flags in gcc' -O0' gcc' -O2' gcc' -O2 -no-pie -fno-pie -mcmodel=large' gcc' -O2 -fcf-protection=none' clang' -O2' clang' -O1'; do
    command -v "${flags% -O*}" >/dev/null || { skip "$flags" "it is not installed"; continue; }
    # shellcheck disable=SC2086
    $flags -w -o wild "$here/memory_wild.c" || exit 99
    exact "$flags, calls" calls
    # A copy cannot begin so: what is missing then is said, and what is called from there is recorded.
    recorded "$flags, places without copies" begins
    is "$(sed -n 's/^# \([0-9]*\) times a function was not recorded .* 0x[0-9a-f]*$/\1/p' replayed)" 4 "$flags: the replay says how often something is missing"
    like "$(cat exact/regtrace.log)" 'error: memory traces lack what a function does from a place on: begins\+0x[0-9a-f]* \(it begins with what a clone cannot do' "$flags: and the log of what"
    cell=$(printf %x $(($(bias_of wild) + $(symbol wild cells) + 8)))
    is "$(grep -c " W 8 $cell\$\| M 8 $cell\$" replayed)" 4 "$flags: what is called from there is recorded"
    "$REGTRACE" skel replay -format binary exact >records
    is "$(tail -c 8 records | od -An -tx1 | xargs)" 'fe 00 00 00 45 00 00 00' "$flags: so does the last record"
done
done_testing
