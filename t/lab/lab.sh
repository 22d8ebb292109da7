# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by the PMU lab's script and its tests, inside and outside of the machine: adopting the TAP
# output of another test. Source it after t/lib.sh.

# The emulated machine spends most of Open MPI's start on looking for transports other than memory.
export OMPI_MCA_btl=self,vader OMPI_MCA_pml=ob1

# adopt_tap NAME STATUS FILE: reports each test of FILE as a test of this script, "NAME: its text",
# and each skip too. One more test fails if the plan, the number of tests and the status of the
# program that wrote FILE do not agree.
adopt_tap() {
    local name=$1 code=$2 line text planned='' count=0 failed=0 trouble=''
    # Start no process for a line: processes are expensive inside the machine.
    while IFS= read -r line; do
        [[ $line =~ ^(not )?ok( [0-9]+)?( - )?(.*) ]] && text=${BASH_REMATCH[4]}
        case $line in
        ok\ *'# SKIP'*)
            count=$((count + 1))
            skip "$name: ${text%% # SKIP*}" "${text##*# SKIP }"
            ;;
        ok\ *) count=$((count + 1)) && ok 0 "$name: $text" ;;
        not\ ok*) count=$((count + 1)) failed=$((failed + 1)) && ok 1 "$name: $text" ;;
        '1..0 # SKIP'*) planned=0 && skip "$name" "${line#*# SKIP }" ;;
        1..[0-9]*) planned=${line#1..} ;;
        'Bail out!'*) trouble=$line ;;
        '#'*) printf '%s\n' "$line" ;;
        *) diag "$line" ;;
        esac
    done <"$3"
    [ "$planned" = "$count" ] || trouble+=" planned ${planned:-nothing}, ran $count tests"
    [ "$code" = 0 ] || [ "$failed" != 0 ] || trouble+=" ended with status $code"
    [ -z "$trouble" ] || { ok 1 "$name: comes to its end"; diag "$trouble"; }
}

# ok_program NAME COMMAND...: runs a test that prints TAP, such as a compiled one, as a part of this
# one. rt_limit: seconds.
ok_program() {
    local name=$1 code
    shift
    run_with_limit "${rt_limit:-2000}" "$@" >"$T/.program" 2>&1 </dev/null
    code=$?
    adopt_tap "$name" "$code" "$T/.program"
}
