#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A stepped thread that waits in the kernel while the process ends goes on, and ends with it.
. "$(dirname "$0")/../lib.sh"
[ -x "$REGTRACE_BUILD/t/pmu/after" ] || skip_all "counting by steps is for x86-64 alone"
cc -O1 -o "$T/waiting" "$(dirname "$0")/waiting.c" -pthread || exit 99

ended=0
for ((i = 0; i < 10; i++)); do
    run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/o.$i" REGTRACE_PMU=step \
        REGTRACE_CONTROL='start:timeout:2ms,stop:timeout:2ms,repeat' "$T/waiting"
    [ "$status $out" = '0 ended' ] && ended=$((ended + 1)) || diag "status $status: $out $err"
done
is "$ended" 10 'the process ends as without us'
done_testing
