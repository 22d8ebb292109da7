#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `regtrace skel stats`: compares its numbers with those that Python computes from the accesses, and
# with numbers known by hand. Also expressions without the program, and failures.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
# shellcheck source=t/tools/memory/older.inc
. "$here/older.inc"
needs memory
mkdir "$T/tmp" && export TMPDIR=$T/tmp
WINDOWS='start:enter_func:open_window,stop:enter_func:close_window,repeat:100000'
gcc -O2 -g -no-pie -fno-pie -o program "$here/skel_stats_program.c" -lpthread || exit 99
"$REGTRACE" run -quiet -o run -memory . -control "$WINDOWS" -- ./program 3 >out 2>said || { diag "$(cat said)"; exit 99; }
stats() { run 100 "$REGTRACE" skel stats "$@"; }
# compared NAME WANTED [OPTION VALUE]... RUN: compares the selected part of a run. -line and -page
# are options of stats alone.
compared() {
    local name=$1 wanted=$2 grain=() selected=()
    shift 2
    while [ $# -gt 1 ]; do
        case $1 in -line | -page) grain+=("$1" "$2") ;; *) selected+=("$1" "$2") ;; esac
        shift 2
    done
    "$REGTRACE" skel replay "${selected[@]}" "$1" >text
    "$REGTRACE" skel stats -format json "${grain[@]}" "${selected[@]}" "$1" >json 2>said
    "$REGTRACE" skel stats -format csv "${grain[@]}" "${selected[@]}" "$1" >csv 2>said
    like "$("$PYTHON_ANY" "$here/skel_stats.py" text json csv 2>&1)" "$wanted" "$name"
}

compared "three threads, two windows each" '^858[0-9]{2} accesses, 6 streams, 10 functions, 8 loops, [0-9]+ instructions$' run
compared "one thread" '^2[0-9]{4} accesses, 2 streams' -thread 1 run
compared "large lines and pages" ' 6 streams' -line 128 -page 8192 run
compared "small ones" ' 6 streams' -line 16 -page 64 run
compared "pages as large as lines" ' 2 streams' -line 4096 -page 4096 -thread 2 run
# Windows are numbered in the order in which they open, over all threads.
first=$("$REGTRACE" skel stats -thread 0 run | sed -n 's/^ *rank 0, .*, thread 0, window \([0-9]*\):.*/\1/p' | head -1)
compared "a window" '^1[0-9]{4} accesses, 1 streams' -window "$first" run
head -n -1 text | sed '$d' >fewer
"$PYTHON_ANY" "$here/skel_stats.py" fewer json csv >/dev/null 2>&1
isnt $? 0 "an access that is missing would be seen"

# Numbers of one stream that are known by hand.
# value FUNCTION COLUMN...: prints columns of the function's innermost loop.
value() {
    local function=$1
    shift
    awk -F, -v f="$function" -v c="$*" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(c, columns, " ") }
        $1 == "loop" && $at["function"] == f { row = $0 }
        END { split(row, v, ","); for (i = 1; i <= n; i++) printf "%s%s", v[at[columns[i]]], i < n ? " " : "\n" }' csv
}
SUMS='accesses loads stores footprint_bytes footprint_lines footprint_pages cold reuse_0 reuse_1'
# columns: 47 other lines lie between two touches of a line, in 42 columns of 48. In the first
# column, fewer and fewer lines were touched since rows touched the line: 62, 57 and 52 for the last
# three rows. across: 12 of the words lie in two lines, so 112 lines are touched. 56 of them are
# different, and copy has touched 11 of those before.
# shellcheck disable=SC2086
{
    is "$(value strided counter depth $SUMS)" "I 1 1000 1000 0 8000 500 8 500 500 0" "a strided loop"
    is "$(value rows counter depth $SUMS)" "J 2 2304 0 2304 18432 288 5 288 2016 0" "a matrix by rows"
    is "$(value columns counter depth $SUMS reuse_32)" "J 2 2304 2304 2304 18432 288 5 0 0 0 2019" "and by columns: 47 lines between"
    is "$(value across $SUMS)" "100 100 100 800 56 2 45 56 0" "words across lines"
}
like "$(grep ',copy,' csv)" '^access,.*,W,1,"W 1 rdi.1, rcx times",700,0,700,700,11,1,699,1,699,,,,,11,0,689,0' "bytes that are copied: one after the other, what is read in between"
like "$(grep ',strided,' csv)" '^access,.*,R,8,R 8 rdi.1 \+ 32\*I,1000,.*,999,32,999,,,,,500,500,0' "a stride, and the expression"
is "$("$REGTRACE" skel analyze -function '^columns$' program | sed -n 's/^ *0x[0-9a-f]*  \(M .*\)/\1/p')" "$(awk -F, '/^access.*,columns,.*,M,/ { print $18 }' csv)" "as skel analyze has it"
like "$(grep ',strided,' csv)" 'skel_stats_program.c:[0-9]+,R' "and the source line"

