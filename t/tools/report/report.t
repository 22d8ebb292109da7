#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares regtrace report and dump with h5py's own reading of the same files. Also runs with
# missing, killed and live ranks.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
chain=start:pcontrol:solve,stop:pcontrol:solved,repeat
needs h5py

# compare FOLDER NAME [FIRST LAST]: compares report and dump of the folder, or of these windows,
# with what h5py finds there.
compare() {
    local span=()
    [ $# -lt 4 ] || span=(--window "$3-$4")
    "$REGTRACE" report "${span[@]}" --json "$1" >"$1.json" && "$REGTRACE" dump "${span[@]}" --json "$1" >"$1.dump" &&
        "$REGTRACE" report "${span[@]}" -all -top 0 "$1" >"$1.text" && "$REGTRACE" dump "${span[@]}" "$1" >"$1.lines"
    ok $? "$2: report and dump"
    "$PYTHON" "$here/report_oracle.py" "$1" "$1.json" "$1.dump" "$1.text" "$1.lines" "${@:3}" >"$T/oracle.out"
    ok $? "$2: the numbers are those that h5py finds" || diag "$(grep -v '^ok' "$T/oracle.out")"
    diag "$2: $(tail -1 "$T/oracle.out") comparisons"
}

for mpi in openmpi mpich; do
    have_mpi $mpi || { skip "$mpi: report and dump" "no $mpi here"; continue; }
    run 120 mpirun_for $mpi 3 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=$chain REGTRACE_DIR="$T/$mpi" "$APPS/stencil.$mpi"
    is "$status" 0 "$mpi: a run to look at"
    compare "$T/$mpi" $mpi
    compare "$T/$mpi" "$mpi, windows 1 to 2" 1 2
    is "$("$PYTHON" -c 'import json, sys; print(sorted({w["ordinal"] for w in json.load(open(sys.argv[1]))["windows"]}))' "$T/$mpi.json")" \
        '[1, 2]' "$mpi: of these and of no other"
    last=$mpi
done
[ -n "${last:-}" ] || skip_all 'no MPI here'
dir=$T/$last

# Windows of all kinds, opened and closed by every means; ignored events; Fortran calls and nested
# calls.
kinds='warmup-start:pcontrol:solve,warmup-stop:pcontrol:solved,prolog-start:pcontrol:solve:bcast,prolog-stop:pcontrol:solved:bcast,'
kinds+='epilog-start:pcontrol:solve;name:b,stop:timeout:1ms'
run 120 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL="$kinds" REGTRACE_DIR="$T/kinds" "$APPS/stencil.$last"
compare "$T/kinds" 'kinds of windows'
run 120 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/calls" "$REGTRACE_BUILD/t/mpi/calls.$last" "$T"
compare "$T/calls" 'calls of all kinds'
if [ -x "$APPS/heat.$last" ]; then
    run 120 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/fortran" "$APPS/heat.$last"
    compare "$T/fortran" Fortran
    like "$(head -n 400 "$T/fortran.dump")" '"name": "MPI_[A-Z].*"fortran": true' 'Fortran: its calls are marked so'
else
    skip Fortran "no heat.$last"
fi
cat >named.c <<'END'
#include <pthread.h>
#include <regtrace.h>
static void *work(void *a) { regtrace_region_begin("r"); regtrace_region_end("r"); return a; }
int main(void)
{
    pthread_t t;
    work(0);
    regtrace_stop(1);
    regtrace_stop(1);
    regtrace_start(0);
    regtrace_start(0);
    work(0);
    regtrace_stop(0);
    regtrace_start(1);
    pthread_create(&t, 0, work, 0);
    return pthread_join(t, 0);
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o named named.c -pthread
REGTRACE_DIR=$T/edges LD_PRELOAD=$LIBREGTRACE ./named
compare "$T/edges" 'named calls'
is "$(grep -oE '"opened_by": "[A-Za-z ]*"' edges.json | sort | uniq -c | xargs)" '3 opened_by: API 1 opened_by: default start' 'named calls: who opened the windows'
is "$(grep -oE '"(fired|ignored)": [0-9]+' edges.json | xargs)" 'fired: 8 ignored: 2' 'named calls: of eight events, both threads'"'"' default starts among them, two changed nothing'

# Two chains that both open windows: the report names each by its own text.
first=start:pcontrol:solve,stop:pcontrol:solved,repeat second=start:timeout:1ms,stop:timeout:2ms
run 120 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL="$first;$second" REGTRACE_DIR="$T/two" "$APPS/stencil.$last"
compare "$T/two" 'two chains'
got=$("$PYTHON" -c '
import json, sys
r = json.load(open(sys.argv[1]))
print(*r["chains"], *sorted({"%d=%s" % (w["chain"], w["chain_text"]) for w in r["windows"]}))' "$T/two.json")
is "$got" "$first $second 0=$first 1=$second" 'two chains: both are reported, and which opened a window'
like "$(cat "$T/two.text")" "chain 2: $second\$" 'and for people'

# Requested and actual instruction counts of fired alarms: interrupts come up to 500 instructions
# late.
parts=$REGTRACE_BUILD/t/pmu/parts
if [ -x "$parts" ]; then
    run 120 env REGTRACE_PMU=step T_REGTRACE_LATE=7:500 REGTRACE_CONTROL='start:icount:1000,stop:icount:1000,repeat:3' \
        REGTRACE_DIR="$T/icounts" LD_PRELOAD="$LIBREGTRACE" "$parts" calls
    compare "$T/icounts" 'instruction counts'
    got=$("$PYTHON" -c '
import json, sys
data = [e["data"] for e in map(json.loads, open(sys.argv[1])) if e["name"] == "EV_FIRED"]
print(*(f"{d['"'chain'"']}.{d['"'pass'"']}:{d['"'requested'"']}" for d in data))
print(all(d["skid"] == d["actual"] - d["requested"] for d in data), any(d["skid"] > 0 for d in data))' "$T/icounts.dump" | xargs)
    is "$got" '0.0:1000 0.0:2000 0.1:3000 0.1:4000 0.2:5000 0.2:6000 True True' 'dump: chain, pass, requested, and how late each was'
    like "$(grep -m1 EV_FIRED "$T/icounts.lines")" ' chain=0 pass=0 requested=1000 actual=[0-9]+ skid=[0-9]+' 'and in lines for people'
else
    skip 'instruction counts' 'counting by steps is for x86-64 alone'
fi

# Messages to MPI_PROC_NULL need no memory. Here the number of bytes exceeds 32 bits, and in the
# second message 48 bits.
cat >large.c <<'END'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Datatype giant;
    char x;
    MPI_Init(&argc, &argv);
    MPI_Type_contiguous(1 << 30, MPI_BYTE, &giant);
    MPI_Type_commit(&giant);
    MPI_Send(&x, 5, giant, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    MPI_Send(&x, 300000, giant, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
    MPI_Type_free(&giant);
    return MPI_Finalize();
}
END
if mpicc.$last -o large.out large.c 2>/dev/null; then
    run 60 mpirun_for "$last" 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/large" ./large.out
    compare "$T/large" 'large messages'
    is "$("$REGTRACE" dump --json --code MPI_Send "$T/large" | grep -oE '"(tag|bytes|comm)": [0-9]+' | xargs)" \
        "tag: 3 bytes: $((5 << 30)) comm: 1 tag: 4 bytes: $(((1 << 48) - 1)) comm: 1" \
        'large messages: their bytes in full, as many as 48 bits can say'
else
    skip 'large messages' "mpicc.$last is not here"
fi

run 60 "$REGTRACE" report "$dir"
is "$status" 0 'report for people'
for word in 'chain 1: start:pcontrol:solve' 'Windows: 9' 'MPI_Allreduce' 'By rank' 'Own overhead' 'closed, finished' '0 lost'; do
    like "$out" "$word" "it shows: $word"
done
is "$("$REGTRACE" report "$dir/regtrace.h5" | head -3)" "$("$REGTRACE" report "$dir" | head -3)" 'regtrace.h5 names the run too'
like "$("$REGTRACE" report "$dir/rank-00001.h5")" '1 file' 'one rank file alone'
unlike "$("$REGTRACE" report "$dir/rank-00001.h5")" 'no file of rank' 'which is not asked for the other ranks'
run 60 "$REGTRACE" report /etc/passwd
is "$status $out" '1 ' 'a foreign file: an error, and no report about nothing'
like "$err" 'is not an HDF5 file' 'that says why'
mkdir "$T/copied"
cp "$dir"/rank-0000[01].h5 "$T/copied"
run 60 "$REGTRACE" report "$T/copied"
is "$status $err" '0 ' 'files copied without .regtrace'
[ -s "$T/copied/regtrace.h5" ]
ok $? 'get their regtrace.h5'
rm "$T/copied/regtrace.h5"
run 60 "$REGTRACE" report "$T/copied/rank-00000.h5"
[ ! -e "$T/copied/regtrace.h5" ]
ok $? 'which a look at one file alone does not make'
truncate -s -100 "$T/copied/rank-00001.h5"
run 60 "$REGTRACE" recover "$T/copied"
is "$status" 1 'recover looks at them too'
like "$err" 'rank-00001.h5: damaged' 'and names what is damaged'
run 60 "$REGTRACE" report --rank 1-2 --top 1 "$dir"
unlike "$out" '^  0  ' '-rank leaves the others out'
like "$out" 'more functions' '-top leaves functions out and says so'
run 60 "$REGTRACE" report "$dir" "$dir/rank-00000.h5"
is "$status $(grep -c '^Own overhead' <<<"$out")" '0 2' 'several folders: each in turn'
run 60 "$REGTRACE" report --json "$dir" "$dir"
is "$status" 2 'JSON is of one'
run 60 "$REGTRACE" report --window 1 "$dir"
like "$out" 'events recorded in window 1, 0 lost in the whole run' 'report --window says of what it is'
run 60 "$REGTRACE" report --window 7-9 "$dir"
is "$status $out" '1 ' 'windows that are not there: an error, and no report about nothing'
like "$err" 'windows 7 to 9 of -window is not in .*report --all' 'that says how to find those that are'
run 60 "$REGTRACE" report --rank 9 "$dir"
is "$status" 1 'a rank that is not there'
like "$err" 'none of the ranks' 'is an error'

run 60 "$REGTRACE" dump --rank 9 "$dir"
is "$status" 1 'dump of a rank that is not there'
like "$err" 'none of the ranks' 'is an error too'
run 60 "$REGTRACE" dump --code MPI_Sned "$dir"
is "$status" 0 'no event of that name: nothing is printed'
like "$err" 'no event of' 'and that is reported'

# A thread that begins while a window is open: the report names the window's opener, and the thread
# is not late by the window's age.
cat >late.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static void handler(int s) { (void)s; }
static void *work(void *a) { raise(SIGUSR1); return a; }
int main(void)
{
    pthread_t t;
    signal(SIGUSR1, handler);
    raise(SIGUSR1); /* something to record */
    usleep(3000000);
    pthread_create(&t, 0, work, 0);
    return pthread_join(t, 0);
}
END
cc -o late late.c -pthread
"$REGTRACE" run -quiet -o "$T/joined" -- ./late
late=$("$REGTRACE" report --json "$T/joined" | "$PYTHON" -c 'import json, sys; print([w["opened_by"] for w in json.load(sys.stdin)["windows"]])')
is "$late" "['default start', 'default start']" 'a window that a later thread joins was opened by who opened it'
ticks=$("$REGTRACE" dump --json --code EV_WINDOW_OPEN --thread 1 "$T/joined" | grep -o '"late_ticks": [0-9]*' | grep -o '[0-9]*$')
[ "${ticks:-9999999999}" -lt 2000000000 ]
ok $? "which it does not join $ticks ticks late"

# Compares dump's filters with dump's own unfiltered lines.
all=$("$REGTRACE" dump --json "$dir")
is "$("$REGTRACE" dump --json --rank 1 "$dir")" "$(grep '^{"rank": 1,' <<<"$all")" 'dump --rank'
is "$("$REGTRACE" dump --json --window 1-2 "$dir")" "$(grep -E '"window": [12],' <<<"$all")" 'dump --window'
is "$("$REGTRACE" dump --json --window 0 "$dir")" "$(grep -E '"window": 0,' <<<"$all")" 'dump --window of one'
is "$("$REGTRACE" dump --json --window 0-1 "$dir")" "$(grep -E '"window": [01],' <<<"$all")" 'dump --window up to one that is not the last'
is "$("$REGTRACE" dump --json --thread 0 "$T/edges")" "$(grep '"thread": 0,' "$T/edges.dump")" 'dump --thread'
is "$("$REGTRACE" dump --json --code 'MPI_*send' "$dir")" "$(grep -E '"name": "MPI_[A-Za-z_]*send",' <<<"$all")" 'dump --code'
is "$("$REGTRACE" dump --json --thread 7 "$dir")" '' 'dump --thread of a thread that is not there'
is "$("$REGTRACE" dump "$dir" | grep -vc '^#')" "$(wc -l <<<"$all")" 'dump for people has as many lines'

# A missing rank and a missing regtrace.h5: report names the rank and rebuilds regtrace.h5.
cp -r "$dir" "$T/missing"
rm "$T/missing/rank-00001.h5" "$T/missing/regtrace.h5"
run 60 "$REGTRACE" report "$T/missing"
like "$out" 'no file of rank 1' 'a missing rank is named'
[ -s "$T/missing/regtrace.h5" ]
ok $? 'regtrace.h5 is built where it is missing'
is "$("$REGTRACE" report --json "$T/missing" | "$PYTHON" -c 'import json,sys; print(json.load(sys.stdin)["missing"])')" '[1]' 'also in JSON'

# Lines of the log, and alarms that never fired.
run 120 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL='start:pcontrol:solve,stop:pcontrol:neverever' REGTRACE_DIR="$T/never" "$APPS/stencil.$last"
echo 'rank 0 pid 1 warning: a line of the log' >>"$T/never/regtrace.log"
run 60 "$REGTRACE" report "$T/never"
like "$out" 'never fired.*stop:pcontrol:neverever' 'an alarm that never fired is named'
like "$out" 'a line of the log' 'lines of the log are shown'
like "$out" 'end of program' 'a window that the program'"'"'s end closed says so'

# A rank killed in its window: the window is truncated, and the other ranks are complete. The writer
# may still be closing the file: report waits.
cat >"$T/killed.c" <<'END'
#include <mpi.h>
#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Pcontrol(1, "solve");
    for (int i = 0; i < 1000; i++)
        MPI_Barrier(MPI_COMM_SELF);
    if (rank == 1 && argc == 1)
        raise(SIGKILL);
    if (argc > 1)
        for (int i = 0; i < 150000; i++)
            MPI_Barrier(MPI_COMM_SELF);
    else
        sleep(60);
    MPI_Finalize();
}
END
if mpicc.$last -o "$T/killed" "$T/killed.c" 2>/dev/null; then
    run 60 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=$chain REGTRACE_DIR="$T/kill" "$T/killed"
    json=$("$REGTRACE" report --json "$T/kill")
    got=$("$PYTHON" -c '
import json, sys
r = json.load(sys.stdin)
one = [x for x in r["ranks"] if x["rank"] == 1][0]
w = [x for x in r["windows"] if x["rank"] == 1]
print(one["end_reason"], one["functions"][0]["calls"], len(w), w[0]["truncated"], w[0]["closed_by"], w[0]["stop_alarm"])' <<<"$json")
    is "$got" 'killed 1000 1 True killed None' 'a killed rank: all its calls, one truncated window'
    like "$("$REGTRACE" report "$T/kill")" 'rank(s 0-1 were| 1 was) killed' 'and the report says so'
    ok_run 'check has nothing against it' "$REGTRACE" check "$T/kill"

    # More events than the stream holds: the process waits for its writer, and the report says so.
    run 60 mpirun_for "$last" 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=$chain REGTRACE_DIR="$T/wait" REGTRACE_BUFFER=128K \
        "$T/killed" wait
    compare "$T/wait" 'waits'
    got=$("$PYTHON" -c '
import json, sys
r = json.load(open(sys.argv[1]))["ranks"][0]
# The program gives up a writer that shows no sign of life for 2 s.
print(r["overhead"]["waits"] > 0, r["overhead"]["wait_ns"] > 0, r["overhead"]["waits"] == sum(t["waits"] for t in r["threads"]),
      r["lost"] == 0 or r["overhead"]["wait_ns"] > 1.9e9)' "$T/wait.json")
    is "$got" 'True True True True' 'waits for the writer are counted, with their time, and lose nothing'
    like "$(cat "$T/wait.text")" 'waiting .* measured, [1-9][0-9]* waits for the writer' 'and told to people'

    # Many dropped events: they are counted, and calls whose other end fell into a gap are no
    # violation.
    run 60 mpirun_for "$last" 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=$chain REGTRACE_DIR="$T/drop" REGTRACE_FULL=drop \
        REGTRACE_BUFFER=128K "$T/killed" drop
    compare "$T/drop" 'dropped events'
    got=$("$PYTHON" -c '
import json, sys
r = json.load(open(sys.argv[1]))["ranks"][0]
print(r["lost"] > 0, r["lost"] + r["events"] >= 2 * 151000, r["unmatched"])' "$T/drop.json")
    is "$got" 'True True 0' 'lost and recorded together are what was emitted'
    ok_run 'check has nothing against gaps' "$REGTRACE" check "$T/drop"
else
    skip 'a killed rank' "mpicc.$last is not here"
fi

# Completions that could not be recorded, system calls that regtrace's signals interrupted, and
# lines about many ranks.
cat >"$T/starved.c" <<'END'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    MPI_Request *requests = malloc(1000 * sizeof *requests);
    struct rlimit bare, none;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 1000; i++)
        requests[i] = MPI_REQUEST_NULL;
    getrlimit(RLIMIT_AS, &bare);
    none = bare;
    none.rlim_cur = 1;
    setrlimit(RLIMIT_AS, &none);
    MPI_Waitall(1000, requests, MPI_STATUSES_IGNORE);
    setrlimit(RLIMIT_AS, &bare);
    MPI_Waitall(1000, requests, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    /* Broken off by the timer: nothing tells which system call it is. */
    volatile long number = SYS_poll;
    long rc;
    __asm__ volatile("movq %[n], %%rax; syscall" : "=&a"(rc) : [n] "m"(number), "D"(0), "S"(0), "d"(1000) : "rcx", "r11", "memory");
    return 0;
}
END
if mpicc.$last -o "$T/starved" "$T/starved.c" 2>/dev/null; then
    run 60 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL='start:timeout:200ms,stop:signal:USR1;stop:pcontrol:never' \
        REGTRACE_DIR="$T/idle" "$T/starved"
    like "$("$REGTRACE" report "$T/idle")" 'never fired \(ranks 0-1\): stop:pcontrol:never' 'one line for an alarm that never fired on several ranks'
    run 60 mpirun_for "$last" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL='start:timeout:1ms,precond:timeout:300ms,repeat' \
        REGTRACE_DIR="$T/starve" "$T/starved"
    run 60 mpirun_for "$last" 1 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/starve2" "$T/starved"
    like "$("$REGTRACE" report "$T/starve2")" 'rank 0: 1000 requests were waited for .* no memory' 'completions that could not be recorded are reported'
    like "$("$REGTRACE" report --json "$T/starve2")" '"completions_skipped": 1000' 'in JSON too'
    like "$("$REGTRACE" report --json "$dir")" '"completions_skipped": 0' 'and none where there was memory'
    like "$("$REGTRACE" report "$T/starve")" 'interrupted +[1-9][0-9]*  system calls that our signals broke off' 'so are system calls that we broke off'
    got=$("$REGTRACE" report --json "$T/starve" | "$PYTHON" -c '
import json, sys
print(all(r["interrupted"] == sum(t["interrupted"] for t in r["threads"]) > 0 for r in json.load(sys.stdin)["ranks"]))')
    is "$got" True 'and in JSON by rank'
else
    skip 'a starved rank' "mpicc.$last is not here"
fi

# Calls without their other end, as unseen exceptions leave them: made by hand in a copy of a file.
cp -r "$dir" "$T/ends"
"$PYTHON" - "$T/ends/rank-00000.h5" <<'END'
import sys
import h5py
MARK = 0x3d4d4b  # KM=
with h5py.File(sys.argv[1], "r+") as f:
    names = {int(r["code"]): r["label"] for r in f["functions"][:] if r["name"].startswith(b"MPI_")}
    events = f["events"][:]
    window = f["windows"][0]
    rows = [i for i in range(int(window["open_row"]), int(window["close_row"]))
            if events[i]["thread"] == window["thread"] and int(events[i]["code"]) in names]
    # Calls without other calls inside: pairs of neighbours.
    pairs = [(a, b) for a, b in zip(rows, rows[1:])
             if names[int(events[a]["code"])] == b"enter" and int(events[b]["code"]) != int(events[a]["code"])
             and names[int(events[b]["code"])] == b"leave"]
    code = events["code"]
    i = next(i for i in range(len(pairs) - 3) if code[pairs[i][0]] != code[pairs[i + 1][0]])
    (a, b), (c, d), (e, g), (last, end) = pairs[i], pairs[i + 1], pairs[i + 2], pairs[-1]
    code[b], code[c], code[d] = code[c], MARK, code[b]  # one inside the other, without its leave
    code[e] = code[g]  # two leaves without an enter
    code[end] = MARK  # the window closes over a call
    f["events"][:] = events
END
ok $? 'four ends of calls are taken away'
like "$("$REGTRACE" report --json "$T/ends")" '"unmatched": 4,' 'report counts them'
like "$("$REGTRACE" report "$T/ends")" 'rank 0: 4 MPI calls without their other end' 'and tells people'
unlike "$("$REGTRACE" report "$dir")" 'without their other end' 'of a whole file it says nothing of the kind'
done_testing
