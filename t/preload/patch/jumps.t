#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Places whose probe is a patched jump: nothing that the program sees changes, and each execution is
# counted once.
. "$(dirname "$0")/../../lib.sh"
P=$T/jumps
export XDG_CACHE_HOME=$T/cache
needs probes
cat >"$T/starts.c" <<'END'
#include <pthread.h>
#include <unistd.h>
static void *waits(void *unused) { pause(); return unused; }
__attribute__((constructor)) static void begins(void) { pthread_t t; pthread_create(&t, NULL, waits, NULL); usleep(10000); }
END
cc -shared -fPIC -o "$T/libstarts.so" "$T/starts.c" -pthread || exit 99
for how in "-O2 -fPIE -pie" "-O2 -fno-pie -no-pie"; do
    cc $how -fno-builtin -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/jumps.c" -pthread || exit 99

    # times ALARM PART EXPECTED: checks how often the alarm fires.
    times() {
        rm -rf "$T/run" "$T/log"
        run 100 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL="$1" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P" "$2"
        is "$status $(grep -c "event precond" "$T/log")" "0 $(($3))" "$how, $2: $1" || diag "$out $err"
        [ "$out" -gt 0 ]
        ok $? "and all is as it was" || diag "$out"
    }
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL=start:enter_func:counted:count5000000000 LD_PRELOAD="$LIBREGTRACE" "$P" byte
    is "$out" 233 "$how: there is a jump"
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL=start:enter_func:counted:count5000000000 LD_PRELOAD="$LIBREGTRACE $T/libstarts.so" "$P" byte
    like "$out" '^(204|233)$' "where a thread may be in the code (which constructor is first is the linker's) an int3 does as well"

    # In turn: counted by the code in place; fired each time; two alarms; two alarms of one chain
    # and three alarms, which the code in place does not count.
    times precond:address:place:count128,repeat state 1
    times precond:address:place,repeat state 128
    times 'precond:address:place:count3,repeat;precond:address:place:count4,repeat' state '128/3+128/4'
    times 'precond:address:place,repeat;precond:address:place,repeat' state 256
    times 'precond:address:place:count3,precond:address:place:count4,repeat' state '128/7*2+(128%7>=3)'
    times 'precond:address:place:count3,repeat;precond:address:place:count4,repeat;precond:address:place:count5,repeat' state '128/3+128/4+128/5'
    times precond:address:pass:count128,repeat state 1
    times precond:enter_func:counted:count100,repeat threads '8*20000/100'
    times precond:enter_func:counted:count7,repeat threads '8*(20000/7)'
    times precond:enter_func:counted:count7:tid3,repeat threads '20000/7'
    times precond:enter_func:counted:count1600:global,repeat threads '8*20000/1600'
    times 'precond:enter_func:counted:count7,repeat;precond:enter_func:counted:count9:tid3,repeat' threads '8*(20000/7)+20000/9'
    times 'precond:enter_func:counted:count7,repeat;precond:exit_func:counted:count9,repeat' threads '8*(20000/7)+8*(20000/9)'
    times 'precond:exit_func:counted:count7,repeat;precond:enter_func:counted:count9,repeat;precond:enter_func:counted:count3,repeat' threads '8*(20000/7)+8*(20000/9)+8*(20000/3)'
    rm -rf "$T/run" "$T/log"
    run 100 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL=precond:enter_func:counted:count1000,repeat REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P" signals
    is "$status $(grep -c "event precond" "$T/log")" "0 $((out / 1000))" "$how: with a handler that comes to the same place at any moment" || diag "$out $err"
    rm -rf "$T/run" "$T/log"
    run 100 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL='precond:enter_func:counted:count1000,repeat;precond:enter_func:counted:count700,repeat' REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P" signals
    is "$status $(grep -c "event precond" "$T/log")" "0 $((out / 1000 + out / 700))" "$how: so too where two alarms count" || diag "$out $err"
    for place in near_a near_b near_c near_d; do
        times "precond:address:$place,repeat" near 50
    done
    times 'precond:address:near_a,repeat;precond:address:near_b,repeat;precond:address:near_c,repeat;precond:address:near_d,repeat' near 200
    for place in direct by_pointer branch; do
        times "precond:address:$place,repeat" calling 40
        times "precond:address:$place:count40,repeat" calling 1
    done
    times precond:enter_func:counted,repeat calling 80
    rm -f "$T/log"
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL="precond:enter_func:tiny,start:enter_func:tiny" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P" rests
    is "$status $out" "0 cc 8d cc cc cc cc 141" "$how: an int3 rests while nothing is armed anywhere" || diag "$err"
    is "$(grep -c 'event precond' "$T/log") $(grep -c 'event start' "$T/log")" "3 1" "and is there again for each thread that begins"
    times precond:enter_func:memcpy:count30 own_memcpy 1
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL="start:enter_func:counted:count5000000000" LD_PRELOAD="$LIBREGTRACE" "$P" cancelled
    is "$status $out" "0 20" "$how: threads are cancelled wherever they are" || diag "$err"
done
done_testing
