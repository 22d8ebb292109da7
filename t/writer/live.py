#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads the schema as other programs do: h5py by SWMR while the file grows, h5py after it is
closed, pandas, regtrace.h5, h5dump."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import h5py
import numpy
import pandas

BUILD = os.environ.get("REGTRACE_BUILD", ".")
WRITER = os.environ.get("REGTRACE_WRITER", os.path.join(BUILD, "writer/regtrace-writer"))
EMITTER = os.environ.get("REGTRACE_EMITTER", os.path.join(BUILD, "t/writer/emitter"))
MARK = ord("K") | ord("M") << 8 | ord("=") << 16
count = failed = 0
checked = []


def ok(passed, name, detail=""):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'ok' if passed else 'not ok'} {count} - {name}")
    if not passed and detail != "":
        print(f"# {detail}")
    sys.stdout.flush()


def wait_for(condition, seconds=20):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def emit(folder, stream, number, rate, ending):
    wait_for(lambda: not os.path.exists(stream))  # the writer before this one removes it last
    return subprocess.Popen([EMITTER, WRITER, folder, stream, str(number), str(rate), ending], stdout=subprocess.PIPE)


def checks(tail):
    """Returns what the column `check` must hold, by the rule of schema.md."""
    word = {n: tail[n].astype("u8") & 0xffffffff for n in ("code", "thread", "window", "cpu", "flags")}
    total = numpy.ones(len(tail), dtype="u8")
    for w in (tail["row"], tail["clock"], word["code"] + (word["thread"] << 32),
              word["window"] + (word["cpu"] << 32) + (word["flags"] << 48), tail["a"], tail["b"]):
        total = (total ^ w) * numpy.uint64(0x9e3779b97f4a7c15)
        total ^= total >> 32
    return total & 0xffffffff


def rows(f):
    """Returns the events of a file, including those of the tail, by the rule of schema.md."""
    tail = f["tail"][()] if "tail" in f else []
    events = f["events"]
    events.refresh()
    stored = events[()]
    if len(tail) == 0:
        return stored
    tail = numpy.sort(tail[tail["row"] >= len(stored)], order="row")
    fits = checks(tail) == tail["check"]
    checked.append((len(tail), int(fits.sum())))
    follows = fits & (tail["row"] == len(stored) + numpy.arange(len(tail)))
    tail = tail[:len(tail) if follows.all() else int(follows.argmin())]
    return numpy.concatenate([stored, tail[list(stored.dtype.names)].astype(stored.dtype)])


def test_live(folder, stream):
    process = emit(folder, stream, 30000, 6000, "finish")
    path = os.path.join(folder, "rank-00000.h5")
    ok(wait_for(lambda: os.path.exists(path)), "the file is there while the process runs")
    seen, states, errors, orders = [], set(), 0, True
    while process.poll() is None:
        try:
            with h5py.File(path, "r", libver="latest", swmr=True) as f:
                states.add(f.attrs["state"])
                marks = rows(f)
                marks = marks[marks["code"] == MARK]["b"]
                orders = orders and bool((marks == numpy.arange(len(marks))).all())
                seen.append(len(marks))
        except OSError:
            errors += 1
        time.sleep(0.1)
    ok(process.returncode == 0, "the process ends well")
    ok(b"open" in states, "its state is open")
    ok(len(set(seen)) >= 3 and sorted(seen) == seen, "a reader sees it grow", seen)
    ok(orders, "and every time all rows from the first on")
    # A row may be caught while it is written. A rule other than the writer's would fit no row.
    ok(len(checked) > 3 and sum(n - fits for n, fits in checked) <= len(checked), "the tail's checks fit", checked)
    # The first row is the opening of the window; chunks of /events have 8192 rows.
    ok(any((n + 1) % 8192 for n in seen if 0 < n < 30000), "rows that fill no chunk are seen too", seen)
    ok(errors <= 2, "opening by SWMR works nearly always while it is made", errors)
    with h5py.File(path, "r") as f:
        marks = f["events"][()]
        marks = marks[marks["code"] == MARK]
        ok((marks["b"] == numpy.arange(30000)).all(), "closed: it opens plainly and holds everything")
        ok(len(f["tail"]) == 0, "closed: the tail is empty")
        ok(f.attrs["state"] == b"closed" and f.attrs["end_reason"] == b"finished", "closed: state and reason")
        ok(f.attrs["chain.0"] == b"start:pcontrol:a,stop:pcontrol:b", "control chains are attributes")
        ok((marks["window"] == 0).all() and (marks["thread"] == 0).all(), "columns of window and thread")
        windows = pandas.DataFrame(f["windows"][()])
        ok(len(windows) == 1 and windows.truncated[0] == 0 and windows.stop_icount[0] == 42
           and windows.start_requested[0] == -1, "pandas reads /windows")
        frame = pandas.DataFrame(f["events"][()])
        ok(frame.clock.is_monotonic_increasing and list(frame.columns) ==
           ["clock", "code", "thread", "window", "cpu", "flags", "a", "b"], "pandas reads /events")
        names = {int(r["code"]): r["name"].decode() for r in f["functions"][()]}
        ok(names.get(MARK) == "EV_MARK_SET", "codes have names")


