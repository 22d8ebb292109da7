#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace check finds nothing wrong with a good run, and finds each broken invariant by its rule.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
needs h5py
mpi=$(mpis | tail -1)
[ -n "$mpi" ] || skip_all 'no MPI here'

mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=start:pcontrol:solve,stop:pcontrol:solved,repeat \
    REGTRACE_DIR="$T/good" "$APPS/stencil.$mpi" >/dev/null 2>&1
run 60 "$REGTRACE" check "$T/good"
is "$status" 0 'a good run has no violation'
like "$out" '2 files, [1-9][0-9]{3,} facts compared, no violation' 'and things were compared'

run 60 "$REGTRACE" check --window 1-2 "$T/good"
is "$status" 0 'two of its windows have none either'
like "$out" '2 files, windows 1 to 2, [1-9][0-9]{2,} facts compared, no violation' 'and their things were compared'
run 60 "$REGTRACE" check --window 9 "$T/good"
is "$status" 1 'a window that is not there is no success'
like "$err" 'window 9 of -window is not in .*report --all' 'and the message says how to find those that are'

# Each line: MUTATION RULE [WORDS]. RULE must be among the rules that complain, with these words.
cat >mutations <<'END'
ordinals ordinals
no-stop windows
open-reason windows
stop-before-start windows
wrong-open-row windows
overlap windows
kind-unknown windows
weight-negative windows
region-unknown strings
clock-back clocks
thread-rows counts
thread-recorded counts
events-cut counts
fired-cut counts
windows-cut counts
dropped losses
leave-lost balance
code-unknown codes
string-unknown strings
alarm-unknown fired
fired-row fired
thread-twice footers
thread-none footers
thread-ends-early footers ends before it starts
stop-and-mark windows a stop and a truncation mark
close-before-open windows its stop stands before its start
wrong-close-row windows is not its closing
icount-down windows instruction counts go down
ordinal-twice windows two rows of window 0
window-thread footers its thread has no row
incomplete losses left 5 events incomplete
loss-unknown losses unknown kind 99
fired-order fired not in the order of their events
fired-beyond counts fired alarms among the events
name-unknown strings /threads row 0 names string 3999
map-unknown strings /maps row .* names string 3999
event-thread footers events of thread 77
event-thread pieces event 20 is thread 77's, /pieces says 0's
pieces-cut pieces [0-9]* of [0-9]* rows of /pieces hold together, about
pieces-torn pieces 0 of [0-9]* rows of /pieces hold together, about 0 of
pieces-thread pieces event 0 is thread 0's, /pieces says 5's
pieces-first pieces from event 0 on: its first clock is [0-9]*, not 5
path-parent paths was called from path 7777, which is not in the file
path-cycle paths has more than 64 callers or a cycle
path-twice paths has two rows
path-image strings /paths row .* names string 3999
path-unknown paths names path 7777, which is not in the file
pieces-last pieces its last clock is [0-9]*, not 5
open-over-edge balance open over a window
open-at-end balance still open at the end
opens-inside windows inside window
closes-other windows closes window 0, open is 1
events-cut index
windows-cut index
skipped ordinals no window has ordinal
skipped-more-killed ordinals no window has ordinal
END
mapfile -t mutations < <(cut -d' ' -f1 mutations)
is "$("$PYTHON" "$here/mutate.py" good rank-00001.h5 broken "${mutations[@]}" skipped-killed 2>&1)" '' 'all mutations were made'
while read -r mutation rule words; do
    run 60 "$REGTRACE" check "broken/$mutation"
    if [ "$status" = 1 ] && grep -q "^rank-00001.h5: $rule: .*$words" <<<"$out"; then
        ok 0 "$mutation breaks the rule $rule${words:+: $words}"
    else
        ok 1 "$mutation breaks the rule $rule${words:+: $words}"
        diag "status $status" "$out" "$err"
    fi
    unlike "$out" '^rank-00000' "$mutation: nothing is reported of the other file"
    run 60 "$REGTRACE" report "broken/$mutation"
    [ "$status" -le 1 ]
    ok $? "$mutation: report reads it or refuses it" || diag "status $status" "$err"
done <mutations

# A thread takes an ordinal before it records its window. SIGKILL may come between the two.
for span in '' '--window 0-9'; do
    # shellcheck disable=SC2086  # words
    run 60 "$REGTRACE" check $span broken/skipped-killed
    is "$status" 0 "one that a killed thread took is no violation${span:+ ($span)}" || diag "$out"
