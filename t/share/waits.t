#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the Python package says of all ranks together: waits, messages, matrices, imbalance, windows;
# on runs whose answers are known.
. "$(dirname "$0")/../lib.sh"
needs h5py
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$REGTRACE_SOURCE/share/python PATH=$REGTRACE_BUILD:$PATH
cd "$T" || exit 99

# Compares the waits and messages of the report with those of the package: both follow one rule.
# waits_check.py compares them with what the program has measured.
cat >told.py <<'END'
import json, subprocess, sys, warnings, regtrace
warnings.simplefilter("ignore")
run = regtrace.open(sys.argv[2])
told = json.loads(subprocess.run([sys.argv[1], "report", "--json", sys.argv[2]], capture_output=True, check=True).stdout)
waits = run.waits()
want = {}
for (kind, function), part in waits.groupby(["kind", "function"], observed=True):
    longest = part.loc[part["wait_ns"].idxmax()]
    want[kind, function] = (len(part), part["wait_ns"].sum(), longest["wait_ns"], longest["rank"], longest["for_rank"])
got = {(t["kind"], t["function"]): (t["waits"], t["total_ns"], t["longest_ns"], t["rank"], t["for_rank"]) for t in told["waits"]}
# On a loaded machine, ranks that should wait may come late themselves.
assert got == want and got, (got, want)
for r in told["waits_by_rank"]:
    assert r["waited_ns"] == waits.loc[waits["rank"] == r["rank"], "wait_ns"].sum(), r
    assert r["others_waited_ns"] == waits.loc[waits["for_rank"] == r["rank"], "wait_ns"].sum(), r
messages, unmatched = run.messages(), run.unmatched()
pairs = {(m["from"], m["to"]): (m["messages"], m["bytes"]) for m in told["messages"]}
assert pairs == {pair: (len(part), part["bytes"].sum()) for pair, part in messages.groupby(["sender", "receiver"])}, pairs
assert [told[f"unmatched_{end}s"] for end in ("send", "receive")] == [int((unmatched["end"] == end).sum()) for end in ("send", "receive")]
# The calls that came late are those of the report.
places = run.waits(places=True)
assert (places["for_stack"].notna() == (places["for_path"] != 0)).all() and len(places) == len(waits)
late = {}
for t in told["late_calls"]:
    key = (t["kind"], t["function"], t["rank"])
    late[key] = late.get(key, 0) + t["waits"]
assert late == places.groupby(["kind", places["for_function"].fillna("?"), "for_rank"], observed=True).size().to_dict(), late
END

ran=0
for mpi in $(mpis); do
    "mpicc.$mpi" -O1 -o "waits.$mpi" "$here/waits.c" 2>/dev/null || continue
    ran=1 last=$mpi
    run 90 mpirun_for "$mpi" 3 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/$mpi" "$T/waits.$mpi" "$T/log.$mpi"
    is "$status" 0 "$mpi: ranks that wait for each other" || diag "$err"
    run 60 "$PYTHON" "$here/waits_check.py" "$mpi" "$T/log.$mpi"
    is "$status" 0 "$mpi: each wait is found, as long as the program measured, for whom" || diag "$out$err"
    run 60 "$PYTHON" told.py "$REGTRACE" "$mpi"
    is "$status" 0 "$mpi: and regtrace report says the same" || diag "$out$err"
    run 60 "$REGTRACE" emulate "$mpi"
    like "$out" ' 7 messages of ' "$mpi: all messages are matched"
    run 60 "$PYTHON" "$here/waits_check.py" "$mpi" "$T/log.$mpi"
    is "$status" 0 "$mpi: also with the file of the emulator" || diag "$out$err"
done
[ $ran = 1 ] || skip_all 'no MPI with a compiler'

cat >check1.py <<'END'
import sys, warnings, h5py, numpy as np, regtrace
warnings.simplefilter("error")
run = regtrace.open(sys.argv[1], origin="monotonic")
f = h5py.File(sys.argv[1] + "/channels.h5")
names = run.channels()
assert list(names["name"]) == list(f["channels/thread"]) and names["changes"].sum() == sum(len(d) for d in f["channels/thread"].values())
c = run.channel("mpi.function")
assert len(c) == len(f["channels/thread/mpi.function"]) and (c["duration_ns"] >= 0).all()
calls = run.mpi_calls()
for name, part in calls[calls["depth"] == 0].groupby("function", observed=True):
    shown = c[c["label"] == name]
    assert abs(shown["duration_ns"].sum() - part["duration_ns"].sum()) == 0, (name, shown, part)
    assert len(shown) == len(part) and set(shown["begin_ns"]) == set(part["begin_ns"]), name
