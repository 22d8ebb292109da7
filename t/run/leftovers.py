# SPDX-License-Identifier: BSD-3-Clause
"""Checks what regtrace leaves: no process, no stream, no temporary file, and nothing that the
program could see or inherit."""
import glob

from harness import *

tap = Tap()


def strangers(folder):
    """Returns the files in a run's folder that are neither results nor the log."""
    found = []
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.relpath(os.path.join(where, name), folder)
            result = path.endswith(".h5") and "/" not in path
            if not result and path != "regtrace.log" and (path.endswith(".tmp") or "/tmp." in path or
                                                          path.endswith(".sock") or path.startswith("ctl")):
                found.append(path)
    return found


def processes_of(folder):
    """Returns the processes that have this run in their environment or command line."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/environ" % pid, "rb") as e, open("/proc/%s/cmdline" % pid, "rb") as c:
                line = c.read()
                if (folder.encode() in e.read() or folder.encode() in line) and int(pid) != os.getpid():
                    found.append((int(pid), line[:80]))
        except OSError:
            continue
    return found


def look(name, folder):
    tap.ok(settled(20), name + ": no stream and no writer is left", streams(), writers())
    tap.ok(wait_until(lambda: not processes_of(folder), 10), name + ": no process is left", processes_of(folder))
    tap.equal(strangers(folder), [], name + ": no temporary file or socket is left")


for mpi in ("openmpi", "mpich"):
    if not have_program("emit", mpi):
        tap.skip("what is left under " + mpi, "no " + mpi)
        continue
    folder = os.path.join(SCRATCH, "normal." + mpi)
    done = mpirun(mpi, 4, traced(folder), [PROGRAMS + "/emit." + mpi, folder + ".log", "2", "5000", "100"])
    tap.equal(done.returncode, 0, "normal end, %s: status" % mpi)
    look("normal end, " + mpi, folder)
    for way in ("mpi_abort", "sigkill", "_exit", "sigterm"):
        folder = os.path.join(SCRATCH, way + "." + mpi)
        if os.path.exists("%s/endings.%s" % (APPS, mpi)):
            mpirun(mpi, 4, traced(folder), ["%s/endings.%s" % (APPS, mpi), way])
            look("%s, %s" % (way, mpi), folder)
        else:
            tap.skip("%s, %s" % (way, mpi), "endings was not built for it")

# SIGKILL before anything was recorded: the folder goes, too. A folder that was there before stays,
# and so does a folder that another process still uses.
waiting = {"REGTRACE_CONTROL": "start:interactive,stop:interactive"}


def start_waiting(folder, **more):
    process = subprocess.Popen(["sleep", "30"], env=environment(folder, **waiting, **more))
    wait_until(lambda: glob.glob(folder + "/ctl/rank-*.%d.path" % process.pid), 20)
    return process


def kill_waiting(process):
    process.kill()
    process.wait()
    return settled(20)


folder = os.path.join(SCRATCH, "vacant")
process = start_waiting(folder)
tap.ok(os.path.isdir(folder), "a process that waits for its first event has a folder")
kill_waiting(process)
tap.ok(wait_until(lambda: not os.path.exists(folder), 10), "SIGKILL before anything was recorded: no folder is left",
       sorted(os.listdir(folder)) if os.path.exists(folder) else "")
os.mkdir(folder)
kill_waiting(start_waiting(folder))
tap.ok(wait_until(lambda: os.path.exists(folder) and os.listdir(folder) == [], 10),
       "a folder that was there before stays, empty")
os.rmdir(folder)
first, second = start_waiting(folder, REGTRACE_RUN="one"), start_waiting(folder, REGTRACE_RUN="one")
first.kill()
first.wait()
tap.ok(wait_until(lambda: len(glob.glob(folder + "/ctl/*.path")) == 1, 10) and
       subprocess.run([REGTRACE, "ctl", folder, "fire"], capture_output=True).returncode == 0,
       "while another process of the run lives, the folder stays and works")
second.kill()
second.wait()
tap.ok(wait_until(lambda: os.path.exists(folder + "/regtrace.h5"), 20) and
       len(glob.glob(folder + "/rank-*.h5")) == 1, "and what that one recorded is in it")
settled(20)

program = [PROGRAMS + "/descriptors.plain"]
ours = ("REGTRACE_BUILD", "REGTRACE_SOURCE")
bare = subprocess.run(program, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                      env={k: v for k, v in os.environ.items() if k not in ours})
for name, more in (("recording", {}), ("idle", {"REGTRACE_DEFAULT_START": 0}),
                   ("with chains", {"REGTRACE_CONTROL": "start:timeout:1;start:signal:USR1,stop:signal:USR2"})):
    folder = os.path.join(SCRATCH, "fd." + name.split()[0])
    run = subprocess.run(program, capture_output=True, text=True, env=environment(folder, **more), stdin=subprocess.DEVNULL)
    tap.equal((run.returncode, run.stdout, run.stderr), (bare.returncode, bare.stdout, bare.stderr),
              name + ": descriptors, children, threads and masks are what they were, after exec too")
    settled(20)
sys.exit(tap.done())
