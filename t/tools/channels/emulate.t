#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `regtrace emulate`: compares each change of channels with an oracle that reads the rank files
# independently. Also policies, options and the link in regtrace.h5.
. "$(dirname "$0")/../../lib.sh"
needs h5py
export PYTHONDONTWRITEBYTECODE=1
cd "$T" || exit 99

attribute() {
    "$PYTHON" -c 'import h5py, sys
v = h5py.File(sys.argv[1])[sys.argv[2]].attrs[sys.argv[3]]
print(v.decode() if isinstance(v, bytes) else v)' "$@"
}

ran=0
for mpi in $(mpis); do
    "mpicc.$mpi" -O1 -finstrument-functions -I"$REGTRACE_SOURCE/share/include" -o "told.$mpi" "$here/told.c" -pthread 2>/dev/null || continue
    ran=1
    run 90 mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$mpi" REGTRACE_DEFAULT_START=0 REGTRACE_FUNCTIONS='told_' "$T/told.$mpi"
    is "$status" 0 "$mpi: a program with windows, functions, marks and threads" || diag "$err"
    run 60 "$REGTRACE" emulate "$mpi"
    is "$status" 0 "$mpi: its channels" || diag "$err"
    like "$out" "^$mpi/channels.h5: [1-9][0-9]* channels, [1-9][0-9]* changes, 5 messages of [1-9][0-9]* events" "$mpi: it says what it made"
    run 60 "$PYTHON" "$here/emulate_oracle.py" "$mpi" "$mpi/channels.h5" "told.$mpi"
    is "$status" 0 "$mpi: every change is what the events say" || diag "$out$err"
    run 60 "$REGTRACE" emulate -cpu observed -policy lint -output "$mpi.observed.h5" "$mpi"
    is "$status" 0 "$mpi: places where events were recorded, and lint has nothing against it" || diag "$err"
    run 60 "$PYTHON" "$here/emulate_oracle.py" "$mpi" "$mpi.observed.h5" "told.$mpi"
    is "$status" 0 "$mpi: every change is right so too" || diag "$out$err"
    is "$(attribute "$mpi.observed.h5" / cpu) $(attribute "$mpi.observed.h5" / policy)" 'observed lint' "$mpi: the file says how it was made"
    run 60 "$REGTRACE" report "$mpi.observed.h5"
    like "$status $err" '^1 .*observed.h5 has the channels that .regtrace emulate. wrote: .*give regtrace the run.s folder' "$mpi: the file of channels is no run"
    last=$mpi
done
[ $ran = 1 ] || skip_all 'no MPI with a compiler'

cp "$last/channels.h5" first.h5
sleep 1.1 # a time stamp would differ
run 60 "$REGTRACE" emulate "$last/regtrace.h5"
is "$status" 0 'once more, by regtrace.h5'
cmp first.h5 "$last/channels.h5"
ok $? 'the same run gives the same bytes'
is "$(find . -name '*h5?*')" '' 'and no file of another name is left'

