#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Rates of counted events, in report and in Python. counted_windows.py writes the counts and the
# lengths of windows, so the right rates are worked out by hand here: 2.1 times the counts, in 6 ms.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
needs h5py
export PYTHONDONTWRITEBYTECODE=1

# counted NAME EVENT=COUNT...: sets text and json to what report says of such a run.
counted() {
    "$PYTHON" "$here/counted_windows.py" "$@" || ok 1 "a run is written"
    text=$("$REGTRACE" report -all "$1") && json=$("$REGTRACE" report --json "$1") || ok 1 "it is reported"
}
counted kernel instructions=3000000 cycles=2000000 cache-misses=1500 branches=500000 branch-misses=1000 page-faults=60 ref-cycles=10
like "$text" '^  instructions per cycle +1\.500$' 'instructions per cycle'
like "$text" '^  cycles per second, GHz +0\.700$' 'cycles of all threads by the time of all windows that counted'
like "$text" '^  branch misses, % +0\.200$' 'branch misses of branches'
like "$text" '^  instructions +1\.05e\+09 +-$' 'events per second'
like "$text" '^  cache-misses +525000 +0\.500$' 'misses per 1000 instructions'
like "$text" '^  branch-misses +350000 +0\.333$' 'of branches too'
like "$text" '^  page-faults +21000 +-$' 'not of what is no miss'
like "$json" '^  "rates": \{"instructions_per_cycle": 1\.5, "cycles_per_second": 700000000, "branch_misses_percent": 0\.2[0-9]*\}' 'the same in JSON, of all ranks'
is "$(grep -c '"event": "cache-misses", .*"per_second": 500000, "per_1000_instructions": 0.5}' <<<"$json")" 1 'and of a rank: 3 ms'
is "$(grep -c '"event": "cache-misses", .*"per_second": 550000, "per_1000_instructions": 0.5}' <<<"$json")" 1 'and another: 1.1 times the counts in 3 ms'

# regtrace values shows CPI of the windows, of one profile and of two.
COUNTED_VALUES=vp-none "$PYTHON" "$here/counted_windows.py" valued instructions=3000000 cycles=2000000 ref-cycles=10
COUNTED_VALUES=vp-none "$PYTHON" "$here/counted_windows.py" slower PAPI_TOT_INS=2000000 PAPI_TOT_CYC=5000000
COUNTED_VALUES=vp-none "$PYTHON" "$here/counted_windows.py" uncounted page-faults=5
like "$("$REGTRACE" values valued)" '^  cycles per instruction in windows: 0\.667 \(cycles, instructions\)$' 'beside values: cycles per instruction'
like "$("$REGTRACE" values -json slower)" '^  "cycles_per_instruction": 2\.5,$' 'in JSON'
text=$("$REGTRACE" values -diff slower valued)
like "$text" '^  before: cycles per instruction in windows: 0\.667 \(cycles, instructions\)$' 'of two profiles'
like "$text" '^  after: cycles per instruction in windows: 2\.500 \(PAPI_TOT_CYC, PAPI_TOT_INS\)$' 'beside each other'
unlike "$("$REGTRACE" values uncounted)" 'cycles per' 'not where they were not counted'
like "$("$REGTRACE" values -json uncounted)" '"cycles_per_instruction": null' 'null in JSON'

# Names of PAPI and libpfm4.
counted papi PAPI_TOT_INS=2000000 PAPI_TOT_CYC=4000000 PAPI_L2_DCM=4000 PAPI_L1_ICM=2000 PAPI_TLB_DM=200 PAPI_BR_MSP=1000 PAPI_BR_INS=100000 PAPI_LD_INS=500
like "$text" '^  instructions per cycle +0\.500$' 'PAPI: instructions per cycle'
like "$text" '^  branch misses, % +1\.000$' 'PAPI: branch misses'
for of in 'PAPI_L2_DCM +1.4e\+06 +2\.000' 'PAPI_L1_ICM +700000 +1\.000' 'PAPI_TLB_DM +70000 +0\.100' 'PAPI_BR_MSP +350000 +0\.500' 'PAPI_LD_INS +175000 +-'; do
    like "$text" "^  $of\$" "PAPI: ${of%% *}"
