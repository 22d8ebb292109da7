# SPDX-License-Identifier: BSD-3-Clause
"""Events a second from a run's files to what others open: processor time of the command and of the process that reads for it, and peak memory."""
import os
import resource
import shutil
import subprocess
import time

from measure import *

# name, words of the command (OUT is what it makes), goal in million events a second
WAYS = [("prv", ["prv", "-o", "OUT"], 5), ("emulate", ["emulate", "-o", "OUT"], None), ("timeline", ["timeline", "-o", "OUT"], None),
        ("export --ovni", ["export", "--ovni", "OUT"], None), ("export --otf2", ["export", "--otf2", "OUT"], None)]


def record(millions):
    """A run of so many million events of one rank, enter and leave of MPI_Barrier; its folder."""
    program = mpi_program("mpi_call", "openmpi")
    variables = traced()
    mpirun("openmpi", 1, [program, str(int(millions * 250) - 20)], variables, timeout=900)
    return variables["REGTRACE_DIR"]


def once(words, folder):
    """Processor seconds, seconds and MiB at the peak of the command and what it starts."""
    out = os.path.join(SCRATCH, "converted")
    line = [os.path.join(BUILD, "regtrace")] + [out if w == "OUT" else w for w in words] + [folder]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=base_environment())
    error = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    size = sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(out) for f in files) if os.path.isdir(out) else (
        os.path.getsize(out) if os.path.exists(out) else 0)
    shutil.rmtree(out, ignore_errors=True) if os.path.isdir(out) else os.path.exists(out) and os.unlink(out)
    if child.returncode != 0:
        raise CannotMeasure("regtrace %s: %s" % (words[0], error.strip()[-200:]))
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, took, usage.ru_maxrss / 1024, size


def convert():
    commands = subprocess.run([os.path.join(BUILD, "regtrace"), "help", "--words"], capture_output=True, text=True).stdout.split()
    found = []
    for millions in (1, 10):
        folder = record(millions)
        for name, words, goal in WAYS:
            if words[0] not in commands:
                continue
            results = [once(words, folder) for _ in range(rounds(5))]
            cpu, took, memory, size = (median(r[i] for r in results) for i in range(4))
            rate = millions / cpu
            found.append(Row("regtrace %s, %d million events" % (name, millions), ">= %g million/s" % goal if goal else "",
                             "%.2f million/s" % rate, rate >= goal if goal else None, len(results), "",
                             "of one processor's time, the reader's included; %.1f s in all, %.0f MiB at the peak, %.0f bytes an event"
                             % (took, memory, size / millions / 1e6)))
        shutil.rmtree(folder, ignore_errors=True)
    return found
