#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Functions compiled with -finstrument-functions: alarms on enter and exit, and the events that
# REGTRACE_FUNCTIONS records.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99

# Types of marks: 1 before and after the outer call of deep(), 2 in deep() on the way down, 3 on the
# way up, 4 in leaf().
cat >calls.c <<'END'
#include <regtrace.h>
#include <setjmp.h>
#include <string.h>
#define QUIET __attribute__((no_instrument_function))
static jmp_buf back;
static int jumps;
void leaf(void) { regtrace_mark_set(4, 1); }
void deep(int n)
{
    regtrace_mark_set(2, n);
    if (n > 0)
        deep(n - 1);
    else if (jumps)
        longjmp(back, 1);
    else
        leaf();
    regtrace_mark_set(3, n);
}
QUIET int main(int argc, char **argv)
{
    jumps = argc > 1 && strcmp(argv[1], "jump") == 0;
    for (int i = 0; i < 2; i++) {
        regtrace_mark_set(1, 2 * i);
        if (setjmp(back) == 0)
            deep(2);
        regtrace_mark_set(1, 2 * i + 1);
    }
    return 0;
}
END
cat >spaces.cc <<'END'
#include <regtrace.h>
namespace ns { void solve(int) { regtrace_mark_set(1, 1); } }
namespace other { void solve(double) { regtrace_mark_set(1, 2); } }
struct thrower {
    void run(int n) { regtrace_mark_set(1, 10 + n); if (n > 0) run(n - 1); else throw 1; }
};
__attribute__((no_instrument_function)) int main()
{
    thrower t;
    ns::solve(1);
    regtrace_mark_set(1, 3);
    other::solve(1);
    regtrace_mark_set(1, 4);
    try { t.run(1); } catch (int) { regtrace_mark_set(1, 5); }
    regtrace_mark_set(1, 6);
    return 0;
}
END
flags=(-O0 -rdynamic -finstrument-functions -finstrument-functions-exclude-file-list=regtrace.h -I"$REGTRACE_SOURCE/share/include")
cc "${flags[@]}" -o calls calls.c || exit 99

# traced NAME [VAR=VALUE]... COMMAND...: runs the command and checks its files. Sets events to the
# dump.
traced() {
    local name=$1
    shift
    run 60 env REGTRACE_DIR="$T/$name" LD_PRELOAD="$LIBREGTRACE" "$@"
    is "$status $out $err" '0  ' "$name: the program runs"
    ok_run "$name: the invariants hold" "$REGTRACE" check "$T/$name"
    events=$("$REGTRACE" dump "$T/$name" 2>/dev/null)
}
# marks: prints the marks in the file as "type.value@window".
marks() { sed -n 's/^ *[0-9.]* *[0-9]* *[0-9]* *\([-0-9]*\) *EV_MARK_SET .*type=\([0-9]*\) value=\([0-9]*\).*/\2.\3@\1/p' <<<"$events" | tr '\n' ' '; }
count() { grep -cE -- "$1" <<<"$events"; }

traced outermost REGTRACE_CONTROL=start:enter_func:deep,stop:exit_func:deep,repeat ./calls
is "$(marks)" '2.2@0 2.1@0 2.0@0 4.1@0 3.0@0 3.1@0 3.2@0 2.2@1 2.1@1 2.0@1 4.1@1 3.0@1 3.1@1 3.2@1 ' \
    'from the first enter to the return of the outermost instance, each time'
traced recursive REGTRACE_CONTROL=start:enter_func:deep:count2,stop:exit_func:leaf ./calls
is "$(marks)" '2.1@0 2.0@0 4.1@0 ' 'each recursive enter counts'
traced armed REGTRACE_CONTROL=start:enter_func:leaf,stop:exit_func:deep ./calls
is "$(marks)" '4.1@0 3.0@0 3.1@0 3.2@0 ' 'an exit alarm that is armed while its function is active fires at its return'
traced jump REGTRACE_CONTROL=start:enter_func:deep,stop:exit_func:deep,repeat ./calls jump
is "$(marks)" '2.2@0 2.1@0 2.0@0 2.2@1 2.1@1 2.0@1 ' 'longjmp out of all instances is their end'
traced absent REGTRACE_CONTROL=start:enter_func:deep,stop:exit_func:nowhere ./calls
like "$("$REGTRACE" report "$T/absent")" 'never fired.*stop:exit_func:nowhere' 'a function that is not there never fires, and the report says so'

if command -v g++ >/dev/null && g++ "${flags[@]}" -o spaces spaces.cc; then
    traced overloads REGTRACE_CONTROL=start:enter_func:solve,stop:exit_func:solve,repeat ./spaces
    is "$(marks)" '1.1@0 1.2@1 ' 'a bare name: every function of that name, in whatever namespace'
    traced qualified 'REGTRACE_CONTROL=start:enter_func:"other::solve",stop:exit_func:"other::solve"' ./spaces
    is "$(marks)" '1.2@0 ' 'a qualified name: that one alone'
    traced thrown REGTRACE_CONTROL=start:enter_func:run,stop:exit_func:run ./spaces
    is "$(marks)" '1.11@0 1.10@0 ' 'an exception that leaves the function ends it'
