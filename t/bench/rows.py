# SPDX-License-Identifier: BSD-3-Clause
"""Rows about regtrace itself: cost when idle, of an event, of an MPI call; memory, start-up,
instructions."""
import os
import time

import measure
from measure import *

MPIS = ("openmpi", "mpich")
TITLE = {"openmpi": "Open MPI", "mpich": "MPICH"}
IDLE = {"default_start": 0}
# A window may open here: the process is not idle, but nothing is recorded.
BETWEEN = {"control": "start:pcontrol:never"}


def percent(share):
    return "%+.2f %%" % (100 * share)


def compare_idle(name, pairs):
    difference = pairs.ratio() - 1
    return Row(name, "below what bare runs differ by", percent(difference), abs(difference) <= pairs.spread() or
               difference < 0, "%d x 3" % pairs.count, "%.2f %%" % (100 * pairs.spread()),
               "bare %.4g ns" % median(pairs.bare))


def idle_compute():
    program = compile_program("compute")
    return [compare_idle("idle preload, compute loop", Pairs(
        lambda: float(run([program])), lambda: float(run([program], traced(**IDLE))), count=25))]


def idle_pingpong():
    found = []
    for mpi in MPIS:
        program = mpi_program("pingpong", mpi)
        found.append(compare_idle("idle preload, 0-byte ping-pong, " + TITLE[mpi], Pairs(
            lambda: float(mpirun(mpi, 2, [program])),
            lambda: float(mpirun(mpi, 2, [program], traced(**IDLE))), count=12)))
    return found


def thread_rows(folder):
    """Waits until the writer has closed the file of rank 0; returns its threads table, number of
    events, size and calibration."""
    import h5py
    path = os.path.join(folder, "rank-00000.h5")
    for _ in range(600):
        try:
            with h5py.File(path, "r") as f:
                return f["threads"][:], len(f["events"]), os.path.getsize(path), f["calibration"][:]
        except OSError:
            time.sleep(0.1)
    raise CannotMeasure("no closed file in " + folder)


def event_bursts():
    program = compile_program("event")
    results, waits = [], 0
    for _ in range(rounds(12)):
        variables = traced()
        results.append(values(run([program, "bursts", "15", "100000", "150"], variables)))
        threads = thread_rows(variables["REGTRACE_DIR"])[0]
        waits += int(threads["waits"].sum())
    cost = median(r["event"] for r in results)
    best = min(r["least"] for r in results)
    clock, gettime = (median(r[k] for r in results) for k in ("rdtsc", "clock_gettime"))
    again = median(abs(a["event"] - b["event"]) for a, b in zip(results[::2], results[1::2]))
    return [Row("event with 16 bytes, bursts of 100,000", "<= 18 ns", "%.1f ns" % cost, cost <= 18,
                "%d x 15 bursts" % len(results), "%.1f ns (two traced runs)" % again,
                "fastest 2,000 events %.1f; first burst, untouched pages, %.1f; starting the recording %.1f ms; waited %d times" %
                (best, median(r["first"] for r in results), median(r["start"] for r in results) / 1e6, waits)),
            Row("rdtsc alone", "", "%.1f ns" % clock, None, len(results)),
            Row("clock_gettime alone", "", "%.1f ns" % gettime, None, len(results))]


def ns_per_tick(calibration):
    first, last = calibration[0], calibration[-1]
    return float(int(last["monotonic_ns"]) - int(first["monotonic_ns"])) / float(int(last["ticks"]) - int(first["ticks"]))


def lines_of(path):
    """Waits for what the stand-in of the writer wrote; returns its lines as lists of numbers."""
    for _ in range(100):
        if os.path.exists(path) and os.path.getsize(path):
            break
        time.sleep(0.05)
    with open(path) as f:
        return [[int(word) for word in line.split()] for line in f]


def event_sustained():
    program, stand_in, events, found = compile_program("event"), compile_program("peak"), 4000000, []
    for level in (1, 0):
        costs, shares, sizes, ours, writers = [], [], [], [], []
        for i in range(rounds(5)):
            peak = os.path.join(SCRATCH, "sustained%d.%d" % (level, i))
            variables = dict(traced(compress=level, writer=stand_in), BENCH_WRITER=WRITER, BENCH_PEAK=peak)
            printed = values(run([program, "sustained", str(events)], variables))
            costs.append(printed["sustained"])
            ours.append(printed["processor"])
            threads, stored, size, calibration = thread_rows(variables["REGTRACE_DIR"])
            if stored < events:
                raise CannotMeasure("%d of %d events are in the file" % (stored, events))
            waited = float(threads["wait_ticks"].sum()) * ns_per_tick(calibration)
            shares.append(waited / (costs[-1] * events))
            sizes.append(size / stored)
            writers.append(sum(line[1] for line in lines_of(peak)) * 1000 / events)
        cost, size, both = median(costs), median(sizes), median(a + b for a, b in zip(ours, writers))
        of, goals, n = "HDF5 with deflate %d" % level, level == 1, len(costs)
        found.append(Row("sustained, " + of, "<= 20 ns an event" if goals else "", "%.0f ns an event, %.2f million/s" %
                         (cost, 1e3 / cost), cost <= 20 if goals else None, n, "",
                         "%.0f %% of it waiting for the writer; nothing lost" % (100 * median(shares))))
        found.append(Row("sustained, processor time, " + of, "<= 45 ns an event" if goals else "",
                         "%.0f ns an event" % both, both <= 45 if goals else None, n, "",
                         "program %.0f, writer %.0f, its start and end included" % (median(ours), median(writers))))
        found.append(Row("sustained, size of the file, " + of, "<= 1.5 bytes an event" if goals else "",
                         "%.1f bytes an event" % size, size <= 1.5 if goals else None, n))
    return found


