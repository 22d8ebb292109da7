#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Loops whose values and addresses are known beforehand (kernels.c), end to end: `regtrace values`
# lists each value as often as it occurs, and lists no address that a single-stepper has not seen.
. "$(dirname "$0")/../../lib.sh"
needs values objdump
[ -n "$PYTHON_ANY" ] && [ "$PYTHON_ANY" != no ] || skip_all "no Python"
cd "$T" || exit 99
samples=${REGTRACE_TEST_SAMPLES:-2000} # of each instruction, at least

gcc -O2 -g -no-pie -D_GNU_SOURCE -o kernels "$here/kernels.c" 2>cc || skip_all "no compiler for kernels.c: $(tail -n 1 cc)"
objdump -d --no-show-raw-insn kernels | sed 's/^\( *[0-9a-f]*:\t\)/\100\t/' >code
nm kernels >symbols
ok_run 'a plug-in is built' gcc -I"$REGTRACE_SOURCE/share/include" -shared -fPIC -o lanes.so "$here/kernels_plugin.c" "$REGTRACE_BUILD/libregtrace-trace.a"
run 60 ./kernels 0
mapfile -t names <<<"$out"
for name in avx gather avx512; do
    grep -qx $name <<<"$out" || skip "$name" 'this processor has no such instructions'
done

# Samples as often as this machine permits: by the kernel's event timer, else by the timer of CPU
# time.
often=task-clock:100000
"$REGTRACE" run -o try -values vp-addr -values-sample $often -- true >said 2>&1 || often=cpu:1ms
# cpu:1ms samples some 250 times a second.
[ $often != cpu:1ms ] || [ -n "${REGTRACE_TEST_SAMPLES:-}" ] || samples=500

# sample CLASS PLUGIN NAME...: runs until each instruction was captured often enough; sets $listing.
sample() {
    local kind=$1 plugin=$2 runs=() n=0 got=0 seconds=0.1 until=$((SECONDS + ${REGTRACE_TEST_LIMIT:-240} * rt_patience))
    shift 2
    listing=$T/$kind.json
    while [ "$got" -lt "$samples" ] && [ $SECONDS -lt $until ]; do
        n=$((n + 1))
        run 300 "$REGTRACE" run -quiet -o "$kind.$n" -values "$plugin" -values-follow 12 -values-sample $often -- ./kernels $seconds "$@"
        [ "$status" = 0 ] || { diag "status $status: $err"; break; }
        [ "$out" = "$(printf '%s\n' "$@")" ] || { diag "it printed $out"; break; }
        runs+=("$kind.$n")
        "$REGTRACE" values -json -cut 0 -most 0 -plugin "$plugin" "${runs[@]}" >"$listing" || break
        got=$("$PYTHON_ANY" "$here/kernels.py" least "$kind" "$listing" code symbols "$@")
        # The time for the missing samples at this rate, at most 20 s per run.
        seconds=$(awk "BEGIN { s = $got > 0 ? 1.05 * ($samples - $got) * $seconds / ($got / $n) : 4 * $seconds; print (s > 20 ? 20 : s < 0.1 ? 0.1 : s) }")
    done
    # A machine that is too busy for so many samples gives a coarser judgement; the output says so.
    [ "$got" -ge "$samples" ] || { [ -z "${REGTRACE_TEST_SAMPLES:-}" ] && [ "$got" -ge 100 ]; }
    ok $? "$kind: samples of each instruction" || diag "$status: $err"
    diag "$got of $samples, by $often"
}

for kind in classic addr lanes; do
    plugin=vp-$kind chosen=("${names[@]}")
    if [ $kind = lanes ]; then
        plugin=$T/lanes.so
        mapfile -t chosen < <(printf '%s\n' "${names[@]}" | grep '^avx')
        [ -n "${chosen[0]:-}" ] || { skip 'lanes of vectors' 'this processor has no AVX'; continue; }
    fi
    sample $kind "$plugin" "${chosen[@]}"
    run 60 "$PYTHON_ANY" "$here/kernels.py" judge $kind "$listing" code symbols "${chosen[@]}"
    is "$status" 0 "$kind: each value as often as it occurs" || diag "$err"
    diag "${out#\# }"
done
run 60 "$PYTHON_ANY" "$here/kernels.py" wrongly classic "$T/classic.json" code symbols "${names[@]}"
is "$status" 1 'shares that are off by 10 points are found out'

# Compares every listed address with the addresses that a ptrace single-stepper saw.
at() { awk -v n="$1" '$3 == n { print $1 }' symbols; }
run 240 "$REGTRACE_BUILD/t/oracle/accesses" -f -g -r "$(at seven):$(at avx512)" -o steps ./kernels -n 200 "${names[@]}"
is "$status" 0 'the program, single-stepped' || diag "$err"
mapfile -t chosen < <(printf '%s\n' "${names[@]}" | grep -v avx512)
run 60 "$PYTHON_ANY" "$here/kernels.py" stepped "$T/addr.json" code steps "${chosen[@]}"
is "$status" 0 'addresses: each was seen by the single-stepper' || diag "$err"
diag "${out#\# }"
grep -v '^regs' steps >fewer
awk '/^regs/ && ++n % 12 == 5 && n < 120' steps >>fewer
run 60 "$PYTHON_ANY" "$here/kernels.py" stepped "$T/addr.json" code fewer "${chosen[@]}"
is "$status" 1 'those that it has not seen are found out'
done_testing
