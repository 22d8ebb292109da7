#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The program's own breakpoints and faults at places with probes reach the program: its handler runs
# once for each, or it dies, as without the tracer.
. "$(dirname "$0")/../../lib.sh"
P=$T/own
export XDG_CACHE_HOME=$T/cache
ISA=$REGTRACE_BUILD/isa/regtrace-isa
[ -x "$ISA" ] || skip_all "probes are for x86-64, and need regtrace-isa"
cc -D_GNU_SOURCE -O2 -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/own_breakpoints.c" || exit 99

runs=0
# traced PART HOW [VARIABLE...]: sets $status and $out, and $fired to how often the alarm fired.
traced() {
    rm -f "$T/log"
    run 60 env REGTRACE_DIR="$T/run-$((++runs))" REGTRACE_CONTROLLER_LOG="$T/log" \
        LD_PRELOAD="$LIBREGTRACE" "${@:3}" "$P" "$1" ${2:+"$2"}
    fired=$(grep -c ' event precond ' "$T/log" 2>/dev/null)
}

# reaches PART FIRED [VARIABLE...]: breakpoints reach the program, and the alarm fires FIRED times.
reaches() {
    local bare how part=$1 times=$2
    shift 2
    for how in '' dies blocked ignored; do
        run 60 "$P" "$part" $how
        bare="$status $out"
        traced "$part" "$how" "$@"
        is "$status $out" "$bare" "$part $how, $*: as without us" || diag "$err"
        [ -n "$how" ] || is "$fired" "$times" "and the alarm fires" || diag "$err"
    done
}

run 60 "$P" after_call
is "$status $out" "0 3 3" "the handler of the program is called for each"
reaches after_call 3 REGTRACE_CONTROL='precond:exit_func:callee,repeat'
reaches after_call 0 REGTRACE_FUNCTIONS='^callee$'
reaches after_call 3 REGTRACE_CONTROL='precond:exit_func:callee,repeat' \
    REGTRACE_FUNCTIONS='^callee$'
reaches after_pointer 3 REGTRACE_CONTROL='precond:exit_func:callee,repeat'
reaches after_pointer 0 REGTRACE_FUNCTIONS='^callee$'
reaches after_call 1 REGTRACE_CONTROL='precond:exit_func:callee' # nothing is armed after the first
reaches at_entry 3 REGTRACE_CONTROL='precond:enter_func:at_entry,repeat'
reaches at_entry 0 REGTRACE_FUNCTIONS='^at_entry$'
reaches at_place 3 REGTRACE_CONTROL='precond:address:place,repeat'
reaches at_place 3 REGTRACE_CONTROL='precond:itext:cc:count1,repeat'
reaches at_place 3 REGTRACE_CONTROL='precond:address:behind_place,repeat'
# The tool leaves int $3 alone, because the kernel checks where it is.
reaches at_two_bytes 0 REGTRACE_CONTROL='precond:address:two_bytes,repeat'
reaches at_two_bytes 3 REGTRACE_CONTROL='precond:enter_func:callee,repeat'
reaches at_two_bytes 0 REGTRACE_FUNCTIONS='^callee$'

# The same with steps, with and without probes.
reaches after_call 3 REGTRACE_PMU=step REGTRACE_CONTROL='precond:exit_func:callee,repeat'
reaches after_call 0 REGTRACE_PMU=step REGTRACE_CONTROL='start:icount:50,stop:icount:200,repeat'

# An int3 alarm takes the program's int3 for itself.
traced at_place '' REGTRACE_CONTROL='precond:int3,repeat'
is "$status $out $fired" "0 0 0 3" "an int3 alarm takes it"
traced at_place '' REGTRACE_CONTROL='precond:int3,repeat;stats-emit:address:place,repeat'
is "$status $out $fired" "0 0 0 3" "also beside another alarm"

# Probes where the handler of SIGTRAP and other handlers run: SIGTRAP is blocked there.
cc -O1 -fno-inline -o "$T/handler" "$REGTRACE_SOURCE/t/preload/patch/programs/trap_handler.c" || exit 99
run 60 "$T/handler"
bare="$status $out"
is "$bare" "0 12 traps, blocked in 12, 12 others, sum 3660, blocked now: 0" "the program alone"
for way in PMU=step FUNCTIONS=. 'FUNCTIONS=^on_user$' 'FUNCTIONS=^on_trap$' MEMORY=. VALUES=vp-addr \
    CONTROL=start:enter_func:on_user,stop:exit_func:on_user,repeat \
    CONTROL=start:enter_func:on_trap,stop:exit_func:leaf,repeat; do
    run 60 env REGTRACE_DIR="$T/run-$((++runs))" LD_PRELOAD="$LIBREGTRACE" \
        "REGTRACE_$way" REGTRACE_COUNT="$([ "$way" = PMU=step ] && echo 1 || echo 0)" "$T/handler"
    is "$status $out" "$bare" "handlers, $way: as without us" || diag "$err"
done

# Handlers that skip an instruction that faulted, where it is run in a copy.
cc -O1 -o "$T/faults" "$REGTRACE_SOURCE/t/preload/patch/programs/fault_handler.c" || exit 99
run 60 "$T/faults"
bare="$status $out"
is "$bare" "0 66 faults, 0 elsewhere, 24 after them, 0 changed" "the program alone"
for way in FUNCTIONS=. MEMORY=. 'MEMORY=. REGTRACE_MEMORY_PLAN=addresses' \
    CONTROL=start:enter_func:shorter,stop:enter_func:at_entry,repeat \
    CONTROL=start:itext:0f0b,stop:enter_func:padded,repeat \
    CONTROL=start:exit_func:inside,stop:enter_func:further,repeat; do
    read -ra variables <<<"REGTRACE_$way"
    run 60 env REGTRACE_DIR="$T/run-$((++runs))" LD_PRELOAD="$LIBREGTRACE" "${variables[@]}" "$T/faults"
    is "$status $out" "$bare" "faults, $way: as without us" || diag "$err"
done
done_testing
