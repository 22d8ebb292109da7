#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Signals at each instruction of ours that stands for one of the program's: backtrace(3), exceptions
# and gdb go through it as if it were not there.
. "$(dirname "$0")/../../lib.sh"
export XDG_CACHE_HOME=$T/cache REGTRACE_DIR=$T/run
needs probes
c++ -g -O2 -fno-omit-frame-pointer -fnon-call-exceptions -fasynchronous-unwind-tables -o "$T/unwind" "$REGTRACE_SOURCE/t/preload/patch/programs/unwind.cc" -pthread || exit 99

# unwinds LEAST WHAT: checks that unwinding goes right at LEAST instructions or more, and that
# exceptions are caught. WHAT describes the probes.
unwinds() {
    local least=$1 how wrong checked caught
    for how in trace throw; do
        rm -rf "$T/run"
        run 100 "$T/unwind" "$how" "$LIBREGTRACE"
        read -r wrong checked caught <<<"$(sed -n 's/^wrong \([0-9]*\) checked \([0-9]*\) caught \([0-9]*\)$/\1 \2 \3/p' <<<"$out")"
        is "$status ${wrong:-none}" "0 0" "$2, $how: no instruction goes wrong" || diag "$out $err"
        [ "${checked:-0}" -ge "$least" ]
        ok $? "at $least and more" || diag "$out"
        [ "$how" = trace ] || [ "${caught:-0}" -ge 20 ]
        ok $? "and exceptions from there are caught" || diag "$out"
    done
}

for alarm in address:place address:called enter_func:inner enter_func:leaf; do
    REGTRACE_CONTROL=start:$alarm:count5000000000 unwinds 20 "a jump and what counts, $alarm"
done
for category in PUSH CALL BINARY; do
    REGTRACE_CONTROL=start:isa_category:$category:count5000000000 unwinds 40 "jumps and int3, $category"
done
REGTRACE_CONTROL=precond:enter_func:inner,repeat unwinds 150 "an alarm that fires each time"
REGTRACE_FUNCTIONS='^(inner|leaf)$' unwinds 200 "functions that are recorded"
UNWIND_THREADS=1 REGTRACE_CONTROL=start:enter_func:inner:count5000000000 unwinds 20 "a jump written while another thread is there"

if ! command -v gdb >/dev/null || ! gdb -batch -ex 'python print(1)' >/dev/null 2>&1; then
    skip 4 "no gdb with Python"
    done_testing
fi
# gdb finds every frame from the thread's place to main, at every instruction from middle() on until
# it is back in outer().
cat >"$T/walk.py" <<'END'
import gdb
for line in ("set pagination off", "set confirm off", "handle SIGSTOP nostop noprint nopass", "break middle", "run", "delete"):
    gdb.execute(line, to_string=True)
chain, ours, bad = ["leaf", "inner", "middle", "outer", "traced"], 0, 0
for _ in range(150):
    gdb.execute("stepi", to_string=True)
    frame, names = gdb.newest_frame(), []
    while frame is not None:
        names.append((frame.name() or "?").split("(")[0])
        frame = frame.older()
    known = [n for n in names if n in chain]
    if known != chain[len(chain) - len(known):] or not known:
        bad += 1
        print("bad", names)
    ours += names[0] == "regtrace_probe"
    if names[0] == "outer":
        break
print("ours", ours, "bad", bad)
END
for control in start:enter_func:inner:count5000000000 precond:enter_func:leaf,repeat; do
    rm -rf "$T/run"
    run 100 gdb -q -batch -nx -ex "set exec-wrapper env LD_PRELOAD=$LIBREGTRACE REGTRACE_CONTROL=$control" -x "$T/walk.py" --args "$T/unwind" traced
    like "$out" 'ours [1-9][0-9]* bad 0' "gdb finds the way out at every instruction: $control" || diag "$out $err"
done
# Stepping by lines enters a function with a probe and leaves it again.
cat >"$T/lines.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) int stepped(const char *text)
{
    int number = atoi(text);
    return number + 1;
}
int main(void)
{
    int warm = stepped("0"); /* counts begin here */
    return warm + stepped("40") - 42;
}
END
cc -g -O1 -o "$T/lines" "$T/lines.c" || exit 99
rm -rf "$T/run"
run 100 gdb -q -batch -nx -ex "set exec-wrapper env LD_PRELOAD=$LIBREGTRACE REGTRACE_CONTROL=start:enter_func:stepped:count5000000000" \
    -ex 'break main' -ex run -ex next -ex next -ex step -ex 'printf "in %d\n", $_streq(text, "40")' -ex next -ex finish -ex continue --args "$T/lines"
like "$out" 'in 1' "gdb steps into a function with a probe" || diag "$out $err"
like "$out" 'Value returned is .* = 41' "and finishes it"
like "$out" 'exited normally' "and the program ends as ever"
done_testing
