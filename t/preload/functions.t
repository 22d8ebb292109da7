#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Functions compiled with -finstrument-functions: alarms on enter and exit, and what REGTRACE_FUNCTIONS records.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99

# Marks: 1 before and after the outer call of deep(), 2 in it on the way down, 3 on the way up.
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

# traced NAME [VAR=VALUE]... COMMAND...: runs it; events is the dump.
traced() {
    local name=$1
    shift
    run 60 env REGTRACE_DIR="$T/$name" LD_PRELOAD="$LIBREGTRACE" "$@"
    is "$status $out $err" '0  ' "$name: the program runs"
    ok_run "$name: the invariants hold" "$REGTRACE" check "$T/$name"
    events=$("$REGTRACE" dump "$T/$name" 2>/dev/null)
}
# marks: the marks in the file, as "type.value in window".
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

# Recording them.
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
done_testing
