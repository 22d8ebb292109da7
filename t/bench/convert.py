# SPDX-License-Identifier: BSD-3-Clause
"""Rows about conversion: events a second from a run's files to other programs' formats, by the
processor time of the command and of the processes that read for it; and memory."""
import os
import resource
import shutil
import subprocess
import threading
import time

import measure
from measure import *

# name, words of the command (OUT: its output), goal in million events a second
WAYS = [("prv", ["prv", "-o", "OUT"], 5), ("emulate", ["emulate", "-o", "OUT"], None), ("timeline", ["timeline", "-o", "OUT"], None),
        ("export --ovni", ["export", "--ovni", "OUT"], None), ("export --otf2", ["export", "--otf2", "OUT"], None)]


RANKS = 2


def record(millions):
    """Records a run of `millions` million events, enter and leave of MPI_Barrier; returns its
    folder."""
    program = mpi_program("mpi_call", "openmpi")
    variables = traced()
    mpirun("openmpi", RANKS, [program, str(int(millions * 250 / RANKS) - 20)], variables, timeout=1800)
    return variables["REGTRACE_DIR"]


def tree(pid):
    """Returns the process and its descendants."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [pid] + [p for child in f.read().split() for p in tree(int(child))]
    except OSError:
        return []


def peak(pid):
    """Returns the peak memory of a process in KiB, or 0 if the process has ended."""
    try:
        with open("/proc/%d/status" % pid) as f:
            return sum(int(line.split()[1]) for line in f if line.startswith("VmHWM:"))
    except OSError:
        return 0


class Memory(threading.Thread):
    """Tracks the sum of the peaks of a command and its descendants; each includes shared memory."""
    def __init__(self, pid):
        super().__init__()
        self.pid, self.most, self.over = pid, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.02):
            self.most = max(self.most, sum(peak(p) for p in tree(self.pid)))


def once(words, folder):
    """Returns processor seconds, elapsed seconds, peak MiB and output bytes of the command and its
    children."""
    out = os.path.join(SCRATCH, "converted")
    line = [os.path.join(BUILD, "regtrace")] + [out if w == "OUT" else w for w in words] + [folder]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=base_environment())
    memory = Memory(child.pid)
    memory.start()
    error = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    memory.over.set()
    memory.join()
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(out) for f in files) if os.path.isdir(out) else (
        os.path.getsize(out) if os.path.exists(out) else 0)
    shutil.rmtree(out, ignore_errors=True) if os.path.isdir(out) else os.path.exists(out) and os.unlink(out)
    if child.returncode != 0:
        raise CannotMeasure("regtrace %s: %s" % (words[0], error.strip()[-200:]))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, took, max(memory.most, usage.ru_maxrss) / 1024, size


def convert():
    commands = subprocess.run([os.path.join(BUILD, "regtrace"), "help", "--words"], capture_output=True, text=True).stdout.split()
    found = []
    for millions in (1, 10, 100) if measure.LARGE else (1, 10):
        folder = record(millions)
        for name, words, goal in WAYS:
            if words[0] not in commands:
                continue
            results = [once(words, folder) for _ in range(rounds(5) if millions < 100 else 1)]
            cpu, took, memory, size = (median(r[i] for r in results) for i in range(4))
            rate = millions / cpu
            found.append(Row("regtrace %s, %d million events" % (name, millions), ">= %g million/s" % goal if goal else "",
                             "%.2f million/s" % rate, rate >= goal if goal else None, len(results), "",
                             "of one processor's time, the readers' included; %.1f s in all, %.0f MiB at the peak with the readers', %.0f bytes an event"
                             % (took, memory, size / millions / 1e6)))
        shutil.rmtree(folder, ignore_errors=True)
    return found
