#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The named calls: broadcast starts after threads have left the broadcast window, and names that
# cannot be read.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99

cat >p.c <<'END'
#include <pthread.h>
#include <regtrace.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_barrier_t line;
static void meet(void) { pthread_barrier_wait(&line); }
static void mark(const char *name) { regtrace_region_begin(name); regtrace_region_end(name); }

/* Follows what main asks for, one step at a time; records a region where it is in a window. */
static void *other(void *leaves)
{
    mark("other 0");
    meet();
    if (leaves)
        regtrace_stop(0);
    meet();
    meet();
    mark("other 1");
    meet();
    meet();
    mark("other 2");
    meet();
    return NULL;
}

static void two(int other_leaves, int main_leaves)
{
    pthread_t t;
    pthread_barrier_init(&line, NULL, 2);
    mark("main 0");
    pthread_create(&t, NULL, other, other_leaves ? &line : NULL);
    meet();
    meet();
    if (main_leaves)
        regtrace_stop(0);
    regtrace_start(1);
    mark("main 1");
    meet();
    meet();
    regtrace_stop(1);
    mark("nobody");
    meet();
    meet();
    pthread_join(t, NULL);
}

static void alone(void)
{
    mark("zero");
    regtrace_stop(0);
    mark("nobody");
    regtrace_start(1);
    mark("one");
    regtrace_start(1); /* ignored */
    regtrace_stop(0);
    regtrace_start(0);
    mark("two");
    regtrace_stop(1);
    regtrace_stop(1); /* ignored */
    regtrace_start(1);
    mark("three");
}

/* Records less than a chunk, in a thread that still exists when the program ends. main records
 * nothing. */
static void *worker(void *met)
{
    for (int i = 0; i < 5; i++)
        mark("worker");
    pthread_barrier_wait(met);
    for (;;)
        pause();
}

static void left(void)
{
    pthread_t t;
    pthread_barrier_init(&line, NULL, 2);
    pthread_create(&t, NULL, worker, &line);
    meet();
}

