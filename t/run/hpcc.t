#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# HPC Challenge, a real program that we did not write: the same results and verifications, traced and bare.
. "$(dirname "$0")/../lib.sh"

command -v hpcc >/dev/null || skip_all "no hpcc"
mpi=openmpi # Debian's hpcc is linked with it
command -v mpirun.$mpi >/dev/null || skip_all "no mpirun.$mpi"
example=/usr/share/doc/hpcc/examples/_hpccinf.txt
[ -e $example ] || skip_all "no $example"

# What HPCC prints beside rates and times: names of results, problem sizes, verdicts, errors found. Rates, times, and what
# depends on either (repetitions, how many lines of CPU and wall time, the sizes it picks for streams) differ from run to run by nature; they become N. PTRANS
# prints its rows of CPU time only where the time is more than 0.
facts() {
    grep -E 'PASSED|FAILED|Success|_Failed|CommWorldProcs|HPL_N=|HPL_NB=|HPL_nprow|HPL_npcol|sizeof_|Found|Verification|End of' "$1" |
        grep -vE '^ *(CPU|WALL) ' | sed -E '/^ *CPU /d; s/(Current time \().*//; s/[0-9]+\.[0-9]+(e[-+]?[0-9]+)?/N/g; s/^ *//; s/ +/ /g'
}

for ranks in 1 4; do
    for way in bare traced; do
        mkdir -p "$T/$way.$ranks"
        # HPL's grid must fit the ranks.
        sed -E "s/^1000( +Ns)/200\1/; s/^2( +Ps)/$((ranks == 1 ? 1 : 2))\1/; s/^2( +Qs)/$((ranks == 1 ? 1 : 2))\1/" $example >"$T/$way.$ranks/hpccinf.txt"
    done
    here() { cd "$T/$1" && shift && mpirun_for "$@"; }
    rt_limit=200
    run 200 here bare.$ranks $mpi $ranks hpcc
    bare=$status
    run 200 here traced.$ranks $mpi $ranks LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/run.$ranks" hpcc
    is "$status" "$bare" "$ranks ranks: the same status"
    facts "$T/bare.$ranks/hpccoutf.txt" >"$T/bare.facts"
    facts "$T/traced.$ranks/hpccoutf.txt" >"$T/traced.facts"
    cmp -s "$T/bare.facts" "$T/traced.facts"
    ok $? "$ranks ranks: the same facts ($(wc -l <"$T/bare.facts") lines)" || diag "$(diff "$T/bare.facts" "$T/traced.facts")"
    like "$(cat "$T/traced.facts")" 'Success=1' "$ranks ranks: it says success"
    ok_run "$ranks ranks: the recording is consistent" "$REGTRACE" check "$T/run.$ranks"
    is "$(find "$T/run.$ranks" -name 'rank-*.h5' | wc -l)" $ranks "$ranks ranks: a file a rank"
done
done_testing