else
    skip 'functions of C++' 'no g++'
fi

# Recording of functions.
traced recorded REGTRACE_FUNCTIONS=1 ./calls
is "$(count 'EV_FUNCTION_ENTER') $(count 'EV_FUNCTION_LEAVE')" '8 8' 'REGTRACE_FUNCTIONS=1: each enter and each leave'
is "$(sed -n 's/.*EV_FUNCTION_\([EL]\).* address=\([^ ]*\).*/\2 \1/p' <<<"$events" | head -n 8 | awk '{ if (!($1 in n)) n[$1] = ++k; printf "%s%d ", $2, n[$1] }')" \
    'E1 E1 E1 E2 L2 L1 L1 L1 ' 'with the address of its function, in order'
traced jumped REGTRACE_FUNCTIONS=1 ./calls jump
is "$(count 'EV_FUNCTION_ENTER') $(count 'EV_FUNCTION_LEAVE')" '6 6' 'those that longjmp leaves have their leave'
traced default ./calls
is "$(count 'EV_FUNCTION')" 0 'by default they are not recorded'
traced cut REGTRACE_FUNCTIONS=1 REGTRACE_CONTROL=start:enter_func:leaf,stop:exit_func:leaf ./calls
is "$(sed -n 's/.*EV_FUNCTION_\([EL]\)[A-Z]* *\([^ ]*\) .*\(\[.*\]\)*$/\1/p' <<<"$events" | tr -d '\n')/$(count 'EV_FUNCTION_ENTER.*\[cut\]')/$(count 'EV_FUNCTION_LEAVE.*\[cut\]')" \
    'EEEELLLL/3/3' 'a window that opens in calls has their enters, cut, and at its end their leaves'

# Names of functions: the recording lists the images that they belong to.
traced names REGTRACE_FUNCTIONS=1 ./calls
is "$(sed -n 's/.*EV_FUNCTION_ENTER .* address_name="\([^"]*\)".* call_site_name="\([^"]*\)".*/\2>\1/p' <<<"$events" | sort | uniq -c | xargs)" \
    '4 deep>deep 2 deep>leaf 2 main>deep' 'dump names each function and its caller'
is "$("$REGTRACE" dump --json --code EV_FUNCTION_LEAVE "$T/names" | grep -c '"address_name": "leaf"')" 2 'in JSON too'
report=$("$REGTRACE" report "$T/names")
like "$report" ' 6 .* calls +deep$' 'report: the calls of a function'
like "$report" ' 2 .* calls +leaf$' 'of another'
like "$("$REGTRACE" report --json "$T/names")" '"function": "leaf", "image": "'"$T"'/calls", "offset": "0x[0-9a-f]+", "calls": 2, "cut": 0,' 'report --json has them'
like "$("$REGTRACE" report --json "$T/cut")" '"function": "deep", .*"calls": 3, "cut": 6,' 'edges of windows are counted as such'
traced none ./calls
traced never REGTRACE_FUNCTIONS='^leaf$' ./calls jump
unlike "$("$REGTRACE" report "$T/none")" 'functions of the program|-functions' 'no table where none was recorded'
like "$("$REGTRACE" report "$T/never")" '^No function of -functions was entered in a window: ' 'nor where none was entered, and the report says so'
unlike "$report" 'No function of' 'and not where one was'

# Times add up, and the outermost calls include what they call.
got=$("$REGTRACE" report --json "$T/names" | sed -n 's/.*"function": "\([a-z]*\)".*"total_ns": \([0-9.e+]*\), "self_ns": \([0-9.e+]*\).*/\1 \2 \3/p' |
    awk '{ t[$1] = $2; s[$1] = $3 } END { d = t["deep"] - s["deep"] - s["leaf"]; print (d < 1 && d > -1), (t["leaf"] == s["leaf"]), (t["leaf"] > 0), (t["deep"] > t["leaf"]) }')
is "$got" '1 1 1 1' 'the time of a recursion is its own and that of what it calls, counted once'

