# SPDX-License-Identifier: BSD-3-Clause
"""Kills a process by SIGKILL at a random moment: its file must open plainly and hold all that the
process had logged."""
from harness import *

ROUNDS = int(os.environ.get("ROUNDS", "20"))
SEED = seed()
tap = Tap()
choose = random.Random(SEED)


def one_round(number):
    """Runs a round; returns '' or what went wrong, and the number of events that were logged."""
    folder = os.path.join(SCRATCH, "k%d" % number)
    log = folder + ".log"
    threads = choose.choice([1, 1, 2, 5])
    pause, burst = choose.choice([(500, 200), (0, 1), (2000, 5000), (100, 7)])
    env = environment(folder, REGTRACE_COMPRESS=choose.choice([0, 1, 1]), REGTRACE_BUFFER=choose.choice(["1M", "4M"]))
    child = subprocess.Popen([PROGRAMS + "/emit.plain", log, str(threads), "0", str(pause), str(burst)], env=env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if choose.random() < 0.85:
        if not wait_until(lambda: min(logged(log, threads)) > 0 or child.poll() is not None, 30):
            child.kill()
            child.wait()
            return "nothing was emitted in 30 s", 0
        if child.poll() is not None:
            return "the program ended by itself: %d" % child.returncode, 0
        time.sleep(choose.choice([0, choose.random() * 0.02, choose.random() * 0.5]))
    else:
        time.sleep(choose.random() * 0.03)  # the kill may hit the start-up
    child.kill()
    child.wait()
    if not settled():
        return "the writer did not end in 30 s: %s %s" % (streams(), writers()), 0
    return look(folder, logged(log, threads))


def look(folder, last):
    total = sum(last)
    path = os.path.join(folder, "rank-00000.h5")
    if not os.path.exists(path):
        return ("no file, though %d events were logged" % total if total else ""), total
    try:
        with open_plainly(path) as f:
            events = f["events"][:]
            losses, dropped = f["losses"][:], may_drop(f)
    except OSError as e:
        return "does not open plainly: %s" % e, total
    if dropped:
        tap.diag("%s: the writer was without progress for 2 s, and events were dropped" % folder)
    for thread, n in enumerate(last):
        values = marks(events, thread)
        if dropped:
            wrong = "" if numpy.all(numpy.diff(values.astype(numpy.int64)) > 0) else "events are not in order"
        else:
            wrong = is_counting(values, n)
        if wrong:
            return "thread %d: %s" % (thread, wrong), total
    if len(losses):
        tap.diag("losses: %s" % losses)
    check = tool("check", folder)
    if check.returncode != 0:
        return "regtrace check: " + check.stdout[-600:] + check.stderr[-300:], total
    return "", total


failures, total = [], 0
for r in range(ROUNDS):
    wrong, n = one_round(r)
    total += n
    if wrong:
        failures.append("round %d: %s" % (r, wrong))
        if os.environ.get("KEEP"):
            subprocess.run("cp -r %s/k%d* %s" % (SCRATCH, r, os.environ["KEEP"]), shell=True, check=False)
    else:
        subprocess.run(["rm", "-rf", os.path.join(SCRATCH, "k%d" % r)], check=False)
tap.diag("seed %d, %d events logged before the kills" % (SEED, total))
tap.ok(not failures, "%d processes killed with SIGKILL: each file opens plainly and holds all that was logged" % ROUNDS,
       "%d of %d failed" % (len(failures), ROUNDS), *failures[:10])
tap.ok(total > ROUNDS, "the programs had emitted something")
sys.exit(tap.done())
