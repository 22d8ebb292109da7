# SPDX-License-Identifier: BSD-3-Clause
"""Rows about peers from Debian, measured in the same run: uftrace, lttng-ust, and valgrind as the
price of binary translation."""
import os
import shutil
import signal
import subprocess
import time

from measure import *


def uftrace(words, program):
    data = os.path.join(SCRATCH, "uftrace.data")
    return float(run(["uftrace", "record", "--no-event", "-d", data] + words + [program]).splitlines()[-1])


def functions():
    """Returns the rows of a function's recorded enter and exit, of a program as it is and of
    programs compiled for tracing, each against bare."""
    bare = compile_program("functions")
    compiled = compile_program("functions", flags=("-finstrument-functions",))
    named = dict(functions="^leaf$")
    jobs = [lambda: float(run([bare], traced(**named))), lambda: float(run([bare], traced(default_start=0, **named))),
            lambda: float(run([compiled], traced(functions=1)))]
    peer = shutil.which("uftrace") is not None
    if peer:
        patchable = compile_program("functions", flags=("-fpatchable-function-entry=5",))
        profiled = compile_program("functions", flags=("-pg",))
        jobs += [lambda: uftrace(["-P", "^leaf$"], patchable), lambda: uftrace([], profiled)]
    pairs = Pairs(lambda: float(run([bare])), *jobs, count=9)
    added, spread = [pairs.added(i) for i in range(len(jobs))], pairs.spread_absolute()
    def row(i, name, remark, goal="", met=None):
        return Row(name, goal, "%+.2f ns" % added[i], met, "%d x %d" % (pairs.count, len(jobs) + 2), "%.2f ns" % spread, remark)
    third = added[3] / 3 if peer else 0
    found = [row(0, "regtrace, a function's enter and exit recorded, by name", "two events; both ends by jumps",
                 "<= a third of uftrace's, %.1f ns" % third if peer else "", added[0] <= third if peer else None),
             row(1, "regtrace, that function between windows", "the goal is no difference", "<= 0 ns more", added[1] <= spread),
             row(2, "regtrace, -finstrument-functions", "two events")]
    if not peer:
        return found + [Row("uftrace, a function's enter and exit", "", "not measured", None, 0, "", "not installed")]
    return found + [row(3, "uftrace, that function by name", "-P, -fpatchable-function-entry=5"), row(4, "uftrace, all functions", "-pg")]


class LttngSession:
    """A session daemon, ended by its process id. Root's daemon would serve the whole machine: root
    therefore runs it as nobody."""

    def __init__(self):
        self.home = os.path.join(SCRATCH, "lttng")
        os.makedirs(self.home, exist_ok=True)
        self.env = dict(base_environment(), LTTNG_HOME=self.home, HOME=self.home)
        self.before = []
        if os.getuid() == 0:
            if shutil.which("setpriv") is None:
                raise CannotMeasure("no setpriv, to run a session daemon as another user")
            os.chown(self.home, 65534, 65534)
            os.chmod(SCRATCH, 0o711)
            self.before = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        self.daemon = subprocess.Popen(self.before + ["lttng-sessiond", "--no-kernel"], env=self.env,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def tell(self, *words):
        # Without --no-sessiond, lttng would start a daemon that nothing ends.
        done = subprocess.run(self.before + ["lttng", "--no-sessiond"] + list(words), env=self.env, capture_output=True,
                              text=True, timeout=60)
        if done.returncode != 0:
            raise CannotMeasure("lttng %s: %s" % (words[0], (done.stderr or done.stdout).strip()[-160:]))

    def begin(self):
        for attempt in range(40):
            try:
                self.tell("create", "bench", "--output=" + os.path.join(self.home, "trace"))
                break
            except CannotMeasure:
                if attempt == 39:
                    raise
                time.sleep(0.25)
        self.tell("enable-channel", "-u", "bench", "--subbuf-size=4M", "--num-subbuf=4")
        self.tell("enable-event", "-u", "bench:mark", "-c", "bench")
        self.tell("start")

    def end(self):
        subprocess.run(self.before + ["lttng", "--no-sessiond", "destroy", "bench"], env=self.env, capture_output=True,
                       timeout=60)
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(20)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()


def lttng():
    name = "lttng-ust, an event with 16 bytes"
    if shutil.which("lttng-sessiond") is None:
        return [Row(name, "", "not measured", None, 0, "", "not installed")]
    program = compile_program("lttng_event", flags=("-w",), libraries=("-llttng-ust", "-ldl"))
    session = LttngSession()
    try:
        session.begin()
        costs = [float(run(session.before + [program], {"LTTNG_HOME": session.home, "HOME": session.home}))
                 for _ in range(rounds(9))]
        written = sum(os.path.getsize(os.path.join(d, f)) for d, _, names in os.walk(session.home) for f in names)
        if written < 20000 * 22 * 16 * len(costs):
            raise CannotMeasure("lttng wrote %d bytes only: it has not recorded all" % written)
    finally:
        session.end()
    return [Row(name, "", "%.1f ns" % median(costs), None, len(costs), "", "without any context, so no thread id")]


def valgrind():
    name = "valgrind without a tool, compute loop"
    if shutil.which("valgrind") is None:
        return [Row(name, "", "not measured", None, 0, "", "not installed")]
    program = compile_program("compute")
    pairs = Pairs(lambda: float(run([program, "5"])),
                  lambda: float(run(["valgrind", "--tool=none", "-q", program, "5"])), count=5)
    return [Row(name, "", "%.1f times bare" % pairs.ratio(), None, "%d x 3" % pairs.count,
                "%.2f %%" % (100 * pairs.spread()), "binary translation")]
