# SPDX-License-Identifier: BSD-3-Clause
"""Runs the rows that were asked for and prints the table; see t/bench/run."""
import argparse
import os
import platform
import subprocess
import sys
import time

import counting
import measure
import peers
import attach
import accesses
import captured_values
import convert
import kernels
import probes
import rows

ALL = [("idle-compute", rows.idle_compute), ("idle-pingpong", rows.idle_pingpong), ("event", rows.event_bursts),
       ("sustained", rows.event_sustained), ("mpi-call", rows.mpi_call),
       ("point-to-point", rows.point_to_point), ("call-paths", rows.call_paths), ("mpi-profile", rows.mpi_profile), ("memory", rows.memory),
       ("startup", rows.startup), ("instructions", rows.instructions), ("counting", counting.counting),
       ("probes", probes.probes), ("attach", attach.attach), ("functions", peers.functions), ("convert", convert.convert),
       ("values", captured_values.capture), ("profile", captured_values.listing), ("accesses", accesses.accesses), ("accesses-analysis", accesses.analysis), ("accesses-kernels", kernels.seed_table), ("lttng", peers.lttng), ("valgrind", peers.valgrind)]


def processor():
    with open("/proc/cpuinfo") as f:
        names = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    return "%d x %s" % (len(names) or os.cpu_count(), names[0] if names else platform.machine())


def heading(quick, load):
    version = subprocess.run([os.path.join(measure.BUILD, "regtrace"), "version"], capture_output=True, text=True)
    return "\n".join([
        "# Benchmarks", "",
        "Made by `t/bench/run%s`. Each program runs bare, bare again and traced, in turn; what is shown is the median of the"
        % (" --quick" if quick else ""),
        "rounds' ratios or differences. Goals that were missed are marked so.", "",
        "- regtrace: %s" % (version.stdout.strip().splitlines() or ["unknown"])[0],
        "- machine: %s, Linux %s" % (processor(), platform.release().split("-")[0]),
        "- load average at the begin: %.1f; a machine that does other things widens what bare runs differ by" % load, ""])


def sections_of(lines):
    """Returns the sections after the table, by title."""
    found = {}
    for line in lines:
        if line.startswith("## "):
            found[line[3:]] = []
        if found:
            found[list(found)[-1]].append(line)
    return {title: "\n".join(text).rstrip() for title, text in found.items()}


def whole(head, lines, sections):
    return "\n".join(head + lines) + "\n" + "".join("\n%s\n" % text for text in sections.values())


def later(path, found, tables, only, load):
    """Returns the written report with these rows: each replaces the row of the same name or goes to
    the end of the table."""
    with open(path) as f:
        old = f.read().splitlines()
    new = {line.split("|")[1]: line for line in measure.table(found).splitlines()[2:]}
    begin = next(i for i, line in enumerate(old) if line.startswith("| "))
    end = next((i for i in range(begin, len(old)) if not old[i].startswith("|")), len(old))
    lines = [new.pop(line.split("|")[1], line) if line.startswith("| ") else line for line in old[begin:end]]
    note = "- measured later: `--only %s`, on %s, load average at the begin %.1f" % (" --only ".join(only), processor(), load)
    head = [line for line in old[:begin] if line.split(",")[0] != note.split(",")[0]]
    while head and not head[-1]:
        head.pop()
    sections = sections_of(old[end:])
    sections.update({t.title: t.section() for t in tables})
    return whole(head + [note, ""], lines + list(new.values()), sections)


def main():
    parser = argparse.ArgumentParser(prog="t/bench/run")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--large", action="store_true", help="conversions of 100 million events too")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="rows whose name holds NAME")
    parser.add_argument("--write", action="store_true", help="also to share/doc/benchmarks.md")
    parser.add_argument("--list", action="store_true", help="names of the rows")
    asked = parser.parse_args()
    if asked.list:
        print("\n".join(name for name, _ in ALL))
        return 0
    chosen = [(n, f) for n, f in ALL if not asked.only or any(o in n for o in asked.only)]
    if not chosen:
        parser.error("no row is called so; --list names them")
    measure.QUICK, measure.LARGE = asked.quick, asked.large
    load, found, failed = os.getloadavg()[0], [], False
    for name, function in chosen:
        began, before = time.monotonic(), len(found)
        try:
            found += function()
        except (measure.CannotMeasure, subprocess.TimeoutExpired) as e:
            found.append(measure.Row(name, "", "not measured", None, 0, "", str(e).replace("\n", " ").replace("|", "/")))
            failed = True
        for row in found[before:]:
            measure.note(" | ".join(row.cells) if isinstance(row, measure.Row) else row.title)
        measure.note("%s: %.0f s" % (name, time.monotonic() - began))
    tables = [t for t in found if isinstance(t, measure.Table)]
    found = [row for row in found if isinstance(row, measure.Row)]
    text = whole(heading(asked.quick, load).splitlines() + [""], measure.table(found).splitlines(), {t.title: t.section() for t in tables})
    print(text)
    path = os.path.join(measure.SOURCE, "share", "doc", "benchmarks.md")
    if asked.write:
        written = later(path, found, tables, asked.only, load) if asked.only else (
            "<!-- SPDX-License-Identifier: BSD-3-Clause -->\n" + text)
        with open(path, "w") as f:
            f.write(written)
    return 2 if failed else 1 if any(r.met is False for r in found) else 0


sys.exit(main())