static void unreadable(void)
{
    char *edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *bad[] = {(char *)0x10, (char *)0x7ffffffff010, (char *)~0UL, edge + 4000, NULL, ""};
    (void)munmap(edge + 4096, 4096);
    memset(edge, 'x', 4096);
    for (int i = 0; i < 6; i++) {
        regtrace_region_begin(bad[i]);
        regtrace_region_end(bad[i]);
    }
    regtrace_mark_type(3, 0, bad[0]);
    regtrace_mark_label(3, 1, bad[0]);
    edge[4095] = '\0';
    for (int i = 0; i < 3; i++)
        mark(edge + 4090);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    switch (argv[1][0]) {
    case 'a': alone(); break;
    case 's': two(0, 1); break;
    case 'l': two(1, 0); break;
    case 'b': two(1, 1); break;
    case 'u': unreadable(); break;
    case 'w': left(); break;
    default: break;
    }
    puts("done");
    return 0;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o p p.c -pthread || exit 99

# rows RUN: prints the windows as "ordinal thread bcast firing closed-by", in order. names RUN:
# prints which region is in which window.
rows() {
    "$REGTRACE" report --json "$T/$1" | "${PYTHON:-python3}" -c '
import json, sys
for w in sorted(json.load(sys.stdin)["windows"], key=lambda w: (w["ordinal"], w["thread"])):
    print(w["ordinal"], w["thread"], int(w["bcast"]), int(w["firing"]), w["closed_by"].replace(" ", "_"), end="; ")'
}
names() { "$REGTRACE" dump "$T/$1" | sed -n 's/^ *[0-9.]* *[0-9]* *\([0-9]*\) *\([-0-9]*\) *EV_REGION_BEGIN .*region="\(.*\)".*/\3 in \2 of \1/p' | sort | tr '\n' ';'; }
trace() {
    run 60 env REGTRACE_DIR="$T/$1" LD_PRELOAD="$LIBREGTRACE" ./p "$1"
    is "$status $out $err" '0 done ' "$2: the program ends as it would"
    wait_for 20 test -e "$T/$1/regtrace.h5"
    ok_run "$2: the invariants hold" "$REGTRACE" check "$T/$1"
}

trace alone 'one thread'
is "$(rows alone)" '0 0 1 1 API; 1 0 1 1 API; 2 0 0 1 API; 3 0 1 1 end_of_program; ' \
    'one thread: a broadcast start after its own stop opens a broadcast window'
is "$(names alone)" 'one in 1 of 0;three in 3 of 0;two in 2 of 0;zero in 0 of 0;' 'one thread: what it did is in the windows that it asked for'
is "$("$REGTRACE" dump "$T/alone" | grep -c 'EV_FIRED.*ignored=1')" 2 'one thread: what changed nothing is ignored, nothing else'

trace stays 'the other thread stays in the first window'
is "$(rows stays)" '0 0 1 1 API; 0 1 1 0 API; 1 0 1 1 API; ' 'main opens a new one, the other thread stays where it is'
is "$(names stays)" 'main 0 in 0 of 0;main 1 in 1 of 0;other 0 in 0 of 1;other 1 in 0 of 1;' 'and records on in it'

trace leaves 'the other thread has left, main has not'
is "$(rows leaves)" '0 0 1 1 API; 0 1 1 0 API; 1 1 1 0 API; ' 'the broadcast start is for the thread that had left'
is "$(names leaves)" 'main 0 in 0 of 0;main 1 in 0 of 0;other 0 in 0 of 1;other 1 in 1 of 1;' 'and main stays where it is'
is "$("$REGTRACE" dump "$T/leaves" | grep -c 'EV_FIRED.*ignored=1')" 0 'so it is not ignored'

trace both 'both have left'
is "$(rows both)" '0 0 1 1 API; 0 1 1 0 API; 1 0 1 1 API; 1 1 1 0 API; ' 'both are in the new window'

trace worker 'a worker that is left over'
is "$(names worker)" 'worker in 0 of 1;worker in 0 of 1;worker in 0 of 1;worker in 0 of 1;worker in 0 of 1;' 'what it alone has recorded is there'

trace unreadable 'names that cannot be read'
is "$(names unreadable)" 'xxxxx in 0 of 0;xxxxx in 0 of 0;xxxxx in 0 of 0;' 'are left out, readable ones beside the end of memory are not'
is "$(grep -c 'not in readable memory' "$T/unreadable/regtrace.log")" 1 'and told once'
# The end of a region fires an alarm, as its begin does. Each region is a window that contains both
# its ends.
cat >ends.c <<'END'
#include <regtrace.h>
int main(void)
{
    for (int i = 0; i < 3; i++) {
        regtrace_region_begin("outer");
        regtrace_region_begin("solve");
        regtrace_mark_set(1, i + 1);
        regtrace_region_end("solve");
        regtrace_mark_set(1, 9);
        regtrace_region_end("outer");
    }
    regtrace_region_end("solve"); /* of none that was begun: nothing is open, and nothing changes */
    return 0;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o ends ends.c || exit 99
run 60 env REGTRACE_DIR="$T/ends.run" REGTRACE_CONTROL='start:pcontrol:solve,stop:pcontrol:end=solve,repeat' LD_PRELOAD="$LIBREGTRACE" ./ends
wait_for 20 test -e "$T/ends.run/regtrace.h5"
ok_run 'regions as windows: the invariants hold' "$REGTRACE" check "$T/ends.run"
is "$(rows ends.run)" '0 0 0 1 alarm; 1 0 0 1 alarm; 2 0 0 1 alarm; ' 'each is a window'
is "$("$REGTRACE" dump "$T/ends.run" | sed -n 's/.* \(EV_[A-Z_]*\) .*value=\([0-9]*\).*/\2/p; s/.*EV_REGION_\([A-Z]*\) .*region="\(.*\)".*/\1 \2/p' | xargs)" \
    "$(for i in 1 2 3; do echo "BEGIN outer BEGIN solve $i END solve END outer"; done | xargs)" 'with both ends of it, and no more'
run 60 "$REGTRACE" run --explain -control start:pcontrol:solve,stop:pcontrol:end=solve -- ./ends
like "$out" 'it ends the region "solve"' 'explained in words'

# A program fires any event in any thread. The thread fires the event itself, for itself or for all
# threads.
cat >fires.c <<'END'
#include <pthread.h>
#include <regtrace.h>
#include <unistd.h>
static volatile int ready, seen, step;
static void *other(void *unused)
{
    regtrace_mark_type(1, 0, "step"); /* it is known by its number */
    regtrace_fire(REGTRACE_EVENT_STOP, REGTRACE_THIS_THREAD, 0); /* ignored */
    ready = 1;
    while (step == 0)
        usleep(1000);
    return unused;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    while (!ready)
        usleep(1000);
    regtrace_fire(REGTRACE_EVENT_WARMUP_START, REGTRACE_THIS_THREAD, 0);
    regtrace_fire(REGTRACE_EVENT_WARMUP_STOP, 0, 0);
    regtrace_fire(REGTRACE_EVENT_START, 1, 0);
    regtrace_fire(REGTRACE_EVENT_STATS_EMIT, 1, 0);
    regtrace_fire(REGTRACE_EVENT_THREADID, 1, 0);
    regtrace_fire(REGTRACE_EVENT_STOP, 1, 0);
    regtrace_fire(REGTRACE_EVENT_START, 99, 0);
    regtrace_fire(REGTRACE_EVENT_PRECOND, -7, 0);
    regtrace_fire(-1, 0, 0);
    regtrace_fire(13, 0, 0);
    while (access(FIRED, F_OK) != 0)
        usleep(1000);
    step = 1;
    pthread_join(t, NULL);
    return 0;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -DFIRED="\"$T/fired\"" -o fires fires.c -pthread || exit 99
REGTRACE_DIR=$T/fires.run REGTRACE_DEFAULT_START=0 LD_PRELOAD=$LIBREGTRACE ./fires &
pid=$!
kill_at_end $pid
wait_for 60 bash -c "'$REGTRACE' ctl '$T/fires.run' status | grep -q ' fired=7 '"
ok $? 'seven events have been fired'
touch "$T/fired"
wait $pid
is $? 0 'the program ends as it would'
wait_for 20 test -e "$T/fires.run/regtrace.h5"
ok_run 'the invariants hold' "$REGTRACE" check "$T/fires.run"
is "$("$REGTRACE" dump "$T/fires.run" | sed -n 's/^ *[0-9.]* *[0-9]* *\([0-9]*\) .* EV_FIRED .*event="\([a-z-]*\)".*/\1 \2/p' | sort -s -n | xargs)" \
    '0 warmup-start 0 warmup-stop 1 stop 1 start 1 stats-emit 1 threadid 1 stop' 'each in its thread, and in order'
is "$(rows fires.run)" '0 0 0 1 API; 1 1 0 1 API; ' 'they open and close windows there'
is "$(grep -c 'regtrace_fire: no such thread' "$T/fires.run/regtrace.log")" 1 'a thread that is not there is reported'

# Events for one thread fire in the order of the calls, also while the thread is serving earlier
# events.
cat >order.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <regtrace.h>
#include <sched.h>
#include <unistd.h>
static volatile int ready, done;
static volatile long turns;
/* The two threads run at the same time. */
static void stay_on(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}
static void *other(void *unused)
{
    stay_on(1);
    regtrace_fire(REGTRACE_EVENT_STOP, REGTRACE_THIS_THREAD, 0); /* ignored */
    ready = 1;
    while (!done)
        turns++;
    return unused;
}
/* Until the thread has handled what is there. */
static void let_run(void)
{
    for (long from = turns; turns - from < 100000;)
        ;
}
int main(void)
{
    pthread_t t;
    stay_on(0);
    pthread_create(&t, NULL, other, NULL);
    while (!ready)
        usleep(1000);
    for (int i = 0; i < 4000; i++) {
        regtrace_fire(i % 2 == 0 ? REGTRACE_EVENT_START : REGTRACE_EVENT_STOP, 1, 0);
        for (volatile int k = 0; k < 100; k++)
            ;
        if (i % 16 == 15)
            let_run();
    }
    done = 1;
    pthread_join(t, NULL);
    return 0;
}
END
cc -O1 -I"$REGTRACE_SOURCE/share/include" -o order order.c -pthread || exit 99
run 120 env REGTRACE_DIR="$T/order.run" REGTRACE_DEFAULT_START=0 LD_PRELOAD="$LIBREGTRACE" ./order
wait_for 20 test -e "$T/order.run/regtrace.h5"
"$REGTRACE" dump "$T/order.run" | sed -n 's/.* EV_FIRED .*event="\([a-z-]*\)".*/\1/p' >order
is "$(wc -l <order)" 4001 'all events for another thread fire'
is "$(uniq -d order | head -n 1)" '' 'starts and stops of another thread alternate as they were asked for'

# Threads that began before anything was recorded are reached too.
cat >early.c <<'END'
#include <pthread.h>
#include <regtrace.h>
#include <unistd.h>
static volatile int begun, done;
static void *other(void *computes)
{
    __sync_fetch_and_add(&begun, 1);
    while (!done)
        if (computes == NULL)
            usleep(1000);
    return NULL;
}
static void *first(void *unused)
{
    regtrace_fire(REGTRACE_EVENT_START, 0, 0);
    usleep(10000);
    regtrace_fire(REGTRACE_EVENT_STOP, 0, 0);
    return unused;
}
int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, other, &t);
    pthread_create(&t[1], NULL, other, NULL);
    while (begun < 2)
        usleep(1000);
    for (int i = 1; i <= 2; i++) {
        regtrace_fire(REGTRACE_EVENT_START, i, 0);
        usleep(10000);
        regtrace_fire(REGTRACE_EVENT_STOP, i, 0);
    }
    usleep(100000);
    pthread_create(&t[2], NULL, first, NULL);
    pthread_join(t[2], NULL);
    usleep(100000);
    done = 1;
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
END
cc -O1 -I"$REGTRACE_SOURCE/share/include" -o early early.c -pthread || exit 99
run 60 env REGTRACE_DIR="$T/early.run" REGTRACE_DEFAULT_START=0 LD_PRELOAD="$LIBREGTRACE" ./early
wait_for 20 test -e "$T/early.run/regtrace.h5"
is "$("$REGTRACE" dump "$T/early.run" | sed -n 's/^ *[0-9.]* *[0-9]* *\([0-9]*\) .* EV_FIRED .*event="\([a-z-]*\)".*/\1 \2/p' | sort -s -n | xargs)" \
    '0 start 0 stop 1 start 1 stop 2 start 2 stop' 'threads that have recorded nothing yet fire events'

# The stream and the writer of such a program begin before main, so that its first region is not
# shorter by what they take. Others have none until there is something to record.
said=
no_stream() { [ -z "$(ls streams)" ]; }
for call in 'regtrace_region_begin("work")' '(void)0'; do
    mkdir -p streams
    cat >begins.c <<END
#include <dirent.h>
#include <regtrace.h>
#include <stdio.h>
int main(void)
{
    int streams = -2; /* . and .. */
    DIR *d = opendir("streams");
    while (d != NULL && readdir(d) != NULL)
        streams++;
    $call;
    return printf("%d\n", streams) < 0;
}
END
    cc -O1 -I"$REGTRACE_SOURCE/share/include" -o begins begins.c || exit 99
    run 60 env REGTRACE_DIR="$T/begins.run" REGTRACE_SHM="$T/streams" LD_PRELOAD="$LIBREGTRACE" ./begins
    said="$said$out "
    wait_for 20 no_stream
    rm -rf streams begins.run
done
is "$said" '1 0 ' 'a program with named calls begins to record before main, no other'

# A window that closes in a handler has no end of that run; one that opens in a handler has no
# beginning of it.
cat >handler.c <<'END'
#include <regtrace.h>
#include <signal.h>
#include <stddef.h>
static void mark(const char *name) { regtrace_region_begin(name); regtrace_region_end(name); }
static void turn(int signo)
{
    if (signo == SIGUSR1) {
        mark("before stop");
        regtrace_stop(0);
        mark("nobody");
    } else {
        mark("nobody");
        regtrace_start(0);
        mark("after start");
    }
}
int main(void)
{
    (void)signal(SIGUSR1, turn);
    (void)signal(SIGUSR2, turn);
    regtrace_start(0);
    for (int i = 0; i < 2; i++) {
        (void)raise(SIGUSR1);
        (void)raise(SIGUSR2);
    }
    mark("main");
    return 0;
}
END
cc -O1 -I"$REGTRACE_SOURCE/share/include" -o handler handler.c || exit 99
run 60 env REGTRACE_DIR="$T/handler.run" REGTRACE_DEFAULT_START=0 LD_PRELOAD="$LIBREGTRACE" ./handler
is "$status" 0 'windows that close and open in handlers: the program runs'
wait_for 20 test -e "$T/handler.run/regtrace.h5"
is "$("$REGTRACE" dump "$T/handler.run" | sed -n 's/.* window opens .*/[/p; s/.* window closes .*/]/p; s/.* signal handler begins .*/(/p; s/.* signal handler ends .*/)/p; s/.* region begins .*"\(.*\)".*/\1/p' | xargs | sed 's/ *\([][]\) */\1/g')" \
    '[( before stop][after start ( before stop][after start main]' 'ends and beginnings of these runs are missing, and nothing else'
ok_run 'and the file is consistent' "$REGTRACE" check "$T/handler.run"
done_testing
