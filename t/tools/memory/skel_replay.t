#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `regtrace skel replay` to standard output: text, records, readers that leave, several processes,
# damaged recordings, options that do not fit.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
mkdir "$T/tmp" && export TMPDIR=$T/tmp
WINDOWS='start:enter_func:open_window,stop:enter_func:close_window,repeat:100000'
gcc -O2 -g -o program "$here/skel_program.c" -lpthread || exit 99
# record FOLDER ARGUMENT...: records the program with these arguments.
record() {
    local folder=$1
    shift
    "$REGTRACE" run -o "$folder" -memory . -control "$WINDOWS" -- ./program "$@" >out 2>said || { diag "$(cat said)"; exit 99; }
}
record run 3 4
rec=$(echo run/memory/*-1.0.rec)
"$REGTRACE" skel replay run >text
ok $? "as text"
like "$(wc -l <text)" '^[0-9]{5}$' "and much"
is "$(grep -c '^# rank 0, pid [0-9]*, thread [012], window [0-9]*, [0-9]* bytes$' text)" 12 "12 segments"
awk '/^# [0-9]/ { if ($2 != n) print "wrong:", $0, n; n = 0 } !/^#/ { n++ }' text >wrong
is "$(cat wrong)" "" "each says how many accesses it has"
"$REGTRACE" skel replay -format lackey run | grep -v '^#' >lackey
is "$(grep -v '^#' text | awk '{ printf " %s %s,%s\n", $2 == "R" ? "L" : $2 == "W" ? "S" : "M", length($4) < 8 ? sprintf("%08s", $4) : $4, $3 }' | cksum)" \
    "$(cksum <lackey)" "lackey's lines are of the same accesses"

# Records.
"$REGTRACE" skel replay -format binary run >records
ok $? "as records"
"$PYTHON_ANY" "$here/skel_records.py" <records >as_text
ok $? "which are well-formed"
ok_run "and say the same" diff <(sed 's/, [0-9]* bytes.*//' text) as_text
head -c -24 records >shorter
"$PYTHON_ANY" "$here/skel_records.py" <shorter >/dev/null 2>&1
isnt $? 0 "what is cut off would be seen"
gcc -O2 -Wall -Werror -o skel_cache "$REGTRACE_SOURCE/share/examples/skel_cache.c"
ok $? "the example of a simulator is compiled"
"$REGTRACE" skel replay -format binary run | ./skel_cache >simulated
awk 'function hex(s,  n, i) { for (i = 1; i <= length(s); i++) n = 16 * n + index("0123456789abcdef", substr(s, i, 1)) - 1; return n }
    /^# rank/ { gsub(",", ""); rank = $3; thread = $7; window = $9; n = misses = 0 }
    /^# [0-9]/ { printf "rank %s, thread %s, window %s: %d accesses, %d misses\n", rank, thread, window, n, misses }
    !/^#/ { line = int(hex($4) / 64); n++; if (cache[line % 512] != line) misses++; cache[line % 512] = line }' text >expected
ok_run "and counts misses as they are" diff expected simulated

record many 8 6 # more than a pipe holds
# Readers that leave, and files that cannot be written.
for format in text lackey binary; do
    "$REGTRACE" skel replay -format $format many 2>said | head -c 100 >/dev/null
    is "${PIPESTATUS[0]} $(cat said)" "141 " "$format: a reader that leaves ends it, without a word"
    (trap '' PIPE; "$REGTRACE" skel replay -format $format many 2>said; echo $? >code) | head -c 100 >/dev/null
    is "$(cat code said)" "1" "$format: also where SIGPIPE is ignored"
    "$REGTRACE" skel replay -format $format run >/dev/full 2>said
    is $? 1 "$format: a full disk"
    like "$(cat said)" 'cannot be written: No space left|could not be written: No space left' "$format: is reported"
    is "$(grep -c 'No space' said)" 1 "$format: once"
done
run 20 script -qec "'$REGTRACE' skel replay -format binary run" /dev/null
command -v script >/dev/null && { [ "$status" = 1 ] && grep -q 'for programs: redirect it' <<<"$out"; ok $? "records are not for terminals"; }
is "$(ls -A "$TMPDIR")" "" "nothing is left behind"

# Programs that follow each other by exec in one process. Only the later ones are numbered, and only
# the last one has a second thread.
cat >again.c <<'C'
#include <pthread.h>
#include <unistd.h>
static volatile int cells[100];
static __attribute__((noinline)) void *fill(void *argument)
{
    for (int i = 0; i < 100; i++)
        cells[i] = i;
    return argument;
}
int main(int argc, char **argv)
{
    pthread_t thread;
    (void)fill(argv);
    if (argc < 4)
        return execl(argv[0], argv[0], "more", argc > 1 ? "and" : NULL, argc > 1 ? "more" : NULL, NULL);
    return pthread_create(&thread, NULL, fill, argv) != 0 || pthread_join(thread, NULL) != 0;
}
C
gcc -O2 -o again again.c -lpthread || exit 99
"$REGTRACE" run -quiet -o again.run -memory . -- ./again 2>said || { diag "$(cat said)"; exit 99; }
programs() { sed -n "s/^# rank 0, pid [0-9]*, thread \([01]\), window 0\(, program [0-9]*\|\), [0-9]* bytes.*/\1\2/p" | tr '\n' ';'; }
for format in text lackey count; do
    is "$("$REGTRACE" skel replay -format $format again.run | programs)" "0;0, program 1;0, program 2;1, program 2;" "$format: programs of a process"
done
is "$("$REGTRACE" skel replay -thread 1 again.run | programs)" "1, program 2;" "also of one thread"
is "$("$REGTRACE" skel replay -follow again.run | grep '^# rank' | programs | tr ';' '\n' | sort | xargs)" "0 0, program 1 0, program 2 1, program 2" "and where they are followed"
is "$("$REGTRACE" skel stats -format json again.run | sed -n 's/^ *"program": \([0-9]*\),$/\1/p' | xargs)" "0 1 2 2" "as skel stats has them"
is "$(grep -c program text)" 0 "where there is one, none is named"

# Several processes write the same bytes as one.
for format in text lackey count binary; do
    "$REGTRACE" skel replay -jobs 1 -format $format many >one
    for jobs in 2 8; do
        "$REGTRACE" skel replay -jobs $jobs -format $format many >several
        ok_run "$format: $jobs at once give what one gives" cmp one several
    done
done
"$REGTRACE" skel replay -jobs 1 many >one
# What a process writes before its turn goes to a file. Where that file cannot grow, the process
# waits.
(trap '' XFSZ; ulimit -f 300; "$REGTRACE" skel replay -jobs 8 many 2>said) | cat >several
ok_run "also where it cannot be kept" cmp one several
is "$(cat said)" "" "without a word"
"$REGTRACE" skel replay -jobs 8 many | { sleep 2; cat; } >several
ok_run "also for a reader that is late" cmp one several
"$REGTRACE" skel replay -jobs 4 many >/dev/full 2>said
is "$? $(grep -c 'No space' said)" "1 1" "a full disk ends all of them, and is reported once"
"$REGTRACE" skel replay -jobs 8 many | { sleep 1; head -c 100 >/dev/null; }
is "${PIPESTATUS[0]}" 141 "a reader that leaves ends all of them"
mkfifo unread && exec 9<>unread # a reader that never reads
"$REGTRACE" skel replay -jobs 8 many >unread 2>/dev/null &
started=$!
wait_for 20 sh -c "ls -A '$TMPDIR' | grep -q ." && sleep 0.5
kill -TERM $started
wait $started
is $? 143 "a signal ends it"
exec 9<&-
is "$(wait_for 10 sh -c "! ls -A '$TMPDIR' | grep -q ." && echo gone)" gone "and leaves nothing behind"

# Selected threads, windows and ranks.
is "$("$REGTRACE" skel replay -thread 1 run | sed -n 's/^# rank.*thread \([0-9]*\).*/\1/p' | sort -u)" 1 "one thread"
is "$("$REGTRACE" skel replay -window 3-5 run | sed -n 's/^# rank.*window \([0-9]*\).*/\1/p' | sort -n | xargs)" "3 4 5" "some windows"
run 20 "$REGTRACE" skel replay -rank 7 run
is "$status" 1 "a rank that there is not"
like "$err" 'nothing was recorded in run.* of these ranks and threads' "the error says so"
for format in text count binary hdf5; do
    named=()
    [ $format != hdf5 ] || named=(-output none.h5)
    run 20 "$REGTRACE" skel replay -window 99998-99999 -format $format "${named[@]}" run
    is "$status $(grep -c 'windows 99998 to 99999 .*-format count run names what was' <<<"$err")" "1 1" "windows that there are not: $format"
done
ok "$([ ! -e none.h5 ]; echo $?)" "no file is made of them"

# -max-size: the window that is cut off, or the first missing window, says so. The report counts
# what replay counts. limited NAME: checks the last run; sets counted.
limited() {
    like "$(cat said)" 'a thread end: its file has reached REGTRACE_MAX_SIZE: a larger -max-size' "$1: the log says why"
    run 60 "$REGTRACE" skel replay -format count limited
    counted=$out
    is "$status $(grep -c 'cut off: its file could not grow$' <<<"$out")" "0 1" "$1: replay says it"
    "$REGTRACE" report -json limited >reported.json
    is "$(sed -n 's/.*"memory": .*"bytes": \([0-9]*\),.*/\1/p' reported.json | head -1)" "$(awk '/^# rank/ { n += $10 } END { print n }' <<<"$out")" "$1: the report has the same bytes"
    ok "$([ "$(stat -c %s limited/memory/*-0.0.rec)" -le $((3 << 20)) ]; echo $?)" "$1: the file ends"
}
"$REGTRACE" run -o limited -max-size 1M -memory . -control "$WINDOWS" -- ./program 1 1 0 1000 >out 2>said || { diag "$(cat said)"; exit 99; }
limited "one large window"
is "$(wc -l <<<"$counted")" 2 "which is the only one"
rm -rf limited
"$REGTRACE" run -o limited -max-size 1M -memory . -control "$WINDOWS" -- ./program 1 1000 >out 2>said || { diag "$(cat said)"; exit 99; }
limited "many small ones"
like "$("$REGTRACE" report limited)" "Memory traces: .* in 1000 windows" "the report counts all of them"
rm -rf limited
# The buffer has room for each of these windows that begins: it is full between two of them.
"$REGTRACE" run -o limited -max-size 1M -memory '^rows$' -control "$WINDOWS" -- ./program 1 17000 >out 2>said || { diag "$(cat said)"; exit 99; }
like "$("$REGTRACE" skel replay -format count limited | tail -2 | tr '\n' ' ')" 'window [1-9][0-9]*, 0 bytes, cut off.* # 0 accesses' "many tiny ones: the last one has nothing"

# damaged NAME ERE: replay of the damaged copy fails in each format with status 1 and a message that
# matches, and does not crash.
damaged() {
    local format
    for format in text lackey count binary; do
        run 60 "$REGTRACE" skel replay -thread 1 -format $format changed
        [ "$status" = 1 ] && grep -qE "$2" <<<"$err" || { ok 1 "$1: $format"; diag "status $status: $err"; return; }
    done
    ok 0 "$1: is reported in each format"
}
# patch OFFSET BYTES: writes BYTES, in printf's notation, to the copy of the recording.
patch() {
    # shellcheck disable=SC2059
    printf "$2" | dd of="changed/${rec#run/}" bs=1 seek="$1" conv=notrunc status=none
}
copy() { rm -rf changed && cp -r run changed; }
first=4096 # base/format/memory_recording.h: the head's page, then the buffer, which has the whole log here
[ "$(od -A n -t x1 -j $first -N 4 "$rec" | tr -d ' ')" = 524d5354 ] || exit 99
for cut in 0 7 3000; do
    copy && truncate -s $cut "changed/${rec#run/}" && damaged "cut off after $cut bytes" 'is no recording of memory accesses, or damaged'
done
copy && truncate -s $((first + 10)) "changed/${rec#run/}" && damaged "cut off in a segment's head" 'damaged: its end is missing'
copy && patch $first 'x' && damaged "what is no segment" 'damaged: a segment is missing'
copy && patch $((first + 8)) '\377\377\377\377\377\377\377\177' && damaged "a segment that is too long" 'damaged: a segment is longer than the file'
copy && patch $((first + 64)) '\011' && damaged "no token" 'has what is no token at its byte 0'
copy && patch $((first + 64)) '\001\377\377\000\000' && damaged "no such function" 'enters function 65535, which no skeleton has'
copy && patch $((first + 8)) '\007\000\000\000\000\000\000\000' && damaged "ends within a value" 'ends within a value'
# moved BYTES FLAG: moves the log, or its first BYTES bytes, from the buffer to the file after it,
# as if the buffer had been full. FLAG 1: the process was killed before it emptied the buffer.
moved() {
    copy && "$PYTHON_ANY" - "changed/${rec#run/}" "$1" "$2" <<'E2'
import struct, sys
path, count, flag = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
data = open(path, "rb").read()
closed, = struct.unpack_from("<Q", data, 32)
count = count or closed
buffer = data[4096:4096 + (1 << 20)]
log, rest = buffer[:count], buffer[count:] + bytes(count)
open(path, "wb").write(data[:24] + struct.pack("<Q", count | flag << 63) + data[32:4096] + (buffer if flag else rest) + log)
E2
}
same() {
    run 60 "$REGTRACE" skel replay changed
    is "$status $(cksum <<<"$out")" "0 $(cksum <text)" "$1"
}
moved 0 0 && same "a log in the file"
moved 70 0 && same "a segment in the file, and in the buffer"
moved 5000 0 && same "some of them in the file"
moved 0 1 && same "a buffer to be passed over"
moved 0 0 && truncate -s -1 "changed/${rec#run/}" && damaged "cut off in the last segment" 'damaged: its end is missing'
copy && patch 32 '\377\377\377\377\377\377\377\377' && same "killed as a segment had just been closed"
# Calls that nest without end, written as tokens. Alarms at work and rows make the recording hold
# tokens for their entries.
number_of() { sed -n "s/^ENTRY(\([0-9]*\),.*\"$1\".*/\1/p" changed/memory/*.c; }
rm -rf changed
"$REGTRACE" run -quiet -o changed -memory . -control "$WINDOWS" -control 'start:enter_func:work:count1000000' -control 'start:enter_func:rows:count1000000' -- ./program 3 4 >out 2>said || diag "$(cat said)"
"$PYTHON_ANY" - changed/memory/*-1.0.rec "$first" "$(number_of work)" "$(number_of rows)" <<'E2'
import struct, sys
path, first, work, rows = sys.argv[1], *map(int, sys.argv[2:])
data = open(path, "rb").read()
at = data.index(struct.pack("<BI", 1, work), first)
unit = data[at:data.index(struct.pack("<BI", 1, rows), at)]
body = unit * 10000000
log = data[first:first + 8] + struct.pack("<Q", len(body)) + data[first + 16:first + 64] + body
open(path, "wb").write(data[:24] + struct.pack("<QQ", len(log), len(log)) + data[40:4096] + bytes(1 << 20) + log)
E2
run 100 "$REGTRACE" skel replay -thread 1 -format count changed
is "$status" 1 "calls without an end: no crash"
like "$err" 'nests calls more deeply than any stack is' "the error says so"
copy && rm "changed/memory/"*.c && run 60 "$REGTRACE" skel replay changed
is "$status" 1 "without its skeleton"
like "$err" 'no skeleton' "the error says so"

# Options.
wrong() {
    local name=$1 pattern=$2
    shift 2
    run 20 "$REGTRACE" skel "$@"
    [ "$status" = 2 ] && grep -qE -e "$pattern" <<<"$err"
    ok $? "$name" || diag "status $status: $err"
}
wrong "a format that there is not" '-format is "xml": text, lackey, count' replay -format xml run
wrong "no processes" '-jobs is "0": a number of processes from 1 to 4096 is legal' replay -jobs 0 run
wrong "too many processes" '-jobs is "99999": a number of processes from 1 to 4096 is legal' replay -jobs 99999 run
wrong "jobs of an analysis" '-jobs is not for skel analyze: it is for skel replay' analyze -jobs 2 ./program
wrong "a thread that is no number" '-thread is "main"' replay -thread main run
done_testing
