# SPDX-License-Identifier: BSD-3-Clause
"""Tells what an event of REGTRACE_EVENTS counts, by its name in the kernel, PAPI or libpfm4.

`regtrace report` decides in the same way.
"""

import re

INSTRUCTIONS = {
    "instructions",
    "papi-tot-ins",
    "inst-retired",
    "instruction-retired",
    "instructions-retired",
    "retired-instructions",
}
CYCLES = {
    "cycles",
    "cpu-cycles",
    "papi-tot-cyc",
    "cpu-clk-unhalted",
    "unhalted-core-cycles",
    "cycles-not-in-halt",
}
_PAPI_MISS = re.compile(r"papi-(br-msp|tlb-(dm|im|tl)|prf-dm|l[123]-(dcm|icm|tcm|ldm|stm))")


def _whole(name):
    name = name.partition("::")[2] or name
    return name.removeprefix("PERF_COUNT_HW_").replace("_", "-").lower()


def plain(name):
    """Returns the name in lower case with '-' between words.

    Drops the table's name before '::' and what follows a ':'.
    """
    return _whole(name).partition(":")[0]


def is_miss(name):
    """Returns whether the event counts misses.

    Cycles in which misses wait are no misses. Arm calls a miss a refill.
    """
    name = _whole(name)
    if name.startswith("papi-"):
        return _PAPI_MISS.fullmatch(name.partition(":")[0]) is not None
    return any(w in name for w in ("miss", "refill", "mispred", "mis-pred")) and not any(
        w in name for w in ("cycles", "stall")
    )
