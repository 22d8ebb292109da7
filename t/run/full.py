# SPDX-License-Identifier: BSD-3-Clause
"""A full stream: with REGTRACE_FULL=drop events are dropped and counted; by default the program
waits, 2 s at most."""
from harness import *
import json

EVENTS, WAITED = 1000000, code("RDw")
tap = Tap()


def start(folder, **more):
    child = subprocess.Popen([PROGRAMS + "/emit.plain", folder + ".log", "1", str(EVENTS), "0"],
                             env=environment(folder, REGTRACE_BUFFER="1M", **more), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not wait_until(lambda: logged(folder + ".log")[0] > 0 and len(writers()) == 1, 30):
        child.kill()
        child.communicate()
        tap.ok(False, "the writer starts")
        sys.exit(tap.done())
    writer = writers()[0]
    os.kill(writer, signal.SIGSTOP)
    return child, writer


def end(name, child):
    out, err = child.communicate(timeout=120)
    tap.equal((child.returncode, out, err), (0, "emit: rank 0 wrote %d events on 1 threads\n" % EVENTS, ""),
              name + ": status and output as without us")


def look(name, folder):
    """Checks the rows of the file; returns (dropped, waits, seconds waited)."""
    tap.ok(settled(60), name + ": the writer closes")
    with open_plainly(os.path.join(folder, "rank-00000.h5")) as f:
        values, row = marks(f["events"][:], 0), f["threads"][:][0]
        # Without a writer that drains, the record that closes the window is dropped, too.
        closing = int((f["windows"]["truncated"] != 0).sum())
        seconds = float(waited(f)[0])
    tap.equal(len(values) + int(row["dropped"]) - closing, EVENTS, name + ": recorded and dropped are all events")
    tap.ok(bool(numpy.all(numpy.diff(values.astype(numpy.int64)) > 0)), name + ": those recorded are in order")
    check = tool("check", folder)
    tap.ok(check.returncode == 0, name + ": regtrace check", check.stdout[-600:], check.stderr[-300:])
    report = tool("report", "--json", folder)
    if tap.ok(report.returncode == 0, name + ": report", report.stderr[-300:]):
        lost = sum(r["lost"] for r in json.loads(report.stdout)["ranks"])
        tap.equal(lost, int(row["dropped"]), name + ": the report tells how many were lost")
    return int(row["dropped"]), int(row["waits"]), seconds


def drop():
    folder = os.path.join(SCRATCH, "drop")
    began = time.monotonic()
    child, writer = start(folder, REGTRACE_FULL="drop", REGTRACE_EXIT_WAIT=0)
    end("drop", child)
    took = time.monotonic() - began
    os.kill(writer, signal.SIGCONT)
    dropped, waits, _ = look("drop", folder)
    tap.ok(dropped > 0 and waits <= 1, "drop: events were dropped; at most the closing record waited", dropped, waits)
    tap.diag("drop: %d of %d dropped, the program took %.1f s" % (dropped, EVENTS, took))


def wait_a_while():
    folder = os.path.join(SCRATCH, "wait")
    child, writer = start(folder)
    time.sleep(1.6)
    os.kill(writer, signal.SIGCONT)
    end("wait", child)
    dropped, waits, seconds = look("wait", folder)
    tap.ok(waits > 0 and seconds > 0.5, "wait: the wait is counted", waits, seconds)
    tap.diag("wait: %d waits, %.2f s" % (waits, seconds))
    # A wait in vain ends after 2 s and drops events; its record may be one of them.
    if dropped and seconds > 1.9:
        why = "beside the 1.6 s that it was stopped, the writer was given no processor"
        tap.skip("wait: nothing was dropped", why)
        tap.skip("wait: and recorded where it was", why)
        return
    tap.equal(dropped, 0, "wait: nothing was dropped")
    # The stream says when the waits were: one record each, unless the edge of a window had to wait.
    with open_plainly(os.path.join(folder, "rank-00000.h5")) as f:
        events, row = f["events"][:], f["threads"][0]
        told = events[events["code"] == WAITED]
    tap.ok(0 < len(told) <= waits and 0.5 < int(told["a"].sum()) / int(row["wait_ticks"]) < 1.5,
           "wait: and recorded where it was", len(told), told["a"], row)


def wait_in_vain():
    folder = os.path.join(SCRATCH, "vain")
    child, writer = start(folder, REGTRACE_EXIT_WAIT=1)
    began = time.monotonic()
    end("a writer that never goes on", child)
    took = time.monotonic() - began
    os.kill(writer, signal.SIGCONT)
    dropped, waits, seconds = look("a writer that never goes on", folder)
    tap.ok(dropped > 0 and waits > 0 and seconds > 1.5, "a writer that never goes on: after 2 s events are dropped and counted",
           dropped, waits, seconds)
    tap.diag("in vain: %d dropped, %d waits of %.1f s together, the program took %.1f s" % (dropped, waits, seconds, took))


drop()
wait_a_while()
wait_in_vain()
sys.exit(tap.done())
