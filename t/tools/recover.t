#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace recover, as a command: it finishes the file of a killed writer and leaves everything else
# alone.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99
mpi=$(mpis | tail -1)
[ -n "$mpi" ] || skip_all 'no MPI here'

cat >p.c <<'END'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(1, "solve");
    for (int i = 0; i < 900; i++) /* more than one chunk of the stream */
        MPI_Barrier(MPI_COMM_SELF);
    while (access("killed", F_OK) != 0)
        usleep(2000);
    for (int i = 0; i < 300; i++)
        MPI_Barrier(MPI_COMM_SELF);
    MPI_Pcontrol(0, "solved");
    MPI_Finalize();
    return 0;
}
END
mpicc."$mpi" -o p p.c 2>/dev/null || skip_all "mpicc.$mpi is not here"
LD_PRELOAD=$LIBREGTRACE REGTRACE_CONTROL=start:pcontrol:solve,stop:pcontrol:solved REGTRACE_DIR=$T/run ./p 2>p.err &
pid=$!
kill_at_end $pid
wait_for 30 bash -c "ls $T/run/ctl/*.path"
# Waits until the file, with its tail, has the events.
wait_for 60 bash -c "[ \$('$REGTRACE' dump '$T/run' 2>/dev/null | grep -c MPI_Barrier) -ge 1800 ]"
run 30 "$REGTRACE" recover "$T/run"
is "$status" 0 'recover while the writer lives'
like "$out" 'left alone, its writer is alive' 'leaves the file alone'
writer=''
for p in /proc/[0-9]*; do
    [ "$(readlink "$p/exe" 2>/dev/null)" = "$(readlink -f "$REGTRACE_BUILD/writer/regtrace-writer")" ] || continue
    tr '\0' ' ' <"$p/cmdline" | grep -q -- "--dir $T/run" && writer=${p#/proc/}
done
isnt "$writer" '' 'the writer was found'
kill -9 "$writer"
touch killed
wait $pid
is "$?" 0 'the program goes on without its writer and ends well'
is "$(cat p.err)" '' 'and says nothing'
run 30 "$REGTRACE" check "$T/run"
like "$out" 'closed: its writer is gone' 'check finds the file that was left'
run 30 "$REGTRACE" report "$T/run"
like "$out" 'regtrace recover' 'the report names the remedy'
like "$out" '^  0 .* 1 +open +[0-9.]+ [mun]?s +- +[0-9]+ ' 'and says that the window is open, not that it took no time'
run 30 "$REGTRACE" report --efficiency "$T/run"
like "$out" '^  processes +0 of 1$' 'the efficiency of such a process'
like "$out" '^  parallel efficiency +-$' 'is not known'
like "$out" ': not known: the windows of 1 of 1 processes have no end' 'and the reason is said'
is "$(find "$T/run/ctl" -name '*.sock' -o -name '*.path' | wc -l)" 2 'a killed writer leaves its socket, and the file that names it'
cp -r "$T/run" "$T/torn"
cp -r "$T/run" "$T/rows"
cp -r "$T/run" "$T/shown"
run 60 "$REGTRACE" recover "$T/run"
is "$status" 0 'recover'
like "$out" '^rank-00000.h5: recovered, [0-9]+ events from the file and [0-9]+ from the stream' 'says what it found where'
[ ! -e "$T/run/ctl" ]
ok $? 'and takes away the socket that nobody listens at'
calls=$("$REGTRACE" report --json "$T/run" | "${PYTHON:-python3}" -c '
import json, sys
r = json.load(sys.stdin)["ranks"][0]
print(r["state"], [f["calls"] for f in r["functions"] if f["name"] == "MPI_Barrier"][0], r["lost"])')
is "$calls" 'recovered 1200 0' 'every call is there, those after the kill too'
ok_run 'check has nothing against it' "$REGTRACE" check "$T/run"
# recover shows its progress on a terminal if it takes longer than a second. Each reading of this
# clock is seconds after the one before.
cat >clock.c <<'END'
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
    static long looks;
    long rc = syscall(SYS_clock_gettime, id, t);
    t->tv_sec += id == CLOCK_MONOTONIC ? 2 * looks++ : 0;
    return (int)rc;
}
END
cc -shared -fPIC -o clock.so clock.c
on_terminal() { script -qec "env LD_PRELOAD=$T/clock.so $*" /dev/null </dev/null | tr '\r' '\n' >terminal; }
on_terminal "$REGTRACE" recover "$T/shown"
like "$(cat terminal)" 'rank-00000.h5: +[0-9]+ %' 'recover shows on a terminal how far it is'
like "$(cat terminal)" '^[^a-z0-9]*rank-00000.h5: recovered' 'and takes that away before it says what it did'
on_terminal "$REGTRACE" recover "$T/shown"
like "$(cat terminal)" 'rank-00000.h5: +100 %' 'also where it only reads what is complete'
on_terminal "$REGTRACE" report "$T/shown"
like "$(cat terminal)" 'reading file 1 of 1: +[0-9]+ %' 'and so does report'
LD_PRELOAD=$T/clock.so "$REGTRACE" recover "$T/shown" >plain 2>&1 </dev/null
unlike "$(cat plain)" '%' 'but nowhere else'
# The stream is gone now, as after a reboot. In the copy, a row of the tail is half written, in a
# chunk that the thread has handed over as a whole.
if [ "$PYTHON" != no ]; then
    rows=$("$PYTHON" - "$T/torn/rank-00000.h5" <<'END'
import sys
import h5py
with h5py.File(sys.argv[1], "r", libver="latest", swmr=True) as f:
    tail = f["tail"]
    at = 1000
    assert len(tail) > 1500 and (tail["row"] == range(len(tail))).all()
    size, (chunk,) = tail.dtype.itemsize, tail.chunks
    place = tail.id.get_chunk_info_by_coord((at // chunk * chunk,)).byte_offset + at % chunk * size
with open(sys.argv[1], "r+b") as f:
    f.seek(place + size // 2)
    old = f.read(size - size // 2)
    f.seek(place + size // 2)
    f.write(bytes(255 - b for b in old))
print(len(tail))
END
    )
    json_events() { "$REGTRACE" report --json "$T/torn" | grep -m 1 -oE '"events": [0-9]+'; }
    is "$(json_events)" "\"events\": 1000" 'a row that is half written: readers of the file see the rows before it'
    like "$("$REGTRACE" report "$T/torn")" "^  $((rows - 1000)) more left out until regtrace recover" 'the report says how many are left out'
    like "$("$REGTRACE" report --json "$T/torn")" "\"left_out_until_recover\": $((rows - 1000))," 'in the JSON too'
    run 60 "$REGTRACE" recover "$T/torn"
    is "$status" 0 'which recover keeps'
    like "$out" "recovered, 1000 events from the file and 0 from the stream; .* from a torn row on, $((rows - 1000)) are left out" 'and says what it leaves out'
    is "$(json_events)" "\"events\": 1000" 'no more, no less'
    ok_run 'check has nothing against it' "$REGTRACE" check "$T/torn"
    # The last rows of /windows and /fired are damaged: recover rebuilds them from the events.
    "$PYTHON" - "$T/rows/rank-00000.h5" <<'END'
import sys
import h5py
places = []
with h5py.File(sys.argv[1], "r", libver="latest", swmr=True) as f:
    for name, column in ("windows", "start_clock"), ("windows", "thread"), ("fired", "clock"):
        table, (chunk,) = f[name], f[name].chunks
        last = len(table) - 1
        places.append(table.id.get_chunk_info_by_coord((last // chunk * chunk,)).byte_offset
                      + last % chunk * table.dtype.itemsize + table.dtype.fields[column][1])
with open(sys.argv[1], "r+b") as f:
    for place in places:
        f.seek(place)
        f.write(b"\x55\x55\x55\x55")
END
    run 60 "$REGTRACE" recover "$T/rows"
    is "$status" 0 'damaged rows of windows and alarms: recover'
    like "$out" '2 damaged rows of its windows and alarms made anew of the events, without instruction counts' 'says that it made them anew'
    unlike "$out" 'left out' 'and that none is missing'
    ok_run 'check has nothing against it' "$REGTRACE" check "$T/rows"
    is "$("$PYTHON" - "$T/rows/rank-00000.h5" <<'END'
import sys
import h5py
with h5py.File(sys.argv[1], "r") as f:
    w, a, e = f["windows"][:], f["fired"][:], f["events"][:]
    print(len(w), len(a), w["thread"][0], w["start_clock"][0] == e["clock"][w["open_row"][0]], w["truncated"][0],
          a["clock"][0] == e["clock"][a["row"][0]], a["alarm"][0])
END
    )" '1 1 0 True 1 True 0' 'with what their events say'
else
    skip 'a row that is half written' 'no python3 with h5py'
fi
run 60 "$REGTRACE" recover "$T/run"
like "$out" 'nothing to recover' 'a second time there is nothing to do'

# Complete files that were damaged later: nothing can mend them. recover names them, and its status
# says so.
mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/two" ./p >/dev/null 2>&1
wait_for 20 test -e "$T/two/regtrace.h5"
run 60 "$REGTRACE" recover "$T/two"
is "$status" 0 'a run of two complete files: nothing to do'
damage() {
    "${PYTHON:-python3}" - "$1" "$2" <<'END'
import os, random, sys
path, how = sys.argv[1:]
size = os.path.getsize(path)
if how == "flip":
    with open(path, "r+b") as f:
        f.seek(size // 2)
        bytes_there = f.read(200)
        f.seek(size // 2)
        f.write(bytes(b ^ 0xff for b in bytes_there))
elif how == "half":
    os.truncate(path, size // 2)
elif how == "short":
    os.truncate(path, size - 1)
else:
    os.truncate(path, 0)
END
}
for how in flip half short empty; do
    cp -pr two "$how"
    damage "$T/$how/rank-00001.h5" "$how"
    run 120 "$REGTRACE" recover "$T/$how"
    is "$status" 1 "$how: recover fails"
    like "$err" '^regtrace recover: rank-00001.h5: damaged or changed after it was complete: .*put a good copy' "$how: it names the file and the remedy"
    unlike "$out$err" 'nothing to recover|rank-00000' "$how: and no other"
done
mv "$T/half/rank-00001.h5" "$T"
run 120 "$REGTRACE" recover "$T/half"
is "$status" 0 'moved away, as it says: recover is content'
like "$out" '^rank-00001.h5: deleted after it was complete; regtrace.h5 is made of the others' 'and tells that the file is not there'
run 60 "$REGTRACE" report "$T/half"
is "$status" 0 'what is left can be reported'
cp -p "$T/two/rank-00001.h5" "$T/half"
run 120 "$REGTRACE" recover "$T/half"
is "$status" 0 'the good copy in its place: recover is content'
like "$out" 'nothing to recover' 'and has nothing to do'
ok_run 'check has nothing against it either' "$REGTRACE" check "$T/half"
rm -r "$T/empty/.regtrace"
mkdir "$T/empty/.regtrace"
run 120 "$REGTRACE" recover "$T/empty"
is "$status" 1 'without the entries of .regtrace the files are read all the same'
like "$err" 'rank-00001.h5: damaged' 'and the damaged one is named'
# A folder that is removed before its writer has made the file: nobody could recover the stream.
printf '#include <regtrace.h>\n#include <signal.h>\nint main(void) { regtrace_region_begin("r"); return raise(SIGKILL); }\n' >killed.c
cc -I"$REGTRACE_SOURCE/share/include" -o killed killed.c
ls "$REGTRACE_SHM" >before
bash -c 'LD_PRELOAD=$1 REGTRACE_DIR=$2 ./killed; rm -rf "$2"' - "$LIBREGTRACE" "$T/removed" 2>/dev/null
streams_gone() { ls "$REGTRACE_SHM" | cmp - before; }
wait_for 10 streams_gone
ok $? 'a folder that was removed leaves no stream behind' || diag "$(ls -l "$REGTRACE_SHM")"

# A killed process that nobody has waited for has a pid, but lives no more. Its writer is held.
cat >dead.py <<'END'
import os, signal, subprocess, sys, time
program = subprocess.Popen(["./p"])
writer = None
while writer is None:
    time.sleep(0.02)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open("/proc/%s/cmdline" % pid).read().split("\0")
        except OSError:
            continue
        if words[0].endswith("regtrace-writer") and os.environ["REGTRACE_DIR"] in words:
            writer = int(pid)
state = lambda: subprocess.run([sys.argv[1], "report", "--json", "-wait", "0", os.environ["REGTRACE_DIR"]], capture_output=True, text=True,
                               env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}).stdout
while '"state": "live"' not in state():
    time.sleep(0.02)
os.kill(writer, signal.SIGSTOP)
program.kill()
while open("/proc/%d/stat" % program.pid).read().rsplit(")", 1)[1].split()[0] != "Z":
    time.sleep(0.02)
print([line.strip() for line in state().splitlines() if '"state"' in line])
os.kill(writer, signal.SIGCONT)
program.wait()
END
rm -f killed
if [ "$PYTHON_ANY" != no ]; then
    run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_EXCLUDE='python.*' REGTRACE_CONTROL=start:pcontrol:solve,stop:pcontrol:solved REGTRACE_DIR="$T/dead" \
        "$PYTHON_ANY" dead.py "$REGTRACE"
    is "$out" "['\"state\": \"closing\",']" 'a dead process that nobody has waited for does not live' || diag "$err"
    wait_for 30 bash -c "'$REGTRACE' report --json -wait 0 '$T/dead' | grep -q '\"state\": \"closed\"'"
else
    skip 'a dead process that nobody has waited for' 'no Python'
fi
done_testing
