#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces (-memory):
# - Programs behave as they do without them, through windows, threads, signals, jumps, forks and
#   exceptions.
# - Replays have the accesses that the program logs.
# - The replay of a whole run has the accesses that single steps by ptrace show.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../same.sh"
cd "$T" || exit 1
needs memory
WINDOWS='start:enter_func:open_window,stop:enter_func:close_window,repeat:100000'
ISA=$REGTRACE_BUILD/isa/regtrace-isa
# Leaves out the functions that call sigsetjmp(): they have no instrumented copy, and a message at
# the program's start names them.
ALL='^[^p_]'
cc -O2 -Wall -o memory "$here/programs/memory_basic.c" -lpthread || exit 99

# part NAME PROGRAM EXPECTED ARGUMENT...: checks that the output is the same, and that the replay
# has what the program has logged. EXPECTED is the line that memory.py prints.
part() {
    local name=$1 program=$2 windows=$3
    shift 3
    MEMORY_LOG=$T/log same "$name" REGTRACE_MEMORY="$ALL" REGTRACE_CONTROL="$WINDOWS" "$program" "$@"
    "$REGTRACE" skel replay "$last_trace" >replayed 2>said || diag "$(cat said)"
    is "$("$PYTHON_ANY" "$here/memory.py" "$program" log replayed 2>&1)" "$windows" "$name: its accesses"
}
part "8 threads, 1,000 windows each" ./memory "8000 windows, 8000 calls, 808000 accesses, ended early: 0" windows 1000
part "windows that close further down" ./memory "20 windows, 10 calls, 400 accesses, ended early: 0" nested 10
part "longjmp" ./memory "20 windows, 30 calls, 1000 accesses, ended early: 10" jumps 10
leaves_streams=1
part "killed within a window" ./memory "1 windows, 2 calls, 8292 accesses, ended early: 1" killed 3
for part in 'forks 5' 'blocked 5' 'signals 10'; do
    # shellcheck disable=SC2086
    same "$part" REGTRACE_MEMORY="$ALL" REGTRACE_CONTROL="$WINDOWS" ./memory $part
done
# Children that are forked in a window go on in their own files, also if nothing in the window makes
# an event.
cat >forked.c <<'C'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long cells[64];
__attribute__((noinline)) static long work(long n)
{
    long s = 0;
    for (long i = 0; i < n; i++)
        s += cells[i & 63]++;
    return s;
}
__attribute__((noinline)) static pid_t apart(long n)
{
    pid_t child = fork();
    cells[n] += child == 0 ? 100 : 1;
    return child;
}
int main(void)
{
    int state = 0;
    work(10);
    if (apart(3) == 0) {
        work(20);
        if (apart(4) == 0) {
            work(50);
            _exit(0);
        }
        wait(&state);
        _exit((int)(cells[3] & 63));
    }
    wait(&state);
    work(30);
    printf("%d\n", WEXITSTATUS(state));
    return 0;
}
C
for level in -O0 -O2; do
    gcc $level -no-pie -fno-pie -o forked forked.c || exit 99
    for functions in . '^(work|apart)$'; do
        same "$level, $functions: children" REGTRACE_MEMORY="$functions" ./forked
        "$REGTRACE" skel replay "$last_trace" >replayed 2>said || diag "$(cat said)"
        is "$(awk '/^# rank/ { process++ } !/^#/ && $2 != "R" && length($4) < 8 { n[process]++ } END { print n[1], n[2], n[3], process }' replayed)" "41 22 51 3" \
            "$level, $functions: what they store is recorded"
    done
