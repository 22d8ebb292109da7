#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 12000
# PAPI and libpfm4 on a machine with counters: as names of counters, samples and the event that
# counts instructions; beside a program that uses PAPI itself; and the messages to users who may not
# count.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"
E=$REGTRACE_BUILD/pmu/regtrace-events

# --- Names ---
diag "$("$E" --about)"
TIMEFORMAT='# to ask takes %R s here, of 16 million instructions each'
time "$E" PAPI_TOT_INS >"$T/asked"
is "$("$E" PAPI_TOT_INS PAPI_L1_DCM | cut -f 1,4 | head -n 2)" "+4.8.0.0	arm_ac57::INST_RETIRED
+4.42.0.0+4.43.0.0	arm_ac57::L1D_READ_REFILL + arm_ac57::L1D_WRITE_REFILL" "what PAPI means here"
like "$("$E" arm_ac57::INST_RETIRE)" '^!.*nearest are arm_ac57::INST_RETIRED' "nearest names of the processor's own"

# --- The back end --- windows DIR: prints of each window the requested and the actual start, the
# requested and the actual stop.
windows() {
    "$REGTRACE" report --json "$1" 2>/dev/null |
        grep -oE '"start_icount": [0-9]+|"stop_icount": [0-9]+|"start_requested": [0-9]+|"stop_requested": [0-9]+' |
        awk -F': ' '/start_icount/ {a = $2} /stop_icount/ {b = $2} /start_req/ {r = $2} /stop_req/ {print r, a, $2, b}'
}
# The lateness of an overflow here, and regtrace's own instructions until it reads the counter.
skid=70000
for pmu in papi auto; do
    run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/$pmu" REGTRACE_PMU=$pmu REGTRACE_CONTROL=uniform:4000000:1000000:5 "$LAB_PROGRAMS/icount" 22
    is "$status|$out|$err" "0|22 million|" "$pmu: the program does what it does alone"
    run 1000 "$REGTRACE" check "$LAB_OUT/$pmu"
    is "$status" 0 "$pmu: the file is consistent" || diag "$out$err"
    is "$(windows "$LAB_OUT/$pmu" | awk -v s=$skid '$1 == (NR - 1) * 4000000 && $3 == $1 + 1000000 && $2 >= $1 && $2 - $1 < s && $4 >= $3 && $4 - $3 < s' | wc -l)" \
        5 "$pmu: 5 windows at their places, late by the skid at most" || diag "$(windows "$LAB_OUT/$pmu")"
    grep -aq 'pmu_event=PAPI: arm_ac57::INST_RETIRED (type 4 config 0x8)' "$LAB_OUT/$pmu"/rank-*.h5
    ok $? "$pmu: the file says that PAPI_TOT_INS was counted, and what that is"
done
run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/perf" REGTRACE_PMU=perf REGTRACE_CONTROL=start:icount:1000000 "$LAB_PROGRAMS/icount" 2
grep -aq 'pmu_event=kernel: instructions (type 0 config 0x1)' "$LAB_OUT/perf"/rank-*.h5
ok $? "perf: the file says that the kernel's event was"

export OMPI_MCA_plm_rsh_agent=false
run 6000 "$REGTRACE" run -quiet -o "$LAB_OUT/ranks" -pmu papi -control uniform:5000000:500000:3 -events PAPI_TOT_INS,PAPI_TOT_CYC -- \
    mpirun.openmpi --oversubscribe -np 2 "$APPS/stencil.openmpi" 3 5 16
is "$status" 0 "2 ranks with uniform windows by PAPI's event" || diag "$out$err"
wait_for 60 test -e "$LAB_OUT/ranks/regtrace.h5"
run 1000 "$REGTRACE" check "$LAB_OUT/ranks"
is "$status" 0 "their files are consistent" || diag "$out$err"
"$REGTRACE" report "$LAB_OUT/ranks" >"$T/report" 2>/dev/null
like "$(cat "$T/report")" '^  PAPI_TOT_INS +[1-9][0-9]+ ' "their counters are in the report"
like "$(cat "$T/report")" '^  instructions per cycle +[0-9.]+$' "and the rate that follows"
is "$(grep -al 'pmu_event=PAPI: arm_ac57::INST_RETIRED' "$LAB_OUT/ranks"/rank-?????.h5 | wc -l)" 2 "all by the same event"

# --- Counters ---
run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/events" REGTRACE_PMU=papi REGTRACE_CONTROL=start:icount:5000000,stop:icount:20000000 \
    REGTRACE_EVENTS=instructions,PAPI_TOT_INS,arm_ac57::INST_RETIRED,PAPI_L1_DCM "$LAB_PROGRAMS/icount" 30
is "$status|$out|$err" "0|30 million|" "counters: the program does what it does alone"
"$REGTRACE" dump "$LAB_OUT/events" 2>/dev/null | sed -nE 's/.* EV_COUNTER .*event="([^"]*)" count=([0-9]+) running_per_mille=1000$/\1 \2/p' >"$T/counts"
diag "$(cat "$T/counts")"
is "$(awk -v s=$skid '$1 != "PAPI_L1_DCM" && $2 > 20000000 - s && $2 < 20000000 + s' "$T/counts" | wc -l)" 3 \
    "by each of its three names an instruction is counted once"
