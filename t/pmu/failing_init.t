#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# No alarm fires inside MPI_Init. Alarms fire again after MPI_Init has failed, or after a jump has
# left it. If MPI_Init ends the program, the file is complete.
. "$(dirname "$0")/../lib.sh"

program=$REGTRACE_BUILD/t/pmu/failing_init
needs steps
export REGTRACE_PMU=step REGTRACE_CONTROLLER_LOG=$T/log

# run_part PART: runs the program with a window in the instructions after MPI_Init.
run_part() {
    rm -f "$T/log"
    run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$1" REGTRACE_CONTROL='start:icount:9000,stop:icount:1000' "$program" "$1"
}
run_part fails
is "$status" 3 "MPI_Init fails, the program goes on"
like "$(cat "$T/log")" 'start .*icount 9000 requested 9000' "and its alarms fire"
like "$(cat "$T/log")" 'stop .*icount 10000 requested 10000' "at their places"
run_part jumps
is "$status" 3 "a jump leaves MPI_Init, the program goes on"
like "$(cat "$T/log")" 'start .*icount 9000 requested 9000' "and its alarms fire"
run_part exits
is "$status" 4 "MPI_Init ends the program, with the program's code"
like "$("$REGTRACE" report "$T/exits" 2>&1)" 'closed, finished' "and the file is whole"
done_testing
