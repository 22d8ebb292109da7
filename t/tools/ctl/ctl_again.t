#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace ctl on a busy machine: it asks until each rank has answered, and a rank executes a
# request once. Also regtrace ctl open and close, which can be repeated.
. "$(dirname "$0")/../../lib.sh"
[ "$PYTHON" != no ] || skip_all 'no Python here for the stand-in of a writer'
cd "$T" || exit 99

# A stand-in for a writer fails at each step of a request in turn, then answers.
mkdir -p fake/ctl
"$PYTHON" "$here/ctl_stand_in.py" serve "$T/fake" >asked 2>stand_in.err &
pid=$!
kill_at_end $pid
wait_for 20 test -e fake/ctl/rank-00003.77.path
run 60 "$REGTRACE" ctl --wait 50 fake fire
is "$status" 0 'a request that breaks at each step is asked again until it is answered' || diag "$err"
like "$out" '^rank 3 pid 77: fired=1 counted=0$' 'with the answer of the last one'
wait $pid
is "$?" 0 'the stand-in has failed in all its ways' || diag "$(cat stand_in.err)"
is "$(wc -l <asked) $(sort -u asked | wc -l)" '4 1' 'every request that could be read was the same one'
like "$(sort -u asked)" '^fire id [0-9a-f]+$' 'with an identity'
run 30 "$REGTRACE" ctl --wait 1 fake fire
is "$status" 1 'nobody listens any more'
like "$err" 'rank 3 pid 77 on .*: no answer within 1 s: .*Connection refused' 'the rank is named, with the reason'
rm fake/ctl/*.path
printf 'gone\nx\n' >fake/ctl/rank-00004.78.path
"$PYTHON" "$here/ctl_stand_in.py" leave "$T/fake" &
pid=$!
kill_at_end $pid
wait_for 20 grep -q sock fake/ctl/rank-00004.78.path
run 30 "$REGTRACE" ctl --wait 1000 fake open
like "$status $err" '^1 .*rank 4 pid 78 on .*: it has ended' 'a writer that leaves while it is asked is waited for no longer'
wait $pid

# The second thread asks for its own recording, so windows that are opened for all threads include
# it.
cat >p.c <<'END'
#include <pthread.h>
#include <regtrace.h>
#include <stdio.h>
#include <unistd.h>
static volatile int go_on = 1, begun;
static void *work(void *a)
{
    begun = 1;
    while (go_on) {
        regtrace_mark_set(1, 1);
        usleep(2000);
    }
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
    return argc - 3;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o p p.c -pthread
# begin NAME CHAINS: starts the program with these chains. Sets $writer to its writer's pid.
begin() {
    rm -f ready stop
    REGTRACE_DIR=$T/$1 REGTRACE_CONTROL=$2 LD_PRELOAD=$LIBREGTRACE ./p ready stop &
    pid=$!
    kill_at_end $pid
    wait_for 20 test -s ready
    wait_for 20 bash -c "ls $T/$1/ctl/*.path"
    writer=$(sed -n 's/^writer_pid=//p' "$T/$1"/.regtrace/*.entry)
}
end() {
    touch stop
    wait $pid
}
status_of() { "$REGTRACE" ctl --json "$1" status | sed -n "s/.*\"$2\":\([0-9]*\)[,}].*/\1/p"; }

# The real writer, with a client that sends its line late, and one that asks twice.
begin real start:interactive,stop:interactive,repeat
run 60 "$PYTHON" "$here/ctl_stand_in.py" late "$T/real" "$REGTRACE"
is "$status" 0 'a client that connects, and sends its line after others were served, is answered' || diag "$out$err"
is "$(status_of real fired)" 1 'by one event'
run 60 "$PYTHON" "$here/ctl_stand_in.py" twice "$T/real"
is "$status" 0 'a request that comes again, by a socket or a file, gets the first answer' || diag "$out$err"
is "$(status_of real fired)" 2 'and is done once'

# A writer that is stopped, as on a busy machine.
kill -STOP "$writer"
run 30 "$REGTRACE" ctl --wait 1 real fire
is "$status" 1 'a writer that is stopped does not answer'
like "$err" "rank 0 pid $pid on .*: no answer within 1 s" 'and the rank is named'
"$REGTRACE" ctl --wait 500 real open >opened 2>&1 &
client=$!
kill_at_end $client
kill -CONT "$writer"
wait $client
is "$? $(cut -d: -f2- opened)" '0  window=opened' 'open is answered once it goes on'
end

