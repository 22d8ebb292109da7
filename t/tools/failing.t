#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One call fails: for each subcommand that reads recordings and for the writer, the n-th allocation,
# open, write or mmap of a short run (t/harness/failing.c). The outcome is the same output, or an
# error with text; never a crash, and never another output without a word.
# FAILING_MOST: calls of each kind that fail, spread over the run (default 12; failing_long.t: all).
. "$(dirname "$0")/../lib.sh"
most=${FAILING_MOST:-12}
cd "$T" || exit 99
cc -O2 -Wall -shared -fPIC -o failing.so "$REGTRACE_SOURCE/t/harness/failing.c" -ldl || exit 99
for recording in calls memory values; do
    tar xJf "$REGTRACE_SOURCE/t/recorded/$recording.tar.xz" || exit 99
done
unset DEBUGINFOD_URLS

# contents: prints a checksum of what the command printed and of what it has made.
contents() { { cat out; [ ! -e made ] || find made -type f | LC_ALL=C sort | xargs cat; } | cksum; }
# once FAILING COMMAND...: runs the command in an empty place.
once() {
    rm -rf made made.*
    run_with_limit 60 env FAILING="$1" LD_PRELOAD="$T/failing.so" "$REGTRACE" "${@:2}" >out 2>err </dev/null
}
# outcome WANTED STATUS: prints what is wrong, or nothing.
outcome() {
    local function kind=in
    if [ "$2" = 255 ] && grep -q 'the HDF5 library had no memory' err; then
        return
    elif [ "$2" -ge 124 ]; then
        # Not all of HDF5's own code looks whether it has got memory. H5FL_blk_malloc() goes on and
        # damages the heap, which glibc finds later, wherever the process is by then.
        [ "$2" != 134 ] || kind=made
        function=$(sed -n "s/^failing: $kind //p" err | xargs addr2line -f -e "$REGTRACE" | awk 'NR % 2 && $1 != "??" { print; exit }')
        [[ $function == H5* ]] || echo "ended with $2 in $function"
    elif [ "$2" != 0 ]; then
        [ -s err ] || grep -qE ': readable: |crashes the HDF5 library' out || echo "failed without a word"
    elif [ "$(contents)" != "$1" ]; then
        [ -s err ] || grep -qE ' are (unknown|hexadecimal): .' out || echo "another output without a word"
    fi
}
# sweep COMMAND...: the calls of each kind, in turn.
sweep() {
    local bad='' kind count i said want step runs=0
    once "$T/counts" "$@"
    want=$(contents)
    while read -r kind count; do
        step=$(((count + most - 1) / most))
        for ((i = 1; i <= count; i += step)); do
            once "$kind:$i" "$@"
            said=$(outcome "$want" $?)
            [ -z "$said" ] || bad+="$kind:$i $said; "
            runs=$((runs + 1))
        done
    done <counts
    is "$bad" "" "$*"
    ok_run "$*: $runs calls failed" test "$runs" -ge 4
}
sweep report calls
sweep diff calls calls
sweep dump calls
sweep dump --json values
sweep check calls
sweep export --csv made calls
sweep prv -o made calls
[ ! -x "$REGTRACE_BUILD/isa/regtrace-isa" ] || sweep skel replay memory
[ ! -x "$REGTRACE_BUILD/isa/regtrace-vprofiler" ] || sweep values values
# Their files contain the time at which they were made.
contents() { cksum <out; }
sweep emulate -o made.h5 calls
sweep timeline -o made.html calls
sweep page -o made.html calls
sweep split -o made calls

# The writer: the program does what it does without, and the events are in the file, or are said to
# be missing.
cat >program.c <<'E2'
#include "regtrace.h"
#include <stdio.h>
int main(void)
{
    for (int i = 0; i < 100; i++) {
        regtrace_region_begin("turn");
        regtrace_region_end("turn");
    }
    return puts("done") < 0;
}
E2
cc -O2 -I"$REGTRACE_SOURCE/share/include" -o program program.c || exit 99
printf '#!/bin/sh\nLD_PRELOAD=%s/failing.so exec %s "$@"\n' "$T" "$REGTRACE_WRITER_PROGRAM" >writer
chmod +x writer
# write FAILING: records the program.
write() {
    rm -rf run
    run_with_limit 60 env FAILING="$1" REGTRACE_WRITER="$T/writer" REGTRACE_DIR="$T/run" LD_PRELOAD="$LIBREGTRACE" ./program >out 2>err </dev/null
}
leaves_streams=1
rm counts
write "$T/counts"
is "$? $(cat out)" "0 done" "the writer: nothing fails"
is "$("$REGTRACE" dump run | grep -c turn)" 200 "and all events are there"
bad='' runs=0
while read -r kind count; do
    step=$(((count + most - 1) / most))
    for ((i = 1; i <= count; i += step)); do
        write "$kind:$i"
        [ "$? $(cat out)" = "0 done" ] || bad+="$kind:$i the program: $(cat out err); "
        "$REGTRACE" recover run >recovered 2>&1
        if [ "$("$REGTRACE" dump run 2>/dev/null | grep -c turn)" != 200 ]; then
            cat recovered err run/regtrace.log 2>/dev/null | grep -qE 'error|warning|lost|damaged' || bad+="$kind:$i events are missing without a word; "
        fi
        case $(cd run 2>/dev/null && ls -d rank-* 2>/dev/null) in '' | rank-00000.h5) ;; *) bad+="$kind:$i the file is $(cd run && ls -d rank-*); " ;; esac
        rm -f "$REGTRACE_SHM"/*
        runs=$((runs + 1))
    done
done <counts
is "$bad" "" "the writer"
ok_run "the writer: $runs calls failed, one in each run" test "$runs" -ge 4
done_testing
