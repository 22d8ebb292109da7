# SPDX-License-Identifier: BSD-3-Clause
"""Rows about memory traces: the cost of recording against bare runs, bytes an access, replay, and
the cost of valgrind's lackey for the same. Also the analysis of programs: their share that it
covers, and its speed."""
import glob
import os
import re
import resource
import shutil
import time

from measure import *

WINDOW = "start:enter_func:open_window,stop:enter_func:close_window"
NEVER = "start:enter_func:open_window:count1000000"
# kernel, turns, goal for recorded time / bare time, goal for bytes an access, turns for lackey
KERNELS = (("stencil", 200, 1.5, 0.01, 2), ("chasing", 20000000, 4, None, 300000),
           ("chasing_far", 4000000, 4, None, 300000), ("sparse", 40, None, None, 1))


def regtrace(*words):
    return run([os.path.join(BUILD, "regtrace")] + list(words), timeout=1200)


def replay(folder, program, line):
    """Records one run and replays it; returns its accesses, bytes and the replay's seconds."""
    variables = traced(memory=".", control=WINDOW)
    run(line, variables)
    began = time.monotonic()
    counted = regtrace("skel", "replay", "-format", "count", variables["REGTRACE_DIR"])
    spent = time.monotonic() - began
    shutil.rmtree(variables["REGTRACE_DIR"], ignore_errors=True)
    bytes_ = sum(int(n) for n in re.findall(r"^# rank .* (\d+) bytes", counted, re.M))
    accesses = sum(int(n) for n in re.findall(r"^# (\d+) accesses", counted, re.M))
    if accesses == 0:
        raise CannotMeasure("no accesses were recorded")
    return accesses, bytes_, spent


def lackey(line):
    """Says how many times the bare time lackey takes to trace all accesses."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    bare = median(values(run(line))["ns"] for _ in range(5))
    followed = values(run(["valgrind", "--tool=lackey", "--trace-mem=yes", "--log-file=/dev/null"] + line, timeout=600))["ns"]
    return "valgrind's lackey, --trace-mem=yes to /dev/null, %s turns: %.0f times" % (line[2], followed / bare)


def kernel(name, turns, goal, bytes_goal, few):
    program = compile_program("accesses")
    line = [program, name, str(turns)]

    def ns(**options):
        variables = traced(**options) if options else None
        spent = values(run(line, variables))["ns"]
        if variables is not None:
            shutil.rmtree(variables["REGTRACE_DIR"], ignore_errors=True)
        return spent

    pairs = Pairs(ns, lambda: ns(memory=".", control=WINDOW), lambda: ns(memory=".", control=NEVER), count=9)
    accesses, recorded, spent = replay(name, program, line)
    outside = pairs.ratio(1) - 1
    title = "memory trace, %s" % name.replace("_", " ")
    ratio = pairs.ratio(0)
    each = recorded / accesses
    return [Row(title + ": recording", "<= %g times bare" % goal if goal else "", "%.2f times" % ratio, ratio <= goal if goal else None,
                "%d x 4" % pairs.count, "%.2f %%" % (100 * pairs.spread()), lackey([program, name, str(few)])),
            Row(title + ": an access", "<= %g bytes" % bytes_goal if bytes_goal else "", "%.2g bytes" % each,
                each <= bytes_goal if bytes_goal else None, "1", "", "%.1f million accesses, replayed in %.1f s" % (accesses / 1e6, spent)),
            Row(title + ": outside windows", "below what bare runs differ by", "%+.2f %%" % (100 * outside),
                abs(outside) <= pairs.spread() or outside < 0, "%d x 4" % pairs.count, "%.2f %%" % (100 * pairs.spread()), "")]


def accesses():
    found = []
    for row in KERNELS:
        found += kernel(*row)
    return found


def analysis():
    found = []
    for name, path in (("hpcc", shutil.which("hpcc")), ("libm", next(iter(glob.glob("/lib*/*/libm.so.6")), None))):
        if path is None:
            note("analysis: %s is not installed" % name)
            continue
        line, took = [os.path.join(BUILD, "isa", "regtrace-isa"), "skel", "--summary", path], []
        for _ in range(rounds(9)):
            began = resource.getrusage(resource.RUSAGE_CHILDREN)
            text = run(line)
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            took.append(ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime)
        n, analysed, text_bytes = (int(w) for w in re.search(r"^(\d+) functions, (\d+) analysed \(.*\), (\d+) bytes", text, re.M).groups())
        speed, title = text_bytes / median(took) / 1e6, "analysis for memory traces, " + name
        found += [Row(title + ": functions", ">= 90 %", "%.1f %%" % (100 * analysed / n), analysed >= .9 * n, "1", "", "%d of %d" % (analysed, n)),
                  Row(title + ": text a second", ">= 1 MB", "%.2f MB" % speed, speed >= 1, str(len(took)), "", "%d bytes; of processor time" % text_bytes)]
    if not found:
        raise CannotMeasure("neither hpcc nor libm can be found")
    return found
