#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of functions that call each other directly, and of odd ones whose calls must not be taken for such: in a window the replay is, access for
# access, what single steps by ptrace say of the same run. Alarms at what is called see each call; a window that ends amid such calls has none of later ones.
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
    timeout 60 setarch -R env -i "${variables[@]}" ./direct "$part" >out 2>err </dev/null
    is "$? $(cat out)" "0 $(./direct "$part")" "$title: prints what it prints without" || diag "$(cat err)"
    "$REGTRACE" skel replay exact >replayed 2>said
    is "$? $(cat said)" "0 " "$title: its replay"
}
# exact TITLE PART WITHOUT: functions that have no clone.
exact() {
    local title=$1 part=$2 bias from to at size said
    bias=$(bias_of direct) from=$(symbol direct open_window) to=$(symbol direct close_window)
    read -r at size < <(section direct)
    rm -rf exact
    variables 1000001
    timeout 100 "$STEPPER" -w "$(printf '%x:%x' $((bias + from)) $((bias + to)))" -r "$(printf '%x:%x' $((bias + at)) $((bias + at + size)))" -o steps \
        "${variables[@]}" ./direct "$part" >bare.out 2>bare.err </dev/null || diag "the single-stepper: $?, $(cat bare.err)"
    recorded "$title" "$part"
    said=$("$PYTHON_ANY" "$REGTRACE_SOURCE/t/kernels/exact.py" steps direct "$(printf %x "$bias")" steps replayed -without "main,on_trap,$3" 2>&1)
    like "$said" '^[0-9]+ accesses of' "$title: single steps"
    diag "$title: $said"
}
# waits TITLE NAME COUNT CELL VALUE: the window ends with that call of who is called so: what the cell has been set to by then.
waits() {
    local title=$1 cell
    rm -rf run
    setarch -R "$REGTRACE" run -quiet -o run -memory . -control "start:enter_func:open_window,stop:enter_func:$2:count$3" -- ./direct alarms >out 2>err
    is "$? $(cat out)" "0 $(./direct alarms)" "$title: the same output"
    "$REGTRACE" skel replay run >replayed 2>said
    cell=$(grep -cE " [MW] 8 $4\$" replayed)
    is "$(cat said) $cell" " $5" "$title: so many calls in the window"
}
for flags in gcc' -O0' gcc' -O2 -fcf-protection=none' gcc' -O2 -no-pie -fno-pie -fno-optimize-sibling-calls' clang' -O2'; do
    command -v "${flags% -O*}" >/dev/null || { skip "$flags" "it is not installed"; continue; }
    # shellcheck disable=SC2086
    $flags -w -o direct "$here/memory_direct.c" -ldl || exit 99
    recorded "$flags, functions that begin with what copies do not have" begins
    ok_run "$flags: of who calls them there is all" test "$(grep -c '^[^#]' replayed)" -gt 20
    exact "$flags, jumps, falls, entries" ends other
    exact "$flags, longjmp" jumps ''
    exact "$flags, many calls" alarms ''
    exact "$flags, what calls hand over" hands ''
    cells=$(($(bias_of direct) + $(symbol direct cells)))
    waits "$flags, an alarm" leaf 57 "$(printf %x $cells)" 56
    waits "$flags, by another name" other_name 57 "$(printf %x $cells)" 56
    # Where they are chosen is seen of programs that lie anywhere.
    [[ $flags = *-no-pie* ]] || waits "$flags, one of several" chosen 20 "$(printf %x $((cells + 8)))" 19
    rm -rf run
    "$REGTRACE" run -quiet -o run -memory . -control 'start:enter_func:open_window,stop:timeout:1ms' -- ./direct nothing >out 2>err
    is "$? $(cat out)" "0 $(./direct nothing)" "$flags, a window that ends amid calls: the same output"
    run 60 bash -c '"$1" skel replay -format binary run | wc -c' - "$REGTRACE"
    ok_run "$flags: it has none of later calls: $out bytes" test "$out" -lt 100000000
done
done_testing
