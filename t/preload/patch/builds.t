#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every function of programs as compilers make them, counted by the programs themselves: all
# compilers, levels and ways of linking. t/preload/patch/builds.py writes the programs, with
# functions of all kinds. REGTRACE_BUILDS=all: every combination, and more programs.
. "$(dirname "$0")/../../lib.sh"
export XDG_CACHE_HOME=$T/cache
needs probes
functions=60 calls=300
if [ "${REGTRACE_BUILDS:-}" = all ]; then
    seeds="1 2 3 4" levels="-O0 -O1 -O2 -O3 -Os" calls=2000
    ways=("" "-fno-pie -no-pie" "-fcf-protection=full -mmanual-endbr" "-fcf-protection=full" "-fPIE -pie -fno-plt -Wl,-z,now" "-flto" "-fno-omit-frame-pointer" "-fpatchable-function-entry=5" "-falign-functions=1")
else
    seeds=1 levels=
    ways=("-O0" "-O1 -fcf-protection=full" "-O2 -fno-pie -no-pie" "-O2 -flto" "-O3 -fPIE -pie -fno-plt -Wl,-z,now" "-Os -falign-functions=1")
fi
chains=
for ((i = 0; i < functions; i++)); do
    chains="$chains${chains:+;}precond:enter_func:f$i,repeat"
done
all='precond:isa_category:CALL:count1000000000;precond:isa_category:RET:count1000000000;precond:isa_category:COND_BR:count1000000000'

# built COMPILER SEED OPTION...: compares the alarms of one build with the build's own output.
built() {
    local compiler=$1 seed=$2 how
    shift 2
    how="$compiler $*, program $seed"
    "$compiler" "$@" -w -o "$T/built" "$T/$seed.c" 2>"$T/cc.err" || { skip "$how" "$compiler does not take that"; return; }
    "$T/built" "$calls" >"$T/bare"
    rm -rf "$T/run" "$T/log"
    run 100 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL="$chains" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$T/built" "$calls"
    is "$status $out" "0 $(cat "$T/bare")" "$how: with a probe at every function it computes the same" || diag "$err"
    grep -o 'enter_func:f[0-9]*' "$T/log" | sort | uniq -c | awk '{sub("enter_func:", "", $2); print $2, $1}' | sort >"$T/fired"
    grep '^f' "$T/bare" | grep -v ' 0$' | sort >"$T/entered"
    ok_run "and each fires as often as it was entered" diff "$T/entered" "$T/fired"
    run 100 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL="$all" LD_PRELOAD="$LIBREGTRACE" "$T/built" "$calls"
    is "$status $out" "0 $(cat "$T/bare")" "and the same with one at every call, return and conditional branch" || diag "$err"
}

for seed in $seeds; do
    "$PYTHON" "$REGTRACE_SOURCE/t/preload/patch/builds.py" "$functions" "$seed" >"$T/$seed.c" || exit 99
    for compiler in gcc clang; do
        command -v "$compiler" >/dev/null || { skip "$compiler" "it is not here"; continue; }
        for way in "${ways[@]}"; do
            for level in ${levels:-""}; do
                # shellcheck disable=SC2086
                built "$compiler" "$seed" $level $way
            done
        done
    done
done
done_testing
