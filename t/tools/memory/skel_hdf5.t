#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `regtrace skel replay -format hdf5`: compares rows and tables, read by h5py, with the records, nm
# and addr2line. An existing file stays, and a failure leaves no file.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
# shellcheck source=t/tools/memory/older.inc
. "$here/older.inc"
needs memory
mkdir "$T/tmp" && export TMPDIR=$T/tmp
WINDOWS='start:enter_func:open_window,stop:enter_func:close_window,repeat:100000'
gcc -O2 -g -o program "$here/skel_program.c" -lpthread || exit 99
"$REGTRACE" run -o run -memory . -control "$WINDOWS" -- ./program 5 60 >out 2>said || { diag "$(cat said)"; exit 99; }
hdf5() { run 100 "$REGTRACE" skel replay -format hdf5 "$@"; }

hdf5 -jobs 3 -o a.h5 run
is "$status $err" "0 " "a file is made"
like "$out" '^a.h5: 1[0-9]{6} accesses, 300 segments of 5 recordings$' "and said what is in it"
run 60 "$REGTRACE" report a.h5
like "$status $err" '^1 .*a.h5 has the accesses that .regtrace skel replay. wrote: .*give regtrace the run.s folder' "which is no run"
hdf5 -jobs 1 -compress 0 -o plain.h5 run
is "$status" 0 "not compressed"
hdf5 -compress 9 -o small.h5 run
ok_run "compressed means smaller" test $((20 * $(stat -c %s small.h5))) -lt "$(stat -c %s plain.h5)"
if [ "$PYTHON" = no ]; then
    skip "by h5py" "there is none"
else
    "$REGTRACE" skel replay -format binary run >records
    is "$("$REGTRACE" skel analyze ./program | "$PYTHON" "$here/skel_hdf5.py" a.h5 records ./program plain.h5 2>&1 | sed 's/^[0-9]* /N /; s/[0-9]* instr/N instr/')" \
        "N accesses, 300 segments, 5 recordings, N instructions" "what records say"
    "$PYTHON" "$here/skel_hdf5.py" small.h5 records ./program a.h5 </dev/null >/dev/null 2>&1
    ok $? "compressed or not, by one or several at once: the same"
    # The check itself: it detects missing records.
    head -c -2400024 records >fewer && tail -c 24 records >>fewer
    "$PYTHON" "$here/skel_hdf5.py" a.h5 fewer ./program </dev/null >/dev/null 2>&1
    isnt $? 0 "fewer records would be seen"
    # Skeletons of older versions have no expressions.
    older_run 0
    hdf5 -thread 0 -o older.h5 older
    is "$status $err $("$PYTHON" -c 'import h5py; f = h5py.File("older.h5"); print(len(f["places"]) > 20, set(f["places"]["expression"]), set(f["loops"]["counter"]))')" \
        "0  True {b''} {b''}" "older runs are without expressions"
    rm -r older older.h5
    hdf5 -window 3-4 -thread 2 -o part.h5 run
    "$REGTRACE" skel replay -format binary -window 3-4 -thread 2 run >records
    [ -s records ] && hdf5 -window 0 -thread 4000 -o none.h5 run
    is "$status" 1 "nothing that is wanted"
    hdf5 -window 99999 -o empty.h5 run
    is "$status $(ls empty.h5* 2>/dev/null)" "1 " "no such window: no file"
fi

# Signal handlers have separate recordings, which belong to the same program.
gcc -O2 -o handlers "$here/../../preload/memory/programs/memory_handlers.c" || exit 99
MEMORY_LOG=$T/log "$REGTRACE" run -quiet -o handled -memory . -control 'start:enter_func:open_window,stop:enter_func:close_window,repeat' -- ./handlers nested 8 >out 2>said
hdf5 -o handled.h5 handled
"$REGTRACE" skel replay handled >text
[ "$PYTHON" = no ] || is "$("$PYTHON" -c 'import h5py
for s in h5py.File("handled.h5")["stretches"]:
    assert s["program"] == 0
    print(s["signal"], s["rows"])')" "$(awk '/^# rank/ { s = 0 } /handler of signal/ { s = $NF } /^# [0-9]/ { print s, $2 }' text)" "signals, of segments"