# Text output.
stats -window "$first" run
is "$status $err" "0 " "for people"
like "$out" '^Lines of 64 bytes, pages of 4096' "lines and pages"
like "$out" '^ +0x[0-9a-f]+  M 8 .*384\*J  skel_stats_program.c:[0-9]+$' "accesses"
like "$out" '2304 accesses; 18432 bytes, 288 lines, 5 pages; stride \+384 98.0%, -18040 2.0%$' "what they do"
like "$out" '^    loop I at 0x[0-9a-f]+  skel_stats_program.c' "loops"
like "$out" '^    rank 0, pid [0-9]+, thread 0, window [0-9]+: 1[0-9]{4} accesses' "streams"

# Several processes print what one prints.
"$REGTRACE" skel stats -jobs 1 -format json run >one
for jobs in 2 8; do
    "$REGTRACE" skel stats -jobs $jobs -format json run >several
    ok_run "$jobs at once say what one says" cmp one several
done

# Processes have separate memories; the threads of one share its memory.
"$REGTRACE" run -quiet -o twice -memory '^(strided|work)$' -control "$WINDOWS" -- sh -c './program 1; ./program 2' >out 2>said || { diag "$(cat said)"; exit 99; }
compared "two programs" ' 6 streams' twice
is "$("$REGTRACE" skel stats -format csv twice | awk -F, '$1 == "loop" { print $19, $22 }')" "6000 24000" "each with memory of its own"

# Incomplete streams. In `run`, all streams are closed and no message appears.
# ends FOLDER: prints how many of its streams have each kind of end.
ends() { "$REGTRACE" skel stats -format csv "$1" 2>/dev/null | awk -F, '$1 == "stream" { print $8 }' | sort | uniq -c | xargs; }
# incomplete NAME FOLDER ENDS HOW-MANY PATTERN: checks the messages in each format. `replay -format
# count` prints PATTERN once for each incomplete stream.
incomplete() {
    local format count=${4%% *}
    for format in text json csv; do
        stats -format $format "$2"
        is "$status $err" "0 ${4:+regtrace skel: warning: $4 incomplete: what is missing there is missing in these statistics (regtrace skel replay -format count $2 says which, and why)}" "$1, $format: what is reported"
        [ $format != text ] || as_text=$out
    done
    is "$(ends "$2")" "$3" "$1: how streams end"
    is "$("$REGTRACE" skel replay -format count "$2" | grep -c "$5")" "${count:-0}" "$1: as replay says"
}
incomplete "a whole run" run "6 closed" "" "cut off\|left by\|not recorded"
is "$(grep -cE '^ +(closed|open|no_room|missing):' <<<"$as_text")" 0 "and none of it in text"
cat >ends.c <<'C'
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#define APART __attribute__((noinline, noclone))
static struct node {
    struct node *next;
    unsigned long value[7];
} nodes[1000];
static sigjmp_buf back;
APART void open_window(void) { __asm__ volatile(""); }
APART void close_window(void) { __asm__ volatile(""); }
APART unsigned long walk(const struct node *n, unsigned long steps)
{
    unsigned long sum = 0;
    for (; steps > 0; steps--, n = n->next)
        sum += n->value[1];
    return sum;
}
APART int loads(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    nodes[5].value[2]++;
    return library != NULL;
}
static void leave(int signal)
{
    (void)signal;
    nodes[6].value[2]++;
    siglongjmp(back, 1);
}
int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    unsigned long sum = 0;
    for (unsigned n = 0; n < 1000; n++)
        nodes[n].next = &nodes[(n * 7 + 3) % 1000];
    for (int window = 0; window < 3; window++) {
        open_window();
        sum += walk(nodes, window == 1 && strcmp(how, "long") == 0 ? 500000 : 1000);
        if (window == 1 && strcmp(how, "loads") == 0)
            sum += (unsigned long)loads();
        if (window == 1 && strcmp(how, "leaves") == 0) {
            signal(SIGUSR1, leave);
            if (sigsetjmp(back, 1) == 0)
                raise(SIGUSR1);
            sum += walk(nodes, 10);
        }
        if (window == 1 && strcmp(how, "killed") == 0)
            raise(SIGKILL);
        close_window();
    }
    return sum == 1;
}
C
gcc -O2 -g -no-pie -fno-pie -o ends ends.c -ldl || exit 99
leaves_streams=1 # one is killed
for how in whole killed long loads leaves; do
    # The shell says to `said` that a program was killed.
    { "$REGTRACE" run -quiet -o "ends.$how" -max-size 1M -memory . -control "$WINDOWS" -- ./ends $how >out; } 2>said
    compared "$how: what there is" ' streams, ' "ends.$how"
