#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace ctl: one request makes one event, in the requested ranks and threads. Also status,
# requests from other nodes, and runs where no rank answers.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
mpi=$(mpis | tail -1)

cat >p.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile int go_on = 1, begun;
static void *work(void *a)
{
    begun = 1;
    while (go_on)
        usleep(2000);
    return a;
}
int main(int argc, char **argv)
{
    pthread_t t;
    pthread_create(&t, 0, work, 0);
    while (!begun)
        usleep(2000);
    FILE *f = fopen(argv[1], "w");
    fprintf(f, "%d\n", (int)getpid());
    fclose(f);
    while (access(argv[2], F_OK) != 0)
        usleep(2000);
    go_on = 0;
    pthread_join(t, 0);
    puts("done");
    return argc - 3;
}
END
cc -o p p.c -pthread

"$REGTRACE" run -quiet -o "$T/one" -control start:interactive,stop:interactive,repeat -- ./p ready stop >p.out 2>&1 &
pid=$!
kill_at_end $pid
wait_for 20 test -s ready
wait_for 20 bash -c "ls $T/one/ctl/*.path"
run 30 "$REGTRACE" ctl "$T/one" status
is "$status" 0 'status'
like "$out" '^rank 0 pid [0-9]+: .*recording_threads=0' 'nobody records before the first request'
for i in 1 2 3 4 5; do "$REGTRACE" ctl "$T/one" fire >/dev/null || break; done
is "$i $?" '5 0' 'five requests were served'
run 30 "$REGTRACE" ctl --json "$T/one" status
like "$out" '"fired":5[,}]' 'five events'
like "$out" '"recording_threads":1[,}]' 'the thread records after an odd number'
run 30 "$REGTRACE" ctl "$T/one" fire --tid 1
is "$status" 0 'a request for the other thread'
run 30 "$REGTRACE" ctl "$T/one" fire --tid 99
is "$status" 1 'a thread that is not there is refused'
like "$out" 'no such thread' 'and it says so'
run 30 "$REGTRACE" ctl --rank 5 "$T/one" fire
is "$status" 1 'a rank that is not there'
like "$err" 'among the ranks asked for' 'is named so'
mode=$(stat -c %a "$T"/one/ctl/*.sock)
is "$mode" 600 'the socket is its user'"'"'s alone'
is "$(stat -c %a "$T/one/ctl" "$T"/one/ctl/*.path | xargs)" '700 600' 'so is the folder, in which requests may stand, and what is in it'

# Twenty clients at once: no request is lost.
for i in $(seq 20); do "$REGTRACE" ctl "$T/one" fire >/dev/null & fired[i]=$!; done
lost=0
for i in $(seq 20); do wait "${fired[i]}" || lost=$((lost + 1)); done
is "$lost" 0 'twenty requests at once are all served'
run 30 "$REGTRACE" ctl --json "$T/one" status
like "$out" '"fired":26[,}]' 'by one event each'

# The host in the .path file is not this one, as another node would see it. So the request goes
# through a file.
path=$(echo "$T"/one/ctl/*.path)
cp "$path" path.keep
sed -i '1s/.*/elsewhere/' "$path"
run 30 "$REGTRACE" ctl --json "$T/one" fire
is "$status" 0 'by a request file'
like "$out" '"ok":true' 'the answer comes by a file'
cp path.keep "$path"
run 30 "$REGTRACE" ctl --json "$T/one" status
like "$out" '"fired":27[,}]' 'and made one event'

# A run that still goes on: report shows at once what is recorded so far.
run 60 "$REGTRACE" report --json "$T/one"
is "$status" 0 'report of a run that goes on does not wait for its end'
like "$out" '"state": "live"' 'its file is live'
ok_run 'check --live has nothing against it' "$REGTRACE" check --live "$T/one"
run 60 "$REGTRACE" check --wait 0 "$T/one"
like "$out" 'still being written' 'without -live it is not complete'
touch stop
wait $pid
is "$?" 0 'the program ends as it would'
is "$(cat p.out)" 'done' 'with its own output'
ok_run 'what was recorded holds' "$REGTRACE" check "$T/one"
windows=$("$REGTRACE" report --json "$T/one" | grep -c '"ordinal"')
is "$windows" 14 'windows: 13 closed or open of the main thread, one of the other'
run 30 "$REGTRACE" ctl "$T/one" status
is "$status" 1 'after the end nobody answers'
like "$err" 'has ended' 'and it says so'

# Reports in the first second: before anything is recorded, and before the writer has made its file.
rm -f stop ready
"$REGTRACE" run -quiet -o "$T/early" -control start:interactive,stop:interactive,repeat -- ./p ready stop >p.out 2>&1 &
pid=$!
kill_at_end $pid
wait_for 20 bash -c "ls $T/early/ctl/*.path"
run 60 "$REGTRACE" report "$T/early"
is "$status" 1 'nothing is recorded yet: there is nothing to report'
like "$err" 'nothing has been recorded .* yet; traced processes that still run: 1' 'and it says that the program goes on'
"$REGTRACE" ctl "$T/early" fire >/dev/null
[ -e "$T/early/rank-00000.h5" ] && diag 'the file was made at once: what follows shows nothing this time'
run 60 "$REGTRACE" report --json "$T/early"
is "$status" 0 'report waits for it'
like "$out" '"state": "live"' 'and shows the live file'
touch stop
wait $pid
is "$?" 0 'the program ends as it would, once more'

# status shows the events dropped so far: the stream is full, its writer is stopped for a moment,
# and REGTRACE_FULL is drop.
cat >drops.c <<'END'
#include <regtrace.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    regtrace_region_begin("r");
    while (access(argv[1], F_OK) != 0)
        usleep(2000);
    for (int i = 0; i < 50000; i++)
        regtrace_mark_set(1, i);
    close(creat(argv[2], 0600));
    while (access(argv[3], F_OK) != 0)
        usleep(2000);
    return argc - 4;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o drops drops.c
REGTRACE_FULL=drop REGTRACE_BUFFER=128K REGTRACE_DIR=$T/starved LD_PRELOAD=$LIBREGTRACE ./drops go-on dropped leave &
pid=$!
kill_at_end $pid
wait_for 20 bash -c "ls $T/starved/ctl/*.path"
writer=$(sed -n 's/^writer_pid=//p' "$T"/starved/.regtrace/*.entry)
kill -STOP "$writer"
touch go-on
wait_for 20 test -e dropped
kill -CONT "$writer"
status_of() { "$REGTRACE" ctl --json "$T/starved" status | sed -n "s/.*\"$1\":\([0-9]*\)[,}].*/\1/p"; }
dropped=$(status_of dropped)
[ "${dropped:-0}" -gt 40000 ]
ok $? 'status tells how many events were dropped so far' || diag "${dropped:-}"
touch leave
wait $pid
is "$("$REGTRACE" report --json "$T/starved" | sed -n 's/^ *"lost": \([0-9]*\),*$/\1/p' | sort -u)" "$dropped" 'as many as the report says at the end'

# status counts the chains that are armed in any thread, no matter which thread began or fired last:
# before the first request, and after it.
rm -f stop ready
"$REGTRACE" run -quiet -o "$T/armed" -control 'start:interactive:tid0,stop:interactive:tid0;start:timeout:1000s' -- ./p ready stop >p.out 2>&1 &
pid=$!
kill_at_end $pid
wait_for 20 test -s ready
wait_for 20 bash -c "ls $T/armed/ctl/*.path"
run 30 "$REGTRACE" ctl "$T/armed" status
like "$out" 'armed_chains=2 .*threads=2 .*fired=0' 'both chains are armed, though one has nothing in the thread that began last'
"$REGTRACE" ctl "$T/armed" fire >/dev/null
"$REGTRACE" ctl "$T/armed" fire >/dev/null
run 30 "$REGTRACE" ctl "$T/armed" status
like "$out" 'armed_chains=1 .*fired=2' 'one has ended by its second event'
run 30 "$REGTRACE" ctl "$T/armed" fire
is "$status" 1 'a third request finds no alarm that waits: an error'
like "$out" 'error=nothing fired: no interactive alarm waits in the main thread .*,repeat$' 'which names the remedy'
run 30 "$REGTRACE" ctl --tid 1 "$T/armed" fire
is "$status" 1 'nor does one wait in the thread that the chain does not name'
like "$out" 'no interactive alarm waits in thread 1 now' 'and that thread is named'
run 30 "$REGTRACE" ctl "$T/armed" status
like "$out" 'fired=2' 'none of that is an event'
touch stop
wait $pid
is "$?" 0 'the program ends as it would, armed or not'

# Alarms with a count: a request that is only counted makes no event, and each chain that waits
# counts it. Also chains without an interactive alarm, through a request file.
rm -f stop ready
"$REGTRACE" run -quiet -o "$T/counted" -control 'start:interactive:count2;stop:interactive:count3,repeat;stop:interactive:count3' -- ./p ready stop >p.out 2>&1 &
pid=$!
kill_at_end $pid
wait_for 20 test -s ready
wait_for 20 bash -c "ls $T/counted/ctl/*.path"
for expected in 'fired=0 counted=3' 'fired=1 counted=2' 'fired=2 counted=0' 'fired=0 counted=1'; do
    run 30 "$REGTRACE" ctl "$T/counted" fire
    like "$status $out" "^0 .*: $expected\$" "alarms with counts: $expected"
done
touch stop
wait $pid
rm -f stop ready
"$REGTRACE" run -quiet -o "$T/none" -control start:timeout:1000s -- ./p ready stop >p.out 2>&1 &
pid=$!
kill_at_end $pid
wait_for 20 test -s ready
wait_for 20 bash -c "ls $T/none/ctl/*.path"
sed -i '1s/.*/elsewhere/' "$T"/none/ctl/*.path
run 30 "$REGTRACE" ctl --json "$T/none" fire
is "$status" 1 'chains without an interactive alarm: an error, by a request file too'
like "$out" '"ok":false,"error":"nothing fired: the chains of this rank have no interactive alarm' 'and it says that'
touch stop
wait $pid

# The request that ends the program gets its answer.
rm -f stop ready
"$REGTRACE" run -quiet -o "$T/last" -exit-on-stop -control start:interactive,stop:interactive -- ./p ready stop >p.out 2>&1 &
pid=$!
kill_at_end $pid
wait_for 20 test -s ready
wait_for 20 bash -c "ls $T/last/ctl/*.path"
"$REGTRACE" ctl "$T/last" fire >/dev/null
run 30 "$REGTRACE" ctl "$T/last" fire
like "$status $out" '^0 .*: fired=1 counted=0$' 'so is the request by which -exit-on-stop ends it'
wait $pid
is "$?" 0 'and it ends well'

if [ -n "$mpi" ]; then
    rm -f stop ready
    more=()
    [ "$mpi" = openmpi ] && more=(--oversubscribe)
    cat >wrapper.sh <<'END'
exec ./p "ready.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}" stop
END
    "$REGTRACE" run -quiet -o "$T/many" -control start:interactive,stop:interactive,repeat -- \
        "mpirun.$mpi" "${more[@]}" -np 3 bash wrapper.sh >many.out 2>&1 &
    pid=$!
    kill_at_end $pid
    wait_for 30 bash -c "[ \$(ls $T/many/ctl/*.path | wc -l) = 3 ]"
    run 30 "$REGTRACE" ctl "$T/many" status
    is "$(wc -l <<<"$out")" 3 'three ranks answer'
    run 30 "$REGTRACE" ctl --rank 1-2 "$T/many" fire
    is "$status $(wc -l <<<"$out")" '0 2' 'two ranks are asked'
    wait_for 20 bash -c "[ \$(ls $T/many/rank-*.h5 | wc -l) = 2 ]"
    like "$("$REGTRACE" report "$T/many")" 'no file of rank 0 so far' 'the third has no file yet'
    touch stop
    wait $pid
    is "$?" 0 'the job ends well'
    got=$("$REGTRACE" report --json "$T/many" | grep -o '"rank": [0-9], "thread": 0, "ordinal"' | sort | tr '\n' '|')
    is "$got" '"rank": 1, "thread": 0, "ordinal"|"rank": 2, "thread": 0, "ordinal"|' 'and they alone opened windows'
else
    for i in 1 2 3 4 5; do skip "ranks $i" 'no MPI here'; done
fi

# The writer looks for clients at each pass. accept() makes a socket first, also if nobody has
# connected, so it calls accept() only if somebody has.
cat >accepts.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
int accept4(int fd, struct sockaddr *restrict a, socklen_t *restrict n, int flags)
{
    int (*next)(int, struct sockaddr *, socklen_t *, int) = (int (*)(int, struct sockaddr *, socklen_t *, int))dlsym(RTLD_NEXT, "accept4");
    int log = open(getenv("ACCEPTS"), O_WRONLY | O_APPEND | O_CREAT, 0600), got = next(fd, a, n, flags);
    if (write(log, got >= 0 ? "+" : "-", 1) < 0)
        abort();
    close(log);
    return got;
}
END
cc -shared -fPIC -o accepts.so accepts.c -ldl || exit 99
printf '#!/bin/sh\nLD_PRELOAD=%s/accepts.so ACCEPTS=%s/accepts exec %s "$@"\n' "$T" "$T" "$REGTRACE_WRITER_PROGRAM" >writer
chmod +x writer
rm -f stop ready
"$REGTRACE" run -quiet -writer "$T/writer" -o "$T/accepts.run" -control start:interactive,stop:interactive,repeat -- ./p ready stop >p.out 2>&1 &
pid=$!
kill_at_end $pid
wait_for 30 test -s ready
for i in 1 2 3; do run 30 "$REGTRACE" ctl "$T/accepts.run" fire; done
touch stop
wait $pid
is "$?" 0 'a program whose writer counts its calls'
like "$(cat accepts)" '^(\+-?)+$' 'the writer calls accept() where clients are, and once more to see that there is none'
done_testing
