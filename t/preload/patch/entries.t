#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# enter_func in programs that were not compiled for it: it fires as often as the program itself
# counts, however a function is reached.
. "$(dirname "$0")/../../lib.sh"
P=$T/called plugin=$T/plugin.so
export XDG_CACHE_HOME=$T/cache
needs probes
command -v c++ >/dev/null || skip_all "there is no C++ compiler here"
c++ -O2 -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/called.cc" -ldl && cc -O2 -shared -fPIC -o "$plugin" "$REGTRACE_SOURCE/t/preload/patch/programs/called_library.c" || exit 1

# enters ALARM PART [ARGUMENT]: checks that the alarm fires as often as the program says.
enters() {
    local alarm=$1
    shift
    rm -rf "$T/run" "$T/log"
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL="precond:$alarm,repeat" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P" "$@"
    is "$status $(grep -c ' event precond ' "$T/log" 2>/dev/null)" "0 $out" "$alarm, $*: as often as the program says" || diag "$err"
    [ "$out" -gt 0 ]
    ok $? "which is more than never" || diag "$out"
}

enters enter_func:over overloads
enters 'enter_func:"second::over"' qualified
enters enter_func:recursive deep
enters enter_func:thrown exceptions
enters enter_func:called ways
enters enter_func:called traps
enters enter_func:called forks
enters enter_func:called leaps
enters enter_func:plugged plugin "$plugin"
enters address:at_plugged plugin "$plugin"
enters address:plugin.so+0x"$(nm "$plugin" | awk '$3 == "at_plugged" {print $1}')" plugin "$plugin"
rm -f "$T/log"
run 60 env REGTRACE_DIR="$T/begin" REGTRACE_CONTROL=precond:address:at_begin,repeat REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P" plugin "$plugin"
is "$(grep -c ' event precond ' "$T/log")" 2 "an image that is loaded later has its probes before its own constructors run"

# Windows that are opened and closed by functions alone.
run 60 "$REGTRACE" run -quiet -o "$T/window" -control start:enter_func:recursive:count3,stop:enter_func:recursive:count2,repeat -- "$P" deep
is "$status" 0 "windows by functions: the program runs" || diag "$err"
ok_run "what is recorded holds" "$REGTRACE" check "$T/window"
is "$("$REGTRACE" report --json "$T/window" | grep -c '"ordinal"')" 2 "ten entries make two windows"

# With names that are wrong, and with places where an int3 would kill, the program runs, because
# other programs of the job may have these names.
run 60 "$REGTRACE" run -quiet -o "$T/wrong" -control start:enter_func:recursiv -- "$P" deep
is "$status|$out" "0|10" "a misspelt name: the program runs"
like "$err" "no function 'recursiv'; nearest are recursive" "and the nearest names are reported"
run 60 env REGTRACE_DIR="$T/child" REGTRACE_CONTROL=start:enter_func:Py_BytesMain LD_PRELOAD="$LIBREGTRACE" \
    "$PYTHON" -c 'import subprocess; subprocess.run(["true"])'
is "$(grep -c warning <<<"$err")" 0 "and not again in programs that traced ones start, which may be others" || diag "$err"
for alarm in enter_func:malloc address:rand; do
    run 60 "$REGTRACE" run -quiet -o "$T/libc" -control start:$alarm -- "$P" deep
    is "$status|$out" "0|10" "$alarm: the program runs"
    like "$err" "$alarm: (libc.so.6|ld-linux[^ ]*) has it, which runs with SIGTRAP blocked at times: places there are left alone" "and it is reported"
done

# An inlined function has no entry. DWARF says where it was inlined, and alarms can use these
# places.
# inlined PROGRAM NAME: runs it with an alarm at NAME; the warning is in $err.
inlined() {
    run 60 env REGTRACE_DIR="$T/inlined-run" REGTRACE_CONTROL="start:enter_func:\"$2\"" LD_PRELOAD="$LIBREGTRACE" "$1"
    is "$status|$out" "0|139" "$(basename "$1"), $2: the program runs"
    rm -rf "$T/inlined-run"
}
for compiler in g++ clang++; do
    I=$T/inlined_$compiler
    if ! "$compiler" -O2 -g -o "$I" "$REGTRACE_SOURCE/t/preload/patch/programs/inlined.cc" 2>/dev/null; then
        skip "$compiler: where a function was inlined" "there is no $compiler here"
        continue
    fi
    for name in AdvanceTime grids::Grid::AdvanceTime; do
        inlined "$I" "$name"
        like "$err" "'$name' was inlined at 2 places and has no entry; use instead: inlined.cc:" "that it was inlined is reported"
    done
    said=$err
    for place in 10:3 100:1; do
        line=$(grep -n "AdvanceTime(${place%:*})" "$REGTRACE_SOURCE/t/preload/patch/programs/inlined.cc" | cut -d: -f1)
        alarm=$(grep -oE "inlined.cc:$line address:[^ ,]*" <<<"$said")
        rm -f "$T/log"
        run 60 env REGTRACE_DIR="$T/inlined-run" REGTRACE_CONTROL="precond:${alarm#* },repeat" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$I"
        rm -rf "$T/inlined-run"
        is "$status $(grep -c ' event precond ' "$T/log")" "0 ${place#*:}" "$compiler: ${alarm:-no alarm} fires as often as that line runs" || diag "$err"
    done
