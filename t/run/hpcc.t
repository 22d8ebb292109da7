#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# HPC Challenge, a real program from elsewhere: the same results and verifications with and without
# tracing.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/hpcc.sh"

command -v hpcc >/dev/null || skip_all "no hpcc"
mpi=openmpi # Debian's hpcc is linked with it
command -v mpirun.$mpi >/dev/null || skip_all "no mpirun.$mpi"
[ -e $hpcc_example ] || skip_all "no $hpcc_example"

for ranks in 1 4; do
    for way in bare traced; do
        mkdir -p "$T/$way.$ranks"
        hpcc_input "$ranks" 200 >"$T/$way.$ranks/hpccinf.txt"
    done
    here() { cd "$T/$1" && shift && mpirun_for "$@"; }
    rt_limit=200
    run 200 here bare.$ranks $mpi $ranks hpcc
    bare=$status
    run 200 here traced.$ranks $mpi $ranks LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/run.$ranks" hpcc
    is "$status" "$bare" "$ranks ranks: the same status"
    hpcc_facts "$T/bare.$ranks/hpccoutf.txt" >"$T/bare.facts"
    hpcc_facts "$T/traced.$ranks/hpccoutf.txt" >"$T/traced.facts"
    cmp -s "$T/bare.facts" "$T/traced.facts"
    ok $? "$ranks ranks: the same facts ($(wc -l <"$T/bare.facts") lines)" || diag "$(diff "$T/bare.facts" "$T/traced.facts")"
    like "$(cat "$T/traced.facts")" 'Success=1' "$ranks ranks: it says success"
    ok_run "$ranks ranks: the recording is consistent" "$REGTRACE" check "$T/run.$ranks"
    is "$(find "$T/run.$ranks" -name 'rank-*.h5' | wc -l)" $ranks "$ranks ranks: a file a rank"
done
done_testing
