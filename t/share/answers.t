#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the package answers with the help of the command regtrace: the late rank of a seeded
# program, its call path and cost by the program's own clock; causes of waits; the critical path;
# places of samples; efficiencies; that a profile has no events. It starts the command if no file of
# matches fits, and says what to do where there is no command.
. "$(dirname "$0")/../lib.sh"
. "$here/../tools/report/logged.sh"
needs h5py
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$REGTRACE_SOURCE/share/python PATH=$REGTRACE_BUILD:$PATH
cd "$T" || exit 99
[ "$(uname -m)" = x86_64 ] || skip_all "call paths need x86-64"
source=$REGTRACE_SOURCE/t/tools/report/late.c
line() { grep -n "$1" "$source" | cut -d: -f1; }

cat >late.py <<'END'
import sys, warnings, regtrace
folder, log, send = sys.argv[1:]
run = regtrace.open(folder)
warnings.simplefilter("error")
waits = run.waits(places=True)
late = waits[waits["for_stack"].str.contains("second;give", na=False) & (waits["kind"] == "late sender")]
assert set(late["for_rank"]) == {1} and set(late["rank"]) == {0} and set(late["for_function"]) == {"MPI_Send"}, late
assert set(late["for_site_function"]) == {"give"} and set(late["for_line"]) == {int(send)}, late
assert late["for_file"].str.endswith("/late.c").all() and late["for_stack"].str.contains(r"(?:^|;)main;second;give$").all(), late
cost, (least, most) = late["wait_ns"].sum(), map(float, open(log).read().split())
assert 2000000 < least <= cost <= most, (least, cost, most)
# The sites of all calls, and of the waits, are the same.
calls = run.mpi_calls(places=True)
assert calls["stack"].notna().eq(calls["path"] != 0).all() and len(calls) == len(run.mpi_calls())
both = waits.merge(calls, on=["rank", "thread", "begin_ns"], suffixes=("", "_of_call"))
assert len(both) == len(waits) and all((both[c] == both[f"{c}_of_call"]).all() for c in ("function", "window", "path", "stack")), both
sends = calls[calls["stack"].str.endswith(";give", na=False)]
assert len(sends) == 60 and set(sends["line"]) == {int(send)} and set(sends["function"]) == {"MPI_Send"}, sends
assert sends["stack"].str.contains(";first;").sum() == 20, sends
END

cat >files.py <<'END'
import json, os, subprocess, sys, warnings, h5py, regtrace
folder = sys.argv[1]
tool = sys.argv[2]
def waits(tool=None):
    run = regtrace.open(folder, tool=tool)
    return run.waits(), run.messages(), run.mpi_matrix("messages").to_numpy().tolist()
def same(a, b):
    return all(x.equals(y) if hasattr(x, "equals") else x == y for x, y in zip(a, b))
def emulate(*options):
    subprocess.run([tool, "emulate", *options, folder], capture_output=True, check=True)
def refused(call, *words):
    try:
        call()
    except regtrace.RegtraceError as e:
        assert all(w in str(e) for w in words), e
        return
    raise AssertionError(words)
have, path = waits(), os.environ["PATH"]
assert len(have[0]) > 10 and len(have[1]) == 8 + 120, have[1]
assert not os.path.exists(f"{folder}/channels.h5"), "reading leaves nothing in the run's folder"
os.environ["PATH"] = "/nowhere"
refused(waits, "needs the command regtrace", "PATH", "tool=")
refused(lambda: waits("/nowhere/regtrace"), "/nowhere/regtrace is no program")
refused(lambda: waits("/bin/false"), "/bin/false emulate", "failed")
assert same(waits(tool), have), "tool= names the command"
for options in ((), ("--matches",), ("--policy", "salvage")):
    emulate(*options)
    assert same(waits(), have), "the run's file is read without the command"
for options in (("--rank", "0"), ("--messages", "none")):
    emulate(*options)
    refused(waits, "needs the command regtrace")
    assert same(waits(tool), have), "a file of another rank or without messages is not"
emulate()
with h5py.File(f"{folder}/channels.h5", "a") as f:
    f.attrs["events"] = f.attrs["events"] - 1
assert same(waits(tool), have), "nor one of fewer events"
with h5py.File(f"{folder}/channels.h5", "a") as f:
    f.attrs["events"] = f.attrs["events"] + 1
    del f["waits"]
assert same(waits(tool), have), "nor one of an older version"
os.rename(f"{folder}/channels.h5", "old.h5")
with open("old", "w") as f:
    f.write('#!/bin/sh\nwhile [ "$1" != --output ]; do shift; done\n/bin/cp old.h5 "$2"\n')