def mpi_call():
    found = []
    for mpi in MPIS:
        program = mpi_program("mpi_call", mpi)
        def once(variables=None):
            return float(mpirun(mpi, 1, [program, "301", "40" if variables else "0"], variables))
        pairs = Pairs(once, lambda: once(traced(**BETWEEN)), lambda: once(traced()), lambda: once(traced(**IDLE)), count=15)
        spread = "%.1f ns" % pairs.spread_absolute()
        for title, which, goal in (("recorded", 1, 40), ("between windows", 0, 5), ("idle", 2, 5)):
            added = pairs.added(which)
            remark = "bare %.1f ns, the call's clock and both events included" if which == 1 else "bare %.1f ns"
            found.append(Row("MPI_Barrier on self %s, %s" % (title, TITLE[mpi]), "<= %d ns more" % goal,
                             "%+.1f ns" % added, added <= goal, "%d x 5" % pairs.count, spread,
                             remark % median(pairs.bare)))
        found.append(mpi_sustained(mpi, program))
    return found


def mpi_sustained(mpi, program):
    seconds = 3 if measure.QUICK else 30
    bare = median(float(mpirun(mpi, 1, [program, "sustained", "1"])) for _ in range(3))
    added = float(mpirun(mpi, 1, [program, "sustained", str(seconds)], traced())) - bare
    return Row("MPI_Barrier on self for %d s, %s" % (seconds, TITLE[mpi]), "<= 55 ns more", "%+.1f ns" % added,
               added <= 55, 1, "", "bare %.1f ns; all recorded, without pauses; the mean" % bare)


def call_paths():
    """What call sites and call paths add to a recorded call."""
    found = []
    for mpi in MPIS:
        program = mpi_program("mpi_call", mpi)
        def once(callers):
            return float(mpirun(mpi, 1, [program, "301", "40", "10"], traced(callpath=callers)))
        pairs = Pairs(lambda: once(0), lambda: once(1), lambda: once(10), count=15)
        for title, which, goal in (("call site", 0, 5), ("call path of ten frames", 1, 200)):
            added = pairs.added(which)
            found.append(Row("%s of a recorded MPI_Barrier, %s" % (title, TITLE[mpi]), "<= %d ns more" % goal,
                             "%+.1f ns" % added, added <= goal, "%d x 4" % pairs.count,
                             "%.1f ns" % pairs.spread_absolute(), "without: %.1f ns" % median(pairs.bare)))
    return found


def mpi_profile():
    """What a profile adds to MPI calls; beside it the figures that mpiP had on such a machine."""
    found = []
    for mpi in MPIS:
        barrier, pingpong = mpi_program("mpi_call", mpi), mpi_program("pingpong", mpi)
        def once(calls, variables=None):
            return float(mpirun(mpi, 1, [barrier, str(calls), "0"], variables))
        for title, calls, count in (("", 301, 15), (", 40 million in a row", 20000, 5)):
            pairs = Pairs(lambda: once(calls), lambda: once(calls, traced(mode="profile")),
                          lambda: once(calls, traced(mode="profile", callpath=10)), count=count)
            spread = "%.1f ns" % pairs.spread_absolute()
            for what, which, goal, remark in (("call site", 0, 30, "mpiP: 75 ns without call sites, 681 with"), ("call path", 1, None, "2 frames")):
                added = pairs.added(which)
                found.append(Row("profile with %s, MPI_Barrier on self%s, %s" % (what, title, TITLE[mpi]),
                                 "<= %d ns more" % goal if goal else "", "%+.1f ns" % added, added <= goal if goal else None,
                                 "%d x 4" % pairs.count, spread, "bare %.1f ns; %s" % (median(pairs.bare), remark)))
        pairs = Pairs(lambda: float(mpirun(mpi, 2, [pingpong])),
                      lambda: float(mpirun(mpi, 2, [pingpong], traced(mode="profile"))), count=12)
        found.append(Row("profile, 0-byte ping-pong, " + TITLE[mpi], "<= 1.05 times bare", "%.3f times" % pairs.ratio(),
                         pairs.ratio() <= 1.05, "%d x 3" % pairs.count, "%.2f %%" % (100 * pairs.spread()),
                         "bare %.4g ns; mpiP: 1.18 times without call sites, 2.6 with" % median(pairs.bare)))
    return found


