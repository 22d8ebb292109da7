#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of functions that call each other directly, and of odd calls that must not be taken
# for direct ones. In a window the replay is, access for access, what single steps by ptrace show
# for the same run. An alarm on a called function counts each call. A window that ends within such
# calls has none of the later ones.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/exact.inc"
quick_replays

# exact TITLE PART WITHOUT: compares a part with single steps. WITHOUT names functions that have no
# instrumented copy.
exact() { exact_window "$1" direct "$2" "main,on_trap,$3"; }
# waits TITLE NAME COUNT CELL VALUE: ends the window with call number COUNT of the function NAME. By
# then the trace must have VALUE modifications at the address CELL.
waits() {
    local title=$1 cell
    remove_run run
    setarch -R "$REGTRACE" run -quiet -o run -memory . -control "start:enter_func:open_window,stop:enter_func:$2:count$3" -- ./direct alarms >out 2>err
    is "$? $(cat out)" "0 $(./direct alarms)" "$title: the same output"
    "$REGTRACE" skel replay run >replayed 2>said
    cell=$(grep -cE " [MW] 8 $4\$" replayed)
    is "$(cat said) $cell" " $5" "$title: so many calls in the window"
}
for flags in gcc' -O0' gcc' -O2 -fcf-protection=none' gcc' -O2 -no-pie -fno-pie -fno-optimize-sibling-calls' clang' -O2'; do
    command -v "${flags% -O*}" >/dev/null || { skip "$flags" "it is not installed"; continue; }
    # shellcheck disable=SC2086
    $flags -w -o direct "$here/programs/memory_direct.c" -ldl || exit 99
    recorded "$flags, functions that begin with what copies do not have" direct begins skeleton
    ok_run "$flags: of who calls them there is all" test "$(grep -c '^[^#]' replayed)" -gt 20
    exact "$flags, jumps, falls, entries" ends other
    exact "$flags, longjmp" jumps ''
    exact "$flags, many calls" alarms ''
    exact "$flags, what calls hand over" hands ''
    cells=$(($(bias_of direct) + $(symbol direct cells)))
    waits "$flags, an alarm" leaf 57 "$(printf %x $cells)" 56
    waits "$flags, by another name" other_name 57 "$(printf %x $cells)" 56
    # The tool sees which function an ifunc has chosen only in position-independent programs.
    [[ $flags = *-no-pie* ]] || waits "$flags, one of several" chosen 20 "$(printf %x $((cells + 8)))" 19
    remove_run run
    "$REGTRACE" run -quiet -o run -memory . -control 'start:enter_func:open_window,stop:timeout:1ms' -- ./direct nothing >out 2>err
    is "$? $(cat out)" "0 $(./direct nothing)" "$flags, a window that ends within calls: the same output"
    run 60 bash -c '"$1" skel replay -format binary run | wc -c' - "$REGTRACE"
    ok_run "$flags: it has none of later calls: $out bytes" test "$out" -lt 100000000
done
done_testing
