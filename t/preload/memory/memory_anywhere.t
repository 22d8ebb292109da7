#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces whose windows open and close wherever a timer or a signal finds the program: in a
# loop, within calls, in libc, in a library, in functions that these call back. Functions that were
# entered before are recorded from there on, and so are their callers.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
quick_replays
needs memory
cc -O2 -Wall -o gaps "$here/programs/memory_anywhere_gaps.c" || exit 99

# trace_once NAME CHAIN HOW ROUNDS: checks that the trace of a run with this chain has no gap. Sets
# count and elements to the numbers of windows and of elements that it has.
trace_once() {
    local name=$1 windows=$2 said
    ./any "$3" "$4" >bare 2>/dev/null
    rm -rf run
    "$REGTRACE" run -quiet -o run -memory '.;.@libany.so' -control "$windows" -- ./any "$3" "$4" >out 2>err
    is "$? $(cat out)" "0 $(cat bare)" "$name: the same output" || diag "$(cat err)"
    "$REGTRACE" skel replay run >replayed 2>said
    is "$? $(cat said)" "0 " "$name: its replay"
    said=$(./gaps replayed "$(grep -v regtrace err | head -1)")
    diag "$name: $said"
    like "$said" ' 0 gaps$' "$name: consecutive elements"
    read -r count _ elements _ <<<"$said"
}
# traced NAME CHAIN LEAST HOW ROUNDS: as trace_once. LEAST has the least numbers of windows and
# elements. As long as there are fewer, because the machine is busy, the run is longer: a chain that
# ends after 32 turns has four times as many, and so have the rounds.
traced() {
    local chain=$2 most=32 rounds=$5
    trace_once "$1" "$chain" "$4" "$rounds"
    while [ "$count" -lt "${3% *}" ] || [ "$elements" -lt "${3#* }" ] && [ $most -lt 2000 ]; do
        most=$((most * 4)) rounds=$((rounds * 4))
        trace_once "$1, up to $most windows" "${chain/repeat:32/repeat:$most}" "$4" $rounds
    done
    ok_run "$1: and many" test "$count" -ge "${3% *}" -a "$elements" -ge "${3#* }"
}
# The tool prepares an entry once for each place at which a window finds a thread. That takes 20 ms,
# and much longer on a busy machine. So there are more windows than a loop has such places, and the
# program runs longer than they take.
timed='start:timeout:10ms,stop:timeout:100us,repeat:32'
for flags in gcc' -O0' gcc' -O2' clang' -O1' clang' -O3'; do
    command -v "${flags% *}" >/dev/null || { skip "$flags" "it is not installed"; continue; }
    # shellcheck disable=SC2086
    $flags -DLIBRARY -shared -fPIC -o libany.so "$here/programs/memory_anywhere.c" && $flags -o any "$here/programs/memory_anywhere.c" -L. -lany -Wl,-rpath,"$T" -pthread || exit 99
    traced "$flags, timer" "$timed" '3 10000' plain 6000000
    traced "$flags, timer, called back by libc" "$timed" '3 10000' back 1000000
    traced "$flags, by functions" 'start:enter_func:recurse:count50,stop:enter_func:mixed:count70,repeat' '4 10000' back 1000
    traced "$flags, jumps" 'start:enter_func:leaf:count50,stop:enter_func:mixed:count70,repeat' '10 5000' jumps 3000
    traced "$flags, odd functions" 'start:enter_func:mixed:count50,stop:enter_func:mixed:count70,repeat' '10 5000' odd 3000
    traced "$flags, timer, odd functions" "$timed" '2 5000' odd 4000000
    traced "$flags, another thread asks" 'start:enter_func:begin_all:bcast,stop:enter_func:end_all:bcast,repeat:8' '3 10000' thread 6000000
done

# helpers NAME: prints how many helpers that make instrumented copies the run NAME has. A helper
# looks at the images before the first window if windows can open anywhere.
# shellcheck disable=SC2046
helpers() { grep -lz "^MARK=$T/$1\$" $(pgrep -f 'regtrace-isa skel --serve' | sed 's,.*,/proc/&/environ,') /dev/null 2>/dev/null | wc -l; }
has_helper() { [ "$(helpers "$1")" = 1 ]; }
MARK=$T/called "$REGTRACE" run -quiet -o called -memory . -control 'start:enter_func:mixed,stop:enter_func:leaf' -- sh -c 'echo $$ >called.pid; exec sleep 60' 2>/dev/null &
kill_at_end $!

# Windows by a signal from outside.
MARK=$T/signalled "$REGTRACE" run -quiet -o signalled -memory '.;.@libany.so' -control 'start:signal:USR1,stop:signal:USR2,repeat' -- sh -c 'echo $$ >pid; exec ./any plain 200000000' >out 2>err &
runner=$!
kill_at_end "$runner"
for _ in $(seq 200); do
    [ ! -s pid ] || [ "$(cat "/proc/$(cat pid)/comm")" != any ] || break
    sleep 0.05
done
pid=$(cat pid)
wait_for 20 has_helper signalled
is $? 0 "a helper waits before the first window"
# System call 230 is clock_nanosleep(2).
sleeps() { [ "$(cat "/proc/$(cat called.pid)/comm")" = sleep ] && grep -q '^230 ' "/proc/$(cat called.pid)/syscall"; }
wait_for 20 sleeps
is $? 0 "a program that waits"
is "$(helpers called)" 0 "has none where windows open by functions alone"
kill -TERM "$(cat called.pid)"
# cpu: prints the processor time that the program has used, in nanoseconds. send SIGNAL: sends it,
# and returns when the program has received it and has worked for 1 ms after that, however busy the
# machine is.
cpu() { cut -d' ' -f1 "/proc/$pid/schedstat"; }
none_pending() { ! grep -qE '^(SigPnd|ShdPnd):.*[1-9a-f]' "/proc/$pid/status"; }
worked() { [ "$(cpu)" -ge $((sent + 1000000)) ]; }
soon() { # wait_for without its pauses: windows stay short
    local n
    for ((n = 0; n < 100000; n++)); do "$@" 2>/dev/null && return; done
}
send() {
    kill "$1" "$pid"
    soon none_pending
    sent=$(cpu)
    soon worked
}
for _ in 1 2 3; do
    send -USR1
    send -USR2
done
kill -TERM "$pid"
wait $runner
"$REGTRACE" skel replay signalled >replayed 2>said
said=$(./gaps replayed "$(grep -v regtrace err | head -1)")
like "$said" '^3 windows, [1-9][0-9]{3,} elements, 0 gaps$' "signals: $said"
# Check of the check: it must find a missing element.
unlike "$(./gaps replayed "$(grep -v regtrace err | head -1)" 100)" ' 0 gaps$' "an element that is missing is seen"
done_testing
