# SPDX-License-Identifier: BSD-3-Clause
"""Checks the Python package on rank files made by hand, whose right answers are written here."""

import os
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("REGTRACE_SOURCE", os.path.dirname(os.path.dirname(HERE)))
sys.dont_write_bytecode = True
try:
    import h5py
    import numpy as np
    import pandas as pd
except ImportError as missing:
    print(f"1..0 # SKIP {missing.name} is not installed for {sys.executable}")
    sys.exit(0)
sys.path.insert(0, os.path.join(SOURCE, "share", "python"))
sys.path.insert(0, HERE)
import handmade as hm  # noqa: E402

import regtrace  # noqa: E402

TESTS = []
FOLDER = tempfile.mkdtemp(prefix="regtrace-test.")


def test(function):
    TESTS.append(function)
    return function


def same(got, want):
    got = [None if value is pd.NA else value for value in got]
    assert got == list(want), f"got {got}, want {list(want)}"


def refused(call, *words):
    try:
        call()
    except regtrace.RegtraceError as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in {error}"
        return
    raise AssertionError("no RegtraceError")


def folder(name):
    path = os.path.join(FOLDER, name)
    os.makedirs(path, exist_ok=True)
    return path


def plain_events():
    """Returns the events of a small file.

    Thread 0: a region around a Send and a Recv with a Barrier inside, in one window. Thread 1: a
    cut Wait, in a second window. The file has the order of chunks, not of clocks: thread 1 comes
    last."""
    send, recv, barrier, wait = hm.SEND, hm.RECV, hm.BARRIER, hm.WAIT
    none = hm.peer_tag(hm.ABSENT, hm.ABSENT)
    return [
        hm.event(2000, hm.code("RW["), a=0),
        hm.event(2010, hm.code("GR["), a=1),
        hm.event(2020, hm.mpi(send, True), a=hm.peer_tag(3, 17), b=800 | 1 << 48),
        hm.event(2120, hm.mpi(send, False)),
        hm.event(2200, hm.mpi(recv, True), a=hm.peer_tag(-1, -1), b=4096 | 2 << 48, flags=hm.FORTRAN),
        hm.event(2220, hm.mpi(barrier, True), a=none, b=2 << 48, flags=hm.NESTED),
        hm.event(2240, hm.mpi(barrier, False), flags=hm.NESTED),
        hm.event(2300, hm.code("MCc"), a=99, b=hm.peer_tag(5, 42)),
        hm.event(2300, hm.code("MCb"), a=99, b=640),
        hm.event(2400, hm.mpi(recv, False), a=99, flags=hm.FORTRAN, cpu=0xFFFF),
        hm.event(2500, hm.code("GR]"), a=1),
        hm.event(2600, hm.code("RW]"), a=0),
        hm.event(2100, hm.code("RW["), thread=1, window=1, a=1),
        hm.event(2100, hm.mpi(wait, True), thread=1, window=1, a=none, flags=hm.CUT),
        hm.event(2150, hm.mpi(wait, False), thread=1, window=1, a=7),
        hm.event(2160, hm.mpi(hm.LARGE, True), thread=1, window=1, a=hm.peer_tag(0, 1), b=1 << 40 | 1 << 48),
        hm.event(2190, hm.mpi(hm.LARGE, False), thread=1, window=1, flags=hm.CUT),
        hm.event(2190, hm.code("RW]"), thread=1, window=1, a=1),
    ]


def plain_windows():
    return [hm.window(0, 0, 2000, 2600, 0, 11, start_alarm=0, stop_alarm=1, chain=0, start_icount=5, bcast=0,
                      start_late=20, stop_late=60),
            hm.window(1, 1, 2100, 2190, 12, 17, reason=1, bcast=1, firing=0, kind=2, truncated=1)]  # fmt: skip


def plain_file(path, **other):
    alarms = [(0, 0, 0, b"start", b"pcontrol", b"start:pcontrol:solve"), (1, 0, 1, b"stop", b"pcontrol", b"stop:pcontrol:ok")]
    fired = [(0, 1998, 0, 0, 0, 0, 0, -1, 4096, -1, -1, 0), (0, 2598, 0, 1, 0, 1, 2 | 8, 0, 4096, 50, 52, 1),
             (11, 2099, 1, -1, -1, 0, 16, -1, 0, -1, -1, 0)]
    content = {"events": plain_events(), "windows": plain_windows(), "strings": ["phase", "main", "ü"], "alarms": alarms,
               "fired": fired, "threads": [hm.thread(0, 1000, 3000, name=2, rows=12, dropped=3, waits=4, wait_ticks=80, own_ticks=40), hm.thread(1, 1500)]}  # fmt: skip
    content.update(other)
    return hm.write(path, **content)