done
counted pfm perf::INSTRUCTIONS:u=1000000 perf::L1-DCACHE-LOAD-MISSES=3000 arm_ac57::L2D_CACHE_REFILL=2000 \
    perf::PERF_COUNT_HW_CACHE_LL:READ:MISS=1000 skl::CYCLE_ACTIVITY:CYCLES_L2_MISS=70000 perf::CPU-CYCLES=500000 L1-dcache-load-misses=3000
like "$text" '^  instructions per cycle +2\.000$' 'libpfm4: instructions per cycle'
for of in 'perf::L1-DCACHE-LOAD-MISSES +[^ ]+ 3.000' 'arm_ac57::L2D_CACHE_REFILL +[^ ]+ 2.000' 'perf::PERF_COUNT_HW_CACHE_LL:READ:MISS +[^ ]+ 1.000' \
    'skl::CYCLE_ACTIVITY:CYCLES_L2_MISS +[^ ]+ -' 'L1-dcache-load-misses +[^ ]+ 3.000'; do
    like "$text" "^  ${of% *} +${of##* }\$" "libpfm4: ${of%% *}"
done
counted alone cache-misses=1500
like "$text" '^  cache-misses +525000 +-$' 'where no instructions are counted there is no rate by them'
unlike "$text" 'per cycle' 'and none by cycles'
like "$json" '"per_second": 500000, "per_1000_instructions": null' 'null in JSON'

# In Python, by window.
python() { PYTHONPATH=$REGTRACE_SOURCE/share/python "$PYTHON" - "$@"; }
got=$(python kernel <<'END'
import sys
import regtrace
c = regtrace.open(sys.argv[1]).counters()
print(*c.columns)
print(len(c), c["running"].eq(1.0).all())
row = c[(c["rank"] == 0) & (c["thread"] == 1)].set_index("event")
print(*row["count"], *row["duration_ns"])
print(row.loc["instructions", "per_cycle"], row.loc["cycles", "per_second"], round(row.loc["cache-misses", "per_1000_instructions"], 9))
print(row.loc["page-faults", ["per_1000_instructions"]].isna().all(), *c[c["event"] == "cache-misses"]["per_second"])
END
)
is "$got" "rank process time_ns thread window event count running duration_ns per_second per_cycle per_1000_instructions
21 True
300000 200000 150 50000 100 6 1 1000000 1000000 1000000 1000000 1000000 1000000 1000000
1.5 200000000.0 0.5
True 750000.0 150000.0 500000.0" 'counters() in Python: each event of each window, and its rates'
for run in kernel papi pfm; do
    names=$(python $run <<'END'
import json, subprocess, os, sys
import regtrace
c = regtrace.open(sys.argv[1]).counters(rank=0, thread=0).set_index("event")
said = json.loads(subprocess.run([os.environ["REGTRACE_BUILD"] + "/regtrace", "report", "--json", sys.argv[1] + "/rank-00000.h5"],
                                 stdout=subprocess.PIPE, check=True).stdout)
wrong = [k["event"] for k in said["ranks"][0]["counters"]
         if (k["per_1000_instructions"] is None) != bool(c["per_1000_instructions"].isna()[k["event"]])]
print(len(c), *wrong)
END
    )
    is "${names#* }" "${names%% *}" "$run: Python and report agree which are misses"
done
is "$(python alone <<<'import regtrace, sys; print(regtrace.open(sys.argv[1]).counters(window="0")[["per_cycle", "per_1000_instructions"]].isna().all().all())')" True 'NaN where nothing is to divide by'
done_testing
