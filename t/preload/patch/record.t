#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# REGTRACE_FUNCTIONS=REGEX: functions of programs that were not compiled for it. They are recorded
# in windows exactly as the program itself notes that they are entered and left, however that
# happens.
. "$(dirname "$0")/../../lib.sh"
P=$T/record plugin=$T/plugin.so
export XDG_CACHE_HOME=$T/cache
needs probes
command -v c++ >/dev/null || skip_all "there is no C++ compiler here"
cc -O2 -shared -fPIC -o "$plugin" "$REGTRACE_SOURCE/t/preload/patch/programs/called_library.c" || exit 99

# functions FILE...: prints what was recorded of the threads of one file, a line for each enter or
# leave: thread, + or -, name.
functions() {
    "$REGTRACE" dump "$@" | awk -F'"' '/ EV_FUNCTION_(ENTER|LEAVE) / {
        for (i = 1; i < NF && $i !~ / address_name=$/; i++) {}
        split($1, column, " ")
        print column[3], ($0 ~ / EV_FUNCTION_ENTER / ? "+" : "-") $(i + 1) }' | sort -s -n -k1,1
}

# nested: reads a dump. Prints each leave of a function that was not the last one entered in that
# window, and says if too little was recorded.
nested() {
    awk '/ EV_WINDOW_OPEN / { depth[$3] = 0; windows++ }
        / EV_FUNCTION_ENTER / { stack[$3, depth[$3]++] = $8; n++ }
        / EV_FUNCTION_LEAVE / { if (depth[$3]-- < 1 || stack[$3, depth[$3]] != $8) print "wrong: " $0 }
        END { if (n < 1000 || windows < 200) print n " enters in " windows " windows" }'
}

# records PART [OPTION...]: checks that the recording is the same as the program's own notes.
records() {
    local part=$1
    shift
    rm -rf "$T/run"
    run 120 "$REGTRACE" run -quiet -o "$T/run" -functions '^r_' "$@" -- "$P" "$part"
    is "$status" 0 "$build: $part: the program ends well" || diag "$err"
    printf '%s\n' "$out" >"$T/said"
    functions "$T/run" >"$T/found"
    cmp -s "$T/said" "$T/found"
    ok $? "$build: $part: recorded as the program says" || diag "$(diff "$T/said" "$T/found" | head -20)"
    [ "$(wc -l <"$T/said")" -gt 20 ]
    ok $? "which is something" || diag "$(wc -l "$T/said")"
    ok_run "what is recorded holds" "$REGTRACE" check "$T/run"
}

builds=("g++ -O0" "g++ -O2" "g++ -Os -no-pie")
command -v clang++ >/dev/null && builds+=("clang++ -O2")
if [ -n "${REGTRACE_RECORD_ALL:-}" ]; then
    builds+=("g++ -O1" "g++ -O3 -fcf-protection=full -fno-plt" "g++ -O2 -fno-omit-frame-pointer -static-libstdc++" "g++ -O2 -flto" "g++ -O3 -march=native")
    command -v clang++ >/dev/null && builds+=("clang++ -O0" "clang++ -O3 -fno-plt" "clang++ -O1 -no-pie -fcf-protection=full")
fi
for build in "${builds[@]}"; do
    # shellcheck disable=SC2086 # words
    $build -g -rdynamic -foptimize-sibling-calls -I"$REGTRACE_SOURCE/share/include" -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/record.cc" -ldl -pthread ||
        { ok 1 "$build: compiles"; continue; }
    records plain
    records exceptions
    records leaps
    records threads
    records signals
    records signals -callpath 64
    records tails
    records callbacks
    records windows -controller-default-start 0
    run 60 "$REGTRACE" run -quiet -o "$T/coroutines" -functions '^r_' -- "$P" coroutines
    is "$status" 0 "$build: coroutines: the program ends well" || diag "$err"
    ok_run "calls are nested whatever stacks they are on" "$REGTRACE" check "$T/coroutines"
    is "$(functions "$T/coroutines" | grep -c '+r_leaf')" 20 "and all are there"
    rm -rf "$T/coroutines"
    records exceptions -control 'start:enter_func:r_catcher,stop:exit_func:r_catcher,repeat'
    run 120 "$REGTRACE" run -quiet -o "$T/flips" -functions '^r_' -controller-default-start 0 -- "$P" flips
    is "$status" 0 "$build: windows that open and close under eight threads: the program ends well" || diag "$err"
    ok_run "what is recorded holds" "$REGTRACE" check "$T/flips"
    is "$("$REGTRACE" dump "$T/flips" | nested)" "" "calls are nested in each window"
    rm -rf "$T/flips"
done

