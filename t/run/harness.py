# SPDX-License-Identifier: BSD-3-Clause
"""Shared by the tests of whole runs: TAP, traced processes, and the contents of rank files."""
import os
import random
import signal
import struct
import subprocess
import sys
import time

import h5py
import numpy

BUILD = os.environ["REGTRACE_BUILD"]
LIBRARY = os.path.join(BUILD, ".libs", "libregtrace.so")
WRITER = os.path.join(BUILD, "writer", "regtrace-writer")
PROGRAMS = os.path.join(BUILD, "t", "run")
APPS = os.path.join(BUILD, "t", "apps")
REGTRACE = os.path.join(BUILD, "regtrace")
SHM = os.environ["REGTRACE_SHM"]
SCRATCH = os.environ["T"]


def code(text):
    """Returns the code of an event from its three letters."""
    return ord(text[0]) | ord(text[1]) << 8 | ord(text[2]) << 16


MARK_SET, MARK_PUSH, MARK_POP = code("KM="), code("KM["), code("KM]")
WINDOW_OPEN, WINDOW_CLOSE, DROPPED, WAITED = code("RW["), code("RW]"), code("RDd"), code("RDw")


class Tap:
    """Counts checks; done() prints the plan and gives the exit status."""

    def __init__(self):
        self.count = self.failed = 0

    def ok(self, passed, name, *why):
        self.count += 1
        print("%sok %d - %s" % ("" if passed else "not ", self.count, name))
        if not passed:
            self.failed += 1
            for line in why:
                for part in str(line).splitlines():
                    print("#", part)
        sys.stdout.flush()
        return passed

    def equal(self, got, want, name):
        return self.ok(got == want, name, "got:  %r" % (got,), "want: %r" % (want,))

    def diag(self, text):
        for part in str(text).splitlines():
            print("#", part)
        sys.stdout.flush()

    def skip(self, name, why):
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, why))

    def done(self):
        print("1..%d" % self.count)
        return 1 if self.failed else 0


def seed():
    """Returns the seed of a test's random choices: SEED, else 1, or a new seed if ROUNDS is set."""
    return int(os.environ.get("SEED", random.randrange(10**9) if "ROUNDS" in os.environ else 1))


def environment(folder, **more):
    """Returns the environment of a traced process."""
    ours = ("REGTRACE_BUILD", "REGTRACE_SOURCE")  # variables of the tests themselves
    env = dict({k: v for k, v in os.environ.items() if k not in ours}, LD_PRELOAD=LIBRARY, REGTRACE_DIR=folder, REGTRACE_WRITER=WRITER, REGTRACE_SHM=SHM)
    env.update({k: str(v) for k, v in more.items()})
    return env


def logged(path, threads=1):
    """Returns the last number that each thread of the emitting program logged."""
    try:
        with open(path, "rb") as f:
            data = f.read(8 * threads)
    except FileNotFoundError:
        data = b""
    data += b"\0" * (8 * threads - len(data))
    return list(struct.unpack("<%dQ" % threads, data))


def streams():
    """Returns the names of the stream files that are in memory now."""
    return [n for n in os.listdir(SHM) if n.startswith("regtrace")]


def wait_until(condition, seconds):
    """Returns True as soon as condition() holds; False if it does not hold in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return bool(condition())


def writers():
    """Returns the pids of writers of this test's streams, found by command lines and open files."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.path.basename(os.readlink("/proc/%s/exe" % pid)).startswith("regtrace-writer"):
                with open("/proc/%s/maps" % pid) as maps, open("/proc/%s/cmdline" % pid) as line:
                    if SHM in maps.read() or SHM in line.read():
                        found.append(int(pid))
        except OSError:
            continue
    return found


def mpirun_line(mpi, ranks, variables, program):
    """Returns a command line whose variables reach the ranks alone."""
    if mpi == "openmpi":
        line = ["mpirun.openmpi", "--oversubscribe", "-np", str(ranks)]
        for k, v in variables.items():
            line += ["-x", "%s=%s" % (k, v)]
    else:
        line = ["mpirun.mpich", "-np", str(ranks)]
        for k, v in variables.items():
            line += ["-genv", k, str(v)]
    return line + list(program)


def traced(folder, **more):
    """Returns the variables of a traced run."""
    return dict({"LD_PRELOAD": LIBRARY, "REGTRACE_DIR": folder, "REGTRACE_WRITER": WRITER}, **more)


def mpirun(mpi, ranks, variables, program, seconds=180):
    return subprocess.run(mpirun_line(mpi, ranks, variables, program), capture_output=True, text=True,
                          timeout=seconds, stdin=subprocess.DEVNULL)


def have_program(name, mpi):
    return os.path.exists("%s/%s.%s" % (PROGRAMS, name, mpi))


def settled(seconds=30):
    """Waits until no stream and no writer of this test is left; returns whether that is so."""
    return wait_until(lambda: not streams() and not writers(), seconds)


def tool(*words):
    """Runs a subcommand of regtrace; returns its completed process."""
    return subprocess.run([REGTRACE] + list(words), capture_output=True, text=True, timeout=120)


def open_plainly(path):
    """Opens the file as any user does."""
    return h5py.File(path, "r")


def marks(events, mark_type):
    """Returns the values of regtrace_mark_set(mark_type, value), in file order."""
    chosen = (events["code"] == MARK_SET) & (events["a"] == mark_type)
    return events["b"][chosen]


def waited(f):
    """Returns the seconds that each thread waited for the writer."""
    c = f["calibration"][:]
    scale = (int(c[-1]["monotonic_ns"]) - int(c[0]["monotonic_ns"])) / (int(c[-1]["ticks"]) - int(c[0]["ticks"]))
    return f["threads"]["wait_ticks"] * scale / 1e9


def may_drop(f):
    """Returns whether a writer was without progress for 2 s, and so given up.

    Events are then rightly dropped; a crowded machine causes that."""
    return int(f["threads"]["dropped"].sum()) > 0 and float(waited(f).max()) > 1.9


def is_counting(values, at_least):
    """Returns '' if the array reads 1, 2, 3 ... to at_least or more, else what is wrong."""
    want = numpy.arange(1, len(values) + 1, dtype=numpy.uint64)
    if len(values) < at_least:
        return "%d events in the file, %d logged" % (len(values), at_least)
    if not numpy.array_equal(values, want):
        first = int(numpy.argmax(values != want))
        return "event %d has number %d" % (first + 1, int(values[first]))
    return ""
