#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Alarms that name places of the program fire as often as the program comes there, at that place,
# and the program computes the same.
. "$(dirname "$0")/../../lib.sh"
P=$REGTRACE_BUILD/t/preload/patch/programs/places
export XDG_CACHE_HOME=$T/cache

if [ ! -x "$P" ]; then
    run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=start:ssc:111 true
    is "$status" 2 "without probes such alarms are refused"
    like "$err" 'not on this architecture' "with the reason"
    done_testing
fi

# fires N CHAIN PART TIMES [HOW]: checks that the chain fires N times, each time at the place that
# the program prints.
fires() {
    local n=$1 chain=$2 d=$T/fired
    shift 2
    rm -rf "$d"
    : >"$T/log"
    run 60 env REGTRACE_DIR="$d" REGTRACE_CONTROL="$chain" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P" "$@"
    is "$status ${out#* }" "0 0" "$chain, $*: the program ends well" || diag "$err"
    is "$(grep -c ' event precond ' "$T/log" 2>/dev/null) $(grep -c " event precond .* ip ${out%% *} " "$T/log" 2>/dev/null)" "$n $n" "$chain, $*: as often as it came there" ||
        diag "$out" "$err" "$(head -3 "$T/log")"
}

fires 10 precond:ssc:111,repeat ssc 10
fires 2 precond:ssc:111:count5,repeat ssc 10
fires 10 precond:itext:488d842445230100,repeat itext 10
fires 5 precond:magic:7.9,repeat magic 10
fires 5 precond:magic:3.9,repeat magic_e 10
fires 5 precond:cpuid:0x123,repeat cpuid 10
fires 10 precond:int3,repeat int3 10
fires 10 precond:address:at_nop,repeat nop 10
fires 10 precond:address:at_call,repeat call 10
fires 10 precond:address:at_jump,repeat jump 10
fires 10 precond:address:at_jump+0,repeat jump 10
offset=$(nm "$P" | awk '$3 == "at_nop" {print $1}')
fires 10 "precond:address:places+0x$offset,repeat" nop 10
fires 10 "precond:address:$P+0x$offset,repeat" nop 10
fires 1 precond:address:at_nop nop 10
fires 80 precond:address:at_nop,repeat nop 10 threads
fires 10 precond:address:at_nop:tid3,repeat nop 10 threads
fires 1 precond:address:at_nop:count75:global nop 10 threads
fires 10 precond:address:at_nop,repeat nop 10 masked
fires 20 precond:address:at_nop,repeat nop 10 fork
fires 0 precond:itext:0f0b0f0b,repeat nop 10
fires 10 'precond:address:at_nop,repeat;start:address:at_nop:count3,stop:address:at_nop,repeat' nop 10
[ -n "$(find "$T/cache" -name '*' -type f)" ]
ok $? "what instructions are is looked up once, and kept"
# With alarms at all calls, returns and branches of the program and its libraries at once, it
# computes the same.
fires 0 'start:isa_category:CALL:count1000000000;start:isa_category:COND_BR:count1000000000;start:isa_category:RET:count1000000000' call 1000 threads

# Windows from a file of program counters: the counts of a place open and close them.
cat >"$T/regions" <<END
comment,thread-id,region-id,start-pc,start-image-name,start-image-offset,start-pc-count,end-pc,end-image-name,end-image-offset,end-pc-count,end-pc-relative-count,region-length,region-weight,region-multiplier,region-type
cluster 0,global,1,0x1,places,0x$offset,5,0x1,places,0x$offset,8,3,1000,0.5,2.0,simulation
END
rm -f "$T/log"
run 60 "$REGTRACE" run -quiet -o "$T/regions-run" -controller-log "$T/log" -pcregions:in "$T/regions" -- "$P" nop 10
is "$status" 0 "a file of program counters: the program runs" || diag "$err"
is "$(sed -n 's/.* event \([a-z]*\) .*/\1/p' "$T/log" | paste -sd' ')" 'start stop' "its region opens and closes"
like "$("$REGTRACE" report "$T/regions-run")" 'region 1 weight 0.5' "the window knows its region"

rm -f "$T/log"
run 60 "$REGTRACE" run -quiet -pmu step -o "$T/regions-stepped" -controller-log "$T/log" \
    -pcregions:in "$T/regions" -- "$P" nop 10
is "$status" 0 "the same where instructions are counted by steps" || diag "$err"
is "$(sed -n 's/.* event \([a-z]*\) .*/\1/p' "$T/log" | paste -sd' ')" 'start stop' \
    "its region opens and closes"
run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=start:address:at_nop,stop:address:itexd REGTRACE_DIR="$T/nap" "$P" nop 1
is "$status" 0 "a place that is nowhere: the program runs"
like "$err" "stop:address:itexd: no function 'itexd'; nearest are itext" "and the nearest names are reported"
like "$(cat "$T/nap/regtrace.log")" 'itexd' "in the log, too"
run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=start:address:at_no REGTRACE_DIR="$T/nap2" "$P" nop 1
like "$err" "no function 'at_no'; nearest are at_nop" "labels without a type are among them"

# Places that cannot be patched: in the program, and in a library that it loads later.
cat >"$T/middle.c" <<'END'
#include <dlfcn.h>
#include <stddef.h>
int times(int x) { return x * 3 + 1234567; }
int main(int argc, char **argv)
{
    return argc > 1 && dlopen(argv[1], RTLD_NOW) == NULL;
}
END
cc -O1 -o "$T/middle" "$T/middle.c" && cc -O1 -shared -fPIC -o "$T/libmiddle.so" "$T/middle.c" || exit 99
# inside FILE: prints the offset of the second byte of times(), which is inside of its first
# instruction.
inside() { printf '0x%x' $((0x$(nm "$1" | awk '$3 == "times" {print $1}') + 1)); }
run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL="start:address:middle+$(inside "$T/middle")" REGTRACE_DIR="$T/middle.run" "$T/middle"
is "$status" 0 "a place within an instruction: the program runs"
like "$err" "a place cannot be patched and is left alone: middle\+$(inside "$T/middle") \(is inside of an instruction\)" "the place and the reason are reported"
late=libmiddle.so+$(inside "$T/libmiddle.so")
run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL="start:address:main,stop:address:$late" REGTRACE_DIR="$T/middle.late" "$T/middle" "$T/libmiddle.so"
is "$status" 0 "in a library that is loaded later: the program runs"
like "$(cat "$T/middle.late/regtrace.log")" "address:${late/+/.}: a place cannot be patched and is left alone: ${late/+/.} \\(is inside" "that is in the log"
done_testing
