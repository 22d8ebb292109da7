# SPDX-License-Identifier: BSD-3-Clause
"""Windows by MPI_Pcontrol on 4 ranks: compares ordinals, edges and contents with the program's own
log."""
from harness import *

RANKS = 4
tap = Tap()

MPI_OF = {"A": "MPI_Allreduce", "B": "MPI_Barrier"}


def actions(path):
    with open(path) as f:
        return [line.split() for line in f]


def contents(log, spans):
    """Returns for each (first, last) span of the log: the marks, and the number of sums and of
    barriers."""
    found = []
    for first, last in spans:
        part = log[first:last]
        found.append(([int(a[1]) for a in part if a[0] == "M"], sum(a[0] == "A" for a in part),
                      sum(a[0] == "B" for a in part)))
    return found


def places(log, name):
    return [i for i, a in enumerate(log) if a == ["P", name]]


def every_phase(log, rank):
    return list(zip(places(log, "solve"), places(log, "solved")))


def third_and_sixth(log, rank):
    return [p for i, p in enumerate(every_phase(log, rank)) if i in (2, 5)]


def even_ranks(log, rank):
    return every_phase(log, rank) if rank in (0, 2) else []


def then_extra(log, rank):
    """Chain a: one phase. Chain b, after a: from the next `extra` to the next `solve`."""
    phase = every_phase(log, rank)[0]
    start = next(i for i in places(log, "extra") if i > phase[1])
    stop = next(i for i in places(log, "solve") if i > start)
    return [phase, (start, stop)]


def twice(log, rank):
    return every_phase(log, rank)[:2]


def second_of_precond(log, rank):
    """precond fires at the first `extra`; then one phase follows."""
    first = places(log, "extra")[0]
    return [p for p in every_phase(log, rank) if p[0] > first][:1]


def open_end(log, rank):
    """A start without a stop: the window lasts to the end of the program."""
    return [(places(log, "solve")[3], len(log))]


CHAINS = [
    ("every phase", "start:pcontrol:solve,stop:pcontrol:solved,repeat", every_phase),
    ("every phase, broadcast", "start:pcontrol:solve:bcast,stop:pcontrol:solved:bcast,repeat", every_phase),
    ("each third phase, twice", "start:pcontrol:solve:count3,stop:pcontrol:solved,repeat:2", third_and_sixth),
    ("ranks 0 and 2 alone", "start:pcontrol:solve:ranks0+2,stop:pcontrol:solved:ranks0+2,repeat", even_ranks),
    ("two chains, one waits for the other",
     "start:pcontrol:solve,stop:pcontrol:solved,name:a;waitfor:a,start:pcontrol:extra,stop:pcontrol:solve", then_extra),
    ("two passes", "start:pcontrol:solve,stop:pcontrol:solved,repeat:2", twice),
    ("a precondition", "precond:pcontrol:extra,start:pcontrol:solve,stop:pcontrol:solved", second_of_precond),
    ("no stop", "start:pcontrol:solve:count4", open_end),
    ("only the main thread", "start:pcontrol:solve:tid0,stop:pcontrol:solved:tid0,repeat", every_phase),
]


def function_codes(f, name):
    table = f["functions"][:]
    chosen = table[table["name"] == name.encode()]
    return {int(c) for c in chosen["code"]}


def calls(f, events, name):
    """Counts the enter events of one MPI function."""
    codes = [c for c in function_codes(f, name) if chr((c >> 8) & 255) in "EeB"]
    return int(numpy.isin(events["code"], codes).sum())


def recorded(f):
    """Returns the contents of each window of the main thread in the order of ordinals, the windows'
    rows, and the thread's events."""
    events, windows = f["events"][:], f["windows"][:]
    events = events[events["thread"] == 0]
    windows = windows[windows["thread"] == 0]
    windows = windows[numpy.argsort(windows["ordinal"])]
    found = []
    for w in windows:
        inside = events[events["window"] == w["ordinal"]]
        found.append(([int(v) for v in marks(inside, 3)], calls(f, inside, "MPI_Allreduce"),
                      calls(f, inside, "MPI_Barrier")))
    return found, windows, events


def look(title, mpi, folder, log_base, model):
    wrong = []
    for rank in range(RANKS):
        log = actions("%s.%d" % (log_base, rank))
        want = contents(log, model(log, rank))
        path = os.path.join(folder, "rank-%05d.h5" % rank)
        if not want and not os.path.exists(path):
            continue
        with open_plainly(path) as f:
            got, windows, events = recorded(f)
        if got != want:
            sizes = [(len(m), a, b) for m, a, b in got], [(len(m), a, b) for m, a, b in want]
            wrong.append("rank %d: windows hold (marks, sums, barriers) %s, wanted %s" % ((rank,) + sizes))
        if list(windows["ordinal"]) != list(range(len(windows))):
            wrong.append("rank %d: ordinals %s" % (rank, list(windows["ordinal"])))
        total = sum(len(m) for m, _, _ in want)
        if len(marks(events, 3)) != total:
            wrong.append("rank %d: %d marks in the file, %d in windows" % (rank, len(marks(events, 3)), total))
        if any(windows["stop_clock"] < windows["start_clock"]):
            wrong.append("rank %d: a window ends before it begins" % rank)
    tap.ok(not wrong, "%s, %s: windows hold what the program logged" % (title, mpi), *wrong)


for mpi in ("openmpi", "mpich"):
    if not have_program("windowed", mpi):
        tap.skip("windows under " + mpi, "no " + mpi)
        continue
    for n, (title, chain, model) in enumerate(CHAINS):
        folder = os.path.join(SCRATCH, "%s%d" % (mpi, n))
        done = mpirun(mpi, RANKS, traced(folder, REGTRACE_CONTROL=chain),
                      [PROGRAMS + "/windowed." + mpi, folder + ".log"])
        if not tap.ok(done.returncode == 0 and done.stdout == "windowed: done\n", "%s, %s: the program ran as ever" %
                      (title, mpi), done.returncode, done.stdout, done.stderr):
            continue
        settled()
        look(title, mpi, folder, folder + ".log", model)
        check = tool("check", folder)
        tap.ok(check.returncode == 0, "%s, %s: regtrace check" % (title, mpi), check.stdout[-800:], check.stderr[-400:])
sys.exit(tap.done())
