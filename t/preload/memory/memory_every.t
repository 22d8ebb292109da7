#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces whose windows open and close at every instruction of a program, including those of
# libc and of the code that records. All that was left to do is recorded, wherever the window finds
# the program, and the program does what it does without the tracer. The same holds where one window
# closes and the next opens at the same place, in an instrumented copy, in what copies call, and as
# another signal's handler begins.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
quick_replays
needs memory
USR1=$(kill -l USR1) USR2=$(kill -l USR2)
again=${EVERY_AGAIN:-7} # of these windows each so many-th
cc -O2 -o tracer "$here/programs/memory_every_tracer.c" || exit 99

# every NAME WAY CHAIN SIGNAL MOST STEP LEAST [CLOSE]: runs the program memory_every.c under its
# tracer and checks its windows; at least LEAST are wanted. With "another thread" in NAME
# another thread is in a window, so that functions lead to their copies all the time.
every() {
    local name=$1 pid address another=()
    [[ $name != *'another thread'* ]] || another=(-control start:enter_func:begin_other)
    rm -rf run
    : >out
    "$REGTRACE" run -quiet -o run -memory '.;.@libany.so' -control "$3" "${another[@]}" -- ./every ${another:+another} >out 2>err &
    runner=$!
    rt_pids+=("$runner")
    for _ in $(seq 400); do
        [ ! -s out ] || break
        sleep 0.05
    done
    read -r pid address <out
    ./tracer "$2" "$pid" "$address" "$4" "$5" "$6" "${@:8}" >windows 2>traced
    is "$? $(cat traced)" "0 " "$name: it was traced"
    wait $runner
    ended=$?
    rt_pids=() # its number may be another's by the end
    is "$ended $(cat err)" "0 " "$name: the program has done the same each time"
    "$REGTRACE" skel replay run >replayed 2>said
    is "$? $(cat said)" "0 " "$name: its replay"
    said=$("$PYTHON_ANY" "$here/memory_every.py" replayed "$address" windows)
    diag "$name: $said"
    like "$said" ', 0 wrong$' "$name: the elements that were left, or done"
    ok_run "$name: $(wc -l <windows) windows" test "$(wc -l <windows)" -ge "$7"
}
for flags in gcc' -O2' clang' -O3'; do
    command -v "${flags% *}" >/dev/null || { skip "$flags" "it is not installed"; continue; }
    # shellcheck disable=SC2086
    $flags -DLIBRARY -shared -fPIC -o libany.so "$here/programs/memory_anywhere.c" && $flags -I"$here" -o every "$here/programs/memory_every.c" -L. -lany -Wl,-rpath,"$T" -pthread || exit 99
    every "$flags, opened" open 'start:signal:USR1,stop:enter_func:end_all,repeat' "$USR1" 100000 "$([ "$flags" = "gcc -O2" ] && echo 1 || echo 3)" 900
    every "$flags, closed" close 'start:enter_func:begin_all,stop:signal:USR2,repeat' "$USR2" 400 1 900
    every "$flags, opened beside another thread" open 'start:signal:USR1,stop:enter_func:end_all,repeat' "$USR1" 100000 3 900
    every "$flags, closed and opened again beside another thread" again 'start:signal:USR1,stop:signal:USR2,repeat' "$USR1" 600 "$again" 500 "$USR2"
done
# Check of the check: it must find a missing element.
every "opened now and then" open 'start:signal:USR1,stop:enter_func:end_all,repeat' "$USR1" 100 10 50
sed '0,/ M 8 /{/ M 8 /d}' replayed >less
unlike "$("$PYTHON_ANY" "$here/memory_every.py" less "$(cut -d' ' -f2 out)" windows)" ', 0 wrong$' "an element that is missing is seen"
done_testing