done
incomplete "nothing happens" ends.whole "3 closed" "" "cut off\|left by\|not recorded"
incomplete "killed in its window" ends.killed "1 closed 1 open" "1 of 2 streams is" "cut off: the thread or process ended"
like "$as_text" '^ +open: cut off, the thread or process ended in its window' "and text has it"
incomplete "-max-size" ends.long "1 closed 1 no_room" "1 of 2 streams is" "cut off: its file could not grow"
like "$as_text" '^ +no_room: cut off, its file could not grow$' "and text has it"
incomplete "a function that calls dlopen" ends.loads "2 closed 1 missing" "1 of 3 streams is" "^# 1 times a function was not recorded"
stats -format csv -window 2 ends.loads
is "$status $err" "0 " "another window is complete"
# After a jump recording goes on. A handler that the jump leaves is over.
incomplete "left by a jump" ends.leaves "3 closed 1 jumped" "" "not recorded"
is "$("$REGTRACE" skel replay -format count ends.leaves | grep -c 'left by a jump')" 2 "left by a jump: as replay says"

# Without the program: the run's folder has the expressions, but not the lines and the readable
# names.
mv program elsewhere
stats -format csv -window 0 run
is "$status" 0 "without the program"
like "$out" '^access,.*,strided,.*,,R,8,R 8 rdi.1 \+ 32\*I,1000,' "its accesses are expressions all the same"
whole=$out
older_run 1
stats -format csv -window 0 older
is "$status $out" "0 $whole" "a run of an older version: the same"
rm -r older
older_run 0
stats -format csv -window 0 older
is "$status" 0 "a run of a still older version"
like "$out" '^access,.*,strided,.*,,R,8,,1000,' "is without them"
mv elsewhere program

# Selections without events, and failures.
stats -window 99999 -format csv run
is "$status $out" "1 " "no such window"
like "$err" 'nothing was recorded in run.* in window 99999 .*-format count run names what was' "the error says so"
stats -rank 7 run
is "$status" 1 "no such rank"
like "$err" 'nothing was recorded in run.* of these ranks and threads' "the error says so"
rec=$(echo run/memory/*-1.0.rec)
cp -r run changed
printf 'x' | dd of="changed/${rec#run/}" bs=1 seek=4096 conv=notrunc status=none
stats changed
is "$status $out" "1 " "a damaged recording: nothing"
like "$err" 'damaged: a segment is missing' "it is named"
like "$err" 'no statistics; -rank, -thread and -window leave out' "and the remedy"
stats -thread 0 changed
is "$status" 0 "the others"
"$REGTRACE" skel stats run >/dev/full 2>said
is "$? $(grep -c 'No space' said)" "1 1" "a full disk is reported"
is "$(ls -A "$TMPDIR")" "" "nothing is left behind"

# Options.
wrong() {
    local name=$1 pattern=$2
    shift 2
    run 20 "$REGTRACE" skel "$@"
    [ "$status" = 2 ] && grep -qE -e "$pattern" <<<"$err"
    ok $? "$name" || diag "status $status: $err"
}
wrong "no run" 'name the folder of a run' stats
wrong "two runs" 'one run at a time: run and run' stats run run
wrong "a line of 100 bytes" '-line is "100": a power of two from 8 to 4096' stats -line 100 run
wrong "a line of 8192 bytes" '-line is "8192": a power of two' stats -line 8192 run
wrong "a page of none" '-page is "0": a power of two from 64 to 1073741824' stats -page 0 run
wrong "pages within lines" '-page is less than -line' stats -line 256 -page 128 run
wrong "another's format" '-format of skel stats is text, json or csv' stats -format binary run
wrong "its format, of another" '-format of skel replay is text, lackey, count, binary or hdf5' replay -format csv run
wrong "no format" '-format is "xml": ' stats -format xml run
wrong "following" '-follow is not for skel stats: it is for skel replay' stats -follow run
wrong "a file" '-output is not for skel stats' stats -output x run
wrong "lines of a replay" '-line is not for skel replay: it is for skel stats' replay -line 64 run
done_testing
