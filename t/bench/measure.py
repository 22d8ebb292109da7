# SPDX-License-Identifier: BSD-3-Clause
"""How benchmarks measure: they compile programs, run variants in turn, take medians of ratios, and
compare with the difference of two bare runs."""
import os
import statistics
import subprocess
import sys

SOURCE, BUILD, SCRATCH = (os.environ[k] for k in ("REGTRACE_SOURCE", "REGTRACE_BUILD", "T"))
LIBRARY = os.path.join(BUILD, ".libs", "libregtrace.so")
WRITER = os.path.join(BUILD, "writer", "regtrace-writer")
HERE = os.path.join(SOURCE, "t", "bench")
QUICK = LARGE = False

median = statistics.median


class CannotMeasure(Exception):
    """The reason why a row has no number; the table shows it."""


def rounds(many):
    """Returns the number of rounds: fewer with --quick."""
    return max(3, many // 4) if QUICK else many


def note(text):
    print("# " + text, file=sys.stderr, flush=True)


def compile_program(name, compiler=("gcc",), flags=(), sources=None, libraries=()):
    """Compiles t/bench/programs/NAME.c unless an earlier call did; returns the program's path."""
    out = os.path.join(SCRATCH, "%s-%s" % (name, "-".join(list(compiler) + [f for f in flags if f[0] == "-"])
                                           .replace("/", "_")))
    if os.path.exists(out):
        return out
    line = list(compiler) + ["-std=gnu17", "-O2", "-g", "-D_GNU_SOURCE", "-I" + SOURCE] + list(flags)
    line += sources or [os.path.join(HERE, "programs", name + ".c")]
    done = subprocess.run(line + ["-o", out, "-lm"] + list(libraries), capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotMeasure("%s does not compile: %s" % (name, done.stderr.strip().splitlines()[-1:]))
    return out


def have_mpi(mpi):
    return any(os.access(os.path.join(d, "mpirun." + mpi), os.X_OK) for d in os.environ["PATH"].split(":"))


def mpi_program(name, mpi):
    if not have_mpi(mpi):
        raise CannotMeasure("no " + mpi)
    return compile_program(name, ("mpicc." + mpi,))


def base_environment():
    ours = ("REGTRACE_BUILD", "REGTRACE_SOURCE")
    return {k: v for k, v in os.environ.items() if k not in ours}


folders = [0]


def traced(**options):
    """Returns the variables of a traced run with a new folder."""
    folders[0] += 1
    env = {"LD_PRELOAD": LIBRARY, "REGTRACE_WRITER": WRITER,
           "REGTRACE_DIR": os.path.join(SCRATCH, "run%d" % folders[0])}
    env.update({"REGTRACE_" + k.upper() if k[0] != "=" else k[1:]: str(v) for k, v in options.items()})
    return env


def run(line, variables=None, timeout=300):
    """Returns the standard output of a program; raises CannotMeasure if the program fails."""
    done = subprocess.run(line, env=dict(base_environment(), **(variables or {})), capture_output=True, text=True,
                          timeout=timeout, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise CannotMeasure("%s ended with %d: %s" % (os.path.basename(line[0]), done.returncode,
                                                      (done.stderr or done.stdout).strip()[-200:]))
    return done.stdout


def mpirun(mpi, ranks, line, variables=None, timeout=300):
    """Does the same under a launcher. The variables reach the ranks only."""
    pairs = list((variables or {}).items())
    if mpi == "openmpi":
        start = ["mpirun.openmpi", "--oversubscribe", "-np", str(ranks)]
        start += [word for k, v in pairs for word in ("-x", "%s=%s" % (k, v))]
    else:
        start = ["mpirun.mpich", "-np", str(ranks)]
        start += [word for k, v in pairs for word in ("-genv", k, v)]
    return run(start + list(line), timeout=timeout)


def values(text):
    """Returns lines "name number" as a dictionary; of equal names the last line counts."""
    return {words[0]: float(words[1]) for words in map(str.split, text.splitlines()) if len(words) == 2}


class Pairs:
    """Runs bare, bare again and traced in turn, for the added time and the difference of two bare
    runs."""

    def __init__(self, bare, *others, count=15):
        self.bare, self.again, self.others = [], [], [[] for _ in others]
        for i in range(rounds(count)):
            jobs = [(self.bare, bare), (self.again, bare)] + list(zip(self.others, others))
            for n in range(len(jobs)): # each round begins with another job
                results, job = jobs[(n + i) % len(jobs)]
                results.append(job())

    @property
    def count(self):
        return len(self.bare)

    def ratio(self, which=0):
        """Returns the median of traced time / bare time."""
        return median(t / b for t, b in zip(self.others[which], self.bare))

    def spread(self):
        """Returns the median relative difference of two bare runs of one round."""
        return median(abs(a / b - 1) for a, b in zip(self.again, self.bare))

    def added(self, which=0):
        """Returns the median of traced time - bare time."""
        return median(t - b for t, b in zip(self.others[which], self.bare))

    def spread_absolute(self):
        return median(abs(a - b) for a, b in zip(self.again, self.bare))


class Row:
    """One line of the table. `met`: True, False, or None if there is no goal."""

    def __init__(self, name, goal, measured, met, runs, bare="", remark=""):
        self.cells = [name, goal, measured, {True: "met", False: "**MISSED**", None: ""}[met], str(runs), bare, remark]
        self.met = met


HEAD = ["what", "goal", "measured", "", "runs", "two bare runs differ by", "remark"]


def grid(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows])


def table(rows):
    return grid(HEAD, [r.cells for r in rows])


class Table:
    """A separate table with its own columns, after the main table."""
    met = None

    def __init__(self, title, text, head, rows):
        self.title, self.text, self.head, self.rows = title, text, head, rows

    def section(self):
        return "\n".join(["## " + self.title, "", self.text, "", grid(self.head, self.rows)])
