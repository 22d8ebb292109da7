#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Computes a comparison of two runs anew from their rank files, with h5py, and compares it with
what regtrace diff says as JSON, text (-top 0) and HTML. Prints each difference, and last how many
rows of each kind were compared.

usage: oracle.py RUN1 RUN2 JSON TEXT HTML

Checked from the files: totals, windows, MPI functions and counters, with noise and p. Of the other
tables: that their sums fit, and which figures are marked by their p.
"""
import collections
import glob
import html.parser
import json
import math
import os
import re
import sys

import h5py

LEVEL = 0.01
TOLERANCE = 1e-3
TABLES = [
    "totals",
    "mpi",
    "functions",
    "samples",
    "paths",
    "waits",
    "late_calls",
    "counters",
    "windows",
]
UNITS = {
    "ns": 1,
    "us": 1e3,
    "ms": 1e6,
    "s": 1e9,
    "": 1,
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}
QUANTITIES = ("time_ns", "count", "bytes")


def wrong(*what):
    print("wrong:", *what)


def close(a, b, tolerance=2e-3, least=1.0):
    return a is not None and abs(a - b) <= max(tolerance * max(abs(a), abs(b)), least)


# --- the rank files -------------------------------------------------------------------------------


def text(value):
    return value.split(b"\0")[0].decode() if isinstance(value, bytes) else str(value)


class Run:
    """figures[name][quantity][ordinal]: sums over the ranks."""

    def __init__(self, folder):
        self.figures = collections.defaultdict(lambda: [collections.Counter() for _ in QUANTITIES])
        self.ranks = collections.Counter()  # by ordinal
        self.cut = set()
        self.processes = 0
        for path in sorted(glob.glob(os.path.join(folder, "rank-*.h5"))):
            with h5py.File(path, "r") as f:
                self.add(f)

    def add(self, f):
        names = {int(r["code"]): (text(r["name"]), text(r["label"])) for r in f["functions"][:]}
        points = f["calibration"][:]
        ticks = int(points[-1]["ticks"]) - int(points[0]["ticks"])
        rate = (int(points[-1]["monotonic_ns"]) - int(points[0]["monotonic_ns"])) / ticks
        windows = f["windows"][:]
        self.processes += len(windows) > 0
        for ordinal in {int(w["ordinal"]) for w in windows}:
            self.ranks[ordinal] += 1
        for w in windows:
            ordinal, ns = int(w["ordinal"]), (int(w["stop_clock"]) - int(w["start_clock"])) * rate
            if int(w["truncated"]) == 1 or int(w["stop_clock"]) == 0:
                self.cut.add(ordinal)
            self.count("in windows", ordinal, ns, 1, 0)
            self.count("outside MPI", ordinal, ns, 0, 0)
        stacks = collections.defaultdict(list)
        index, heap = f["string_index"][:], f["strings"][:].tobytes()
        strings = {
            int(r["id"]): heap[int(r["offset"]) : int(r["offset"]) + int(r["length"])].decode()
            for r in index
        }
        for e in f["events"][:]:
            if names.get(int(e["code"]), "?")[0] == "EV_COUNTER":
                self.count(
                    "counter " + strings[int(e["a"]) & 0xFFFFFFFF],
                    int(e["window"]),
                    0,
                    int(e["b"]),
                    0,
                )
            self.event(e, names.get(int(e["code"]), ("?", "")), stacks[int(e["thread"])], rate)

    def event(self, e, name, stack, rate):
        if name[0] in ("EV_WINDOW_OPEN", "EV_WINDOW_CLOSE", "EV_DROPPED"):
            stack.clear()
        if not name[0].startswith("MPI_"):
            return
        if name[1] == "enter":
            nobody = int(e["a"]) & 0xFFFFFFFF == 2**32 - 2
            stack.append((name[0], int(e["clock"]), 0 if nobody else int(e["b"]) & (2**48 - 1)))
        elif stack and stack[-1][0] == name[0]:
            _, start, size = stack.pop()
            if not stack:
                ns = (int(e["clock"]) - start) * rate
                self.count(name[0], int(e["window"]), ns, 1, size)
                self.count("in MPI", int(e["window"]), ns, 1, size)
                self.count("outside MPI", int(e["window"]), -ns, 0, 0)

    def count(self, name, ordinal, *values):
        for quantity, value in enumerate(values):
            self.figures[name][quantity][ordinal] += value


# --- statistics -----------------------------------------------------------------------------------


def simpson(function, to, n=4000):
    """Integrates from 0 to `to`."""
    points = [function(to * i / n) for i in range(n + 1)]
    return to * (points[0] + points[-1] + 4 * sum(points[1::2]) + 2 * sum(points[2:-1:2])) / (3 * n)


def tails(t, freedom):
    """Returns P(|T| > t) of Student's distribution: below 1 by the integral of its density up to t,
    else beyond it, with x = t / s."""
    front = (
        math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    )

    def density(x):
        return math.exp(front - (freedom + 1) / 2 * math.log1p(x * x / freedom))

    if t < 1:
        return 1 - 2 * simpson(density, t)
    return 2 * simpson(lambda s: density(t / max(s, 1e-9)) * t / max(s, 1e-9) ** 2, 1)


def spread(values):
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))


def test(one, two, measured):
    """Returns the difference in units of the test, its standard error, degrees of freedom, and what
    such a unit is in the figures: of the sums over all windows, None where nobody knows."""
    n = len(one)
    if n < 2:
        return None
    if measured and min(one + two) > 0:
        mean, deviation = spread([math.log(b / a) for a, b in zip(one, two)])
        agree = (mean > 0) == (sum(two) > sum(one))
        return mean, deviation / math.sqrt(n), n - 1, log_mean(sum(one), sum(two)), agree
    mean, deviation = spread([b - a for a, b in zip(one, two)])
    return mean * n, deviation * math.sqrt(n), n - 1, 1, True


def residual(one, two, i, measured):
    """The same of one window: its distance from the mean of the others."""
    n = len(one)
    if n < 3:
        return None
    ratios = measured and min(one + two) > 0
    values = [math.log(b / a) if ratios else b - a for a, b in zip(one, two)]
    mean, deviation = spread(values[:i] + values[i + 1 :])
    return (
        values[i] - mean,
        deviation * math.sqrt(1 + 1 / (n - 1)),
        n - 2,
        log_mean(one[i], two[i]) if ratios else 1,
        True,
    )


def log_mean(a, b):
    return (b - a) / math.log(b / a) if abs(b - a) > 1e-9 * a else a


def check_figure(name, got, one, two, tested, is_sum):
    """Compares a figure, its noise and its p. Noise is such that the figure is above it if p is
    below 5 %."""
    if not close(got["run_1"], one) or not close(got["run_2"], two):
        wrong(name, got, one, two)
    if tested is None:
        if got["p"] is not None or got["noise"] is not None:
            wrong(name, "noise of too few windows", got)
        return
    off, error, freedom, unit, agree = tested
    tiny = 1e-9 * (abs(one) + abs(two)) / unit
    p = (
        1.0
        if abs(off) <= tiny or not agree
        else 0.0
        if error <= tiny
        else tails(abs(off) / error, freedom)
    )
    if not close(got["p"], p, TOLERANCE, 1e-9):
        wrong(name, "p", got, p, tested)
    if error <= tiny or (
        is_sum
        and p >= 0.05
        and close(got["noise"], abs(two - one))
        and tails(abs(two - one) / unit / error, freedom) < 0.05
    ):
        return
    if is_sum and p < 0.05:
        unit = abs((two - one) / off)
    if not close(tails(got["noise"] / unit / error, freedom), 0.05, TOLERANCE, 0):
        wrong(name, "noise", got, tested)


def check_marks(tables):
    """The marks are those of Benjamini and Hochberg, of windows apart from all others."""
    for windows in (False, True):
        figures = [
            (row[q], "stands_out" if windows else "significant")
            for table in TABLES
            if (table == "windows") == windows
            for row in tables[table]
            for q in QUANTITIES
        ]
        tests = sorted(
            f["p"]
            for f, _ in figures
            if f["p"] is not None and not (f["p"] == 1 and f["noise"] == 0)
        )
        limit = max(
            (p for i, p in enumerate(tests) if p <= LEVEL * (i + 1) / len(tests)), default=0
        )
        for f, key in figures:
            want = None if f["p"] is None else f["p"] <= limit
            if f[key] != want:
                wrong("mark", f, limit)


# --- what regtrace diff says ----------------------------------------------------------------------


def main_quantity(table):
    return "count" if table in ("samples", "counters") else "time_ns"


def check_order(table, rows):
    key = "stands_out" if table == "windows" else "significant"

    def rank(row):
        f = row[main_quantity(table)]
        x = abs(f["difference"])
        if table == "counters":
            x /= max(f["run_1"], f["run_2"], 1)
        return not any(row[q][key] for q in QUANTITIES), -x

    if table != "totals" and [rank(r) for r in rows] != sorted(rank(r) for r in rows):
        wrong("order of", table)


def check_files(answer, runs):
    """Returns the number of rows."""
    rows = 0
    both = sorted(
        o
        for o in runs[0].ranks
        if o in runs[1].ranks
        and o not in runs[0].cut | runs[1].cut
        and runs[0].ranks[o] * runs[1].processes == runs[1].ranks[o] * runs[0].processes
    )
    if answer["windows_compared"] != both:
        wrong("windows", answer["windows_compared"], both)
    for got, run in zip(answer["runs"], runs):
        if (
            got["not_compared"] != sorted(set(run.ranks) - set(both))
            or got["processes"] != run.processes
        ):
            wrong("run", got)
    scale = [r.processes for r in runs] if runs[0].processes != runs[1].processes else [1, 1]
    if answer["per_process"] != (scale != [1, 1]):
        wrong("per process")
    names = {name for run in runs for name in run.figures}
    listed = {r["name"]: r for r in answer["totals"] + answer["mpi"]}
    listed |= {"counter " + r["name"]: r for r in answer["counters"]}
    of_windows = {re.sub(r"^([0-9]+) \(.*\),", r"\1,", r["name_1"]): r for r in answer["windows"]}
    for name in names:
        for quantity, key in enumerate(QUANTITIES):
            one, two = (
                [run.figures[name][quantity][o] / s for o in both] for run, s in zip(runs, scale)
            )
            if sum(one) + sum(two) == 0:
                continue
            rows += 1
            measured = key == ("count" if name.startswith("counter ") else "time_ns")
            check_figure(
                name, listed[name][key], sum(one), sum(two), test(one, two, measured), True
            )
            if name.startswith(("MPI_", "counter ")):
                continue
            for i, o in enumerate(both if len(both) > 1 else []):
                if one[i] + two[i] > 0:
                    rows += 1
                    check_figure(
                        f"{o}, {name}",
                        of_windows[f"{o}, {name}"][key],
                        one[i],
                        two[i],
                        residual(one, two, i, measured),
                        False,
                    )
    return rows


def check_sums(answer):
    """The calls by call path, if some are known, are all of each function's."""
    for quantity in QUANTITIES:
        for side in ("run_1", "run_2"):
            sums = collections.Counter()
            for row in answer["paths"]:
                sums[row["name"].rsplit(" > ", 1)[-1]] += row[quantity][side]
            for row in answer["mpi"] if answer["paths"] else []:
                if not close(sums[row["name"]], row[quantity][side], 1e-9, 0.1):
                    wrong("sum of", row["name"], quantity, sums[row["name"]], row[quantity][side])
            waited = [sum(r[quantity][side] for r in answer[t]) for t in ("waits", "late_calls")]
            total = [
                r[quantity][side] for r in answer["totals"] if r["name"].startswith("waiting")
            ] or [0]
            if not close(waited[0], total[0], 1e-9, 0.1) or not close(
                waited[1], total[0], 1e-9, 0.1
            ):
                wrong("sum of waits", quantity, waited, total)