# Functions of an image that was loaded before the first window have names too. A child of fork has
# its own file with its own list of images.
cat >late.c <<'END'
void plugged(void) { __asm__ volatile(""); }
END
cat >host.c <<'END'
#include <dlfcn.h>
#include <regtrace.h>
#include <sys/wait.h>
#include <unistd.h>
void in_child(void) { __asm__ volatile(""); }
__attribute__((no_instrument_function)) int main(void)
{
    void *h = dlopen("./late.so", RTLD_NOW);
    void (*f)(void) = h ? (void (*)(void))dlsym(h, "plugged") : 0;
    if (!f)
        return 1;
    regtrace_start(1);
    f();
    pid_t child = fork();
    if (child == 0) {
        in_child();
        _exit(0);
    }
    waitpid(child, 0, 0);
    return 0;
}
END
cc "${flags[@]}" -fPIC -shared -o late.so late.c && cc "${flags[@]}" -o host host.c -ldl || exit 99
traced late REGTRACE_FUNCTIONS=1 REGTRACE_DEFAULT_START=0 ./host
is "$(sed -n 's/.*EV_FUNCTION_ENTER .* address_name="\([^"]*\)".*/\1/p' <<<"$events" | sort | xargs)" 'in_child plugged' \
    'functions of an image that was loaded before the first window, and of a forked child'

if [ -x ./spaces ]; then
    traced readable REGTRACE_FUNCTIONS=1 ./spaces
    like "$events" 'address_name="ns::solve\(int\)"' 'names of C++ are readable'
fi

# If an image is not the file that ran, it gives no names, and messages say so.
cp calls kept && cc "${flags[@]}" -O1 -o calls calls.c || exit 99
run 60 "$REGTRACE" dump "$T/names"
unlike "$out" '_name="(deep|leaf)"' 'no names from a program that has changed since'
like "$err" "no names in $T/calls: it has changed" 'and that is reported'
like "$("$REGTRACE" report "$T/names")" "No names in $T/calls: it has changed" 'by report too'
# python TEXT ARGUMENT...: runs the Python program TEXT with the package regtrace.
python() { PYTHONPATH=$REGTRACE_SOURCE/share/python "$PYTHON" -c "$@"; }
if [ "$PYTHON" != no ]; then
    text='import warnings, sys, regtrace
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    f = regtrace.open(sys.argv[1]).functions()
print(f["function"].isna().all(), len(f), ["changed since the run" in str(w.message) for w in said])'
    is "$(python "$text" "$T/names")" 'True 8 [True]' 'and by functions() in Python'
fi
mv kept calls
if [ "$PYTHON" != no ]; then
    "$REGTRACE" report --json "$T/names" >names.json
    text='import json, sys, regtrace
f = regtrace.open(sys.argv[1]).functions()
print(*[f"{n}:{d}" for n, d in zip(f["function"], f["depth"])], (f["duration_ns"] == f["end_ns"] - f["begin_ns"]).all())
total = {r["function"]: r["total_ns"] for r in json.load(open(sys.argv[2]))["program_functions"]}
print(abs(f[f["depth"] == 0]["duration_ns"].sum() - total["deep"]) < 10, abs(f[f["function"] == "leaf"]["duration_ns"].sum() - total["leaf"]) < 10)'
    is "$(python "$text" "$T/names" names.json | xargs)" \
        'deep:0 deep:1 deep:2 leaf:3 deep:0 deep:1 deep:2 leaf:3 True True True' 'functions() in Python: calls with names and depths, times as in report'
    if [ -d "$T/readable" ]; then
        is "$(python 'import regtrace, sys; print(*regtrace.open(sys.argv[1]).functions()["function"])' "$T/readable")" \
            'ns::solve(int) other::solve(double) thrower::run(int) thrower::run(int)' 'names of C++ are readable there too'
    fi
else
    skip 'functions() in Python' 'no python3 with h5py'
fi
# Calls deeper than the toolkit remembers: each enter still has its leave. A window that opens at
# such a depth records neither enters nor leaves of the calls that are too deep to be remembered.
cat >abyss.c <<'END'
#include <signal.h>
#include <string.h>
static int starts;
void down(int n)
{
    if (n > 0)
        down(n - 1);
    else if (starts)
        raise(SIGUSR1);
    if (starts && n == 5)
        down(0);
    __asm__ volatile("");
}
__attribute__((no_instrument_function)) int main(int argc, char **argv)
{
    starts = argc > 1 && strcmp(argv[1], "start") == 0;
    signal(SIGUSR1, SIG_IGN);
    down(299);
    return 0;
}
END
cc "${flags[@]}" -o abyss abyss.c || exit 99
traced deepest REGTRACE_FUNCTIONS=1 ./abyss
is "$(count 'EV_FUNCTION_ENTER') $(count 'EV_FUNCTION_LEAVE')" '300 300' '300 calls deep: each enter has its leave'
like "$("$REGTRACE" report "$T/deepest")" '^ +300 +[0-9.]+ [mu]s +[0-9.]+ [mu]s +100\.0% +abyss +down$' 'and so its time'
unlike "$("$REGTRACE" report "$T/deepest")" 'without their other end' 'with nothing left over'
traced opened REGTRACE_FUNCTIONS=1 REGTRACE_CONTROL=start:signal:SIGUSR1 ./abyss start
is "$(count 'EV_FUNCTION_ENTER') $(count 'EV_FUNCTION_LEAVE')" '257 257' 'a window that opens there is balanced'
done_testing