def test_appears(stream):
    """From the moment when its name appears, a file opens by SWMR and has all its attributes and
    datasets."""
    failures, trials = [], 8
    for _ in range(trials):
        folder = tempfile.mkdtemp(prefix="regtrace-live-")
        path = os.path.join(folder, "rank-00000.h5")
        process = emit(folder, stream, 300000, 6000, "finish")  # it lives until the file was read
        while not os.path.exists(path) and process.poll() is None:
            pass
        try:
            with h5py.File(path, "r", libver="latest", swmr=True) as f:
                if f.attrs["state"] != b"open" or "events" not in f or "alarms" not in f:
                    failures.append(f.attrs["state"])
        except (OSError, KeyError) as e:
            failures.append(e)
        process.kill()
        process.wait()
        wait_for(lambda: not os.path.exists(stream))
        shutil.rmtree(folder)
    ok(not failures, f"a file that is there can be read, {trials} times", failures)


def test_ends(folder, stream):
    process = emit(folder, stream, 12345, 0, "kill")
    process.wait()
    path = os.path.join(folder, f"rank-00000.{process.pid}.0.h5")

    def closed(name):
        try:
            with h5py.File(name, "r") as f:
                return f.attrs["state"] == b"closed"
        except OSError:
            return False

    ok(process.returncode == -9 and wait_for(lambda: closed(path)), "killed: the file closes and opens plainly")
    with h5py.File(path, "r") as f:
        marks = f["events"][()]
        marks = marks[marks["code"] == MARK]
        ok(len(marks) == 12345, "killed: every event is there", len(marks))
        window = f["windows"][0]
        ok(window["truncated"] == 1 and window["reason"] == 254 and window["stop_clock"] == marks["clock"][-1],
           "killed: the open window is marked, up to the last clock")
        ok(f.attrs["end_reason"] == b"killed", "killed: the reason")
    process = emit(folder, stream, 500, 0, "exec")
    path = os.path.join(folder, f"rank-00000.{process.pid}.0.h5")
    good = wait_for(lambda: closed(path))
    ok(good and process.poll() is None, "exec: the file closes while the process lives on")
    with h5py.File(path, "r") as f:
        ok(f.attrs["end_reason"] == b"exec" and len(f["events"]) == 502, "exec: reason and rows")
    process.kill()
    process.wait()