def number(words):
    m = re.fullmatch(r"([+-]?[0-9.]+) ?([A-Za-z]*)", words.strip())
    return float(m[1]) * UNITS[m[2]]


def check_text(answer, lines):
    """Returns the number of rows; each that differs has a line with the same figures."""
    rows = [
        (t, r)
        for t in TABLES
        for r in answer[t]
        if any(r[q]["difference"] != 0 for q in QUANTITIES)
    ]
    shown = [
        line
        for line in lines
        if re.match(r"  +-?[0-9.]+ ?[a-zA-Z]* +-?[0-9.]", line) and " process" not in line
    ]
    if len(rows) != len(shown):
        wrong("lines", len(rows), len(shown))
    for (table, row), line in zip(rows, shown):
        f = row[main_quantity(table)]
        name = row["name_2"] if row["name_2"] is not None else row["name_1"]
        figures = [number(line[2:13]), number(line[14:25]), number(line[26:38])]
        mark = f["stands_out" if table == "windows" else "significant"]
        if not line.endswith("  " + name) or not all(
            close(a, f[k], 6e-3, 1) for a, k in zip(figures, ("run_1", "run_2", "difference"))
        ):
            wrong("line", line, row)
        if line[48:50] != (
            " ?" if mark is None else (" !" if table == "windows" else " *") if mark else "  "
        ):
            wrong("mark of", line, row)
    return len(rows)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tables, self.table, self.row, self.loads = {}, None, None, []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.loads += [v for k, v in attrs.items() if k in ("src", "href")]
        if tag == "table":
            self.table = self.tables.setdefault(attrs["id"], [])
        elif tag == "tr":
            self.row = [""]
        elif tag == "td" and "data-v" in attrs:
            self.row.append(float(attrs["data-v"]))

    def handle_data(self, data):
        if self.row is not None and len(self.row) == 1:
            self.row[0] += data

    def handle_endtag(self, tag):
        if tag == "tr" and len(self.row) > 1:
            self.table.append(self.row)
        if tag in ("tr", "table"):
            self.row = None


