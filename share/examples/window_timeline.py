#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""When was each rank in a window, and in which MPI call? A timeline of ranks over time.

    window_timeline.py regtrace-app-1234 --window 3 -o timeline.pdf
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
try:
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch
    import regtrace
except ImportError as missing:
    sys.exit(f"window_timeline: {sys.executable} has no {missing.name}: install python3-h5py, python3-pandas and python3-matplotlib, or "
             "run this script with a Python that has them, perhaps /usr/bin/python3")  # fmt: skip

# Okabe and Ito's palette, which colour-blind readers can tell apart too; grey shows the rest.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"]
REST = "#888888"
WINDOW = "#E4E8EE"
EDGE = "#5A6675"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the folder of a run")
    parser.add_argument("-o", "--output", default="window_timeline.png", help="png, pdf or svg (default: %(default)s)")
    parser.add_argument("--window", type=int, help="zoom into this window")
    parser.add_argument("--rank", type=int, nargs="+", help="only these ranks")
    parser.add_argument("--threads", action="store_true", help="all threads, not only those that call MPI")
    return parser.parse_args()


def unit_of(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return unit, size
    return "ns", 1.0


def bars(begin, end, row, low, high):
    """Returns the corners of n rectangles, shape (n, 4, 2).

    They are for one PolyCollection: thousands of patches would take minutes.
    """
    corners = np.empty((len(begin), 4, 2))
    corners[:, 0, 0] = corners[:, 1, 0] = begin
    corners[:, 2, 0] = corners[:, 3, 0] = end
    corners[:, 0, 1] = corners[:, 3, 1] = row + low
    corners[:, 1, 1] = corners[:, 2, 1] = row + high
    return corners


def lines_of(windows, calls, every_thread):
    """Chooses the lines of the plot, one per thread.

    Returns ({(rank, process, thread): place from the top}, labels, title of the axis).
    """
    keys = ["rank", "process", "thread"]
    used = windows[keys] if every_thread or len(calls) == 0 else calls[keys]
    used = used.drop_duplicates().sort_values(keys)
    place = {tuple(k): i for i, k in enumerate(used.itertuples(index=False))}
    several = used["thread"].nunique() > 1 or used["process"].nunique() > 1
    labels = [f"{r}.{t}" if p == 0 else f"{r}({p}).{t}" for r, p, t in place] if several else [r for r, _, _ in place]
    return place, labels, "rank.thread" if several else "rank"


def places(frame, place):
    return np.array([place.get(k, -1) for k in zip(frame["rank"], frame["process"], frame["thread"])], dtype=float)


def draw(axes, windows, calls, options):
    place, labels, what = lines_of(windows, calls, options.threads)
    start = windows["start_ns"].min()
    last = max([windows["stop_ns"].dropna().max(), calls["end_ns"].max() if len(calls) else 0])
    unit, size = unit_of(last - start)
    at = places(windows, place)
    shown = at >= 0
    end = windows["stop_ns"].fillna(last).to_numpy(dtype=float)
    begin = windows["start_ns"].to_numpy(dtype=float)
    spans = bars((begin - start)[shown] / size, (end - start)[shown] / size, at[shown], -0.45, 0.45)
    axes.add_collection(PolyCollection(spans, facecolors=WINDOW, edgecolors=EDGE, linewidths=0.5, zorder=1))
    legend = [Patch(facecolor=WINDOW, edgecolor=EDGE, linewidth=0.5, label="window")]
    by_time = calls.groupby("function", observed=True)["duration_ns"].sum().sort_values(ascending=False)
    groups = [([name], name, colour) for name, colour in zip(by_time.index, COLOURS)]
    if len(by_time) > len(COLOURS):
        groups.append((list(by_time.index[len(COLOURS) :]), f"{len(by_time) - len(COLOURS)} others", REST))
    for i, (names, label, colour) in enumerate(groups):
        some = calls[calls["function"].isin(names)]
        corners = bars((some["begin_ns"].to_numpy() - start) / size, (some["end_ns"].to_numpy() - start) / size,
                       places(some, place), -0.32, 0.32)  # fmt: skip
        # A hairline of the same colour keeps calls visible that are shorter than a pixel. A
        # function with more time in all is drawn on top.
        axes.add_collection(PolyCollection(corners, facecolors=colour, edgecolors=colour, linewidths=0.15, zorder=20 - i))
        legend.append(Patch(facecolor=colour, label=label))
    axes.set_xlim(0, (last - start) / size * 1.002)
    axes.set_ylim(len(place) - 0.4, -0.6)
    step = max(1, int(np.ceil(len(labels) / 32)))
    axes.set_yticks(range(0, len(labels), step))
    axes.set_yticklabels(labels[::step])
    axes.set_ylabel(what)
    axes.set_xlabel(f"time since the first window shown opened ({unit})")
    axes.legend(handles=legend, loc="lower left", bbox_to_anchor=(0, 1.01), ncol=min(len(legend), 5), frameon=False, handlelength=1.2,
                borderaxespad=0)  # fmt: skip
    return len(place)


def main():
    options = arguments()
    try:
        run = regtrace.open(options.run)
        windows = run.windows(rank=options.rank, window=options.window)
        calls = run.mpi_calls(rank=options.rank, window=options.window)
    except regtrace.RegtraceError as error:
        sys.exit(f"window_timeline: {error}")
    if len(windows) == 0:
        sys.exit(f"window_timeline: no window to show in {options.run}: see regtrace report")
    calls = calls[calls["depth"] == 0]
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "pdf.fonttype": 42})
    figure, axes = plt.subplots(constrained_layout=True)
    lines = draw(axes, windows, calls, options)
    figure.set_size_inches(7.0, float(np.clip(1.3 + 0.22 * lines, 2.2, 9.0)))
    figure.savefig(options.output, dpi=200)
    print(f"wrote {options.output}: {windows['ordinal'].nunique()} windows, {len(calls)} MPI calls on {lines} lines")


if __name__ == "__main__":
    main()