os.chmod("old", 0o755)
refused(lambda: waits(os.path.abspath("old")), "made by another version")
# Efficiencies are the report's; those of a whole are products of those of its parts.
os.environ["PATH"] = path
told, = json.loads(subprocess.run([tool, "report", "--efficiency", "--json", folder], capture_output=True, check=True).stdout)["runs"]
frame = regtrace.open(folder).efficiency()
assert frame["window"].isna().tolist() == [True] + [False] * len(told["windows"]) and len(told["windows"]) == 1, frame
for row, want in zip(frame.drop(columns="window").to_dict("records"), (told, *told["windows"])):
    assert row == {name: want[name] for name in row}, (row, want)
    assert abs(row["load_balance"] * row["serialisation"] * row["transfer"] - row["parallel_efficiency"]) < 1e-9, row
two = regtrace.efficiency(folder, regtrace.open(folder))
assert two[two["window"].isna()]["computation_scaling"].tolist() == [1, 1] and two["run"].tolist() == [folder] * 4, two
END

ran=0
for mpi in $(mpis); do
    build_logged "$mpi" "$source" ./late 2>/dev/null || continue
    rm -f log*
    ran=1
    run 60 "$REGTRACE" run -quiet -callpath 16 -o "$mpi" -- "mpirun.$mpi" -np 2 ./late "$T/log"
    is "$status" 0 "$mpi: the program ends" || diag "$err"
    run 60 "$PYTHON" late.py "$mpi" log "$(line '/. the send')"
    is "$status" 0 "$mpi: the late rank, its call path, the cost; places of all calls" || diag "$out$err"
    run 60 "$PYTHON" files.py "$mpi" "$REGTRACE"
    is "$status" 0 "$mpi: the file of matches, the command, efficiencies" || diag "$out$err"
done
[ $ran = 1 ] || skip_all 'no MPI with a compiler'

cat >causes.py <<'END'
import sys, warnings, pandas, regtrace
folder, log, send, reduce = sys.argv[1:]
run = regtrace.open(folder)
logged = dict(line.split() for line in open(log))
warnings.simplefilter("error")
def near(got, name):  # a busy machine adds delays of its own, which share the wait
    assert 0.5 * float(logged[name]) < got <= 1.05 * float(logged[name]), (name, got, logged[name])
# Rank 2 is late for rank 1, which is late for rank 0 therefore.
late = run.delays(window=0)
assert late["cost_ns"].is_monotonic_decreasing and late.attrs["unknown_ns"] == 0, late
assert (late["direct_ns"] + late["propagated_ns"] == late["cost_ns"]).all() and abs(late["share"].sum() - 1) < 1e-9, late
row, = late[(late["rank"] == 2) & (late["line"] == int(send))].to_dict("records")
near(row["direct_ns"], "chain")
assert row["propagated_ns"] > 0.5 * row["direct_ns"] and row["waits"] >= 1, row
assert (row["kind"], row["function"], row["site_function"]) == ("between", "MPI_Send", "root_cause"), row
assert row["file"].endswith("/delays.c") and row["stack"].endswith(";main;chain;root_cause"), row
assert row["activity"] == f"from the window's opening to MPI_Send in root_cause, delays.c:{send}", row
assert row["from_function"] == "the window's opening" and pandas.isna(row["from_file"]) and pandas.isna(row["from_line"]), row
# Rank 1 is late for a collective call.
row, = run.delays(window="1").query(f"rank == 1 and line == {reduce} and kind == 'between'").to_dict("records")
near(row["direct_ns"], "collective")
# All costs are all waits, which the package takes from elsewhere; the path has no gap.
for window in (0, 2, 4, 5):
    waits, late = run.waits(window=window)["wait_ns"].sum(), run.delays(window)
    assert abs(late["cost_ns"].sum() - waits) < 1000 and len(late), (window, late["cost_ns"].sum(), waits)
    times = run.windows(window=window)
    path = run.critical_path(by="window", window=window)
    assert path["window"].tolist() == [window] and not path["dropped"].any() and not path["broken"].any(), path
    # It ends with the last window, and begins with one: that of the rank to which it leads.
    first, last = path["start_ns"][0], times["stop_ns"].max()
    assert (times["start_ns"] - first).abs().min() < 10 and abs(path["stop_ns"][0] - last) < 10, (path, times)
    for by in ("activity", "rank"):
        parts = run.critical_path(by=by, window=window)
        assert abs(parts["path_ns"].sum() - (last - first)) < 1000 and abs(parts["share"].sum() - 1) < 1e-4, (by, parts)
        assert parts.attrs["length_ns"] == path["length_ns"][0], (by, parts)
paths = run.critical_path("window")
assert paths["window"].tolist() == list(range(7)), paths
assert abs(run.critical_path(window=[0, 1]).attrs["length_ns"] - paths["length_ns"][:2].sum()) < 10, paths
sent = run.critical_path(window=0).query(f"line == {send}").iloc[0]
assert sent["stack"].endswith("main;chain;root_cause") and sent["path_ns"] > 0.5 * float(logged["chain"]), sent
assert sent["imbalance_ns"] == sent["path_ns"] - sent["mean_ns"] > 0, sent
plain = regtrace.open(folder, origin="monotonic").critical_path("window")
assert (plain["start_ns"] - paths["start_ns"] == run.origin_ns).all(), plain
for call in (lambda: run.delays(window=[0, 2]), lambda: run.critical_path(by="day"), lambda: run.delays(window="2-")):
    try:
        call()
    except regtrace.RegtraceError:
        continue
    raise AssertionError("no RegtraceError")
