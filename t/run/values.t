#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Real programs while values are captured: the mini-applications and HPC Challenge do what they do
# without tracing, under each MPI, and values are listed. REGTRACE_TEST_ALL: each with more
# plug-ins, and HPC Challenge.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/hpcc.sh"
needs values mpi
[ "$PYTHON" != no ] || PYTHON=python3

# Samples by the kernel's event timer if this machine permits it, else by the timer of CPU time.
often=task-clock:250000
"$REGTRACE" run -o "$T/try" -values vp-addr -values-sample $often -- true >"$T/said" 2>&1 || often=cpu:1ms
ways=('vp-classic 16') size=1000 limit=900
if [ -n "${REGTRACE_TEST_ALL:-}" ]; then
    ways=('vp-classic 1' 'vp-classic 16' 'vp-addr 64' 'vp-args 16')
fi

# captured FOLDER: prints how many samples `regtrace values` lists.
captured() { "$REGTRACE" values "$1" 2>/dev/null | sed -n 's/^Values of [^:]*: \([0-9]*\) samples.*/\1/p'; }

# compare MPI RANKS NAME PROGRAM [ARGUMENT]...: compares PROGRAM with and without tracing; adds its
# samples to $samples.
compare() {
    local mpi=$1 ranks=$2 name="$3, $2 ranks, $1" bare way plugin follow folder
    shift 3
    run 120 mpirun_for "$mpi" "$ranks" "$@"
    bare=$status/$out
    for way in "${ways[@]}"; do
        read -r plugin follow <<<"$way"
        folder=$T/run.$((++count))
        run 120 mpirun_for "$mpi" "$ranks" LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$folder" REGTRACE_VALUES="$plugin" \
            REGTRACE_VALUES_FOLLOW="$follow" REGTRACE_VALUES_SAMPLE=$often "$@"
        is "$status/$out" "$bare" "$name, $way: status and output are the same" || diag "$err"
        ok_run "$name, $way: the files are consistent" "$REGTRACE" check "$folder"
        samples=$((samples + $(captured "$folder")))
        rm -rf "$folder"
    done
}
count=0
export OMP_NUM_THREADS=2
for mpi in openmpi mpich; do
    have_mpi $mpi || { skip "mini-applications under $mpi" "no $mpi"; continue; }
    samples=0
    for app in stencil comm hybrid instrumented particles heat diffuse wave; do
        [ -x "$APPS/$app.$mpi" ] || { skip "$app under $mpi" "its compiler is missing"; continue; }
        compare $mpi 2 $app "$APPS/$app.$mpi"
    done
    if [ $mpi = openmpi ] && "$PYTHON" -c 'import mpi4py' 2>/dev/null; then
        compare openmpi 2 pi "$PYTHON" "$REGTRACE_SOURCE/t/apps/pi.py"
    fi
    [ "$samples" -gt 0 ]
    ok $? "$mpi: values of mini-applications are listed ($samples samples, by $often)"
done

# The rest takes some minutes: only for check-long.
[ -n "${REGTRACE_TEST_ALL:-}" ] || { done_testing; exit; }

# hpcc_here FOLDER MPI RANKS...: runs in FOLDER.
hpcc_here() {
    cd "$T/$1" || return 99
    shift
    mpirun_for "$@"
}
linked=$(ldd "$(command -v hpcc)" 2>/dev/null | grep -oE 'libmpi\.so|libmpich\.so' | head -n 1)
case $linked in
libmpi.so) hpcc_mpi=openmpi other=mpich ;;
libmpich.so) hpcc_mpi=mpich other=openmpi ;;
*) hpcc_mpi='' ;;
esac
if [ -z "$hpcc_mpi" ] || ! have_mpi "$hpcc_mpi" || [ ! -e "$hpcc_example" ]; then
    skip 'HPC Challenge' "no hpcc, its example, or its MPI"
    done_testing
fi
skip "HPC Challenge under $other" "the one here is linked with $hpcc_mpi"
mkdir "$T/bare"
hpcc_input 2 $size >"$T/bare/hpccinf.txt"
rt_limit=$limit
run "$limit" hpcc_here bare "$hpcc_mpi" 2 hpcc
bare=$status
hpcc_facts "$T/bare/hpccoutf.txt" >"$T/bare.facts"
for way in "${ways[@]}"; do
    read -r plugin follow <<<"$way"
    folder=$T/hpcc.$plugin.$follow
    mkdir "$T/traced.$plugin.$follow"
    hpcc_input 2 $size >"$T/traced.$plugin.$follow/hpccinf.txt"
    run "$limit" hpcc_here "traced.$plugin.$follow" "$hpcc_mpi" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$folder" REGTRACE_VALUES="$plugin" \
        REGTRACE_VALUES_FOLLOW="$follow" REGTRACE_VALUES_SAMPLE=$often hpcc
    is "$status" "$bare" "hpcc, $way: the same status"
    hpcc_facts "$T/traced.$plugin.$follow/hpccoutf.txt" >"$T/traced.facts"
    cmp -s "$T/bare.facts" "$T/traced.facts"
    ok $? "hpcc, $way: the same facts ($(wc -l <"$T/bare.facts") lines)" || diag "$(diff "$T/bare.facts" "$T/traced.facts")"
    like "$(cat "$T/traced.facts")" 'Success=1' "hpcc, $way: it says success"
    ok_run "hpcc, $way: the files are consistent" "$REGTRACE" check "$folder"
    samples=$(captured "$folder")
    [ "${samples:-0}" -gt 0 ]
    ok $? "hpcc, $way: values are listed ($samples samples, by $often)"
done
done_testing
