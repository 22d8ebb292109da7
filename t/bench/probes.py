# SPDX-License-Identifier: BSD-3-Clause
"""Rows about the cost of places in the program that alarms name."""
from measure import *


def probes():
    """Returns the rows of a function with room for a jump and of a function that is too small for
    one."""
    program = compile_program("probe")
    found = []

    def row(title, goal, arguments, controls, remark):
        once = lambda control=None: float(run([program] + arguments, traced(control=control) if control else None))
        pairs = Pairs(once, lambda: once(controls), count=11)
        added = pairs.added()
        text = "<= %s ns more" % goal if goal is not None else ""
        met = None if goal is None else added <= goal or added <= pairs.spread_absolute()
        found.append(Row(title, text, "%+.2f ns" % added, met, "%d x 3" % pairs.count,
                         "%.2f ns" % pairs.spread_absolute(), remark % median(pairs.bare)))
    row("places armed, never come to", 0, ["100000000"], "start:enter_func:never", "bare %.2f ns a call; the goal is no difference")
    row("a counted place that does not fire", 3, ["100000000"], "start:enter_func:large:count5000000000", "bare %.2f ns; by a jump")
    row("the same, where exits are waited for as well", 3, ["100000000"],
        "start:enter_func:large:count5000000000;start:exit_func:tiny:count5000000000", "bare %.2f ns; by a jump")
    row("a place that fires each time", None, ["1000000"], "precond:enter_func:large,repeat", "bare %.2f ns; by a jump")
    row("a counted place too small for a jump", None, ["200000", "small"], "start:enter_func:tiny:count5000000000",
        "bare %.2f ns; by an int3")
    row("a place too small for a jump, when its alarms are done", 0, ["100000000", "small"], "start:enter_func:tiny",
        "bare %.2f ns; the goal is no difference")
    row("a function's enter and exit alarms", None, ["100000"], "precond:enter_func:large,repeat;precond:exit_func:large,repeat",
        "bare %.2f ns; the exit by a jump")
    row("an exit alarm that is counted and does not fire", None, ["1000000"], "start:exit_func:large:count5000000000", "bare %.2f ns; enter and exit by jumps")
    row("that of a function too small for a jump", None, ["100000", "small"], "start:exit_func:tiny:count5000000000",
        "bare %.2f ns; the enter by an int3, the exit by a jump")
    return found
