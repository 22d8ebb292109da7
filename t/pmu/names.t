#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Event names of PAPI and libpfm4, which regtrace-events resolves. They are counted as the kernel's
# own, refused with the reason and the nearest names, and passed on by regtrace run; the program
# sees nothing of that. PAPI_CSV_EVENT_FILE replaces PAPI's definitions by events that need no
# hardware, so that all of this is tested on machines without a counter.
. "$(dirname "$0")/../lib.sh"
P=$REGTRACE_BUILD/t/preload/count/sampled
E=$REGTRACE_BUILD/pmu/regtrace-events
window=start:signal:SIGUSR1,stop:signal:SIGUSR2,repeat
unset PAPI_CSV_EVENT_FILE REGTRACE_EVENT_CODES REGTRACE_PMU REGTRACE_EVENTS REGTRACE_SAMPLE

metadata() { "$PYTHON" -c 'import glob, h5py, sys
with h5py.File(glob.glob(sys.argv[1] + "/rank-*.h5")[0], "r", swmr=True) as f:
    print(bytes(f["/metadata"][...]).decode())' "$1" | grep -E "^($2)="; }
# traced NAME PROGRAM-ARGUMENT...: runs the program with LD_PRELOAD and the variables in env. Sets
# counts to the event and the count of each record.
env=()
traced() {
    local name=$1
    shift
    run 60 env REGTRACE_DIR="$T/$name" REGTRACE_CONTROL="$window" "${env[@]}" LD_PRELOAD="$LIBREGTRACE" "$P" "$@"
    is "$status" 0 "$name: the program ends well" || diag "$err"
    ok_run "$name: what is recorded holds" "$REGTRACE" check "$T/$name"
    counts=$("$REGTRACE" dump "$T/$name" | sed -nE 's/.* EV_COUNTER .*event="([^"]*)" count=([0-9]+) running_per_mille=1000$/\1 \2/p' | xargs)
}
# refused TEXT-REGEX NAME VARIABLE...: checks that the run is refused before main, with that reason.
refused() {
    local like=$1 name=$2
    shift 2
    run 60 env REGTRACE_DIR="$T/refused" "$@" LD_PRELOAD="$LIBREGTRACE" "$P" faults 1
    is "$status,$out" 2, "$name: refused before main"
    like "$err" "$like" "$name: with the reason"
}

# --- the program that knows names -----------------------------------------------------------------
run 60 "$E"
is "$status" 2 "asked nothing it explains itself"
run 60 "$E" --about
is "$status $(tail -n 1 <<<"$out")" "0 end" "it tells what it has"
if grep -q 'this build has no libpfm4' <<<"$out"; then
    refused 'this build has no libpfm4 \(Debian: libpfm4-dev' "no libpfm4" REGTRACE_EVENTS=perf::PAGE-FAULTS
    skip "names of libpfm4" "this build has none"
    done_testing
fi
is "$("$E" perf::PAGE-FAULTS | head -n 1)" $'+1.2.0.0\tperf::PAGE-FAULTS\tlibpfm4\tperf::PERF_COUNT_SW_PAGE_FAULTS' "what the kernel is given for a name of libpfm4"
like "$("$E" perf::PAGE-FAULT)" '^!.*event not found; nearest are .*perf::PAGE-FAULTS' "a misspelt one: the nearest"
like "$("$E" perf::PAGE-FAULTS:k)" '^!.*only what happens in user mode' "the kernel's share is refused"

# --- libpfm4 --------------------------------------------------------------------------------------
run 60 "$REGTRACE" run -o "$T/probe" -events page-faults -- "$P" faults 1
[ "$status" = 0 ] || { skip "counting" "$err"; done_testing; }
env=("REGTRACE_EVENTS=page-faults,perf::PAGE-FAULTS,perf::MINOR-FAULTS:u")
traced pfm faults 3000
is "$counts" "page-faults 3000 perf::PAGE-FAULTS 3000 perf::MINOR-FAULTS:u 3000" "names of libpfm4, with its colons, count what the kernel's own do"
if [ "$PYTHON" != no ]; then
    is "$(metadata "$T/pfm" 'counter\..')" "counter.0=page-faults	kernel: page-faults (type 1 config 0x2)
counter.1=perf::PAGE-FAULTS	libpfm4: perf::PERF_COUNT_SW_PAGE_FAULTS (type 1 config 0x2)
counter.2=perf::MINOR-FAULTS:u	libpfm4: perf::PERF_COUNT_SW_PAGE_FAULTS_MIN (type 1 config 0x5)" "the file says who defined what was counted"
fi
env=(REGTRACE_SAMPLE=perf::PAGE-FAULTS:u:100)
traced sampled faults 3000
is "$("$REGTRACE" dump "$T/sampled" | grep -c 'EV_SAMPLE ')" 30 "samples by a name with colons: the last one is the period's"
like "$("$REGTRACE" report --hot "$T/sampled")" '30 periods, 3000 perf::PAGE-FAULTS:u' "and the report does not ask for it again"
refused '"perf::NOPE" is no event.*libpfm4: event not found; nearest are .*; legal are' "unknown" REGTRACE_EVENTS=page-faults,perf::NOPE
refused 'happens in the kernel' "of the kernel alone" REGTRACE_EVENTS=perf::CONTEXT-SWITCHES
refused 'happens in the kernel' "of the kernel alone, sampled" REGTRACE_SAMPLE=perf::CPU-MIGRATIONS:1
refused 'libpfm4: event not found; nearest' "unknown, sampled" REGTRACE_SAMPLE=perf::NOPE:100
refused '"perf::MINOR-FAULTS" is one too many' "nine" \
    REGTRACE_EVENTS=page-faults,r1,r2,r3,r4,r5,r6,perf::PAGE-FAULTS,perf::MINOR-FAULTS

# --- passed on ------------------------------------------------------------------------------------
run 60 "$REGTRACE" run -quiet -o "$T/given" -events perf::PAGE-FAULTS,perf::MINOR-FAULTS -- bash -c 'echo "$REGTRACE_EVENT_CODES"'
boot=$(cat /proc/sys/kernel/random/boot_id)
is "$out" "$boot;+1.2.0.0|perf::PAGE-FAULTS|libpfm4|perf::PERF_COUNT_SW_PAGE_FAULTS;+1.5.0.0|perf::MINOR-FAULTS|libpfm4|perf::PERF_COUNT_SW_PAGE_FAULTS_MIN" \
    "regtrace run hands on what it was told"
env=(REGTRACE_EVENTS=invented::NAME "REGTRACE_EVENT_CODES=$boot;+1.2.0.0|invented::NAME|libpfm4|page faults")
traced handed faults 500
is "$counts" "invented::NAME 500" "who is given it does not ask"
refused 'libpfm4: event not found' "of another boot or machine" REGTRACE_EVENTS=invented::NAME "REGTRACE_EVENT_CODES=0$boot;+1.2.0.0|invented::NAME|libpfm4|page faults"
for odd in '+1.2.0|' '+1.2.0.0' '+zz|invented::NAME|x|y' '||||;;|;' '+1.2.0.0+1.2.0.0+1.2.0.0+1.2.0.0+1.2.0.0|invented::NAME|x|y'; do
    refused 'libpfm4: event not found' "handed nonsense: $odd" REGTRACE_EVENTS=invented::NAME "REGTRACE_EVENT_CODES=$boot;$odd"
done

# --- what the program sees of it ------------------------------------------------------------------
# Checks the program's first descriptor, children that it has not made, and signals that it waits
# for.
cat >"$T/looks.py" <<'PY'
import os, signal
print(os.open("/dev/null", os.O_RDONLY), signal.sigpending())
try:
    os.waitpid(-1, os.WNOHANG)
    print("a child")
except ChildProcessError:
    print("no child")
PY
python3 "$T/looks.py" >"$T/bare"
# shellcheck disable=SC2016
run 60 env REGTRACE_DIR="$T/looks" REGTRACE_EVENTS=perf::PAGE-FAULTS,perf::MINOR-FAULTS REGTRACE_DEFAULT_START=0 LD_PRELOAD="$LIBREGTRACE" \
    python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
os.execv(sys.executable, ["python3", sys.argv[1]])' "$T/looks.py"
is "$out" "$(cat "$T/bare")" "asking leaves no descriptor, no child and no signal" || diag "$err"

# A regtrace-events that hangs or breaks: the library finds it beside itself, so the test copies the
# library.
mkdir "$T/lib" && cp "$LIBREGTRACE" "$T/lib/" || exit 99
broken() {
    printf '#!/bin/sh\n%s\n' "$2" >"$T/lib/regtrace-events" && chmod +x "$T/lib/regtrace-events"
    run 90 env REGTRACE_DIR="$T/refused" REGTRACE_EVENTS=perf::PAGE-FAULTS REGTRACE_WRITER="$REGTRACE_WRITER_PROGRAM" \
        LD_PRELOAD="$T/lib/libregtrace.so" "$P" faults 1
    is "$status,$out" 2, "one that $1: refused before main"
    like "$err" "$3" "one that $1: with the reason"
}
broken 'ends early' 'exit 127' 'regtrace-events ended early: is a library of its missing'
broken 'hangs' "echo \$\$ >$T/hanging; exec sleep 300" 'regtrace-events has not answered within 30 s'
wait_for 10 eval '! kill -0 "$(cat "$T/hanging")"'
ok $? "one that hangs: is killed"
broken 'says nonsense' 'echo nonsense; echo end' 'nobody knows its name'
printf 'no program' >"$T/lib/regtrace-events"
run 90 env REGTRACE_EVENTS=perf::PAGE-FAULTS LD_PRELOAD="$T/lib/libregtrace.so" "$P" faults 1
like "$err" 'regtrace-events cannot be started: Exec format error' "one that is no program: with the reason"
rm "$T/lib/regtrace-events"
run 90 env REGTRACE_EVENTS=perf::PAGE-FAULTS LD_PRELOAD="$T/lib/libregtrace.so" "$P" faults 1
like "$err" 'regtrace-events, the program that knows the names of PAPI and libpfm4, is not beside the library' "none: with the reason"

# --- PAPI -----------------------------------------------------------------------------------------
if "$E" --about | grep -q 'this build has no PAPI'; then
    refused 'this build has no PAPI \(Debian: libpapi-dev' "no PAPI" REGTRACE_EVENTS=PAPI_TOT_CYC
    refused 'PAPI_TOT_INS: this build has no PAPI' "no PAPI, as back end" REGTRACE_PMU=papi REGTRACE_CONTROL=start:icount:1000
    done_testing
fi
like "$("$E" PAPI_NOPE)" '^!.*PAPI has no event of that name|^!.*PAPI counts nothing here: ' "an event that PAPI has not"
# PAPI's name of the processor is a unit that libpfm4 has beside its own two, of which AMD's have
# two: one of the family, one of the generation.
cpu=$("$E" --about | sed -nE 's/.*perf_raw \([0-9]+ events\) //p' | sed -E 's/ \([0-9]+ events\)//g')
if [ -z "$cpu" ] || "$E" --about | grep -q 'PAPI counts nothing here\|^!	PAPI'; then
    like "$("$E" PAPI_TOT_INS)" '^!	PAPI_TOT_INS	PAPI	PAPI counts nothing here: ' "PAPI does not know this processor, and says why"
    refused 'PAPI_TOT_INS: PAPI counts nothing here' "as back end" REGTRACE_PMU=papi REGTRACE_CONTROL=start:icount:1000
    skip "PAPI's events" "PAPI does not know this processor"
    done_testing
fi
cat >"$T/events.csv" <<CSV
$(for unit in $cpu; do echo "CPU,$unit"; done)
PRESET,PAPI_TOT_INS,NOT_DERIVED,perf::PAGE-FAULTS
PRESET,PAPI_L1_TCM,DERIVED_ADD,perf::PAGE-FAULTS,perf::MINOR-FAULTS
PRESET,PAPI_L2_TCM,DERIVED_SUB,perf::PAGE-FAULTS,perf::MAJOR-FAULTS
PRESET,PAPI_L3_TCM,DERIVED_POSTFIX,N0|N1|+|,perf::PAGE-FAULTS,perf::MINOR-FAULTS
CSV
export PAPI_CSV_EVENT_FILE=$T/events.csv
env=("REGTRACE_EVENTS=PAPI_TOT_INS,PAPI_L1_TCM,PAPI_L2_TCM")
traced papi faults 3000
is "$counts" "PAPI_TOT_INS 3000 PAPI_L1_TCM 6000 PAPI_L2_TCM 3000" "PAPI's presets as PAPI defines them, sums and differences too"
refused 'PAPI computes it \(DERIVED_POSTFIX .*\) of perf::PAGE-FAULTS, perf::MINOR-FAULTS: count these' "a rule that is not ours to compute" REGTRACE_EVENTS=PAPI_L3_TCM
refused '"PAPI_L1_TCM" is one too many \(it takes several counters\)' "no room for both" REGTRACE_EVENTS=page-faults,r1,r2,r3,r4,r5,r6,PAPI_L1_TCM
refused 'PAPI_L1_TCM is made of several events' "a sum cannot be sampled" REGTRACE_SAMPLE=PAPI_L1_TCM:100
refused 'PAPI has no event of that name; nearest are PAPI_TOT_INS, ' "misspelt" REGTRACE_EVENTS=PAPI_TOT_IN

# The back end counts what PAPI defines as instructions: page faults here.
env=(REGTRACE_PMU=papi)
window=start:icount:1000,stop:icount:500 traced backend faults 3000
"$REGTRACE" report --json "$T/backend" >"$T/json"
is "$(grep -oE '"(start|stop)_(requested|icount)": [0-9]+' "$T/json" | grep -oE '[0-9]+' | xargs)" "1000 1500 1000 1500" \
    "REGTRACE_PMU=papi: a window from the 1,000th to the 1,500th of what PAPI_TOT_INS is" || diag "$(cat "$T/json")"
if [ "$PYTHON" != no ]; then
    is "$(metadata "$T/backend" 'pmu|pmu_event')" "pmu=papi
pmu_event=PAPI: perf::PERF_COUNT_SW_PAGE_FAULTS (type 1 config 0x2)" "the file says so"
fi
env=()
window=start:icount:1000,stop:icount:500 traced auto faults 3000
[ "$PYTHON" = no ] || is "$(metadata "$T/auto" pmu)" pmu=papi "auto is papi where something counts"
like "$("$REGTRACE" doctor)" '^ok +counters +instructions can be counted \(papi\), by PAPI: perf::PERF_COUNT_SW_PAGE_FAULTS' "doctor says which counter it is"
run 60 "$REGTRACE" run -quiet -o "$T/env" -control start:icount:1000 -- bash -c 'echo "$REGTRACE_EVENT_CODES"'
like "$out" ';\+1\.2\.0\.0\|PAPI_TOT_INS\|PAPI\|' "regtrace run hands on the back end's event"
done_testing
