# SPDX-License-Identifier: BSD-3-Clause
"""What capturing values costs: a sample against an empty handler on the same timer, slowdown, bytes, and listing."""
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
    """Runs of one way to capture; samples and bytes of the last."""
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


def per_sample(program, rate, follow, goal):
    """Rows of one rate: what a sample adds, and the slowdown in all."""
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
    cost = lambda which, number: [(t - b) / s for t, b, s in zip(pairs.others[which], pairs.bare, number)]
    bare_cost, our_cost = median(cost(0, signals)), median(cost(1, samples))
    more = (our_cost - bare_cost) / 1000
    differ = pairs.spread_absolute() / median(samples) / 1000
    title = "values, %d followed, %d samples a second" % (follow, rate)
    return [Row(title + ": a sample", "<= %.1f µs more" % goal if goal else "", "%+.2f µs" % more, more <= goal if goal else None,
                "%d x 4" % pairs.count, "%.2f µs" % differ,
                "than an empty handler, %.2f µs, on the same timer; %d samples, %d of the handler"
                % (bare_cost / 1000, median(samples), median(signals))),
            Row(title + ": slowdown", "", "%+.2f %%" % (100 * (pairs.ratio(1) - 1)), None, "%d x 4" % pairs.count,
                "%.2f %%" % (100 * pairs.spread()), "an empty handler %+.2f %%" % (100 * (pairs.ratio(0) - 1)))]


def capture():
    program, found = compile_program("value_samples"), []
    for rate in (250, 1000, 5200):
        for follow, goal in ((1, 0.5), (16, 3)):
            found += per_sample(program, rate, follow, goal if rate == 5200 else None)
    return found


def listing():
    """A profile of 10 million captured values (1 million with --quick), at some 20,000 instructions."""
    import measure
    many = 1000000 if measure.QUICK else 10000000
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
    title = "values, a profile of %d million captured values" % (many // 1000000)
    return [Row(title + ": after aggregation", "", "%.2f bytes each" % (size(folder) / many), None, "1", "",
                "synthetic, four a sample; %d instructions; %.1f MB" % (len(listed["instructions"]), size(folder) / 1e6)),
            Row(title + ": listed in", "", "%.2f s" % median(times), None, str(len(times)), "",
                "least %.2f s; with the plug-in" % min(times))]