end = c.groupby(["rank", "thread"])["end_ns"].max()
assert (end == int(f.attrs["origin_ns"]) + int(f.attrs["end_ns"])).all()
whole = c.groupby(["rank", "thread"])["duration_ns"].sum()
assert (whole == int(f.attrs["end_ns"])).all(), whole
assert set(run.channel("mpi.function", rank=1)["rank"]) == {1}
cpu = run.channel("ovni.threads", rows="cpu")
assert list(cpu.columns[:2]) == ["host", "number"] and cpu["state"].max() >= 3
def refused(call, word):
    try:
        call()
    except regtrace.RegtraceError as e:
        assert word in str(e), e
    else:
        raise AssertionError(word)
refused(lambda: run.channel("mpi.functions"), "near it: mpi.function")
refused(lambda: run.channel("mpi.function", rows="core"), "thread, cpu")
refused(lambda: run.mpi_matrix("calls"), "bytes and messages")
refused(lambda: run.imbalance("rank"), "run, window and function")
END
run 60 "$PYTHON" check1.py "$last"
is "$status" 0 'channels are what the calls are, for all of the time' || diag "$out$err"

run 60 "$REGTRACE" report "$last"
like "$out" 'late receiver +MPI_Ssend +1 ' 'the report has waits in words'
like "$out" 'Messages from rank to rank: 7 messages, 136 bytes, between 4 pairs' 'and messages'
run 60 "$REGTRACE" report -rank 0 "$last"
unlike "$out" 'Waits|Messages' 'of one rank alone nothing is reported'

# Communicators of some ranks, each with a different order of ranks.
cat >split.c <<'END'
#include <mpi.h>
#include <stdio.h>
#include <time.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Comm half;
    struct timespec late = {.tv_nsec = 80000000};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    for (int i = 0; i < 5 + rank % 2; i++)
        MPI_Barrier(half);
    if (rank == 3)
        nanosleep(&late, NULL);
    double before = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, &(int){1}, 1, MPI_INT, MPI_SUM, half);
    if (rank == 1)
        printf("%.0f\n", (MPI_Wtime() - before) * 1e9);
    MPI_Barrier(half);
    MPI_Finalize();
    return 0;
}
END
"mpicc.$last" -O1 -o split split.c || exit 99
run 60 mpirun_for "$last" 4 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/halves" "$T/split"
measured=$out
"$REGTRACE" report --json halves >halves.json
is "$("$PYTHON" -c 'import json, sys
r, measured = json.load(open("halves.json")), float(sys.argv[1])
w = [x for x in r["waits"] if x["function"] == "MPI_Allreduce"]
print([(x["kind"], x["rank"], x["for_rank"], 0.5 * measured < x["longest_ns"] < 1.01 * measured) for x in w], r["unmatched_collectives"])' "$measured")" \
    "[('collective', 1, 3, True)] 0" 'waits on communicators of some ranks'