done
# An address by the function's name; and debug information in a file beside the program.
if [ -x "$T/inlined_g++" ]; then
    run 60 env REGTRACE_DIR="$T/inlined-run" REGTRACE_CONTROL=start:address:AdvanceTime LD_PRELOAD="$LIBREGTRACE" "$T/inlined_g++"
    like "$err" "address:AdvanceTime: 'AdvanceTime' was inlined at 2 places and has no entry" "that it was inlined is reported of an address"
    rm -rf "$T/inlined-run"
    (cd "$T" && objcopy --only-keep-debug inlined_g++ inlined.debug && objcopy -g --add-gnu-debuglink=inlined.debug inlined_g++ inlined_linked) || exit 99
    inlined "$T/inlined_linked" AdvanceTime
    like "$err" "'AdvanceTime' was inlined at 2 places and has no entry" "a debug file beside the program is read"
else
    for i in 1 2 3; do skip "an inlined function $i" "there is no g++ here"; done
fi
# Link-time optimization separates the function from its instances; -gsplit-dwarf puts all of it
# into another file.
for how in -flto -gsplit-dwarf; do
    name=inlined$how
    if ! (cd "$T" && g++ -O2 -g "$how" -c -o "$name.o" "$REGTRACE_SOURCE/t/preload/patch/programs/inlined.cc" && g++ -O2 -g "$how" -o "$name" "$name.o") 2>/dev/null; then
        skip "$how: where a function was inlined" "this compiler has no $how"
        continue
    fi
    inlined "$T/$name" AdvanceTime
    for place in 10 100; do
        line=$(grep -n "AdvanceTime($place)" "$REGTRACE_SOURCE/t/preload/patch/programs/inlined.cc" | cut -d: -f1)
        like "$err" "'AdvanceTime' was inlined at 2 places and has no entry; use instead: .*inlined.cc:$line address:$name\\+0x" "line $line is reported"
    done
done
# A FIFO in place of the .dwo file: nobody waits for its other end.
if dwo=$(cd "$T" && ls inlined-gsplit-dwarf*.dwo 2>/dev/null); then
    rm "$T/$dwo" && mkfifo "$T/$dwo" || exit 99
    XDG_CACHE_HOME=$T/fifo-cache inlined "$T/inlined-gsplit-dwarf" AdvanceTime
    like "$err" "AdvanceTime" "the misspelt or inlined name is reported"
fi
# Objects with and without it in one program.
if (cd "$T" && g++ -O2 -g -flto -c -o mixed.o "$REGTRACE_SOURCE/t/preload/patch/programs/inlined.cc") 2>/dev/null; then
    sed 's/int main()/int other()/; s/grids/meshes/g' "$REGTRACE_SOURCE/t/preload/patch/programs/inlined.cc" >"$T/other.cc"
    (cd "$T" && g++ -O2 -g -c -o other.o other.cc && g++ -O2 -g -flto -o mixed mixed.o other.o) || exit 99
    inlined "$T/mixed" AdvanceTime
    like "$err" "'AdvanceTime' was inlined at 4 places and has no entry" "places of both kinds are reported"
else
    skip "mixed with -flto" "this compiler has no -flto"
fi
# gcc gives functions that other units cannot call no linkage name.
cat >"$T/within.cc" <<'END'
#include <cstdio>
namespace sim
{
namespace
{
volatile int last;
struct Mesh {
    inline __attribute__((always_inline)) int refine(int a)
    {
        last = a;
        return last;
    }
};
inline __attribute__((always_inline)) int advance(int a)
{
    last = a;
    return last + 1;
}
} // namespace
template <class F> inline __attribute__((always_inline)) int parallel_for(int n, F f)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += f(i);
    return sum;
}
} // namespace sim
int main()
{
    sim::Mesh mesh;
    int sum = sim::advance(3) + mesh.refine(129);
    sum += sim::parallel_for(4, [](int i) { sim::last = i; return sim::last; });
    return std::printf("%d", sum) != 3;
}
END
c++ -O2 -g -o "$T/within" "$T/within.cc" || exit 99
for name in sim::advance advance sim::Mesh::refine parallel_for sim::parallel_for; do
    inlined "$T/within" "$name"
    like "$err" "'$name' was inlined at 1 place and has no entry; use instead: within.cc:" "it is reported"
