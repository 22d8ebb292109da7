# SPDX-License-Identifier: BSD-3-Clause
"""Kills one rank of an MPI job by SIGKILL at a random moment, which ends the job: every rank's file
holds what the rank had logged."""
from harness import *

ROUNDS = int(os.environ.get("ROUNDS", "4"))
SEED = seed()
RANKS = 4
tap = Tap()
choose = random.Random(SEED)


def ranks_of(program, log):
    """Returns the pids of the job's ranks."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                words = f.read().split(b"\0")
            if words[0] == program.encode() and log.encode() in words:
                found.append(int(pid))
        except OSError:
            continue
    return found


def look(folder, log):
    for rank in range(RANKS):
        path = os.path.join(folder, "rank-%05d.h5" % rank)
        last = logged("%s.%d" % (log, rank), 2)
        if not os.path.exists(path):
            return "rank %d: no file, %s events were logged" % (rank, last)
        with open_plainly(path) as f:
            events, table, dropped = f["events"][:], f["functions"][:], may_drop(f)
        if dropped:
            tap.diag("%s, rank %d: the writer was without progress for 2 s, and events were dropped" % (folder, rank))
            continue
        for thread in range(2):
            wrong = is_counting(marks(events, thread), last[thread])
            if wrong:
                return "rank %d, thread %d: %s" % (rank, thread, wrong)
        codes = [int(c) for c in table[table["name"] == b"MPI_Barrier"]["code"] if chr((int(c) >> 8) & 255) == "E"]
        barriers = int(numpy.isin(events["code"], codes).sum())
        if barriers < last[0] - 1:
            return "rank %d: %d barriers, at least %d were made" % (rank, barriers, last[0] - 1)
    index = os.path.join(folder, "regtrace.h5")
    if not wait_until(lambda: os.path.exists(index), 20):
        return "no regtrace.h5"
    check = tool("check", folder)
    return "" if check.returncode == 0 else "check: " + check.stdout[-500:] + check.stderr[-300:]


def one_round(mpi, number):
    folder = os.path.join(SCRATCH, "%s%d" % (mpi, number))
    log, program = folder + ".log", PROGRAMS + "/emit." + mpi
    job = subprocess.Popen(mpirun_line(mpi, RANKS, traced(folder), [program, log, "2", "0", "300", "50"]),
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    going = wait_until(lambda: all(min(logged("%s.%d" % (log, r), 2)) > 0 for r in range(RANKS)), 60)
    if going:
        time.sleep(choose.random() * 0.5)
        victims = ranks_of(program, log)
        os.kill(choose.choice(victims), signal.SIGKILL)
    else:
        job.terminate()
    try:
        job.wait(60)
    except subprocess.TimeoutExpired:
        job.kill()
        job.wait()
        return "the launcher did not end"
    if not going:
        return "not all ranks emitted something in 60 s"
    if not settled(40):
        return "streams %s, writers %s after 40 s" % (streams(), writers())
    return look(folder, log)


tap.diag("seed %d" % SEED)
for mpi in ("openmpi", "mpich"):
    if not have_program("emit", mpi):
        tap.skip("a rank killed under " + mpi, "no " + mpi)
        continue
    failures = []
    for r in range(ROUNDS):
        wrong = one_round(mpi, r)
        if wrong:
            failures.append("round %d: %s" % (r, wrong))
            if os.environ.get("KEEP"):
                subprocess.run("cp -r %s/%s%d* %s" % (SCRATCH, mpi, r, os.environ["KEEP"]), shell=True, check=False)
    tap.ok(not failures, "%d times a rank of 4 killed under %s: the files of all ranks hold what was logged" % (ROUNDS, mpi),
           *failures[:10])
sys.exit(tap.done())
