#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What regtrace executes is not counted: traced calls count as much as the oracle says that the
# program executes, including the stub MPI library. T_CALLS: how many calls; T_PARTS: of which
# kinds; T_LESS: how many times fewer regions the oracle gets, which executes our code step by step.
. "$(dirname "$0")/../lib.sh"

program=$REGTRACE_BUILD/t/pmu/stub_calls oracle=$REGTRACE_BUILD/t/oracle/oracle
needs steps
n=${T_CALLS:-00200} none=${n//[0-9]/0} few=00200
export LD_BIND_NOW=1

inside='start:pcontrol:first,stop:pcontrol:last' outside='precond:pcontrol:first,precond:pcontrol:last,start:pcontrol:never'
# stepped PART N [CHAIN]: prints the instructions between the two regions, by the icount of the
# events.
stepped() {
    rm -f "$T/log"
    run 900 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/run" REGTRACE_PMU=step REGTRACE_CONTROLLER_LOG="$T/log" \
        REGTRACE_CONTROL="${3:-$inside};precond:icount:1" "$program" "$1" "$2"
    sed -n 's/.*pcontrol:\(first\|last\) .* icount \([0-9]*\) .*/\2/p' "$T/log" | paste -sd' ' | awk '{print $2 - $1}'
}
# of_oracle PART N [OPTION...]: prints all that the program executes. The options leave our code
# out; the array bare has the command that preloads the library, or nothing.
of_oracle() {
    local part=$1 calls=$2
    shift 2
    run 900 "$oracle" "$@" -o "$T/out" "${bare[@]}" "$program" "$part" "$calls"
    awk '$1 == "count" && $2 == "0.0" {print $3}' "$T/out"
}
# near GOT WANT WHAT: checks that GOT is within 0.1 % of WANT.
near() {
    local off=$(($1 > $2 ? $1 - $2 : $2 - $1))
    is "$((off * 1000 <= $2))" 1 "$n calls: $1 counted, $2 $3: within 0.1 %"
}
for part in ${T_PARTS:-mpi kinds regions}; do
    asked=$n
    [ $part != regions ] || asked=$(printf "%0${#n}d" $((10#$n / ${T_LESS:-1})))
    counted=$(($(stepped $part "$n") - $(stepped $part "$none")))
    without=(-x libregtrace.so -k libstandardabi.so)
    bare=(env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DEFAULT_START=0 REGTRACE_MPI=0) # wrappers sleep
    left=$((($(of_oracle $part "$asked" "${without[@]}") - $(of_oracle $part "$none" "${without[@]}")) * 10#$n / 10#$asked))
    near "$counted" "$left" "by the oracle with our code left out ($part)"
    [ "$n" != $few ] || is "$(($(stepped $part $few "$outside") - $(stepped $part 00000 "$outside")))" "$left" "outside windows they count the same ($part)"
    bare=()
    # Without the preload, the named calls are other, empty functions.
    [ $part != mpi ] || near "$counted" $(($(of_oracle $part "$n") - $(of_oracle $part "$none"))) "without us ($part)"
done
done_testing