@test
def a_python_that_lacks_something():
    for name in ("h5py", "numpy", "pandas"):
        lacks = f"import sys; sys.modules[{name!r}] = None; sys.path.insert(0, sys.argv[1]); import regtrace"
        result = subprocess.run([sys.executable, "-B", "-c", lacks, os.path.join(SOURCE, "share", "python")], stderr=subprocess.PIPE,
                                text=True, timeout=60, check=False)  # fmt: skip
        last = result.stderr.strip().splitlines()[-1]
        assert result.returncode == 1 and "Traceback" in result.stderr, result.stderr
        for word in ("ModuleNotFoundError: regtrace: ", f"{sys.executable} has no {name}:", "install python3-h5py and python3-pandas",
                     "perhaps /usr/bin/python3"):  # fmt: skip
            assert word in last, f"{word!r} is not in {last}"


@test
def calls_of_one_rank():
    path = folder("plain")
    plain_file(os.path.join(path, "rank-00000.h5"))
    run = regtrace.open(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = run.mpi_calls()
    same(c["function"], ["MPI_Send", "MPI_Wait", "MPI_Send_c", "MPI_Recv", "MPI_Barrier"])
    # The origin is tick 1000; a tick is half a nanosecond.
    same(c["begin_ns"], [510, 550, 580, 600, 610])
    same(c["duration_ns"], [50, 25, 15, 100, 10])
    same(c["bytes"], [800, None, 1 << 40, 4096, 0])
    same(c["peer"], [3, None, 0, regtrace.ANY_SOURCE, None])
    same(c["tag"], [17, None, 1, regtrace.ANY_TAG, None])
    same(c["comm"], [1, None, 1, 2, 2])
    same(c["request"], [0, 7, 0, 99, 0])
    same(c["depth"], [0, 0, 0, 0, 1])
    same(c["nested"], [False, False, False, False, True])
    same(c["fortran"], [False, False, False, True, False])
    same(c["cut_begin"], [False, True, False, False, False])
    same(c["cut_end"], [False, False, True, False, False])
    same(c["window"], [0, 1, 1, 0, 0])
    assert str(c["begin_ns"].dtype) == "int64"
    assert len(run.mpi_open()) == 0


@test
def filters():
    run = regtrace.open(folder("plain"))
    same(run.mpi_calls(window=1)["function"], ["MPI_Wait", "MPI_Send_c"])
    same(run.mpi_calls(thread=0)["function"], ["MPI_Send", "MPI_Recv", "MPI_Barrier"])
    same(run.mpi_calls(function="MPI_Send*")["function"], ["MPI_Send", "MPI_Send_c"])
    same(run.mpi_calls(function=["MPI_Recv", "MPI_Wait"])["function"], ["MPI_Wait", "MPI_Recv"])
    e = run.events(code="MPI_Recv")
    same(e["label"], ["enter", "leave"])
    same(e["cpu"], [1, None])
    same(run.events(code=hm.code("RW["))["thread"], [0, 1])
    same(run.events(code=["EV_REGION_*", "MPI_Send"], window=0)["time_ns"], [505, 510, 560, 750])
    assert len(run.events(window=(0, 1))) == 18
    assert len(run.events(window=7)) == 0
    assert len(run.events(window="0-1")) == 18
    same(run.events(window="1")["window"].unique(), [1])
    same(run.windows(window="1-9")["thread"], [1])
    for wrong in ("1-0", "first", "1-", "-1", ""):
        refused(lambda w=wrong: run.events(window=w), "is no span", "'4-9'")
    assert list(run.events(window=7).columns) == list(run.events().columns)
    assert run.events()["time_ns"].is_monotonic_increasing
    refused(lambda: run.events(code="EV_REGION_START"), "EV_REGION_START", "event_names", "near it: EV_REGION_")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert len(run.events(code="MPI_Sned")) == 0 and len(run.mpi_calls(function="MPI_Sned")) == 0
    assert ["near it: MPI_Send" in str(w.message) for w in seen] == [True, True], seen
    assert all(w.filename == __file__ for w in seen), "the warning points at the caller"
    assert len(run.events(code="MPI_I*")) == 0
    refused(lambda: run.windows(rank=4), "no file of rank 4", "0 to 0")


@test
def windows_and_alarms():
    run = regtrace.open(folder("plain"))
    w = run.windows()
    same(w["start_ns"], [500, 550])
    same(w["stop_ns"], [800, 595])
    same(w["duration_ns"], [300, 45])
    same(w["start_alarm"], ["start:pcontrol:solve", None])
    same(w["stop_alarm"], ["stop:pcontrol:ok", None])
    same(w["start_icount"], [5, None])
    same(w["closed_by"], ["alarm", "end of program"])
    same(w["opened_by"], ["alarm", "default start"])
    same(w["start_late_ns"], [10, 0])
    same(w["stop_late_ns"], [30, 0])
    same(w["ordinal"], [0, 1])
    same(w["thread"], [0, 1])
    same(w["bcast"], [False, True])
    same(w["firing"], [True, False])
    same(w["truncated"], [False, True])
    same(w["kind"], ["region", "prolog"])
    same(w["chain"], [0, None])
    same(run.windows(window=1)["thread"], [1])
    f = run.fired()
    same(f["event"], ["start", "stop", "start"])
    same(f["late"], [False, True, False])
    same(f["ignored"], [False, True, False])
    same(f["default_start"], [False, False, True])
    same(f["requested"], [None, 50, None])
    same(f["pass"], [0, 1, 0])
    same(run.fired(thread=1)["alarm"], [None])
    t = run.threads()
    same(t["name"], ["main", ""])
    same(t["end_ns"], [1000, None])
    same(t["events"], [12, 0])
    same(t["dropped"], [3, 0])
    same(t["waits"], [4, 0])
    same(t["wait_ns"], [40, 0])
    same(t["own_ns"], [20, 0])


@test
def regions_messages_marks():
    path = folder("marks")
    events = [*plain_events(),
              hm.event(2610, hm.code("KTt"), window=-1, a=5, b=3), hm.event(2611, hm.code("KTl"), window=-1, a=5 | 1 << 32, b=9),
              hm.event(2612, hm.code("KM="), a=5, b=9), hm.event(2613, hm.code("KM["), a=6, b=2**64 - 4)]  # fmt: skip
    plain_file(os.path.join(path, "rank-00000.h5"), events=events)
    run = regtrace.open(path)
    r = run.regions()
    same(r["name"], ["phase"])
    same(r["duration_ns"], [245])
    m = run.mpi_messages()
    same(m["source"], [5])
    same(m["tag"], [42])
    same(m["bytes"], [640])
    same(m["unknown"], [False])
    k = run.marks()
    same(k["action"], ["set", "push"])
    same(k["title"], ["ü", None])
    same(k["label"], ["phase", None])
    same(k["value"], [9, -4])


@test
def samples():
    path = folder("samples")
    top = 2**32
    events = [*plain_events(),
              hm.event(2620, hm.code("PSs"), a=0x401000, b=3 | 3 * top), hm.event(2621, hm.code("PSc"), a=0x77, b=0x401500),
              hm.event(2622, hm.code("PSs"), thread=1, a=0x10, b=1), hm.event(2623, hm.code("PSc"), a=0x401600, b=0)]  # fmt: skip
    plain_file(os.path.join(path, "rank-00000.h5"), events=events)
    s = regtrace.open(path).samples()
    same(s["thread"], [0, 1])
    same(s["ip"], [0x401000, 0x10])
    same(s["periods"], [3, 1])
    same(s["link"], [0x77, 0])
    same(s["callers"], [(0x401500, 0x401600), ()])
    p = regtrace.open(path).samples(places=True)
    same(p["stack"], ["?;?;?", "?"])  # the files have no images
    same(p["function"], [None, None])
    same(p["line"], [None, None])
    assert list(p.columns[: len(s.columns)]) == list(s.columns)


@test
def ranks_on_one_clock():
    path = folder("two")
    plain_file(os.path.join(path, "rank-00000.h5"), size=4)
    # This rank's ticks began elsewhere, and its node's clock is 40 ns behind that of rank 0.
    late = [(e["clock"] + 8000, *list(e.item())[1:]) for e in plain_events()]
    windows = plain_windows()
    for w in windows:
        w["start_clock"] += 8000
        w["stop_clock"] += 8000
    hm.write(os.path.join(path, "rank-00002.h5"), rank=2, size=4, events=late, windows=windows, start_ticks=9000,
             threads=[hm.thread(0, 9100)], attributes={"clock_offset_ns": np.int64(40)})  # fmt: skip
    child = [hm.event(1500, hm.mpi(hm.BARRIER, True), window=-1), hm.event(1600, hm.mpi(hm.BARRIER, False), window=-1)]
    hm.write(os.path.join(path, "rank-00002.777.1.h5"), rank=2, size=4, threads=[hm.thread(0, 1400)], events=child,
             windows=[hm.window(0, 0, 1500, 1600, 0, 1)], attributes={"pid": np.uint32(777)})  # fmt: skip
    run = regtrace.open(os.path.join(path, "regtrace.h5")) if os.path.exists(os.path.join(path, "regtrace.h5")) \
        else regtrace.open(path)
    same(run.ranks["rank"], [0, 2, 2])
    same(run.ranks["process"], [0, 0, 1])
    same(run.ranks["pid"], [4000, 4000, 777])
    same(run.ranks["state"], ["closed"] * 3)
    same(run.ranks["start_ns"], [0, 90, 200])
    same(run.ranks["events"], [18, 18, 2])
    # Rows of a forked child's file carry the child's number, in every frame.
    for frame, rows in ((run.events(), 38), (run.mpi_calls(), None), (run.windows(), None), (run.threads(), None)):
        assert rows is None or len(frame) == rows
        pairs = sorted(set(zip(frame["rank"], frame["process"])))
        assert pairs == [(0, 0), (2, 0), (2, 1)], pairs
    of_child = run.mpi_calls()
    of_child = of_child[of_child["process"] == 1]
    same(of_child["rank"], [2])
    same(of_child["function"], ["MPI_Barrier"])
    assert run.missing == [1, 3]
    same(run.windows(thread=0)["start_ns"], [500, 540, 250])
    assert run.origin_ns == 5_000_000_000
    assert run.origin_realtime_ns == 1_600_000_005_000_000_000
    same(regtrace.open(path, origin="monotonic").windows(rank=2, thread=0)["start_ns"], [5_000_000_540, 5_000_000_250])
    same(regtrace.open(path, origin="realtime").windows(rank=0, thread=0)["start_ns"], [1_600_000_005_000_000_500])
    refused(lambda: regtrace.open(path, origin="utc"), "utc", "realtime")
    c = run.mpi_calls(function="MPI_Send")
    same(c["rank"], [0, 2])
    same(c["begin_ns"], [510, 550])
    assert run.attributes(2, 1)["program"] == "handmade"
    same(regtrace.open(os.path.join(path, "rank-00002.h5")).windows(thread=0)["start_ns"], [450])


@test
def drift_and_large_ticks():
    path = os.path.join(folder("drift"), "rank-00000.h5")
    start = 2**63 + 12345
    hm.write(path, events=[hm.event(start + 2_000_000, hm.code("RW["))], start_ticks=start, threads=[hm.thread(0, start)],
             attributes={"clock_drift": 1e-3, "clock_offset_ns": np.int64(-7)})  # fmt: skip
    run = regtrace.open(path, origin="monotonic")
    same(run.events()["time_ns"], [5_000_000_000 + 1_000_000 - 7 + 1000])


@test
def lost_records():
    path = os.path.join(folder("lost"), "rank-00000.h5")
    send, recv = hm.SEND, hm.RECV
    events = [
        hm.event(2000, hm.mpi(send, True)),
        hm.event(2010, hm.code("RDd"), a=55),
        hm.event(2020, hm.mpi(send, False)),  # may belong to another call
        hm.event(2030, hm.mpi(recv, True)),
        hm.event(2040, hm.mpi(send, True)),
        hm.event(2050, hm.mpi(recv, False)),  # the leave of Send is missing without a mark
        hm.event(2060, hm.mpi(recv, True)),  # killed in this call
    ]
    hm.write(path, events=events, losses=[(1, 0, 55, 2010), (3, -1, 2, 0)], windows=[hm.window(0, 0, 2000, 0, 0, hm.NO_ROW)],
             threads=[hm.thread(0, 1000)])  # fmt: skip
    run = regtrace.open(path)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        c = run.mpi_calls()
    assert [w.category for w in seen] == [regtrace.IncompleteWarning]
    assert "4 enters" in str(seen[0].message), seen[0].message
    same(c["function"], ["MPI_Recv"])
    same(c["begin_ns"], [515])
    same(run.mpi_open()["edge"], ["enter", "leave", "enter", "enter"])
    same(run.losses()["kind"], ["dropped", "unthreaded"])
    same(run.losses()["count"], [55, 2])
    same(run.losses()["thread"], [0, None])
    same(run.windows()["stop_ns"], [None])


@test
def pairing_at_random():
    """The vectorised pairing gives the same result as a plain stack."""
    from regtrace.pairs import match

    rng = np.random.default_rng(20)
    for _ in range(300):
        edge, key, want, stack = [], [], [], []
        for i in range(int(rng.integers(0, 60))):
            if stack and rng.random() < 0.5:
                begin = stack.pop()
                want.append((begin, i, len(stack)))
                edge.append(-1)
                key.append(key[begin])
            else:
                stack.append(i)
                edge.append(1)
                key.append(int(rng.integers(0, 4)))
        begins, ends, alone, depth = match(edge, key, np.zeros(len(edge), dtype=bool))
        # Depth counts the complete calls around a call: calls that are never left do not count.
        open_below = np.array([sum(1 for s in stack if s < b) for b, _, _ in sorted(want)], dtype=int)
        got = list(zip(begins.tolist(), ends.tolist(), (depth + open_below).tolist()))
        assert got == sorted(want), (edge, key, got, sorted(want))
        assert alone.tolist() == stack


@test
def many_blocks():
    from regtrace import rankfile

    path = os.path.join(folder("many"), "rank-00000.h5")
    n = 20000
    rows = np.zeros(2 * n, dtype=hm.EVENT)
    rows["clock"] = 2000 + np.arange(2 * n)
    rows["code"] = np.where(np.arange(2 * n) % 2 == 0, hm.mpi(hm.SEND, True), hm.mpi(hm.SEND, False))
    rows["window"] = np.arange(2 * n) // 4000
    windows = [hm.window(i, 0, 2000 + 4000 * i, 6000 + 4000 * i - 1, 4000 * i, 4000 * i + 3999) for i in range(10)]
    hm.write(path, events=rows, windows=windows, threads=[hm.thread(0, 1000)])
    whole, rankfile.BLOCK = rankfile.BLOCK, 4999
    try:
        run = regtrace.open(path)
        assert len(run.mpi_calls()) == n
        assert len(run.mpi_calls(window=3)) == 2000
        assert len(run.events(window=[0, 9])) == 8000
        assert sum(len(part) for part in run.iter_events()) == 2 * n
        from regtrace import frames

        assert frames.row_range(run.files[0], 3) == (12000, 16000), "the filter is pushed down"
    finally:
        rankfile.BLOCK = whole


@test
def none_of_many():
    """If nothing matches, the columns of the empty frame need no row of /events."""
    path = os.path.join(folder("none"), "rank-00000.h5")
    rows = np.zeros(20000, dtype=hm.EVENT)
    rows["clock"] = 2000 + np.arange(len(rows))
    hm.write(path, events=rows, windows=[hm.window(0, 0, 2000, 30000, 0, 19999)], threads=[hm.thread(0, 1000)])
    run, read, whole = regtrace.open(path), [], h5py.Dataset.__getitem__

    def counting(self, *args, **kwargs):
        got = whole(self, *args, **kwargs)
        if self.name == "/events":
            read.append(np.size(got))
        return got

    h5py.Dataset.__getitem__ = counting
    try:
        events = run.events(window=7)
        calls = run.mpi_calls(window=7)
        assert sum(read) == 0, f"{sum(read)} rows were read for none"
        assert len(run.events(window=0)) == 20000 and sum(read) == 20000, "what is read is counted"
    finally:
        h5py.Dataset.__getitem__ = whole
    assert len(events) == 0 and list(events.columns) == list(run.events(window=0).columns)
    assert len(calls) == 0 and "begin_ns" in calls.columns


@test
def what_is_not_a_run():
    path = folder("odd")
    refused(lambda: regtrace.open(os.path.join(path, "nowhere")), "no such file")
    refused(lambda: regtrace.open(path), "holds no rank-*.h5")
    text, empty, foreign = (os.path.join(path, n) for n in ("a.txt", "rank-00001.h5", "foreign.h5"))
    with open(text, "w", encoding="utf-8") as f:
        f.write("not HDF5\n" * 100)
    refused(lambda: regtrace.open(text), "not an HDF5 file")
    with open(empty, "w", encoding="utf-8"):
        pass
    refused(lambda: regtrace.open(empty), "is empty", "recover")
    with h5py.File(foreign, "w") as f:
        f["x"] = 1
    refused(lambda: regtrace.open(foreign), "not one of regtrace's")
    newer = os.path.join(path, "newer.h5")
    plain_file(newer, attributes={"schema_version": np.uint32(9)})
    refused(lambda: regtrace.open(newer), "schema 9")
    cut = os.path.join(path, "cut.h5")
    plain_file(cut)
    with open(cut, "r+b") as f:
        f.truncate(os.path.getsize(cut) // 2)
    refused(lambda: regtrace.open(cut), "cut.h5", "recover")


def main():
    print(f"1..{len(TESTS)}")
    failed = 0
    for number, function in enumerate(TESTS, start=1):
        name = (function.__doc__ or function.__name__.replace("_", " ")).split("\n")[0].rstrip(".")
        try:
            function()
            print(f"ok {number} - {name}")
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
    shutil.rmtree(FOLDER)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
