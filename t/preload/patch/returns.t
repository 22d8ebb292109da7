#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Return addresses of functions with exit_func alarms. They get a jump before the first return if
# the call is direct and a jump fits, in the program and in libraries. The others get an int3 when a
# function returns there. All are removed while nothing is armed.
. "$(dirname "$0")/../../lib.sh"
P=$T/returns
export XDG_CACHE_HOME=$T/cache
needs probes
cat >"$T/plugged.c" <<'END'
void *plugged_back;
__attribute__((noinline, noclone)) int plugged(int n)
{
    plugged_back = __builtin_return_address(0);
    return n + 1;
}
int plugged_within(int n)
{
    static volatile int sink;
    for (int i = 0; i < n; i++)
        sink = plugged(i) + 1;
    return sink;
}
END
for how in "-O2" "-O0" "-O2 -fno-plt -fcf-protection=full" "-O2 -no-pie -fno-pie"; do
    cc ${how%-no-pie*} -shared -fPIC -o "$T/libplugged.so" "$T/plugged.c" || exit 99
    cc $how -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/returns.c" -L"$T" -lplugged -Wl,-rpath,"$T" -pthread || exit 99
    before=$("$P")

    # places CONTROL [VARIABLE...]: runs the program with these chains. Sets out to what the program
    # sees, and logs what fired.
    places() {
        rm -rf "$T/run" "$T/log"
        run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL="$1" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "${@:2}" "$P" "$before"
    }
    places 'precond:exit_func:told,repeat;precond:exit_func:plugged,repeat'
    is "$status $(tr '\n' ' ' <<<"$out")" "0 direct e9 pointer cc library e9 within e9 tight cc threads e9 ${out##*$'\n'} " "$how: jumps where they fit" || diag "$err"
    is "$(grep -c 'exit_func:told' "$T/log") $(grep -c 'exit_func:plugged' "$T/log")" "${out##*$'\n'} 20" "each call has ended once"
    places 'start:exit_func:told:count5000000000'
    like "$(tr '\n' ' ' <<<"$out")" '^direct e9 pointer cc .*tight cc threads e9 ' "$how: so too where exits are counted alone"
    places 'start:exit_func:told:count5000000000' REGTRACE_FUNCTIONS='^told$'
    like "$(tr '\n' ' ' <<<"$out")" '^direct e9 pointer cc .*tight cc threads e9 ' "$how: and where functions are recorded as well" || diag "$err"
    rm -rf "$T/run" "$T/log"
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL='precond:exit_func:told:count1000,repeat;precond:exit_func:in_handler:count3,repeat' REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P" "$before" interrupted
    read -r told handled <<<"$out"
    is "$status $(grep -c 'exit_func:told' "$T/log") $(grep -c 'exit_func:in_handler' "$T/log")" "0 $((told / 1000)) $((handled / 3))" "$how: none is lost, nor counted twice, where a handler comes at any moment" || diag "$out $err"
    rm -rf "$T/run" "$T/log"
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL='precond:enter_func:told:count700,repeat;precond:exit_func:told:count1000,repeat;precond:exit_func:in_handler:count3,repeat;precond:enter_func:in_handler:count2,repeat' REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P" "$before" interrupted
    read -r told handled <<<"$out"
    is "$status $(grep -c 'enter_func:told' "$T/log") $(grep -c 'exit_func:told' "$T/log") $(grep -c 'enter_func:in_handler' "$T/log") $(grep -c 'exit_func:in_handler' "$T/log")" "0 $((told / 700)) $((told / 1000)) $((handled / 2)) $((handled / 3))" "$how: so too where enters and exits of one function are counted" || diag "$out $err"
    places 'precond:exit_func:told'
    like "$(tr '\n' ' ' <<<"$out")" '^direct same pointer [^c]. library .. within .. tight 90 threads same ' "$how: when nothing is armed the text is as it was" || diag "$err"
    is "$(grep -c 'exit_func:told' "$T/log")" 5 "and each thread has had its exit"
done

# A name that only images have which cannot be patched: callers are left alone as well.
places 'precond:exit_func:pthread_create,repeat'
is "$status $(sed -n 1p <<<"$out")" "0 direct same" "a function of the C library's: nothing is patched"
done_testing
