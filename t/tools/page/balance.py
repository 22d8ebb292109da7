# SPDX-License-Identifier: BSD-3-Clause
"""Checks in a browser which rank a page says has most work.

usage: balance.py PAGE.html RANK LOG WINDOW; prints lines "ok|what" or "no|what|why". LOG is that
of quiet.c's rank RANK: it has the least and the most that its windows last."""

import re
import sys

from browser import Browser
from page_checks import UNITS, ok


def main():
    page, rank, log, window = sys.argv[1:]
    with open(log, encoding="utf-8") as file:
        times = next(line.split()[1:] for line in file if line.split()[0] == window)
    begin_least, begin_most, end_least, end_most = map(int, times)
    with Browser() as b:
        b.open(page, ready="window.regtracePage && document.readyState === 'complete'")
        tree = b.run("document.querySelector('#efficiency').innerText")
        summary = b.run("document.querySelector('#summary').innerText")
    found = re.search(r"most work: rank (\d+)", tree)
    ok(found and found[1] == rank, f"rank {rank} has most work", tree)
    found = re.search(r"rank (\d+) works ([\d.]+) (\S+) outside MPI, ([\d.]+) times", summary)
    ok(found and found[1] == rank, "the summary names it too", summary)
    # Figures have four digits.
    worked = float(found[2]) * UNITS[found[3]] if found else 0
    least, most = end_least - begin_most, end_most - begin_least
    ok(least * 0.998 <= worked <= most * 1.002, "with its time", f"{worked}, {least} to {most}")
    share = re.search(r"load balance is ([\d.]+) %", summary)
    product = float(share[1]) * float(found[4]) if found and share else 0
    ok(abs(product - 100) < 2, "which is that many times the mean", f"{product} %")


main()