END
cat >profile.py <<'END'
import sys, warnings, regtrace
run, beside = map(regtrace.open, sys.argv[1:])
asked = ("mpi_calls", "mpi_messages", "messages", "unmatched", "mpi_matrix", "waits", "delays", "critical_path", "imbalance")
def said(run, name):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        getattr(run, name)()
    return [str(w.message) for w in told if issubclass(w.category, regtrace.IncompleteWarning)]
for name in asked:
    text, = said(run, name)
    assert "a profile has no events" in text and "run.mpi_profile()" in text and "-control" in text, (name, text)
    assert not any("profile" in text for text in said(beside, name)), (name, said(beside, name))
assert run.mpi_profile()["calls"].sum() > 100 and not said(run, "mpi_profile") and not said(run, "windows")
END
source=$REGTRACE_SOURCE/t/tools/report/delays.c
for mpi in $(mpis); do
    "mpicc.$mpi" -O2 -g -w -I"$REGTRACE_SOURCE/share/include" -o delays "$source" 2>/dev/null || continue
    rm -rf causes profile beside
    run 60 "$REGTRACE" run -quiet -callpath 16 -control 'start:pcontrol:level=1,stop:pcontrol:level=0,repeat' -o causes -- "mpirun.$mpi" -np 4 ./delays "$T/log"
    is "$status" 0 "$mpi: the program of delays ends" || diag "$err"
    run 60 "$PYTHON" causes.py causes log "$(line 'late \*/')" "$(line 'MPI_Allreduce(')"
    is "$status" 0 "$mpi: delays() has what is late, its place and cost; critical_path() has all of the time" || diag "$out$err"
    run 60 "$REGTRACE" run -quiet -mode profile -o profile -- "mpirun.$mpi" -np 4 ./delays "$T/log"
    run 60 "$REGTRACE" run -quiet -mode profile -control start:pcontrol:level=1,stop:pcontrol:level=0 -o beside -- "mpirun.$mpi" -np 4 ./delays "$T/log"
    run 60 "$PYTHON" profile.py profile beside
    is "$status" 0 "$mpi: a profile is said to have no events, unless it has windows" || diag "$out$err"
done

cat >diff.py <<'END'
import json, subprocess, sys, regtrace
tool, one, two = sys.argv[1:]
told = json.loads(subprocess.run([tool, "diff", "--json", one, two], capture_output=True, check=True).stdout)
frame = regtrace.diff(one, regtrace.open(two))
tables = {name: rows for name, rows in told.items() if name in set(frame["table"])}
assert {"totals", "mpi", "waits"} <= tables.keys() and len(frame) == sum(map(len, tables.values())), frame
want = [(table, row["name"], row["time_ns"]["run_1"], row["time_ns"]["run_2"]) for table, rows in tables.items() for row in rows]
assert list(frame[["table", "name", "time_ns_1", "time_ns_2"]].itertuples(index=False, name=None)) == want, (frame, want)
assert not regtrace.diff(one, one)["time_ns_difference"].any()
END
if "$REGTRACE" help diff >/dev/null 2>&1; then
    cp -r "$mpi" copy
    run 60 "$PYTHON" diff.py "$REGTRACE" "$mpi" copy
    is "$status" 0 "diff() has what the command finds" || diag "$out$err"
else
    skip "diff() has what the command finds" "this build has no regtrace diff"
fi

cat >burn.c <<'END'
#include <time.h>
static volatile int x;
__attribute__((noinline)) static void burn(void)
{
    for (int i = 0; i < 100000; i++) x++; /* burns: one line, as samples fall on all of the loop */
    x++;
}
__attribute__((noinline)) static void outer(void)
{
    for (clock_t until = clock() + CLOCKS_PER_SEC; clock() < until;)
        burn();
    x++;
}
int main(void)
{
    outer();
    return x == 0;
}
END
gcc -O1 -g -o burn burn.c || exit 99
cat >burn.py <<'END'
import sys, regtrace
run = regtrace.open("burn.d")
samples = run.samples(places=True)
own = samples[samples["function"] == "burn"]
assert len(own) > 0.8 * len(samples) > 0 and len(samples) == len(run.samples()), samples
assert (own["line"] == int(sys.argv[1])).mean() > 0.5 and own["file"].str.endswith("/burn.c").all(), own
assert own["stack"].str.endswith(sys.argv[2]).all(), own["stack"]
END
for n in 16 0; do
    rm -rf burn.d
    run 60 "$REGTRACE" run -quiet -sample cpu:1ms -callpath $n -o burn.d -- ./burn
    stack=$([ $n = 0 ] && echo burn || echo 'main;outer;burn')
    run 60 "$PYTHON" burn.py "$(grep -n '/. burns' burn.c | cut -d: -f1)" "$stack"
    is "$status" 0 "samples have function, file, line and stack with -callpath $n" || diag "$out$err"
done
done_testing