done

# --window examines only the windows of its span: the mutation is in window 0.
for mutation in no-stop stop-before-start wrong-open-row; do
    run 60 "$REGTRACE" check --window 0 "broken/$mutation"
    is "$status" 1 "--window 0 finds $mutation in window 0"
    run 60 "$REGTRACE" check --window 1-2 "broken/$mutation"
    is "$status" 0 "--window 1-2 does not look there"
done

# Events that the run accounts for as lost are no violation.
cc -I"$REGTRACE_SOURCE/share/include" -o many -xc - <<'END'
#include <regtrace.h>
int main(void)
{
    for (int i = 0; i < 300000; i++) {
        regtrace_region_begin("r");
        regtrace_region_end("r");
    }
    return 0;
}
END
REGTRACE_COMPRESS=0 REGTRACE_MAX_SIZE=1M REGTRACE_DIR=$T/large LD_PRELOAD=$LIBREGTRACE ./many
run 60 "$REGTRACE" check "$T/large"
is "$status" 0 'a run that reached REGTRACE_MAX_SIZE has no violation' || diag "$out"
like "$("$REGTRACE" report "$T/large")" 'recorded, [1-9][0-9]* lost' 'though it lost events'
like "$("$REGTRACE" report --json "$T/large")" '"end_reason": "finished; size limit reached before"' 'and says how it came'
like "$("$REGTRACE" report --json "$T/large")" '"closed_by": "size limit".*"truncated": true' 'its window ended there'
is "$(grep -c 'error: recording has ended: the file has reached REGTRACE_MAX_SIZE' "$T/large/regtrace.log")" 1 'once in its log, too'

rm -rf "$T/bad" && cp -r "$T/good" "$T/bad" && rm "$T/bad/rank-00001.h5" && cp "$T/good/rank-00000.h5" "$T/bad/rank-00007.h5"
run 60 "$REGTRACE" check "$T/bad"
is "$status" 1 'a file that regtrace.h5 does not know'
like "$out" '^rank-00007.h5: index: regtrace.h5 does not know' 'is a violation of index'
rm -rf "$T/bad" && cp -r "$T/good" "$T/bad" && truncate -s 2000 "$T/bad/regtrace.h5"
run 60 "$REGTRACE" check "$T/bad"
like "$out" '^regtrace.h5: index: .*damaged' 'a cut regtrace.h5 is a violation'
is "$status" 1 'and no success'
rm -rf "$T/bad" && cp -r "$T/good" "$T/bad" && truncate -s 5000 "$T/bad/rank-00000.h5"
run 60 "$REGTRACE" check "$T/bad"
like "$out" '^rank-00000.h5: readable: ' 'a cut rank file is a violation'
is "$status" 1 'and no success'

# A child has recorded and ended, and its file has been renamed since. While another process still
# writes, regtrace.h5 may be older than that.
cat >"$T/first.c" <<'END'
#include <regtrace.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    if (fork() == 0) {
        regtrace_mark_set(1, 1);
        return 0;
    }
    (void)wait(0);
    while (access(argv[1], F_OK) != 0)
        (void)usleep(20000);
    regtrace_mark_set(1, 2);
    while (argc > 2 && access(argv[2], F_OK) != 0)
        (void)usleep(20000);
    return 0;
}
END
if cc -I"$REGTRACE_SOURCE/share/include" -o "$T/first" "$T/first.c"; then
    REGTRACE_DIR=$T/first.run LD_PRELOAD=$LIBREGTRACE "$T/first" "$T/go" "$T/end" &
    first=$!
    for ((i = 0; i < 600; i++)); do [ -e "$T/first.run/regtrace.h5" ] && break; sleep 0.1; done
    touch "$T/go"
    for ((i = 0; i < 600; i++)); do [ "$(echo "$T"/first.run/rank-*.h5 | wc -w)" = 2 ] && break; sleep 0.1; done
    ok_run "a live run whose first file has another name now has no violation" "$REGTRACE" check -live "$T/first.run"
    touch "$T/end"
    wait "$first"
    ok_run "nor has it at its end" "$REGTRACE" check "$T/first.run"
else
    skip "a live run" "it does not compile"
fi

done_testing
