#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where does the time in MPI go? By function and rank, and how unevenly: a table and a plot.

    mpi_profile.py regtrace-app-1234 -o profile.pdf
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
    import pandas as pd
    import regtrace
except ImportError as missing:
    sys.exit(f"mpi_profile: {sys.executable} has no {missing.name}: install python3-h5py, python3-pandas and python3-matplotlib, or "
             "run this script with a Python that has them, perhaps /usr/bin/python3")  # fmt: skip

# Okabe and Ito's palette, which colour-blind readers can tell apart too; grey shows the rest.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442"]
REST = "#BBBBBB"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the folder of a run")
    parser.add_argument("-o", "--output", default="mpi_profile.png", help="png, pdf or svg (default: %(default)s)")
    parser.add_argument("--window", help="only this window, or a span of them: 4 or 4-9")
    parser.add_argument("--top", type=int, default=6, help="functions shown apart, at most 7 (default: %(default)s)")
    return parser.parse_args()


def profile(run, window):
    """Returns (times, counts, inside) of outermost MPI calls in the ranks' own processes.

    times: seconds in MPI, a row per rank, a column per function, the largest sum first.
    counts: number of calls by function.
    inside: seconds in windows by rank, summed over the threads that call MPI.
    """
    calls = run.mpi_calls(window=window)
    # The time of an outermost call includes that of the calls made inside it.
    calls = calls[(calls["depth"] == 0) & (calls["process"] == 0)]
    ranks = sorted(run.ranks["rank"].unique())
    times = calls.pivot_table(index="rank", columns="function", values="duration_ns", aggfunc="sum", observed=True)
    times = times.reindex(ranks).fillna(0.0) / 1e9
    times = times[times.sum().sort_values(ascending=False).index]
    windows = run.windows(window=window)
    with_calls = calls[["rank", "thread"]].drop_duplicates()
    windows = windows[windows["process"] == 0].merge(with_calls, on=["rank", "thread"])
    inside = windows.groupby("rank")["duration_ns"].sum().reindex(ranks).fillna(0).astype(float) / 1e9
    return times, calls["function"].value_counts(), inside


def table(times, counts, inside):
    """Returns the numbers of the plot as text.

    imbalance: the slowest rank's time divided by the mean of all ranks.
    """
    rows = pd.DataFrame({
        "calls": counts.reindex(times.columns),
        "total_s": times.sum(),
        "mean_s": times.mean(),
        "max_s": times.max(),
        "max_rank": times.idxmax(),
        "imbalance": times.max() / times.mean(),
    })  # fmt: skip
    whole = times.sum(axis=1)
    lines = [rows.to_string(float_format=lambda v: f"{v:.6g}")]
    if inside.sum() > 0:
        lines.append(f"MPI is {100 * whole.sum() / inside.sum():.1f} % of the time in windows")
    lines.append(f"all of MPI: mean {whole.mean():.6g} s, max {whole.max():.6g} s on rank {whole.idxmax()}, "
                 f"imbalance {whole.max() / whole.mean():.3f}")  # fmt: skip
    return "\n".join(lines)


def unit_of(seconds):
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return unit, factor
    return "µs", 1e6


def draw_ranks(axes, times, top):
    """Draws a bar per rank, with the functions stacked."""
    shown = list(times.columns[:top])
    stack = [(name, times[name], COLOURS[i]) for i, name in enumerate(shown)]
    if len(times.columns) > len(shown):
        rest = times[times.columns[top:]]
        stack.append((f"{rest.shape[1]} others", rest.sum(axis=1), REST))
    whole = times.sum(axis=1)
    unit, factor = unit_of(whole.max())
    x = np.arange(len(times))
    bottom = np.zeros(len(times))
    for name, values, colour in stack:
        axes.bar(x, values * factor, bottom=bottom, width=0.8, color=colour, label=name, linewidth=0)
        bottom += values.to_numpy() * factor
    axes.axhline(whole.mean() * factor, color="black", linewidth=0.8, linestyle=(0, (4, 2)), label="mean of ranks")
    step = max(1, int(np.ceil(len(times) / 16)))
    axes.set_xticks(x[::step])
    axes.set_xticklabels(times.index[::step])
    axes.set_xlim(-0.6, len(times) - 0.4)
    axes.set_xlabel("rank")
    axes.set_ylabel(f"time in MPI ({unit})")
    axes.set_title(f"(a) by rank; slowest over mean: {whole.max() / whole.mean():.2f}", loc="left")
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False,
                handlelength=1.2, borderaxespad=0.3)  # fmt: skip


def draw_functions(axes, times, top):
    """Draws each function's mean over ranks, and its range from the fastest rank to the slowest."""
    shown = times[times.columns[:top]]
    unit, factor = unit_of(shown.max().max())
    y = np.arange(shown.shape[1])[::-1]
    mean, low, high = (v.to_numpy() * factor for v in (shown.mean(), shown.min(), shown.max()))
    axes.barh(y, mean, height=0.6, color=COLOURS[: shown.shape[1]], linewidth=0)
    axes.errorbar(mean, y, xerr=np.maximum([mean - low, high - mean], 0), fmt="none", ecolor="black", elinewidth=0.9, capsize=2.5)
    for at, m, h in zip(y, mean, high):
        axes.annotate(f"{h / m:.2f}", (h, at), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(y)
    axes.set_yticklabels(shown.columns)
    axes.set_xlim(0, high.max() * 1.18)
    axes.set_xlabel(f"time per rank ({unit}): mean, least, most; number: most over mean")
    axes.set_title("(b) by function", loc="left")


def main():
    options = arguments()
    try:
        run = regtrace.open(options.run)
        times, counts, inside = profile(run, options.window)
    except regtrace.RegtraceError as error:
        sys.exit(f"mpi_profile: {error}")
    if times.shape[1] == 0:
        sys.exit(f"mpi_profile: no MPI call was recorded in {options.run}: did a window open? See regtrace report.")
    print(table(times, counts, inside))
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 9, "axes.spines.top": False, "axes.spines.right": False,
                         "pdf.fonttype": 42})  # fmt: skip
    top = max(1, min(options.top, len(COLOURS)))
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(7.0, 5.2), height_ratios=[3, 2], constrained_layout=True)
    draw_ranks(upper, times, top)
    draw_functions(lower, times, top)
    figure.savefig(options.output, dpi=200)
    print(f"wrote {options.output}")


if __name__ == "__main__":
    main()
