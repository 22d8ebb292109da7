# SPDX-License-Identifier: BSD-3-Clause
"""Rows about captured values: a sample against an empty handler on the same timer, slowdown, bytes,
and listing."""
import json
import os
import time

from measure import *

ITERATIONS = "800000000"


def regtrace(*words):
    return run([os.path.join(BUILD, "regtrace")] + list(words), timeout=1200)


def took(text):
    found = values(text)
    return found["time"], found["signals"]


def size(folder):
    return sum(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder) if f.startswith("rank-"))


class Traced:
    """Runs one way to capture; keeps the samples and bytes of the last run."""
    def __init__(self, program, period, follow):
        self.line, self.samples, self.bytes = [program, ITERATIONS], 0, 0
        self.options = {"values": "vp-classic", "values_follow": follow, "values_sample": "task-clock:%d" % period}

    def __call__(self):
        variables = traced(**self.options)
        spent = took(run(self.line, variables))[0]
        listed = json.loads(regtrace("values", "-json", "-most", "1", variables["REGTRACE_DIR"]))
        self.samples, self.bytes = listed["samples"], size(variables["REGTRACE_DIR"])
        if self.samples == 0:
            raise CannotMeasure("no samples were captured")
        return spent


def slowdown(program, rate, follow):
    """Returns the row of one rate: the total slowdown. Timer, signal and empty handler are most of
    it."""
    period, signals, samples = 1000000000 // rate, [], []
    way = Traced(program, period, follow)

    def empty():
        spent, n = took(run([program, ITERATIONS, str(period)]))
        signals.append(n)
        return spent

    def capturing():
        spent = way()
        samples.append(way.samples)
        return spent

    pairs = Pairs(lambda: took(run([program, ITERATIONS]))[0], empty, capturing, count=9)
    if min(signals) == 0:
        raise CannotMeasure("the kernel's timer sent no signals")
    return [Row("values, %d followed, %d samples a second: slowdown" % (follow, rate), "", "%+.2f %%" % (100 * (pairs.ratio(1) - 1)),
                None, "%d x 4" % pairs.count, "%.2f %%" % (100 * pairs.spread()),
                "an empty handler %+.2f %%; %d samples, %d of the handler"
                % (100 * (pairs.ratio(0) - 1), median(samples), median(signals)))]


def per_sample(program, rate):
    """Returns rows of how much longer a sample interrupts the program than an empty handler on the
    same timer. Takes medians of interruptions. Each kind runs for 10 ms in turn in one process,
    since the timer itself takes 25 µs at some times and 40 at others."""
    period, found = 1000000000 // rate, {1: [], 16: []}
    for _ in range(rounds(9)):
        for follow, all_of_it in found.items():
            options = {"values": "vp-classic", "values_follow": follow, "values_sample": "task-clock:%d" % period, "default_start": 0}
            all_of_it.append(values(run([program, "gaps", str(period), "100"], traced(**options))))
    if min(f["signals"] for f in found[1] + found[16]) == 0:
        raise CannotMeasure("the kernel's timer sent no signals")
    rows = []
    for (follow, all_of_it), goal in zip(found.items(), (0.5, 3)):
        more = median(f["captured"] - (f["empty"] + f["again"]) / 2 for f in all_of_it) / 1000
        differ = median(abs(f["again"] - f["empty"]) for f in all_of_it) / 1000
        rows.append(Row("values, %d followed: a sample" % follow, "<= %.1f µs more" % goal, "%+.2f µs" % more, more <= goal,
                        "%d x %d" % (len(all_of_it), median(f["captured_count"] for f in all_of_it)), "%.2f µs" % differ,
                        "than an empty handler on the same timer, which keeps the program for %.2f µs; in a loop of registers alone"
                        % (median(f["empty"] for f in all_of_it) / 1000)))
    return rows


def capture():
    program, found = compile_program("value_samples"), []
    for rate in (250, 1000, 5200):
        for follow in (1, 16):
            found += slowdown(program, rate, follow)
    return found + per_sample(program, 5200)


def listing():
    """Returns the rows of a profile of 10 million samples (1 million with --quick), with four
    captured instructions each, at some 20,000 instructions."""
    import measure
    samples = 1000000 if measure.QUICK else 10000000
    many = 4 * samples
    folder = os.path.join(SCRATCH, "profile")
    os.mkdir(folder)
    run([os.path.join(BUILD, "t", "writer", "value_emitter"), WRITER, folder, os.path.join(SCRATCH, "profile.stream"),
         "vp-classic", "wide", str(many)], timeout=1200)
    listed = json.loads(regtrace("values", "-json", folder))
    if listed["captured"] != many or listed["unprocessed"] or listed["failed"] or sum(
            i["values"] for i in listed["instructions"]) != many:
        raise CannotMeasure("the profile does not have all values")
    times = []
    for _ in range(rounds(9)):
        began = time.monotonic()
        regtrace("values", folder)
        times.append(time.monotonic() - began)
    title = "values, a profile of %d million samples" % (samples // 1000000)
    return [Row(title + ": after aggregation", "", "%.2f bytes a sample" % (size(folder) / samples), None, "1", "",
                "synthetic, four captured instructions a sample; %d instructions; %.1f MB" % (len(listed["instructions"]), size(folder) / 1e6)),
            Row(title + ": listed in", "", "%.2f s" % median(times), None, str(len(times)), "",
                "least %.2f s; with the plug-in" % min(times))]
