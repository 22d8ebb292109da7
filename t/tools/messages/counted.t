#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs of other kinds, in C and Fortran, recorded from start to end: the numbers that the
# library counts as they run give the same messages as the tools' own count of the events, which
# does not read the numbers.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../../run/hpcc.sh"
MESSAGES=$REGTRACE_BUILD/t/tools/messages/messages

# same NAME: compares the messages of $T/run by the numbers and by counting.
same() {
    "$MESSAGES" "$T/run" | grep -v '^marked' | sort >"$T/numbered"
    "$MESSAGES" -count "$T/run" | grep -v '^marked' | sort >"$T/counted"
    is "$(grep '^message' "$T/numbered" | diff - <(grep '^message' "$T/counted") | head -3)" "" "$1: $(grep -c '^message' "$T/numbered") messages both ways"
    is "$(grep '^left' "$T/numbered")" "$(grep '^left' "$T/counted")" "$1: and as many without a partner"
}

for mpi in openmpi mpich; do
    for app in comm stencil hybrid heat diffuse wave; do
        program=$REGTRACE_BUILD/t/apps/$app.$mpi
        if [ ! -x "$program" ]; then
            skip "$app with $mpi" "it is not built"
            continue
        fi
        rm -rf "$T/run"
        run 100 "$REGTRACE" run -quiet -o "$T/run" -- "mpirun.$mpi" -np 4 "$program"
        is "$status" 0 "$mpi: a run of $app" || diag "$err"
        same "$mpi, $app"
    done
done
if command -v hpcc >/dev/null && [ -e "$hpcc_example" ]; then
    rm -rf "$T/run"
    hpcc_input 4 200 >"$T/hpccinf.txt"
    cd "$T" || exit 99
    run 200 "$REGTRACE" run -quiet -o "$T/run" -- mpirun.openmpi -np 4 hpcc
    is "$status" 0 'a run of hpcc' || diag "$err"
    same hpcc
else
    skip 'a run of hpcc' 'no hpcc'
fi
done_testing