def point_to_point():
    """What following messages costs between windows."""
    found = []
    for mpi in MPIS:
        program = mpi_program("p2p", mpi)
        for what, title in (("exchange", "Irecv, Isend and two Waits"), ("sendrecv", "Sendrecv"),
                            ("wildcard", "the same from any source with any tag")):
            def once(variables=None):
                return float(mpirun(mpi, 1, [program, what], variables))
            pairs = Pairs(once, lambda: once(traced(**BETWEEN)), count=15)
            added = pairs.added(0)
            found.append(Row("between windows, a call of %s, %s" % (title, TITLE[mpi]), "<= 20 ns more", "%+.1f ns" % added,
                             added <= 20, "%d x 3" % pairs.count, "%.1f ns" % pairs.spread_absolute(),
                             "bare %.1f ns" % median(pairs.bare)))
    return found


def memory():
    found = []
    for mpi in MPIS:
        program = mpi_program("memory", mpi)
        added = {"rss": [], "pss": []}
        for _ in range(rounds(8)):
            bare = values(mpirun(mpi, 2, [program]))
            with_it = values(mpirun(mpi, 2, [program], traced()))
            for k in added:
                added[k].append((with_it[k] - bare[k]) / 1024)
        rss = median(added["rss"])
        found.append(Row("memory added to a rank, " + TITLE[mpi], "< 10 MiB", "%.1f MiB" % rss, rss < 10,
                         "%d x 2" % len(added["rss"]), "", "proportional: %.1f MiB" % median(added["pss"])))
    return found + writer_memory()


def writer_memory():
    stand_in, found = compile_program("peak"), []
    event = compile_program("event")
    small = [lambda v: mpirun("openmpi", 2, [mpi_program("memory", "openmpi")], v)] if have_mpi("openmpi") else []
    jobs = [("a small program", j) for j in small]
    jobs.append(("2,000,000 events without a pause", lambda v: run([event, "sustained", "2000000"], v)))
    for title, job in jobs:
        peaks = []
        for i in range(rounds(5)):
            peak = os.path.join(SCRATCH, "peak%d.%d" % (len(found), i))
            job(dict(traced(writer=stand_in), BENCH_WRITER=WRITER, BENCH_PEAK=peak))
            peaks += [line[0] / 1024 for line in lines_of(peak)]
        most = max(peaks)
        found.append(Row("memory of the writer, " + title, "< 40 MiB", "%.1f MiB at its peak" % most, most < 40,
                         len(peaks)))
    return found


def startup():
    found = []
    for mpi in MPIS:
        program = mpi_program("startup", mpi)
        def once(variables=None):
            began = time.monotonic()
            mpirun(mpi, 64, [program], variables, timeout=600)
            return time.monotonic() - began
        pairs = Pairs(once, lambda: once(traced()), count=7)
        ratio = pairs.ratio()
        found.append(Row("64 ranks start and end, " + TITLE[mpi], "<= 1.5 times bare", "%.2f times" % ratio,
                         ratio <= 1.5, "%d x 3" % pairs.count, "%.0f %%" % (100 * pairs.spread()),
                         "bare %.2f s, traced %.2f s" % (median(pairs.bare), median(pairs.others[0]))))
    return found


def instructions():
    """Returns exact counts, so one run suffices: single steps of the calls in a loop, minus the
    loop."""
    stepper, calls, found = compile_program("steps"), 100, []
    for mpi in MPIS:
        program = mpi_program("path", mpi)
        def count(what, variables=None):
            out = os.path.join(SCRATCH, "steps.out")
            given = ["%s=%s" % pair for pair in (variables or {}).items()]
            mpirun(mpi, 1, [stepper, out, "/usr/bin/env"] + given + [program, what, str(calls)])
            with open(out) as f:
                return int(f.read()) / calls
        nothing, bare = count("nothing"), count("barrier")
        idle, between, recorded = (count("barrier", traced(**v)) for v in (IDLE, BETWEEN, {}))
        if mpi == MPIS[0]:
            found.append(Row("instructions, regtrace_mark_set recorded", "", "%.0f" % (count("mark", traced()) - nothing),
                             None, calls, "", "call, clock and 32 bytes stored"))
            found.append(Row("instructions, regtrace_mark_set idle", "", "%.0f" % (count("mark", traced(**IDLE)) - nothing),
                             None, calls))
        found.append(Row("instructions added to MPI_Barrier, " + TITLE[mpi], "", "idle %+.0f, between windows %+.0f, recorded %+.0f" %
                         (idle - bare, between - bare, recorded - bare), None, calls, "", "bare %.0f" % (bare - nothing)))
    return found