def check_page(answer, text_):
    page = Page()
    page.feed(text_)
    if page.loads or "http" in text_.replace("http-equiv", ""):
        wrong("the page loads", page.loads)
    for table in TABLES:
        got, rows = page.tables.get(table, []), answer[table]
        if [r[0] for r in got] != [
            r["name_2"] if r["name_2"] is not None else r["name_1"] for r in rows
        ]:
            wrong("rows of the page", table, got)
        for line, row in zip(got, rows):
            figures = [
                row[q] for q in QUANTITIES if any(r[q]["run_1"] or r[q]["run_2"] for r in rows)
            ]
            want = [f[k] for f in figures for k in ("run_1", "run_2", "difference")]
            values = line[1:]
            if not all(
                close(a, b, 1e-9, 1e-6)
                for a, b in zip([values[i] for i in range(len(values)) if i % 5 < 3], want)
            ):
                wrong("page", line, row)


def main():
    folders, files = sys.argv[1:3], sys.argv[3:6]
    said = []
    for path in files:
        with open(path, encoding="utf-8") as f:
            said.append(f.read())
    answer = json.loads(said[0])
    rows = check_files(answer, [Run(f) for f in folders])
    check_sums(answer)
    check_marks(answer)
    for table in TABLES:
        check_order(table, answer[table])
    lines = check_text(answer, said[1].split("\n"))
    check_page(answer, said[2])
    marked = [
        f"{t} {r['name']} {q}"
        for t in TABLES
        for r in answer[t]
        for q in QUANTITIES
        if r[q].get("significant") or r[q].get("stands_out")
    ]
    print(f"{rows} figures, {lines} lines; marked: {'; '.join(marked)}")


main()
