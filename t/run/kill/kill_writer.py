# SPDX-License-Identifier: BSD-3-Clause
"""Kills the writer by SIGKILL at a random moment: the program goes on, logs one message, and
`regtrace recover` gets the rest."""
from harness import *

ROUNDS = int(os.environ.get("ROUNDS", "8"))
SEED = seed()
FEW, MANY = 40000, 2000000  # events after the kill: fewer and more than the stream holds
tap = Tap()
choose = random.Random(SEED)


def thread_row(f, thread):
    rows = f["threads"][:]
    return rows[rows["thread"] == thread][0]


def look(folder, threads, events, at_kill):
    """Returns '' or what is wrong with the recovered file."""
    with open_plainly(os.path.join(folder, "rank-00000.h5")) as f:
        all_events = f["events"][:]
        for t in range(threads):
            values = marks(all_events, t)
            kept = values[:numpy.argmax(values != numpy.arange(1, len(values) + 1))] if len(values) and \
                values[-1] != len(values) else values
            if len(kept) < at_kill[t]:
                return "thread %d: %d events in order, %d were logged at the kill" % (t, len(kept), at_kill[t])
            dropped = events - len(values)
            if dropped and events == FEW:
                return "thread %d: %d of %d events are missing, though all fitted the stream" % (t, dropped, events)
            if int(numpy.max(values)) > events or len(numpy.unique(values)) != len(values):
                return "thread %d: events twice or invented" % t
        missing = threads * events - int(sum(len(marks(all_events, t)) for t in range(threads)))
        counted = int(f["threads"]["dropped"].sum())
        # Then the records of closing windows are dropped as well.
        closing = int((f["windows"]["truncated"] != 0).sum())
        if not missing <= counted <= missing + closing:
            return "%d events and %d closing records are missing, %d are counted as dropped" % (missing, closing, counted)
    return ""


def one_round(number):
    folder = os.path.join(SCRATCH, "w%d" % number)
    log = folder + ".log"
    threads = choose.choice([1, 1, 2])
    events = FEW if number % 4 != 3 else MANY
    pause, burst = (4000, 100) if events == FEW else (0, 1)
    child = subprocess.Popen([PROGRAMS + "/emit.plain", log, str(threads), str(events), str(pause), str(burst)],
                             env=environment(folder, REGTRACE_COMPRESS=choose.choice([0, 1])),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not wait_until(lambda: min(logged(log, threads)) > 0 and len(writers()) == 1, 30):
        child.kill()
        child.communicate()
        return "no writer in 30 s"
    time.sleep(choose.random() * (0.6 if events == FEW else 0.05))
    os.kill(writers()[0], signal.SIGKILL)
    at_kill = logged(log, threads)
    out, err = child.communicate(timeout=120)
    want = "emit: rank 0 wrote %d events on %d threads\n" % (events, threads)
    if child.returncode != 0 or out != want or err:
        return "the program: status %d, %r, %r" % (child.returncode, out, err)
    with open(os.path.join(folder, "regtrace.log")) as f:
        lines = f.read().splitlines()
    if len(lines) != 1:
        return "regtrace.log has %d lines: %s" % (len(lines), lines)
    recovered = tool("recover", folder)
    if recovered.returncode != 0:
        return "recover: %d %s %s" % (recovered.returncode, recovered.stdout[-300:], recovered.stderr[-300:])
    if streams():
        return "recover left %s" % streams()
    wrong = look(folder, threads, events, at_kill)
    check = tool("check", folder)
    return wrong or ("" if check.returncode == 0 else "check: " + check.stdout[-500:] + check.stderr[-300:])


failures = []
for r in range(ROUNDS):
    wrong = one_round(r)
    if wrong:
        failures.append("round %d: %s" % (r, wrong))
        if os.environ.get("KEEP"):
            subprocess.run("cp -r %s/w%d* %s" % (SCRATCH, r, os.environ["KEEP"]), shell=True, check=False)
    for name in streams():
        os.unlink(os.path.join(SHM, name))
    subprocess.run(["rm", "-rf", os.path.join(SCRATCH, "w%d" % r)], check=False)
tap.diag("seed %d" % SEED)
tap.ok(not failures, "%d writers killed: the programs go on, one message, recover gets all that was in file and stream" % ROUNDS,
       "%d of %d failed" % (len(failures), ROUNDS), *failures[:10])
sys.exit(tap.done())