# open and close work with any chains, for all threads, and can be repeated.
begin plain start:timeout:1000s
# threads N: waits until N threads record.
threads() { wait_for 20 bash -c "'$REGTRACE' ctl plain status | grep -q recording_threads=$1"; }
for expected in open:opened 'open:was open' close:closed 'close:was closed' 'open:opened'; do
    run 30 "$REGTRACE" ctl plain "${expected%%:*}"
    like "$status $out" "^0 rank 0 pid $pid: window=${expected#*:}\$" "chains without an interactive alarm: $expected"
    case $expected in *open*) threads 2 ;; *) threads 0 ;; esac
    ok $? 'for all threads'
done
like "$("$REGTRACE" ctl plain status)" ' windows=2 fired=3 ignored=0 ' 'what changes nothing is no event'
"$REGTRACE" ctl plain close >/dev/null
threads 0
run 30 "$REGTRACE" ctl --tid 1 plain open
like "$status $out" '^0 .*window=opened$' 'a window for one thread'
threads 1
ok $? 'for that one alone'
run 30 "$REGTRACE" ctl --tid 0 plain close
like "$status $out" '^0 .*window=was closed$' 'the main thread has none'
run 30 "$REGTRACE" ctl --tid 1 plain close
like "$status $out" '^0 .*window=closed$' 'the other thread has one'
run 30 "$REGTRACE" ctl --tid 7 plain close
like "$status $out" '^1 .*no such thread' 'a thread that is not there is refused'
end
run 60 "$REGTRACE" report --json plain
is "$(grep -c '"opened_by": "API"' <<<"$out") $(grep -c '"closed_by": "API"' <<<"$out")" '5 5' 'the report has two windows of both threads, and one of one'
ok_run 'what was recorded holds' "$REGTRACE" check plain

# open and close move a chain with interactive alarms forward, so that fire stays in step.
begin chain start:interactive:bcast,stop:interactive:bcast,repeat
for request in open:window=opened 'open:window=was open' fire:'fired=1 counted=0' 'close:window=was closed' 'open:window=opened' \
    close:window=closed fire:'fired=1 counted=0' 'open:window=was open'; do
    run 30 "$REGTRACE" ctl chain "${request%%:*}"
    like "$status $out" "^0 .*: ${request#*:}\$" "with interactive alarms: $request"
done
like "$("$REGTRACE" ctl chain status)" ' windows=3 fired=5 ignored=0 ' 'three windows, and no event too many'
end

# A run that has not begun.
run 30 "$REGTRACE" ctl later status
like "$status $err" '^1 .*later: no such folder .-wait SECONDS waits' 'a run that has not begun is not waited for'
"$REGTRACE" ctl --wait 500 later open >opened 2>&1 &
client=$!
kill_at_end $client
begin later start:interactive:bcast,stop:interactive:bcast,repeat
wait $client
like "$? $(cat opened)" '^0 .*: window=opened$' 'with --wait it is'
end

# The default window of a run without chains.
begin default ''
wait_for 20 bash -c "'$REGTRACE' ctl default status | grep -q windows=1"
run 30 "$REGTRACE" ctl default close
like "$status $out" '^0 .*window=closed$' 'the default window is closed'
run 30 "$REGTRACE" ctl default open
like "$status $out" '^0 .*window=opened$' 'and another one opened'
end

# A job of two ranks of which one begins late.
one_of_two() {
    OMPI_COMM_WORLD_RANK=$1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$1 REGTRACE_RUN=two REGTRACE_DIR=$T/two \
        REGTRACE_CONTROL=start:interactive LD_PRELOAD=$LIBREGTRACE ./p "ready$1" stop2 &
    kill_at_end $!
    wait_for 20 test -s "ready$1"
}
one_of_two 1
wait_for 20 bash -c "ls $T/two/ctl/*.path"
run 30 "$REGTRACE" ctl --wait 1 two open
like "$status $out" '^1 rank 1 pid [0-9]+: window=opened$' 'a rank that has not begun is waited for'
like "$err" 'rank 0 of 2 ranks was not asked: nobody listens there. It has not begun to record, so ask again' 'and named'
run 30 "$REGTRACE" ctl --wait 1 --rank 1 two open
like "$status $out$err" '^0 rank 1 pid [0-9]+: window=was open$' 'unless -rank leaves it out'
"$REGTRACE" ctl --wait 500 two open >opened 2>&1 &
client=$!
kill_at_end $client
one_of_two 0
wait $client
is "$? $(sed 's/pid [0-9]*//' opened | xargs)" '0 rank 0 : window=opened rank 1 : window=was open' 'it is asked when it begins'
touch stop2
wait_for 30 bash -c "! ls $T/two/ctl/*.path 2>/dev/null"
done_testing
