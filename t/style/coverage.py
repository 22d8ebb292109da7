#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints which share of the lines the tests have executed: coverage.py SOURCE BUILD [FILE].

BUILD was configured with --enable-coverage in an empty folder, and tests have run in it. One folder
a line: name, tab, lines that can be executed, tab, per cent of them that were. With FILE (a path in
SOURCE) the lines of this file that nothing has executed. gcovr reads the counts.

Threads that are killed, processes that end by _exit() and the code between fork and exec write no
counts, so the figures of preload/ are lower bounds."""
import collections
import json
import os
import subprocess
import sys

if len(sys.argv) < 3:
    sys.exit(__doc__)
source, build = map(os.path.realpath, sys.argv[1:3])
report = subprocess.run(
    ["gcovr", "--json", "--root", source, "--object-directory", build, "--exclude", source + "/t/",
     "--gcov-ignore-parse-errors", "-j", str(os.cpu_count() or 1), build],
    stdout=subprocess.PIPE, cwd=build, check=True)

executed = collections.defaultdict(lambda: [0, 0])
for file in json.loads(report.stdout)["files"]:
    lines = {}
    for line in file["lines"]:
        if not line["gcovr/noncode"]:
            lines[line["line_number"]] = lines.get(line["line_number"], 0) + line["count"]
    if sys.argv[3:] == [file["file"]]:
        print("\n".join(str(n) for n in sorted(lines) if lines[n] == 0))
    for folder in {os.path.dirname(file["file"]), file["file"].split("/")[0]}:
        executed[folder][0] += len(lines)
        executed[folder][1] += sum(count > 0 for count in lines.values())
if len(sys.argv) == 3:
    for folder, (lines, reached) in sorted(executed.items()):
        print("%s\t%d\t%.1f" % (folder, lines, 100 * reached / lines if lines else 100))
