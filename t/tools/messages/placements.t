#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs that are not made for this test, in C and Fortran: windows open and close at random
# moments on each rank (call_log.h), and exactly those messages are matched whose both ends are in
# windows, by a log of the programs' calls that knows nothing of regtrace. REGTRACE_SEEDS: how many
# placements of windows for each program (default 1); REGTRACE_HPCC=1: those of hpcc too.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../../run/hpcc.sh"
MESSAGES=$REGTRACE_BUILD/t/tools/messages/messages
seeds=${REGTRACE_SEEDS:-1}

# names OPTION...: the messages of $T/run that were sent and received in windows.
names() { "$MESSAGES" "$@" "$T/run" | awk '/^message/ && $2 { print $1, $2, $4, $5, $6 }' | sort; }

# place MPI NAME PROGRAM...: compares all placements of the program's windows.
place() {
    local mpi=$1 name=$2 seed wrong="" found=0 all=0 guessed=0
    shift 2
    for ((seed = 1; seed <= seeds; seed++)); do
        rm -rf "$T/run" "$T/logs"
        mkdir "$T/logs"
        run 300 "mpirun.$mpi" -np 4 env LD_PRELOAD="$T/$mpi.so:$LIBREGTRACE" CALL_LOG="$T/logs" CALL_LOG_SEED=$seed \
            REGTRACE_DIR="$T/run" REGTRACE_PCONTROL=std "$@"
        [ "$status" = 0 ] || wrong+="seed $seed: exit code $status $err"
        "$PYTHON_ANY" "$here/logged.py" "$T"/logs/log.* 2>"$T/counts" >"$T/messages" || wrong+="seed $seed: the log has ends without partners"
        sort "$T/messages" >"$T/want"
        names >"$T/got"
        wrong+=$(comm -13 "$T/want" "$T/got" | sed "s/^/seed $seed: invented /" | head -3)
        wrong+=$(comm -23 "$T/want" "$T/got" | sed "s/^/seed $seed: missing /" | head -3)
        found=$((found + $(wc -l <"$T/got")))
        all=$((all + $(cut -d' ' -f1 "$T/counts")))
        guessed=$((guessed + $(names -count | comm -3 "$T/want" - | wc -l)))
    done
    is "$wrong" "" "$mpi, $name: $found of $all messages, those of the log ($seeds placements)"
    [ $found -gt $((seeds * 10)) ]
    ok $? "$mpi, $name: and they are many"
    # The comparison can fail: a reader that ignores the numbers pairs other ends.
    [ $guessed -gt 0 ]
    ok $? "$mpi, $name: without the numbers, $guessed messages are missing or wrong"
}

for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -D_GNU_SOURCE -shared -fPIC -I"$REGTRACE_SOURCE/share/include" -o "$T/$mpi.so" \
        "$here/call_log.c" "$here/logged_calls.c" "$here/logged_fortran.c" -ldl 2>"$T/cc"; then
        skip "windows at random moments with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    for app in comm stencil heat diffuse wave; do
        program=$REGTRACE_BUILD/t/apps/$app.$mpi
        if [ -x "$program" ]; then
            place $mpi $app "$program"
        else
            skip "$app with $mpi" "it is not built"
        fi
    done
done
if [ "${REGTRACE_HPCC:-0}" != 1 ]; then
    :
elif command -v hpcc >/dev/null && [ -e "$hpcc_example" ]; then
    hpcc_input 4 100 >"$T/hpccinf.txt"
    cd "$T" || exit 99
    place openmpi hpcc hpcc
else
    skip 'windows at random moments in hpcc' 'no hpcc'
fi
done_testing
