#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `exact`: the tool interrupts early and steps to the very instruction, with a counter that
# interrupts late by a seeded skid.
. "$(dirname "$0")/../lib.sh"

parts=$REGTRACE_BUILD/t/pmu/parts compare=$REGTRACE_SOURCE/t/pmu/compare.py
[ -x "$parts" ] || skip_all "exact is for x86-64 alone"

export T_REGTRACE_LATE=5:50000
run 120 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/late" REGTRACE_PMU=step \
    REGTRACE_CONTROL='start:icount:5000,stop:icount:1000' REGTRACE_CONTROLLER_LOG="$T/log" "$parts" long
unlike "$(cat "$T/log")" 'icount 5000 requested 5000' "without exact the counter of this test is late"
like "$(cat "$T/log")" 'icount [0-9]+ requested 5000' "and fires all the same"
run 120 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/exact" REGTRACE_PMU=step \
    REGTRACE_CONTROL='start:icount:90000:exact,stop:icount:70000:exact' REGTRACE_CONTROLLER_LOG="$T/log2" "$parts" long
like "$(cat "$T/log2")" 'start .*icount 90000 requested 90000' "exact opens there, early interrupt and steps"
like "$(cat "$T/log2")" 'stop .*icount 160000 requested 160000' "and closes there"
unset T_REGTRACE_LATE

same() { ok_run "$1, thread $2, $4: every alarm fires where the oracle stands" "$PYTHON" "$compare" "$REGTRACE_BUILD" "$@"; }
same calls 0.0 0 late=1:0
same signals 0.0 0 late=2:50000 twice=1
same threads 0.2 2 late=3:10000
same repeats 0.0 0 late=4:500
done_testing