done
# A copy of the program has the answer of the cache, with its own name, in quotes if it needs them.
export XDG_CACHE_HOME=$T/cache
for copy in within 'within, too'; do
    [ -e "$T/$copy" ] || cp "$T/within" "$T/$copy"
    inlined "$T/$copy" advance
    place=$(grep -oE 'address:"?within[^"]*\+0x[0-9a-f]+"?' <<<"$err")
    like "$place" "within(, too)?\\+0x" "a place of $copy"
    rm -f "$T/log"
    run 60 env REGTRACE_DIR="$T/inlined-run" REGTRACE_CONTROL="precond:$place,repeat" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$T/$copy"
    rm -rf "$T/inlined-run"
    is "$status $(grep -c ' event precond ' "$T/log")" "0 1" "${place:-no alarm} fires"
done
unset XDG_CACHE_HOME
cat >"$T/instances.cc" <<'END'
#include <cstdio>
#include <cstdlib>
namespace ns
{
template <typename T, int N> inline __attribute__((always_inline)) T scale(T value)
{
    return value * N + std::atoi("1");
}
} // namespace ns
int main()
{
    int a = ns::scale<int, 3>(46);
    return std::printf("%d", a + (int)ns::scale<double, 4>(-0.25)) != 3;
}
END
c++ -O2 -g -o "$T/instances" "$T/instances.cc" || exit 99
for name in 'ns::scale<int, 3>' 'ns::scale<int,3>(int)' 'int ns::scale<int, 3>(int)'; do
    inlined "$T/instances" "$name"
    like "$err" "was inlined at 1 place and has no entry; use instead: instances.cc:12 address:" "an instance of a template"
done
# libc has functions of everyday names; the program's inlined one is what the user means.
cat >"$T/step.c" <<'END'
#include <stdio.h>
static inline __attribute__((always_inline)) int step(int i)
{
    __asm__ volatile("");
    return i + 1;
}
int main(void)
{
    return printf("%d", step(138)) != 3;
}
END
cc -O2 -g -o "$T/step" "$T/step.c" || exit 99
inlined "$T/step" step
like "$err" "'step' was inlined at 1 place and has no entry; use instead: step.c:" "libc has step() too: the program's is named"
# A function that was inlined in a library of the program.
cat >"$T/solver.c" <<'END'
static inline __attribute__((always_inline)) int solve_row(int i)
{
    __asm__ volatile("");
    return i + 100;
}
int solve_all(void)
{
    return solve_row(39);
}
END
cat >"$T/solved.c" <<'END'
#include <stdio.h>
int solve_all(void);
int main(void)
{
    return printf("%d", solve_all()) != 3;
}
END
for packed in -gz=none -gz -gsplit-dwarf; do
    (cd "$T" && cc -O2 -g $packed -shared -fPIC -o libsolver.so solver.c && cc -O2 -o solved solved.c libsolver.so -Wl,-rpath,"$T") || exit 99
    inlined "$T/solved" solve_row
    like "$err" "'solve_row' was inlined at 1 place and has no entry; use instead: solver.c:8 address:libsolver.so\\+0x[0-9a-f]+ \\(optimized code may run these" "$packed: a library's is named" || diag "$err"
    place=$(grep -oE 'address:libsolver.so[^ ,]*' <<<"$err")
    rm -f "$T/log"
    run 60 env REGTRACE_DIR="$T/inlined-run" REGTRACE_CONTROL="precond:$place,repeat" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$T/solved"
    rm -rf "$T/inlined-run"
    is "$status $(grep -c ' event precond ' "$T/log")" "0 1" "${place:-no alarm} fires"
done
inlined "$T/solved" solve_column
like "$err" "no function 'solve_column'" "a name that is nowhere is not said to be inlined"
c++ -O2 -g0 -o "$T/bare" "$REGTRACE_SOURCE/t/preload/patch/programs/inlined.cc" || exit 99
inlined "$T/bare" AdvanceTime
like "$err" "no function 'AdvanceTime'; nearest are AdvanceTimeStep, GridAdvanceTime, AdvanceTip" "without DWARF: names that begin so are nearest, then those that contain it"
done_testing