done
# midway COMPILER WAY EXPECTED CHAIN: checks windows that open within functions that were entered
# before.
midway() {
    local ALL='^[^l]' WINDOWS=$4
    part "$1: opened within a function, by $2" ./midway "$3" "$2" 100
}
for compiler in 'gcc -O0' 'gcc -O2' 'clang -O0' 'clang -O3'; do
    if ! command -v "${compiler% *}" >/dev/null; then
        skip "$compiler" "it is not there"
        continue
    fi
    # shellcheck disable=SC2086
    $compiler -I"$REGTRACE_SOURCE" -o midway "$here/programs/memory_midway.c" || exit 99
    midway "$compiler" name "100 windows, 200 calls, 8500 accesses, ended early: 0" "$WINDOWS"
    midway "$compiler" calls "100 windows, 266 calls, 5754 accesses, ended early: 0" "$WINDOWS"
    midway "$compiler" function "100 windows, 200 calls, 1956 accesses, ended early: 0" 'start:enter_func:phase,stop:enter_func:close_window,repeat:100000'
    midway "$compiler" pcontrol "100 windows, 200 calls, 5300 accesses, ended early: 0" 'start:pcontrol:level=1,stop:pcontrol:level=0,repeat:100000'
    midway "$compiler" start "100 windows, 100 calls, 5100 accesses, ended early: 0" 'start:timeout:100000s'
done
# However many functions there are, none has a probe outside windows.
{
    printf '#include <stdio.h>\n#include <string.h>\n__attribute__((noinline)) void open_window(void) { __asm__ volatile(""); }\n__attribute__((noinline)) void close_window(void) { __asm__ volatile(""); }\n'
    for n in $(seq 6000); do echo "__attribute__((noinline)) int f$n(int *a) { return a[$n % 7]++ + $n; }"; done
    printf 'static int (*all[])(int *) = {'
    for n in $(seq 6000); do printf 'f%s, ' "$n"; done
    cat <<'C'
};
static unsigned char before[6000][8];
int main(void)
{
    int a[7] = {0}, changed[2] = {0}, sum = 0;
    for (int n = 0; n < 6000; n++)
        memcpy(before[n], (void *)all[n], 8);
    for (int turn = 0; turn < 2; turn++) {
        if (turn == 0)
            open_window();
        for (int n = 0; n < 6000; n++) {
            sum += all[n](a);
            changed[turn] += memcmp(before[n], (void *)all[n], 8) != 0;
        }
        if (turn == 0)
            close_window();
    }
    printf("%d %s %d\n", sum, changed[0] > 5900 ? "all" : "some", changed[1]);
    return 0;
}
C
} >many.c
gcc -O1 -no-pie -fno-pie -o many many.c || exit 99
REGTRACE_DIR=$T/many.run REGTRACE_MEMORY=. REGTRACE_CONTROL=$WINDOWS LD_PRELOAD=$LIBREGTRACE ./many >said 2>&1
is "$(cat said)" "$(./many | sed 's/some/all/')" "6000 functions have probes in the window, and none behind it"
# shellcheck disable=SC2086
same "a whole run as one window" REGTRACE_MEMORY="$ALL" ./memory signals 10
if command -v "${CXX:-c++}" >/dev/null; then
    "${CXX:-c++}" -O2 -o throws "$here/programs/memory_throws.cc" || exit 99
    same "exceptions" REGTRACE_MEMORY=. REGTRACE_CONTROL="$WINDOWS" ./throws 100
    same "exceptions in one window" REGTRACE_MEMORY=. ./throws 100
    "$REGTRACE" skel replay -format count "$last_trace" >said
    like "$(head -1 said)" 'window 0, .* left by a jump or an exception' "its replay says where it ends"
    "$REGTRACE" report "$last_trace" >reported
    like "$(cat reported)" 'Memory traces: [0-9.]* [KM]?i?B in 1 window of threads' "a report has it"
    reported=$("$REGTRACE" report -json "$last_trace" | sed -n 's/.*"memory": {"windows": 1, "bytes": \([0-9]*\), "whole": \([0-9]*\), "jumped": \([0-9]*\),.*/\1 \2 \3/p')
    is "${reported% * *}" "$(sed -n 's/^# rank.*, \([0-9]*\) bytes.*/\1/p' said | awk '{ s += $1 } END { print s }')" "as many bytes as its segments have"
    isnt "${reported#* }" "0 0" "and how the window ended: ${reported#* }"
