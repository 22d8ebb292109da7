#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Where a thread loses events, the channels show nothing through the gap that was open before, and
# nothing unknown after it.
. "$(dirname "$0")/../../lib.sh"
needs h5py
cd "$T" || exit 99
mkdir run
"$REGTRACE_BUILD/t/tools/channels/gap" "$REGTRACE_BUILD/writer/regtrace-writer" run gap.stream
is $? 0 'a process that loses events twice'
run 60 "$REGTRACE" emulate run
is "$status" 1 'strict refuses it'
like "$err" 'events were dropped since the stream was full' 'and says why'
run 60 "$REGTRACE" emulate -policy salvage run
is "$status" 0 'salvage takes it, and nothing of it cannot be right' || diag "$err"
run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/channels/gaps.py" run
while read -r name result; do
    is "$result" ok "$name"
done <<<"$out"
is "$(wc -l <<<"$out")" 6 'all channels were looked at' || diag "$err"
run 60 "$REGTRACE" prv -policy salvage -o prv run
is "$status" 0 'Paraver'"'"'s files' || diag "$err"
PYTHONDONTWRITEBYTECODE=1 run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/paraver/prv.py" prv thread check
is "$status" 0 'are what their format says' || diag "$err"
PYTHONDONTWRITEBYTECODE=1 run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/paraver/prv.py" prv thread 320
is "$(tr '\n' ',' <<<"$out")" '0 Not recorded,0 0,0 0x1000,0 Unknown,0 0x3000,0 0,0 Not recorded,0 0,0 Unknown,0 Not recorded,' 'functions in them'
# Real gaps, from a stream that is too small, and calls that last through them.
cc -O2 -I"$REGTRACE_SOURCE/share/include" -finstrument-functions -x c -o much - <<'C' || exit 99
#include <regtrace.h>
static void inner(int i)
{
    regtrace_region_begin(i % 2 ? "odd" : "even");
    regtrace_region_end(i % 2 ? "odd" : "even");
}
int main(void)
{
    for (int i = 0; i < 300000; i++)
        inner(i);
    return 0;
}
C
REGTRACE_FULL=drop REGTRACE_BUFFER=128K run 60 "$REGTRACE" run -quiet -functions 1 -o drop -- ./much
is "$status" 0 'a run whose stream is too small'
for command in 'prv -o drop-prv' emulate 'timeline -o drop.html'; do
    # shellcheck disable=SC2086  # words
    run 60 "$REGTRACE" $command -policy salvage drop
    is "$status" 0 "$command: nothing of it cannot be right" || diag "$err"
done
PYTHONDONTWRITEBYTECODE=1 run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/paraver/prv.py" drop-prv thread check
is "$status" 0 'its trace is what the format says' || diag "$err"
cat >through.py <<'P'
import h5py
with h5py.File("drop/rank-00000.h5", "r") as f:
    e = f["events"][:]
    functions = {int(r["code"]): r["name"] for r in f["functions"][:]}
    c = f["calibration"][:]
    rate = (int(c["monotonic_ns"][-1]) - int(c["monotonic_ns"][0])) / (int(c["ticks"][-1]) - int(c["ticks"][0]))
origin = int(e["clock"].min())
gaps = [((int(r["clock"]) - int(r["b"]) - origin) * rate, (int(r["clock"]) - origin) * rate) for r in e if functions[int(r["code"])] == b"EV_DROPPED"]
with h5py.File("drop/channels.h5", "r") as f:
    for name in "func.name", "region.name":
        rows = f[f"channels/thread/{name}"][:]
        times, states = rows["time"], rows["state"]
        shown = 0
        for a, b in gaps:
            if b - a < 10:
                continue
            last = times.searchsorted((a + b) / 2) - 1
            shown += states[last] != 666
        print(name, len(gaps) > 0, shown)
P
run 60 "$PYTHON" through.py
is "$out" $'func.name True 0\nregion.name True 0' 'in no gap anything is shown' || diag "$err"
done_testing