is "$(awk '/handler of signal/ { print $NF }' text | sort -u | xargs)" "10 14" "handlers in handlers too"
rm -r handled handled.h5 handlers log

# Files that exist already.
hdf5 -o a.h5 run
is "$status" 1 "a file that is there"
like "$err" 'a.h5 is there already: -force replaces it' "stays"
before=$(stat -c %i a.h5)
hdf5 -force -o a.h5 run
is "$status" 0 "but for -force"
isnt "$(stat -c %i a.h5)" "$before" "which replaces it"
file=$(basename "$(echo run/rank-*.h5)")
hdf5 -force -o "run/$file" run
is "$status" 1 "never a file of the recording"
hdf5 -o nowhere/a.h5 run
is "$status" 1 "a folder that is not there"
like "$err" 'nowhere/a.h5 cannot be made: No such file' "the error says so"
hdf5 -o - run
is "$status" 1 "standard output"
like "$err" 'cannot be written to standard output: name a file' "is refused"

# A failure leaves no new file, and keeps the old one.
mkdir failing && mv run program failing && cd failing || exit 99
for level in 0 1; do
    for blocks in 64 130 1500; do
        [ $level = 0 ] || [ $blocks = 64 ] || continue
        (trap '' XFSZ; ulimit -f $blocks; exec "$REGTRACE" skel replay -format hdf5 -jobs 2 -compress $level -o full.h5 run >out 2>said)
        is "$? $(sed 's/unfinished-[0-9]*/unfinished/' said)" "1 regtrace skel: cannot write full.h5.unfinished: File too large; -output FILE names another" "no room, level $level: once"
    done
done
"$REGTRACE" skel replay -format hdf5 -compress 9 -o killed.h5 run >out 2>said &
started=$!
wait_for 20 sh -c 'ls killed.h5.unfinished-*'
kill -TERM $started
wait $started
is $? 143 "a signal"
# A signal while the compiler runs: the files of the compiler and its children go, and so do these
# processes.
cat >slow_cc <<'END'
#!/bin/sh
touch "$TMPDIR/some.s"
(sleep 1; mkdir -p "$TMPDIR"; touch "$TMPDIR/more.s") &
touch compiling
wait
END
chmod +x slow_cc
CC=./slow_cc "$REGTRACE" skel replay -thread 1 run >out 2>said &
started=$!
wait_for 20 test -e compiling
kill -TERM $started
wait $started
is $? 143 "a signal while it compiles"
sleep 1.5
is "$(ls -A "$TMPDIR")" "" "leaves no file of the compiler"
rm -f slow_cc compiling
rec=$(echo run/memory/*-3.0.rec)
cp -r run changed
truncate -s 1000000 "changed/${rec#run/}"
hdf5 -o damaged.h5 -force changed
is "$status" 1 "a damaged recording"
like "$err" 'is damaged: its end is missing' "is named"
like "$err" 'damaged.h5 is not made; -rank, -thread and -window leave out what cannot be replayed' "and the remedy"
truncate -s 100 "changed/${rec#run/}"
hdf5 -o damaged.h5 -force changed
is "$status" 1 "a recording that is none"
like "$err" 'is no recording of memory accesses, or damaged' "is named"
is "$(find . -maxdepth 1 | sort | xargs)" ". ./changed ./out ./program ./run ./said" "none of them leaves a file"
hdf5 -thread 2 -o other.h5 changed
is "$status $(ls -A "$TMPDIR")" "1 " "also beside those that are wanted"

# Options.
wrong() {
    local name=$1 pattern=$2
    shift 2
    run 20 "$REGTRACE" skel replay "$@" run
    [ "$status" = 2 ] && grep -qE -e "$pattern" <<<"$err"
    ok $? "$name" || diag "status $status: $err"
}
wrong "no file" '-format hdf5 writes a file: name it by -output FILE' -format hdf5
wrong "a file of another format" '-output is for -format hdf5' -format text -o x
wrong "a level of another format" '-force and -compress are for -format hdf5' -compress 3
wrong "a level that there is not" '-compress is "10": a number from 0 to 9' -format hdf5 -o x -compress 10
done_testing
