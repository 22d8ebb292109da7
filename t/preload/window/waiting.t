#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A thread waits when its window ends, and never comes back to record the end. Its window ends at
# the broadcast stop that closed it, or with the process. Only a killed process, which closed
# nothing, leaves a truncated window.
. "$(dirname "$0")/../../lib.sh"
needs h5py
cd "$T" || exit 99

# Each letter of main's argument is a step. t starts a thread that records a mark and waits forever;
# o and c record the regions whose alarms open and close windows; w fires warmup-start for all
# threads; s stops by a named call; n wakes a waiting thread, which records a mark and waits again;
# x execs; k aborts.
cat >p.c <<'END'
#include <pthread.h>
#include <regtrace.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>
static sem_t there, nobody;
static void *waits(void *unused)
{
    for (;;) {
        regtrace_mark_set(1, 1);
        sem_post(&there);
        sem_wait(&nobody);
    }
    return unused;
}
static void begin(void)
{
    pthread_t t;
    pthread_create(&t, NULL, waits, NULL);
    sem_wait(&there);
}
int main(int argc, char **argv)
{
    sem_init(&there, 0, 0);
    sem_init(&nobody, 0, 0);
    for (const char *p = argv[1]; *p != '\0'; p++) {
        regtrace_mark_set(2, *p);
        switch (*p) {
        case 't': begin(); break;
        case 'o': regtrace_region_begin("on"); regtrace_region_end("on"); break;
        case 'c': regtrace_region_begin("off"); regtrace_region_end("off"); break;
        case 'w': regtrace_fire(REGTRACE_EVENT_WARMUP_START, REGTRACE_THIS_THREAD, 1); break;
        case 's': regtrace_stop(1); break;
        case 'n': sem_post(&nobody); sem_wait(&there); break;
        case 'x': execl("/bin/true", "true", (char *)NULL); return 3;
        case 'k': abort();
        default: return 2;
        }
    }
    regtrace_mark_set(2, 'e');
    return argc - 2;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o p p.c -pthread || exit 99

# Prints how the windows of each waiting thread end: reason, alarm, the event, and whether the
# report calls them truncated.
cat >ends.py <<'END'
import sys

import h5py

sys.path.insert(0, sys.argv[2])
import regtrace

with h5py.File(sys.argv[1], "r") as f:
    windows, fired, events, header = f["windows"][:], f["fired"][:], f["events"][:], dict(f.attrs)
frame = regtrace.open(sys.argv[1]).windows()
last = {int(t): int(events["clock"][events["thread"] == t].max()) for t in set(events["thread"])}
for w, (_, row) in zip(windows, frame.iterrows()):
    if w["thread"] == 0:
        continue
    stop = int(w["stop_clock"])
    closing = [int(a["clock"]) for a in fired if a["flags"] & 64]
    where = (f"close {closing.index(stop)}" if stop in closing else "its own last event" if stop == last[int(w["thread"])]
             else "after all" if stop > last[0] else "elsewhere")
    print(f"{row['closed_by']}, {'alarm %d' % w['stop_alarm'] if w['stop_alarm'] >= 0 else 'no alarm'}, {where}{', truncated' if row['truncated'] else ''}", end="; ")
END
ulimit -c 0
# ends NAME LETTERS WANT: runs the steps, and compares how the windows of the waiting threads end
# with WANT.
ends() {
    rm -rf "$T/run"
    run 60 env REGTRACE_DIR="$T/run" LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=start:pcontrol:on:bcast,stop:pcontrol:off:bcast,repeat ./p "$2"
    wait_for 60 test -e "$T/run/regtrace.h5"
    run 60 "$PYTHON" ends.py "$T/run/rank-00000.h5" "$REGTRACE_SOURCE/share/python"
    is "$out" "$3" "$1" || diag "$err"
    ok_run "$1: the file is consistent" "$REGTRACE" check "$T/run"
    truncated=$(grep -c truncated <<<"$3")
    [ "$truncated" -gt 0 ] || unlike "$("$REGTRACE" report "$T/run")" '\(truncated\)' "$1: the report agrees"
}
ends 'a stop for all' otc 'alarm, alarm 1, close 0; '
ends 'a thread that comes back after the stop' otcn 'alarm, alarm 1, close 0; '
ends 'two threads, and windows after it' ottcoc 'alarm, alarm 1, close 0; alarm, alarm 1, close 0; '
ends 'a thread that came into the second window' ocotc 'alarm, alarm 1, close 1; '
ends 'a stop by a named call' ots 'API, no alarm, close 0; '
ends 'a start of another kind, which closes all' otw 'API, no alarm, close 0; '
ends 'the end of the process' ot 'exited with the process, no alarm, after all; '
ends 'exec' otx 'exited with the process, no alarm, after all; '
ends 'the process is killed after the stop' otck 'alarm, alarm 1, close 0; '
ends 'the process is killed in the window' otk 'killed, no alarm, its own last event, truncated; '
done_testing