def test_index(folder):
    path = os.path.join(folder, "regtrace.h5")

    def three():
        try:
            with h5py.File(path, "r") as f:
                return len(f["ranks"]) == 3
        except OSError:
            return False

    ok(wait_for(three), "regtrace.h5 knows all files")
    here = os.getcwd()
    os.chdir("/")
    with h5py.File(path, "r") as f:
        ranks = pandas.DataFrame(f["ranks"][()])
        events = f["events"][()]
        ok(len(events) == ranks.count_events.sum() == 30002 + 12346 + 502, "one dataset of all events", len(events))
        good = True
        for row in f["ranks"][()]:
            name = row["file"].decode()[len("rank-"):-len(".h5")]
            own = f["rank"][name]["events"][()]
            part = events[row["first_events"]:row["first_events"] + row["count_events"]]
            good = good and bool((own == part).all())
        ok(good, "external links and virtual rows agree")
        ok(ranks.complete.all() and ranks.main.sum() == 1 and len(f["missing_ranks"]) == 0, "which files are complete")
        ok(len(f["windows"]) == 3 and len(f["threads"]) == 3, "windows and threads are joined")
    os.chdir(here)
    if shutil.which("h5dump") is None:
        print(f"ok {count + 1} - h5dump reads a rank file # SKIP no h5dump here")
        return
    result = subprocess.run(["h5dump", "-H", os.path.join(folder, "rank-00000.h5")], capture_output=True, text=True)
    ok(result.returncode == 0 and 'DATASET "events"' in result.stdout, "h5dump reads a rank file")


def ask(folder, line):
    sockets = [n for n in os.listdir(os.path.join(folder, "ctl")) if n.endswith(".path")]
    path = open(os.path.join(folder, "ctl", sockets[0])).read().split("\n")[1]
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(line.encode() + b"\n")
        return path, s.recv(4096).decode()


def test_documented(folder):
    source = os.environ.get("REGTRACE_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    with open(os.path.join(source, "share/doc/schema.md"), encoding="utf-8") as page:
        text = page.read()
    missing = []
    with h5py.File(os.path.join(folder, "rank-00000.h5"), "r") as f:
        for name, dataset in f.items():
            names = [name, *(dataset.dtype.names or ())]
            missing += [f"{name}.{n}" for n in names if f"`{n}`" not in text]
        missing += [n for n in f.attrs if f"`{n}`" not in text and not n.startswith("chain.")]
    ok(not missing, "every dataset, column and attribute is in schema.md", missing)


def test_control(folder, stream):
    process = emit(folder, stream, 3000, 1000, "finish")
    wait_for(lambda: os.path.isdir(os.path.join(folder, "ctl")) and
             any(n.endswith(".path") for n in os.listdir(os.path.join(folder, "ctl"))))
    path, answer = ask(folder, "status")
    ok('"ok":true' in answer and f'"pid":{process.pid}' in answer, "ctl: status answers", answer)
    ok(os.stat(path).st_mode & 0o777 == 0o600, "ctl: the socket is the user's own")
    ok('"ok":false' in ask(folder, "fire")[1], "ctl: fire is refused where no signal is reserved")
    ok('"ok":false' in ask(folder, "nonsense")[1], "ctl: nonsense is refused")
    base = path[:-len(".sock")]
    with open(base + ".new", "w") as f:
        f.write("status\n")
    os.rename(base + ".new", base + ".request")
    ok(wait_for(lambda: os.path.exists(base + ".answer"), 5) and '"ok":true' in open(base + ".answer").read(),
       "ctl: request files are answered")
    os.unlink(base + ".answer")
    process.wait()
    ok(wait_for(lambda: not os.path.exists(os.path.join(folder, "ctl")), 5), "ctl: nothing of it stays")


def main():
    folder = tempfile.mkdtemp(prefix="regtrace-live-")
    stream = f"/dev/shm/regtrace-test-{os.getpid()}-live"
    try:
        test_live(folder, stream)
        test_appears(stream)
        test_ends(folder, stream)
        test_index(folder)
        test_documented(folder)
        test_control(folder, stream)
        ok(wait_for(lambda: not os.path.exists(stream)), "no stream is left")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.exists(stream):
            os.unlink(stream)
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
