# SPDX-License-Identifier: BSD-3-Clause
"""Rows about counted instructions: a step, an edge by each back end, samples."""
from measure import *

FAR = "start:icount:1000000000000"


def loop(program, turns, variables=None):
    return float(run([program, str(turns)], variables))


def edges(backend, turns, period):
    """Returns the ns that an instruction takes longer while no edge is due, the ns of one edge, and
    the runs. There is an edge every `period` instructions."""
    program, pairs = compile_program("turns"), None
    def counted(chain):
        return lambda: loop(program, turns, traced(pmu=backend, control=chain))
    uniform = "uniform:%d:%d:1000000" % (2 * period, period)
    pairs = Pairs(lambda: loop(program, turns), counted(FAR), counted(uniform), count=12)
    an_edge = median(u - f for u, f in zip(pairs.others[1], pairs.others[0])) / (2 * turns / period)
    return pairs.added(0) / (2 * turns), an_edge, "%d x 4" % pairs.count


def stepped():
    step, edge, runs = edges("step", 10000, 10)
    return [Row("a step (REGTRACE_PMU=step)", "", "%.1f µs an instruction" % (step / 1000), None, runs),
            Row("an edge by step", "", "%.1f µs beside the steps" % (edge / 1000), None, runs, "", "a window's, recorded")]


def counted():
    """Measures the hardware counter, with 2 ms of instructions between edges. On a machine without
    a counter the row says why there is no number."""
    try:
        between, edge, runs = edges("perf", 500000000, 4000000)
    except CannotMeasure as e:
        if "was not started" not in str(e):
            raise
        return [Row("an edge by perf", "", "no counter here", None, 0, "", "`regtrace doctor` says why")]
    return [Row("between edges, perf", "", "%+.4f ns an instruction" % between, None, runs),
            Row("an edge by perf", "", "%.1f µs" % (edge / 1000), None, runs, "", "a window's, recorded")]


def sampled():
    program, found = compile_program("compute"), []
    for what in ("cpu:10ms", "cpu:1ms"):
        pairs = Pairs(lambda: float(run([program])), lambda: float(run([program], traced(sample=what))), count=12)
        found.append(Row("samples, %s, compute loop" % what, "", "%+.2f %%" % (100 * (pairs.ratio() - 1)), None,
                         "%d x 3" % pairs.count, "%.2f %%" % (100 * pairs.spread())))
    return found


def counting():
    return counted() + stepped() + sampled()