# All ranks of a communicator make, use and free windows of one-sided communication, also after the
# communicator has been freed; and they open files.
cat >onesided.c <<'END'
#include <mpi.h>
#include <time.h>
static void late(int is)
{
    struct timespec wait = {.tv_nsec = 30000000};
    if (is)
        nanosleep(&wait, NULL);
}
int main(int argc, char **argv)
{
    int rank, data[4];
    MPI_Comm twin;
    MPI_Win win;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    late(rank == 1);
    MPI_File_open(twin, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    late(rank == 0);
    MPI_Win_create(data, sizeof data, 4, MPI_INFO_NULL, twin, &win);
    MPI_Comm_free(&twin);
    late(rank == 1);
    MPI_Win_fence(0, win);
    late(rank == 0);
    MPI_Win_free(&win);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
END
cat >onesided.py <<'END'
import json, subprocess, sys, regtrace
run = regtrace.open(sys.argv[2])
told = json.loads(subprocess.run([sys.argv[1], "report", "--json", sys.argv[2]], capture_output=True, check=True).stdout)
got = {t["function"]: (t["waits"], t["total_ns"], t["rank"], t["for_rank"]) for t in told["waits"] if t["kind"] == "collective"}
waits = run.waits()
functions = ["MPI_File_open", "MPI_Win_create", "MPI_Win_fence", "MPI_Win_free"]
calls = run.mpi_calls(function=functions)
for f in functions:
    first, last = (row for _, row in calls[calls["function"] == f].sort_values("begin_ns").iterrows())
    wait = min(first["end_ns"], last["begin_ns"]) - first["begin_ns"]
    assert got[f] == (1, wait, first["rank"], last["rank"]), (f, got, wait)
    of = waits[waits["function"] == f]
    assert list(of["wait_ns"]) == [wait] and list(of["for_rank"]) == [last["rank"]], (f, of)
assert told["unmatched_collectives"] == 0, told
END
for mpi in $(mpis); do
    "mpicc.$mpi" -O1 -o "onesided.$mpi" onesided.c 2>/dev/null || continue
    run 60 mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/onesided.d.$mpi" "$T/onesided.$mpi" "$T/onesided.file"
    is "$status" 0 "$mpi: windows of one-sided communication" || diag "$err"
    run 60 "$PYTHON" onesided.py "$REGTRACE" "onesided.d.$mpi"
    is "$status" 0 "$mpi: waits in their collective calls are reported" || diag "$out$err"
done

# All of MPI in one window, and a program with windows.
for app in comm stencil; do
    control=$([ $app = stencil ] && echo start:pcontrol:solve,stop:pcontrol:solved,repeat)
    [ -x "$APPS/$app.$last" ] || { skip "$app.$last" "it was not built"; continue; }
    run 120 mpirun_for "$last" 3 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL="$control" REGTRACE_DIR="$T/$app" "$APPS/$app.$last"
    is "$status" 0 "$app ran" || diag "$err"
    run 60 "$PYTHON" told.py "$REGTRACE" $app
    is "$status" 0 "$app: report and package have the same waits and messages" || diag "$out$err"
done

# Communicators other than the world, a persistent send, and a send to a rank that the run does not
# have.
cat >others.c <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, data[7] = {0};
    MPI_Comm half, both;
    MPI_Request again;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half); /* 2, 0 and 3, 1 */
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 2 + (rank + 1) % 2, 1, &both);
    for (int i = 0; i < 3; i++)
        if (rank >= 2)
            MPI_Send(data, 3, MPI_INT, 1, i, half);
        else
            MPI_Recv(data, 3, MPI_INT, 0, i, half, MPI_STATUS_IGNORE);
    MPI_Allreduce(MPI_IN_PLACE, data, 1, MPI_INT, MPI_SUM, half);
    MPI_Barrier(both);
    if (rank == 1) {
        MPI_Send_init(data, 5, MPI_INT, 0, 9, MPI_COMM_WORLD, &again);
        for (int i = 0; i < 2; i++) {
            MPI_Start(&again);
            MPI_Wait(&again, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&again);
    }
    for (int i = 0; i < 2 && rank == 0; i++)
        MPI_Recv(data, 5, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 3)
        MPI_Recv(data, 7, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Send(data, 7, MPI_INT, 3, 4, MPI_COMM_WORLD);
        (void)MPI_Send(data, 1, MPI_INT, 8, 4, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
END
cat >others.py <<'END'
import json, subprocess, sys, warnings, regtrace
tool, folder = sys.argv[1:]
told = json.loads(subprocess.run([tool, "report", "--json", folder], capture_output=True, check=True).stdout)
run = regtrace.open(folder)
def said(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        got = call()
    assert all(w.category is regtrace.IncompleteWarning and w.filename == __file__ for w in seen), [str(w) for w in seen]
    return got, " ".join(str(w.message) for w in seen)
def summed(kind, waits):
    part = waits[waits["kind"] == kind]
    return {f: (len(p), p["wait_ns"].sum()) for f, p in part.groupby("function")}
def check():
    (messages, text), (waits, more) = said(run.messages), said(run.waits)
    assert text == more == "1 sends and 0 receives have no partner: see run.unmatched()", (text, more)  # no collective call is left out
    for kind in ("collective", "late sender"):
        want = {t["function"]: (t["waits"], t["total_ns"]) for t in told["waits"] if t["kind"] == kind}
        assert summed(kind, waits) == want and (kind != "collective" or want), (kind, waits, want)
    (numbers, why), (sizes, again) = said(lambda: run.mpi_matrix("messages")), said(run.mpi_matrix)
    assert why == again and numbers.shape == (4, 4) and why.startswith("1 sends to ranks that are not known"), (numbers, why, again)
    pairs = {(s, r): (numbers.loc[s, r], sizes.loc[s, r]) for s in range(4) for r in range(4) if numbers.loc[s, r]}
    assert len(messages) == 9 and numbers.attrs["source"] == "messages"
    assert pairs == {(0, 3): (1, 28), (1, 0): (2, 40), (2, 0): (3, 36), (3, 1): (3, 36)}, pairs
    lone, = run.unmatched().to_dict("records")
    assert (lone["end"], lone["rank"], lone["receiver"], lone["tag"], lone["bytes"]) == ("send", 0, 8, 4, 4), lone
assert told["unmatched_collectives"] == 0
check()
subprocess.run([tool, "emulate", folder], capture_output=True, check=True)
check()
END
"mpicc.$last" -O1 -o others others.c || exit 99
run 60 mpirun_for "$last" 4 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/others.d" "$T/others"
is "$status" 0 'a program with more communicators than the world' || diag "$err"
run 60 "$PYTHON" others.py "$REGTRACE" others.d
is "$status" 0 'on them waits are what the report has; what is left out is reported, with what to do' || diag "$out$err"

# Windows that each rank opens and closes independently, and a rank that is killed.
cat >killed.c <<'END'
#include <mpi.h>
#include <signal.h>
int main(int argc, char **argv)
{
    int rank, data = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 4; i++) {
        MPI_Pcontrol(1, "part");
        MPI_Barrier(MPI_COMM_WORLD);
        for (int k = 0; k < i; k++)
            MPI_Allreduce(MPI_IN_PLACE, &data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (i == 3 && rank == 1)
            MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i >= 2 && rank == 0)
            MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Pcontrol(0, "parted");
        if (i == 2 && rank == 1)
            MPI_Recv(&data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (argc > 1 && rank == 1)
        raise(SIGKILL);
    MPI_Finalize();
    return 0;
}
END
"mpicc.$last" -O1 -o killed killed.c || exit 99
run 60 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL="start:pcontrol:part,stop:pcontrol:parted,repeat" REGTRACE_DIR="$T/parts" "$T/killed"
cat >check2.py <<'END'
import sys, warnings, numpy as np, regtrace
run = regtrace.open(sys.argv[1])
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    waits, messages, matrix = run.waits(), run.messages(), run.mpi_matrix()
text = " ".join(str(w.message) for w in said)
assert "1 sends and 0 receives have no partner" in text and "collective" not in text, text
# Rank 1 gets the first message outside its windows.
assert messages[["send_window", "receive_window"]].values.tolist() == [[3, 3]], messages
assert matrix.loc[0, 1] == 8 and matrix.attrs["source"] == "messages and sends", matrix
# In these windows the k-th collective call of one rank belongs to the k-th of the other.
calls = run.mpi_calls(function=["MPI_Barrier", "MPI_Allreduce"])
of = [calls[calls["rank"] == rank].reset_index(drop=True) for rank in (0, 1)]
assert len(of[0]) == len(of[1]) == 4 + 6, calls
want = set()
for own, other in (of, of[::-1]):
    wait = np.minimum(own["end_ns"], other["begin_ns"]) - own["begin_ns"]
    want |= {row for row in zip(own["rank"], own["window"], own["function"], own["begin_ns"], wait, other["rank"]) if row[4] > 0}
found = waits[waits["kind"] == "collective"]
assert set(found[["rank", "window", "function", "begin_ns", "wait_ns", "for_rank"]].itertuples(index=False, name=None)) == want, (found, want)
statistics = run.window_statistics().set_index(["window", "quantity"])
assert [int(statistics.loc[(w, "calls"), "max"]) for w in range(4)] == [1 + w + (w >= 2) for w in range(4)], statistics
assert int(statistics.loc[(2, "calls"), "max_rank"]) == 0
END
run 60 "$PYTHON" check2.py parts
is "$status" 0 'in windows only what both sides recorded is matched, and the rest told' || diag "$out$err"
cat >report.py <<'END'
import json, subprocess, sys, regtrace
run = regtrace.open(sys.argv[2])
told = json.loads(subprocess.run([sys.argv[1], "report", "--json", sys.argv[2]], capture_output=True, check=True).stdout)
told = {w["ordinal"]: w for w in told["windows_over_ranks"]}
statistics, outside = run.window_statistics(), run.imbalance("window").set_index("window")
assert set(told) == set(outside.index) and len(told) > 0, (told, outside)
NAMES = {"duration_ns": "duration_ns", "mpi_share": "mpi_share", "calls": "mpi_calls", "bytes": "mpi_bytes", "instructions": "instructions"}
rows = [(s["window"], NAMES[s["quantity"]], s) for s in statistics.to_dict("records")]
rows += [(s["window"], "outside_mpi_ns", s) for s in outside.reset_index().to_dict("records")]
for window, name, s in rows:
    t = told[window][name]
    # The report cuts the time of each call to whole ns.
    slack = {"mpi_share": 1e-3}.get(name, 20 if name.endswith("_ns") else 1e-6)
    near = lambda a, b: abs(a - b) <= 1e-9 * abs(b) + slack
    assert t["ranks"] == s["ranks"] and near(t["mean"], s["mean"]) and near(t["most"], s["max"]) and near(t["least"], s["min"]), (window, name, t, s)
    for who, other in (("most_rank", "max_rank"), ("least_rank", "min_rank")):
        assert t[who] == s[other] or near(s["max"], s["min"]), (window, name, t, s)
assert any(n == "mpi_calls" and s["max_rank"] != s["min_rank"] for _, n, s in rows)
END
for of in "$last" parts; do
    run 60 "$PYTHON" report.py "$REGTRACE" "$of"
    is "$status" 0 "regtrace report says the same of windows over ranks ($of)" || diag "$out$err"
done
run 30 "$REGTRACE" report parts
like "$out" 'Work of ranks outside MPI' 'and in words'
like "$out" 'Messages from rank to rank: [1-9]' 'messages with both ends in windows are matched'
unlike "$out" 'collective calls could not be compared' 'and all collective calls of the windows'
like "$out" '  collective +MPI_' 'and their waits are reported'
is "$(grep -cE '^ +[0-3] +2 .*% to ' <<<"$out")" 4 'a line a window'
run 60 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/dead" "$T/killed" kill
cat >check3.py <<'END'
import sys, warnings, regtrace
warnings.simplefilter("ignore")
run = regtrace.open(sys.argv[1])
assert len(run.waits()) >= 0 and int(run.mpi_matrix("messages").loc[0, 1]) == 2 and len(run.messages()) == 2
one = regtrace.open(sys.argv[1] + "/rank-00000.h5")
assert (one.waits()["kind"] != "collective").all() and len(one.window_statistics()) > 0
END
run 60 "$PYTHON" check3.py dead
is "$status" 0 'a rank that was killed, and one rank alone' || diag "$out$err"
printf '#include <regtrace.h>\nint main(void) { regtrace_region_begin("a"); regtrace_region_end("a"); return 0; }\n' >plain.c
gcc -I"$REGTRACE_SOURCE/share/include" -o plain.out plain.c || exit 99
run 30 "$REGTRACE" run -quiet -o plain -- ./plain.out
cat >check4.py <<'END'
import sys, regtrace
run = regtrace.open(sys.argv[1])
assert len(run.waits()) == 0 and run.mpi_matrix().to_numpy().sum() == 0 and len(run.imbalance("function")) == 0
try:
    run.channel("mpi.function")
except regtrace.RegtraceError as e:
    assert "regtrace emulate" in str(e), e
else:
    raise AssertionError
END
# Between windows other messages come and go: window k has the send k and the receive k - 1.
cat >shifted.c <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    for (int k = 1; k <= 4; k++) {
        MPI_Pcontrol(1, "solve");
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Pcontrol(0, "solved");
    }
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
END
"mpicc.$last" -O1 -o shifted shifted.c || exit 99
run 100 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/windows" \
    REGTRACE_CONTROL=start:pcontrol:solve,stop:pcontrol:solved,repeat ./shifted
cat >check5.py <<'END'
import sys, warnings, regtrace
warnings.simplefilter("ignore")
run = regtrace.open(sys.argv[1])
messages, unmatched = run.messages(), run.unmatched()
assert messages[["send_window", "receive_window"]].values.tolist() == [[0, 1], [1, 2], [2, 3]], messages
assert unmatched[["end", "window"]].values.tolist() == [["receive", 0], ["send", 3]], unmatched
assert (run.waits()["kind"] != "late sender").all()
END
run 60 "$PYTHON" check5.py windows
is "$status" 0 'messages are matched from window to window' || diag "$out$err"
run 60 "$PYTHON" check4.py plain
is "$status" 0 'a program without MPI' || diag "$out$err"
run 30 "$REGTRACE" report plain
unlike "$out" 'Work of ranks|Waits|outside MPI' 'of which the report has nothing to say'
done_testing