else
    skip "exceptions" "there is no C++ compiler"
fi

# A whole run, access by access. The single-stepped run needs the program at the same addresses: it
# has the same environment, but no window. What runs before main, and the entry code, is in no
# function of a window; PLT stubs are not recorded.
cc -O2 -o kernels "$REGTRACE_SOURCE/t/isa/memory/kernels.c" -lm || exit 99
place() { readelf -W -S "$1" | sed 's/^ *\[ *[0-9]*\] *//' | awk -v n="$2" -v f="$3" '$1 == n { print $(f - 1) }'; }
variables() { variables=(TMPDIR=/proc/nowhere REGTRACE_DIR="$T/exact" REGTRACE_MEMORY=. REGTRACE_DEFAULT_START="$1" LD_PRELOAD="$LIBREGTRACE"); }
with() {
    variables "$1"
    setarch -R env -i "${variables[@]}" "${@:2}" </dev/null
}
if setarch -R true 2>/dev/null; then
    bias=0
    ! readelf -h kernels | grep -q 'Type:.*DYN' || bias=0x555555554000
    from=$((bias + 0x$(place kernels .text 4))) to=$((bias + 0x$(place kernels .text 4) + 0x$(place kernels .text 6)))
    variables 0
    timeout 500 "$REGTRACE_BUILD/t/oracle/accesses" -f -g -r "$(printf '%x:%x' $from $to)" -o steps "${variables[@]}" ./kernels 4 </dev/null >bare.out || diag "the single-stepper: $?"
    with 1 ./kernels 4 >cloned.out
    is "$? $(cksum <cloned.out)" "0 $(cksum <bare.out)" "kernels: the same output"
    skeleton=$(echo exact/memory/*.c) recording=$(echo exact/memory/*.rec)
    gcc -O0 -w -shared -fPIC -o all.so "$skeleton" || diag "no skeleton"
    sed -n 's/^ENTRY([0-9]*, 0x\([0-9a-f]*\),.*/\1/p' "$skeleton" >functions
    SKELETON_KNOWN=1 "$REGTRACE_BUILD/t/isa/memory/skeleton" ./kernels "$(printf %x $((bias)))" steps functions stream trace >said || diag "$(tail -3 said)"
    "$ISA" skel --recording "$recording" all.so | grep -v '^#' >replayed
    diag "$(wc -l <trace) accesses by single steps, $(wc -l <replayed) replayed of $(stat -c %s stream) bytes"
    start=$((bias + 0x$(nm kernels | sed -n 's/ T _start$//p')))
    awk -v low=$start 'function hex(s,  n, i) { n = 0; for (i = 1; i <= length(s); i++) n = 16 * n + index("0123456789abcdef", substr(s, i, 1)) - 1; return n }
        { a = hex($1) } a < low || a >= low + 48' trace >expected
    ok_run "kernels: the replay is what single steps say" cmp expected replayed
    ok_run "kernels: and many" test "$(wc -l <replayed)" -gt 3000
else
    skip "single steps" "addresses cannot be without randomization here"
fi

run 20 "$REGTRACE" skel replay "$T"
is "$status" 1 "a folder that is no run"
like "$err" 'has no memory accesses' "the error says so"
run 20 "$REGTRACE" run -memory '(' -- ./memory
is "$status" 2 "no regular expression"
run 20 "$REGTRACE" run -o "$T/both" -memory . -functions . -- ./memory
is "$status" 2 "-functions beside it"
like "$err" 'cannot be combined with -functions' "the error says so"
cp -r exact changed && printf 'x' | dd of="$(echo changed/memory/*.rec)" bs=1 seek=0 conv=notrunc 2>/dev/null
run 20 "$REGTRACE" skel replay changed
is "$status" 1 "a damaged recording"
like "$err" 'is no recording of memory accesses, or damaged' "the error says so"
done_testing