# Handlers interrupt an enter or a leave, enter and leave functions themselves, and may never come
# back.
c++ -O2 -o "$T/interrupted" "$REGTRACE_SOURCE/t/preload/patch/programs/interrupted.cc" -pthread -lrt || exit 99
for jumps in 0 1; do
    rm -rf "$T/run"
    run 120 "$REGTRACE" run -quiet -o "$T/run" -functions '^r_' -- "$T/interrupted" 6000 "$jumps"
    is "$status" 0 "a handler each 100 us, jumps $jumps: the program ends well" || diag "$err"
    ok_run "what is recorded holds" "$REGTRACE" check "$T/run"
    is "$(functions "$T/run" | awk '
        $2 ~ /^\+/ { stack[$1, ++depth[$1]] = substr($2, 2); entered++; next }
        { if (depth[$1] < 1 || stack[$1, depth[$1]--] != substr($2, 2)) wrong++ }
        END { for (t in depth) left += depth[t]; print wrong + 0, left + 0, (entered >= 8 * 6000 * 7) }')" "0 0 1" "each leave is that of the latest enter, and none is missing"
done

# A forked child goes on in the functions that its parent was in.
rm -rf "$T/run"
run 60 "$REGTRACE" run -quiet -o "$T/run" -functions '^r_' -- "$P" forks
is "$status $(tr '\n' ' ' <<<"$out")" "0 0 +r_leaf 0 -r_leaf " "a program that forks ends well"
is "$(for f in "$T"/run/rank-*.h5; do functions "$f" | wc -l; done | sort | tr '\n' ' ')" "2 4 " "and the child's functions are in its file"

# Functions of libraries, selected by the libraries' names, also if a library is loaded later.
rm -rf "$T/run"
run 60 "$REGTRACE" run -quiet -o "$T/run" -functions '^plugged$@plugin*;^r_nothing' -- "$P" plugin "$plugin"
is "$status" 0 "functions of a library" || diag "$err"
is "$(functions "$T/run" | sort | uniq -c | sed 's/^ *//' | tr '\n' ',')" "30 0 +plugged,30 0 -plugged," "by its name, each time that it is loaded"
like "$err" 'REGTRACE_FUNCTIONS=\^r_nothing: it matches the name of no function; inlined functions have no entry' "a pattern that matches nothing is reported"

# Depth and names.
rm -rf "$T/run"
run 60 "$REGTRACE" run -quiet -o "$T/run" -functions '^r_' -functions-depth 3 -- "$P" plain
is "$(functions "$T/run" | awk '/\+/ { n++; if (n > most) most = n } /-/ { n-- } END { print most, n }')" "3 0" "-functions-depth 3 records three levels"
rm -rf "$T/run"
run 60 "$REGTRACE" run -quiet -o "$T/run" -functions 'r_mixed\(|^Scope::' -- "$P" plain
is "$(functions "$T/run" | sort -u | tr '\n' ' ')" "" "r_mixed( is no name of a function of C"

# Between windows the code is as it was.
cat >"$T/text.c" <<'END'
#include <regtrace.h>
#include <stdio.h>
#include <string.h>
__attribute__((noinline, noclone)) int r_one(int n)
{
    __asm__ volatile("" ::: "memory");
    return n * 7 + 1;
}
int main(void)
{
    unsigned char before[16], within[16], after[16];
    int n = 0;
    memcpy(before, (void *)r_one, 16);
    regtrace_start(0);
    memcpy(within, (void *)r_one, 16);
    n += r_one(1);
    regtrace_stop(0);
    memcpy(after, (void *)r_one, 16);
    n += r_one(2);
    printf("%d %d %d\n", memcmp(before, within, 16) != 0, memcmp(before, after, 16), n);
    return 0;
}
END
cc -O2 -I"$REGTRACE_SOURCE/share/include" -o "$T/text" "$T/text.c" || exit 99
rm -rf "$T/run"
run 60 "$REGTRACE" run -quiet -o "$T/run" -functions '^r_' -controller-default-start 0 -- "$T/text"
is "$out" "1 0 23" "probes are there while a window is open, and gone afterwards" || diag "$err"
is "$(functions "$T/run" | tr '\n' ' ')" "0 +r_one 0 -r_one " "one call was in the window"

# Wrong requests.
wrong() {
    run 30 "$REGTRACE" run -o "$T/wrong" -functions "$1" -- "$P" plain
    is "$status" 2 "-functions '$1' is refused"
    like "$err" "$2" "with the reason"
}
wrong 'r_(' 'REGTRACE_FUNCTIONS \(option -functions\) is "r_\(", which is no extended regular expression'
wrong '@libm.so' 'legal is 0.1.REGEX\[@IMAGE\]'
wrong ';' 'legal is 0.1.REGEX\[@IMAGE\]'
wrong 'a;b;c;d;e;f;g;h;i' 'up to 8 patterns'
run 30 "$REGTRACE" run -o "$T/wrong" -functions r_ -functions-depth 0 -- "$P" plain
like "$err" '1 to 256 levels are legal' "no depth is refused"
# Also with steps, up to the last call of r_large.
last=$("$P" plain | grep -c -- '-r_large')
records plain -pmu step -control "start:enter_func:main,stop:exit_func:r_large:count$last"
run 30 "$REGTRACE" run -quiet -o "$T/masked" -functions 'malloc@libc.so*' -- "$P" plain
is "$status" 0 "functions of the C library"
like "$err" 'REGTRACE_FUNCTIONS=malloc@libc.so\*: libc.so.6 has it, which runs with SIGTRAP blocked at times' "are left alone, and it is reported"
done_testing
