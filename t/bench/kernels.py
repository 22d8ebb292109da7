# SPDX-License-Identifier: BSD-3-Clause
"""The table of Ketterlin and Clauss, "Efficient Memory Tracing by Program Skeletonization", ISPASS
2011, for the kernels of t/kernels: the values recorded by each plan of regtrace run
-memory-plan, the time of recording and of skeletons, and the time of valgrind's lackey for the
same."""
import bisect
import glob
import os
import re
import shutil
import subprocess
import time

from measure import *

FOLDER = os.path.join(SOURCE, "t", "kernels")
WINDOW = "start:enter_func:open_window,stop:enter_func:close_window"
SKEL = [os.path.join(BUILD, "isa", "regtrace-isa"), "skel"]
PLANS = ("addresses", "registers", "skeleton")
THREADS = {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
STENCIL, CHASING = "shallow_f", "simplex"
HEAD = ["kernel", "static ratio", "dynamic ratio", "outcomes an access", "bytes an access", "bytes an instruction", "Memory", "Registers", "Values",
        "Skeleton", "max(Values, Skeleton) / Memory", "lackey, counting", "lackey, --trace-mem", "two bare runs differ by"]


def kernels():
    """Returns name, sources, arguments for benchmarks and arguments for lackey of each kernel."""
    with open(os.path.join(FOLDER, "list")) as f:
        rows = [line.split() for line in f if line.strip() and line[0] != "#"]
    return [(r[0], [os.path.join(FOLDER, s) for s in r[1].split(",")], r[3].split(","), r[4].split(",")) for r in rows]


def build(name, sources, fixed):
    """Compiles a kernel as compilers do by default, or at fixed addresses, so that all tools report
    the same addresses."""
    compiler = {".cc": ("g++", "-std=c++17"), "f90": ("gfortran",)}.get(sources[-1][-3:], ("gcc", "-std=gnu17"))
    if shutil.which(compiler[0]) is None:
        raise CannotMeasure("%s: %s is not installed" % (name, compiler[0]))
    window, out = os.path.join(SCRATCH, "window.o"), os.path.join(SCRATCH, "kernel-%s%s" % (name, "-fixed" if fixed else ""))
    for line in (["gcc", "-O2", "-c", os.path.join(FOLDER, "window.c"), "-o", window],
                 list(compiler) + ["-O2", "-fopenmp"] + (["-fno-pie", "-no-pie"] if fixed else ["-fPIE", "-pie"]) + sources + [window, "-o", out, "-lm"]):
        done = subprocess.run(line, capture_output=True, text=True, cwd=SCRATCH)
        if done.returncode != 0:
            raise CannotMeasure("%s does not compile: %s" % (name, done.stderr.strip()[-200:]))
    return out


def functions_of(program):
    found = []
    for line in run(["nm", "-S", program]).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwW":
            found.append((int(words[0], 16), int(words[1], 16), words[3]))
    return sorted(found)


class Recording:
    """A run by a plan; drop() removes its folder."""

    def __init__(self, line, plan="skeleton"):
        variables = traced(memory=".", memory_plan=plan, control=WINDOW, **{"=" + k: v for k, v in THREADS.items()})
        self.folder = variables["REGTRACE_DIR"]
        self.ns = values(run(line, variables))["ns"]

    def replay(self, form):
        return run([os.path.join(BUILD, "regtrace"), "skel", "replay", "-format", form, self.folder], timeout=1200)

    def counts(self):
        """Returns accesses, values, outcomes and bytes."""
        text, sums = self.replay("count"), [0, 0, 0]
        for found in re.findall(r"^# (\d+) accesses, .*, (\d+) values and (\d+) outcomes", text, re.M):
            sums = [a + int(b) for a, b in zip(sums, found)]
        if sums[0] == 0:
            raise CannotMeasure("no accesses were recorded")
        return sums + [sum(int(n) for n in re.findall(r"^# rank .* (\d+) bytes", text, re.M))]

    def skeleton_ns(self):
        """Returns the ns that its skeletons, compiled beforehand, take for the whole recording.
        Threads replay concurrently, as in regtrace skel replay."""
        memory = os.path.join(self.folder, "memory")
        text = glob.glob(os.path.join(memory, "*.c"))
        for source in text:
            run(["cc", "-O2", "-w", "-shared", "-fPIC", "-o", source + ".so", source])
        late = [word for s in text if s.endswith(".late.c") for word in ("--late", s + ".so")]
        image = [s + ".so" for s in text if not s.endswith(".late.c")]
        began = time.monotonic()
        replays = [subprocess.Popen(SKEL + ["--recording", recorded, "--format", "count"] + late + image, stdout=subprocess.DEVNULL)
                   for recorded in glob.glob(os.path.join(memory, "*.rec"))]
        codes = [r.wait() for r in replays]
        spent = time.monotonic() - began
        if any(codes):
            raise CannotMeasure("replays ended with status %s" % codes)
        return spent * 1e9

    def drop(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def spent(line, plan):
    recording = Recording(line, plan)
    recording.drop()
    return recording.ns


def bare(line):
    return values(run(line, THREADS))["ns"]


def static_ratio(program, line):
    """Returns the static ratio of the functions that run, that is, those that contain the accesses'
    addresses."""
    recording, functions = Recording(line), functions_of(program)
    text = recording.replay("text")
    recording.drop()
    begins, ran = [f[0] for f in functions], set()
    for at in map(lambda m: int(m, 16), set(re.findall(r"^([0-9a-f]+) [RWM] ", text, re.M))):
        ran.add(functions[bisect.bisect_right(begins, at) - 1][2])
    ran -= {"open_window", "close_window"}
    if not ran:
        raise CannotMeasure("accesses are in no functions")
    regex = "^(%s)$" % "|".join(re.escape(name) for name in sorted(ran))
    found = re.search(r"(\d+) accesses, (\d+) values or addresses recorded", run(SKEL + ["--summary", "--function", regex, program]))
    return int(found[2]) / int(found[1])


def lackey(program, arguments):
    """Returns how many times the bare time lackey takes to count and to show each access, and the
    instructions an access of the program's own code."""
    line = [program] + arguments
    if shutil.which("valgrind") is None:
        return "", "", None
    alone = median(bare(line) for _ in range(rounds(9)))
    log = os.path.join(SCRATCH, "lackey.log")
    took = []
    for options in (["--log-file=/dev/null"], ["--trace-mem=yes", "--log-file=" + log]):
        took.append(values(run(["valgrind", "--tool=lackey"] + options + line, THREADS, timeout=600))["ns"] / alone)
    functions = functions_of(program)
    edges = {f[2]: f[0] for f in functions if f[2] in ("open_window", "close_window")}
    low, high = functions[0][0], functions[-1][0] + functions[-1][1]
    instructions = accesses = 0
    inside = mine = False
    with open(log, errors="replace") as f:
        for text in f:
            if text[0] == "I":
                address = int(text[3:text.index(",")], 16)
                mine = low <= address < high
                inside = (inside or address == edges["open_window"]) and address != edges["close_window"]
                instructions += inside and mine
            elif inside and mine and text[:2] in (" L", " S", " M"):
                accesses += 1
    os.unlink(log)
    return took[0], took[1], instructions / accesses if accesses != 0 else None


class Kernel:
    def __init__(self, name, sources, arguments, few):
        self.name, fixed = name, build(name, sources, True)
        line = [build(name, sources, False)] + arguments
        pairs = Pairs(lambda: bare(line), *[lambda plan=plan: spent(line, plan) for plan in PLANS], count=7)
        self.memory, self.registers, self.values = (pairs.ratio(n) for n in range(3))
        self.spread = pairs.spread()
        recording = Recording(line)
        self.accesses, self.recorded, self.outcomes, self.bytes = recording.counts()
        self.skeleton = median(recording.skeleton_ns() for _ in range(rounds(5))) / median(pairs.bare)
        recording.drop()
        self.static = static_ratio(fixed, [fixed] + few)
        self.counting, self.tracing, self.instructions = lackey(fixed, few)
        self.dynamic = self.recorded / self.accesses
        self.share = max(self.values, self.skeleton) / self.memory

    def cells(self):
        each = self.bytes / self.accesses
        times = lambda n: "%.0f" % n if n != "" and n >= 100 else "%.2f" % n if n != "" else ""
        return [self.name, "%.3f" % self.static, "%.2g" % self.dynamic, "%.2g" % (self.outcomes / self.accesses), "%.2g" % each,
                "%.2g" % (each / self.instructions) if self.instructions else "", times(self.memory), times(self.registers),
                times(self.values), times(self.skeleton), "%.2f" % self.share, times(self.counting), times(self.tracing),
                "%.1f %%" % (100 * self.spread)]


def average(found, what):
    return sum(getattr(k, what) for k in found) / len(found)


def goal(name, found, most, form, runs, remark):
    return Row("memory traces, " + name, "<= %g" % most, form % found, found <= most, runs, "", remark)


def seed_table():
    found = []
    for name, sources, arguments, few in kernels():
        try:
            found.append(Kernel(name, sources, arguments, few))
            note(" | ".join(found[-1].cells()))
        except CannotMeasure as e:
            note("%s: %s" % (name, e))
    if not found:
        raise CannotMeasure("no kernel can be compiled")
    by_name = {k.name: k for k in found}
    paper = "Ketterlin and Clauss (ISPASS 2011):"
    runs, of = "7 x 5", "%d kernels, gcc -O2; %s %%s" % (len(found), paper)
    rows = [goal("static ratio on average", average(found, "static"), .2, "%.3f", "1", of % "0.26"),
            goal("dynamic ratio on average", average(found, "dynamic"), .15, "%.3f", "1", of % "0.24"),
            goal("max(Values, Skeleton) / Memory on average", average(found, "share"), .35, "%.2f", runs, of % "0.61")]
    if STENCIL in by_name:
        k = by_name[STENCIL]
        rows += [goal("dynamic ratio, %s" % STENCIL, k.dynamic, 1e-4, "%.2g", "1", paper + " 6e-4 on swim"),
                 goal("bytes an access, %s" % STENCIL, k.bytes / k.accesses, .01, "%.2g", "1", "%.3g million accesses" % (k.accesses / 1e6)),
                 goal("recording, %s, times bare" % STENCIL, k.values, 1.5, "%.2f", runs, "")]
    if CHASING in by_name:
        rows.append(goal("recording, %s, times bare" % CHASING, by_name[CHASING].values, 4, "%.2f", runs, ""))
    title = "Memory traces, kernel by kernel"
    text = ("Times are multiples of bare: Memory records each address (`-memory-plan addresses`), Registers the registers that addresses are linear in, Values "
            "what the skeletons need, all three with outcomes of branches, into files; Skeleton is the replay of that, threads beside each other, without writing. Ratios are "
            "recorded values over accesses, in the code of functions that ran and as they ran; beside them outcomes of branches. Last, valgrind's lackey on "
            "a smaller size.")
    return rows + [Table(title, text, HEAD, [k.cells() for k in found])]
