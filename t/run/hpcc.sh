# SPDX-License-Identifier: BSD-3-Clause
# HPC Challenge, for the tests that run it.
hpcc_example=/usr/share/doc/hpcc/examples/_hpccinf.txt

# hpcc_input RANKS SIZE: prints an input file for these ranks; HPL's grid must fit them.
hpcc_input() { sed -E "s/^1000( +Ns)/$2\1/; s/^2( +Ps)/$(($1 == 1 ? 1 : 2))\1/; s/^2( +Qs)/$(($1 == 1 ? 1 : 2))\1/" $hpcc_example; }

# hpcc_facts FILE: prints the output of HPCC except rates and times: names of results, problem
# sizes, verdicts, errors found. Rates and times differ from run to run, and so does what depends on
# them (repetitions, how many lines of CPU and wall time, the sizes it picks for streams). They
# become N. PTRANS prints its rows of CPU time only if the time is more than 0.
hpcc_facts() {
    grep -E 'PASSED|FAILED|Success|_Failed|CommWorldProcs|HPL_N=|HPL_NB=|HPL_nprow|HPL_npcol|sizeof_|Found|Verification|End of' "$1" |
        grep -vE '^ *(CPU|WALL) ' | sed -E '/^ *CPU /d; s/(Current time \().*//; s/[0-9]+\.[0-9]+(e[-+]?[0-9]+)?/N/g; s/^ *//; s/ +/ /g'
}
