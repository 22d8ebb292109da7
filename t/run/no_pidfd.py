# SPDX-License-Identifier: BSD-3-Clause
"""Without pidfd_open (old kernels, seccomp, valgrind), the writer still sees the end of its
process, and does not see it too early."""
import glob

from harness import *

PIDFD_OPEN = "434"
tap = Tap()


def start(name, *program, **more):
    folder = os.path.join(SCRATCH, name)
    child = subprocess.Popen([PROGRAMS + "/without.plain", PIDFD_OPEN] + list(program), env=environment(folder, **more),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    return folder, child


def reasons(folder):
    """Returns how each file of the run ended, for those that open plainly."""
    found = {}
    for path in sorted(glob.glob(folder + "/rank-*.h5")):
        with open_plainly(path) as f:
            reason = f.attrs["end_reason"]
            found[os.path.basename(path)] = reason.decode() if isinstance(reason, bytes) else reason
    return found


def pidfds(pid):
    found = 0
    for fd in glob.glob("/proc/%d/fd/*" % pid):
        try:
            found += "pidfd" in os.readlink(fd)
        except OSError:
            pass
    return found


def held(folder, thread=0):
    with open_plainly(folder + "/rank-00000.h5") as f:
        return list(marks(f["events"][:], thread))


def killed(reap):
    """Kills a process while it records; if `reap` is false, it stays a zombie until the file is
    closed."""
    name = "killed" if reap else "zombie"
    log = os.path.join(SCRATCH, name + ".log")
    folder, child = start(name, PROGRAMS + "/emit.plain", log, "2", "0", "500", "100")
    wait_until(lambda: min(logged(log, 2)) > 1000, 30)
    ours = writers()
    tap.equal([len(ours)] + [pidfds(w) for w in ours], [1, 0], name + ": one writer, which has no pidfd")
    child.kill()
    if reap:
        child.wait()
    tap.ok(settled(20), name + ": the writer sees the end", writers())
    child.wait()
    child.stdout.close()
    tap.equal(reasons(folder), {"rank-00000.h5": "killed"}, name + ": its file is closed and says why")
    last = logged(log, 2)
    wrong = [is_counting(numpy.array(held(folder, t), dtype=numpy.uint64), last[t]) for t in range(2)]
    tap.equal(wrong, ["", ""], name + ": every event that was logged is there")


def part(name, code, end, files, values):
    folder, child = start(name, PROGRAMS + "/owner.plain", name)
    out = child.communicate(timeout=60)[0]
    tap.equal(child.returncode, code, name + ": the program ends as it should")
    tap.ok(settled(20), name + ": the writer sees the end, with a child alive or not", writers())
    if name == "orphan":
        os.kill(int(out), signal.SIGKILL)
    got = reasons(folder)
    tap.equal((got.get("rank-00000.h5"), len(got)), (end, files), name + ": the file says how it ended")
    tap.equal(held(folder), values, name + ": and is complete")


killed(True)
killed(False)
part("headless", 0, "finished", 1, list(range(1, 101)))
part("orphan", -signal.SIGKILL, "killed", 1, list(range(1, 101)))
part("reexec", 0, "exec", 2, list(range(1, 101)))
sys.exit(tap.done())