is "$(wc -l <"$T/counts")" 4 "and a sum of two counters is one event"
refused() {
    run 600 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/refused" "${@:3}" "$LAB_PROGRAMS/icount" 1
    is "$status,$out" 2, "$2: refused before main"
    like "$err" "$1" "$2: with the reason"
}
refused 'cannot count all of these at once, beside instructions for icounts \(Invalid argument\): it has too few counters' "too many" \
    REGTRACE_EVENTS=r8,r9,r10,r12,r13,r14,r15,r16
refused 'cannot count all of these at once, beside instructions for icounts and what is sampled' "too many with samples" \
    REGTRACE_EVENTS=r8,r9,r10,r12,r13,r14 REGTRACE_SAMPLE=PAPI_TOT_CYC:1M

# --- A program that uses PAPI itself ---
own() { sed -nE "s/.*\\b$1 (-?[0-9]+).*/\\1/p" <<<"$2"; }
run 3000 "$LAB_PROGRAMS/own_papi" 20
alone=$out
diag "$status alone: $alone"
is "$status $(own overflows "$alone")" "0 20" "alone: 20 overflows of 20 million"
for pmu in papi perf; do
    run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/own-$pmu" REGTRACE_PMU=$pmu REGTRACE_CONTROL=uniform:2000000:1000000:100 \
        REGTRACE_EVENTS=PAPI_TOT_CYC REGTRACE_SAMPLE=PAPI_TOT_CYC:10M "$LAB_PROGRAMS/own_papi" 20
    diag "$status $pmu: $out"
    is "$status|$err" "0|" "own PAPI, $pmu: the program ends as alone"
    edges=$(windows "$LAB_OUT/own-$pmu" | wc -l)
    samples=$("$REGTRACE" dump "$LAB_OUT/own-$pmu" 2>/dev/null | grep -c 'EV_SAMPLE ')
    diag "$edges windows, $samples samples"
    [ "$edges" -ge 10 ] && [ "$samples" -ge 10 ]
    ok $? "own PAPI, $pmu: windows all along, and samples in them"
    more=$(($(own all "$out") - $(own all "$alone")))
    diag "instructions of ours in its count: $more"
    [ "$more" -ge 0 ] && [ "$more" -lt $(((2 * edges + samples) * 10000)) ]
    ok $? "own PAPI, $pmu: its count has what it executed, and our handlers"
    is "$(own overflows "$out")" $(($(own all "$out") / 1000000)) "own PAPI, $pmu: its overflows are one a million, none lost"
    is "$(own descriptor "$out")" "$(own descriptor "$alone")" "own PAPI, $pmu: its next descriptor is the same"
done

# If the program takes all counters, regtrace cannot prevent it, but reports it.
run 3000 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/all" REGTRACE_CONTROL=start:icount:1000000 "$LAB_PROGRAMS/own_papi" 20 all
diag "$status all: $out $err"
like "$(cat "$LAB_OUT/all/regtrace.log")" 'instructions were counted for a part of the time alone, .* icounts are too small: [0-9]{1,2}\.[0-9] %' \
    "own PAPI, with all counters: the log says that there were too few"

# --- Users who may not count ---
echo 3 >/proc/sys/kernel/perf_event_paranoid
chmod 755 "$T"; cd / || exit 99
remedy='perf_event_paranoid is 3\): as root, `sysctl kernel.perf_event_paranoid=2` allows'
as_user() { run 600 chroot --userspec=nobody:nogroup / env HOME=/tmp REGTRACE_SHM=/dev/shm REGTRACE_DIR=/tmp/denied "$@"; }
for pmu in papi perf auto; do
    as_user LD_PRELOAD="$LIBREGTRACE" REGTRACE_PMU=$pmu REGTRACE_CONTROL=start:icount:1000 "$LAB_PROGRAMS/icount" 1
    is "$status,$out" 2, "paranoid 3, $pmu: refused before main" || diag "$err"
    like "$err" "icount is not available: .*$remedy" "paranoid 3, $pmu: with the remedy"
done
like "$err" 'by PAPI: PAPI_TOT_INS: PAPI counts nothing here: .*paranoid' "auto: what PAPI says as well"
as_user LD_PRELOAD="$LIBREGTRACE" REGTRACE_EVENTS=PAPI_TOT_CYC "$LAB_PROGRAMS/icount" 1
like "$status $err" "^2 .*PAPI_TOT_CYC.*$remedy" "counters: likewise"
as_user "$REGTRACE" doctor
like "$out" "counters +icount and uniform alarms are refused: .*$remedy" "doctor says the same"
like "$out" "event names +PAPI: 7.* counts nothing here: .*paranoid" "and that PAPI sees it so"
echo 1 >/proc/sys/kernel/perf_event_paranoid
as_user LD_PRELOAD="$LIBREGTRACE" REGTRACE_PMU=papi REGTRACE_CONTROL=start:icount:1000 "$LAB_PROGRAMS/icount" 1
is "$status|$out|$err" "0|1 million|" "paranoid 1: a user may"

# --- Why regtrace does not count by PAPI itself ---
run 3000 "$LAB_PROGRAMS/papi_rearm" "${REARMS:-300}" libc
diag "$status $out"
like "$out" '^done: [1-9][0-9]+ re-arms, 0 calls failed .* a freed one was taken [1-9][0-9]* times' \
    "PAPI's own re-arming takes descriptors that the program has freed and counts on"
done_testing