link() { "$PYTHON" -c 'import h5py, sys
f = h5py.File(sys.argv[1] + "/regtrace.h5")
print("channels" in f and f["channels/thread/mpi.function"].shape[0] > 0 and len(f["channel_rows/thread"]) > 0 and len(f["channel_labels"]) > 0 and "send_ns" in f["messages"].dtype.names)' "$1"; }
is "$(link "$last")" True 'regtrace.h5 reaches it'
rm "$last/regtrace.h5"
run 60 "$REGTRACE" report "$last"
is "$(link "$last")" True 'also when it is built anew'
run 60 "$REGTRACE" emulate -matches -output matches.h5 "$last"
is "$status" 0 'matches without channels'
is "$("$PYTHON" -c 'import h5py, sys
a, b = (h5py.File(name) for name in sys.argv[1:])
print(len(a["waits"]) > 0, [(a[n][:] == b[n][:]).all() and dict(a[n].attrs) == dict(b[n].attrs) for n in ("messages", "unmatched", "waits", "rows/thread")], len(b["channels/thread"]), dict(a.attrs) == dict(b.attrs))' "$last/channels.h5" matches.h5)" \
    'True [True, True, True, True] 0 True' 'they are the same'
mv "$last" moved
is "$(link moved)" True 'also in a folder that has moved'
rm moved/channels.h5 moved/regtrace.h5
run 60 "$REGTRACE" report moved
is "$("$PYTHON" -c 'import h5py; print(sorted(n for n in h5py.File("moved/regtrace.h5") if n.startswith(("channel", "messages", "unmatched", "waits"))))')" '[]' 'and there is no link to nothing'

run 60 "$REGTRACE" emulate -rank 1 -o one.h5 moved
is "$status" 0 'one rank alone'
is "$("$PYTHON" -c 'import h5py; print(set(h5py.File("one.h5")["rows/thread"]["rank"]))')" '{1}' 'its threads are all rows'
is "$("$PYTHON" -c 'import h5py; print(sum(int(r["count_events"]) for r in h5py.File("moved/regtrace.h5")["ranks"][:] if r["rank"] == 1))')" \
    "$(attribute one.h5 / events)" 'of its events'
[ ! -e moved/channels.h5 ]
ok $? 'a file of another name is not the run'"'"'s'

# refuses STATUS MESSAGE NAME ARGUMENT...: regtrace emulate ends with STATUS and a message that
# matches.
refuses() {
    local want=$1 message=$2 name=$3
    shift 3
    run 60 "$REGTRACE" emulate "$@"
    is "$status" "$want" "$name"
    like "$err" "$message" "$name: says why"
}
refuses 2 'policy is "soft": strict, lint and salvage are legal' 'a policy that is none' -policy soft moved
refuses 2 'cpu is "here": bound and observed are legal' 'a place that is none' -cpu here moved
refuses 2 'rank: ' 'no list of ranks' -rank x moved
refuses 2 'output is empty' 'no name' -output= moved
refuses 2 'wait is "soon"' 'no time' -wait soon moved
refuses 2 'no folder is named' 'no folder'
refuses 1 'none of the ranks asked for' 'a rank that is not there' -rank 77 moved
refuses 1 'one.h5 is there already: -force replaces it; -output FILE' 'a file that is there' -o one.h5 moved
refuses 1 'moved/rank-00000.h5 is a file of a recording, which is left alone' 'a rank file above all' -o moved/rank-00000.h5 -force moved
refuses 1 'nowhere/c.h5 cannot be made: No such file or directory; -output' 'a folder that is not there' -o nowhere/c.h5 moved
refuses 1 '/dev/full/x cannot be made: Not a directory' 'a place that takes nothing' -o /dev/full/x moved

# A killed run.
run 60 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/killed" REGTRACE_DEFAULT_START=0 REGTRACE_FUNCTIONS='told_' "$T/told.$last" kill
refuses 1 'files are not whole; -policy salvage' 'a killed run' killed
like "$err" 'rank 1 .*the process ended like this: killed' 'and what happened to whom'
like "$err" 'window [0-9]+ of thread 0 was never closed' 'and to which window'
[ ! -e killed/channels.h5 ]
ok $? 'nothing is made of it'
refuses 1 'files are not whole' 'lint refuses it too' -policy lint killed
run 60 "$REGTRACE" emulate -policy salvage killed
is "$status" 0 'salvage takes it' || diag "$err"
is "$("$PYTHON" -c 'import h5py
f = h5py.File("killed/channels.h5")
rows = f["channels/thread/region.window"][:]
print([int((rows["state"][rows["row"] == i] > 0).sum()) for i, r in enumerate(f["rows/thread"][:]) if r["rank"] == 1 and r["thread"] == 0], f.attrs["events"])')" \
    "[5] $("$PYTHON" -c 'import h5py, glob; print(sum(len(h5py.File(n)["events"]) for n in glob.glob("killed/rank-*.h5")))')" \
    'all windows of the killed rank are in it, and all events'

# More changes than one chunk holds, from several threads: in the order of time, with none missing.
cc -O2 -I"$REGTRACE_SOURCE/share/include" -o threads "$here/../streams/busy_threads.c" -pthread || exit 99
run 60 "$REGTRACE" run -quiet -o many -- ./threads
run 60 "$REGTRACE" emulate many
is "$status" 0 'many changes' || diag "$err"
is "$("$PYTHON" -c 'import glob, h5py
rows = h5py.File("many/channels.h5")["channels/thread/region.name"][:]
regions = sum(len([1 for c in h5py.File(n)["events"]["code"] if c in (0x5b5247, 0x5d5247)]) for n in glob.glob("many/rank-*.h5"))
print(len(rows) == regions, len(rows) > 3 * 8192, bool((rows["time"][1:] >= rows["time"][:-1]).all()))')" 'True True True' 'each is there'

# The file of channels alone: order, chunks, texts, and unused channels.
run 60 "$REGTRACE_BUILD/t/tools/channels/changes" changes.h5
is "$status" 0 'a file of changes that go back by 1 ns' || diag "$err"
is "$("$PYTHON" -c 'import h5py
f = h5py.File("changes.h5")
rows, few = f["channels/thread/all"][:], f["channels/cpu/few"][:]
print(bool((rows["time"][1:] >= rows["time"][:-1]).all()), len(rows), len(set(rows["state"].tolist())))
# Changes of one time keep the order in which they came.
same = rows["time"][1:] == rows["time"][:-1]
one = rows["row"][1:] == rows["row"][:-1]
print(bool((rows["state"][1:] > rows["state"][:-1])[same & one].all()), few.tolist(), [list(f["channels"][s]) for s in ("thread", "cpu")])
threads = f["rows/thread"][:]
print(len(threads), threads["host"][-2].decode(), threads["host"][-1].decode(), int(threads["rank"][-1]), f["labels"][1]["text"].decode(), int(f["labels"][1]["value"]) == 2**63 - 1)')" \
    'True 180000 180000
True [(7, 3, -5)] [['"'all'], ['few'"']]
1300 host lasthost 1299 the longest of these texts, with an é True' 'has them in order, all, once'
done_testing
