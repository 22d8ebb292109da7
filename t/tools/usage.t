#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Wrong usage of every subcommand: exit code 2, a message that names the word and the legal values,
# and nothing starts.
. "$(dirname "$0")/../lib.sh"

# wrong NAME ERE WORD...: expects exit code 2, ERE on stderr and nothing on stdout.
wrong() {
    local name=$1 pattern=$2
    shift 2
    run 20 "$REGTRACE" "$@"
    if [ "$status" = 2 ] && [ -z "$out" ] && grep -qE -e "$pattern" <<<"$err"; then
        ok 0 "$name"
    else
        ok 1 "$name"
        diag "status $status, stdout: $out" "stderr: $err" "wanted: /$pattern/"
    fi
}

cd "$T" || exit 99
started="$T/started"
app=(sh -c "touch $started")

wrong 'no subcommand' 'usage: regtrace'
wrong 'an unknown subcommand names the nearest' 'no subcommand "reprt"; the nearest is "report"' reprt
for c in run report dump check ctl doctor recover split export plan version help; do
    wrong "$c: an unknown option" "there is no option -nonsense" $c -nonsense
done
wrong 'a subcommand like none: nothing is guessed' 'no subcommand "frobnicate" \(regtrace help' frobnicate
wrong 'help: an unknown subcommand names the nearest' 'regtrace help: there is no subcommand "reprt"; the nearest is "report"' help reprt
wrong 'help: nor is anything guessed there' 'no subcommand "frobnicate" \(regtrace help' help frobnicate
wrong 'dump: an option like none: all are named' 'no option -functon; there are -json, .*-code, ' dump -functon x
wrong 'an option before the subcommand' '"--json" stands before a subcommand' --json report x
wrong 'run: an option like none: nothing is guessed' 'no option -bogus \(regtrace run' run -bogus x -- "${app[@]}"
wrong 'run: the nearest option is named' 'no option -contrl; the nearest legal one is -control ' run -contrl x -- "${app[@]}"
wrong 'run: two dashes' 'no option -buffr; the nearest legal one is -buffer' run --buffr 4M -- "${app[@]}"
wrong 'run: a value is missing' 'the option -control needs a value: -control CHAIN' run -control
wrong 'run: -- is no value' 'the option -memory needs a value in front of "--", which ends the options: -memory REGEX' run -memory -- "${app[@]}"
wrong 'run: nor that of -functions' 'the option -functions needs a value in front of "--"' run -functions -- "${app[@]}"
wrong 'report: nor that of any option' 'the option -rank needs a value in front of "--"' report -rank -- x
wrong 'run: no counter, and what counts without one' 'icount is not available: .*; REGTRACE_PMU=step .option -pmu step. counts without one' \
    run -pmu auto -control start:icount:100 -- "${app[@]}"
wrong 'run: an event that is none' '"foo:10ms": there is no such event here' run -sample foo:10ms -- "${app[@]}"
wrong 'run: an event that takes no time' '"page-faults:10ms": the period of an event is how many of it, .*; only cpu takes a time' \
    run -sample page-faults:10ms -- "${app[@]}"
wrong 'timeline: two pictures of one kind' '-output x.svg and -svg y.svg are two pictures of one kind' timeline -o x.svg -svg y.svg x
wrong 'run: a switch with a value' 'takes no value' run --explain=yes
wrong 'run: no program' 'no program is named' run -o "$T/x"
wrong 'run: a wrong number' 'option -compress\) is "ten": legal is 0-9' run -compress ten -- "${app[@]}"
wrong 'run: a number out of range' 'option -compress\) is "10"' run -compress=10 -- "${app[@]}"
wrong 'run: a wrong size' 'option -buffer\) is "4Q": legal is BYTES' run -buffer 4Q -- "${app[@]}"
wrong 'run: a wrong choice' 'option -full\) is "maybe": legal is wait\|drop' run -full maybe -- "${app[@]}"
wrong 'run: a wrong flag' 'option -mpi\) is "yes": 0 or 1' run -mpi yes -- "${app[@]}"
wrong 'run: an empty value' 'has an empty value' run -compress= -- "${app[@]}"
wrong 'run: a wrong chain' 'addres.*address' run -control start:addres:foo -- "${app[@]}"
wrong 'run: a chain that this build cannot serve' 'icount is not available' run -pmu none -control start:icount:100 -- "${app[@]}"
wrong 'run: a counting run without a counter' 'a counting run .REGTRACE_COUNT, option -count. is not possible: REGTRACE_PMU .option -pmu. is none' run -count -pmu none -- "${app[@]}"
wrong 'run: a control file that is not there' 'nosuchfile' run -control-file nosuchfile -- "${app[@]}"
wrong 'run: a program that is not in PATH' 'in no folder of PATH' run -- no-such-program-anywhere
wrong 'run: a program that is not there' 'cannot be found' run -- ./no-such-program
wrong 'run: a folder as a program' 'is a folder' run -- ./
wrong 'run: a file that is not executable' 'is not executable; chmod' run -- /etc/passwd
mkfifo fifo && chmod +x fifo
wrong 'run: a FIFO as a program' 'fifo is no file, but a FIFO' run -- ./fifo
wrong 'run: a library as a program' 'is a library' run -- "$LIBREGTRACE"
touch file
wrong 'run: a file in place of a folder' 'file: Not a directory; a file is in its place: name another folder' run -o file -- "${app[@]}"
wrong 'run: a folder that cannot be made' 'cannot make the folder' run -o /proc/nothing/here -- "${app[@]}"
wrong 'run: no folder for streams' '-shm\) cannot be used' run -shm "$T/nonexistent" -- "${app[@]}"
wrong 'run: no writer' 'option -writer\) names' run -writer "$T/nonexistent/writer" -- "${app[@]}"
REGTRACE_LIBRARY=/nonexistent.so wrong 'run: no library' 'REGTRACE_LIBRARY names' run -- "${app[@]}"
REGTRACE_FULL=often wrong 'run: a wrong variable' 'REGTRACE_FULL .*"often"' run -- "${app[@]}"
for c in report dump check recover split plan; do
    wrong "$c: no folder" 'no folder is named' $c
    more=()
    [ $c != report ] || more=(--json) # its text is of as many as are named
    wrong "$c: two folders" 'is a second one' $c "${more[@]}" a b
done
wrong 'report: a wrong list' '-rank: "3-1" is no list' report -rank 3-1 x
wrong 'report: a wrong number' '-top is "many"' report -top many x
for c in report dump check split; do
    wrong "$c: a wrong window" '-window: "4-2" is no span of windows: an ordinal .from 0. or N-M' $c -window 4-2 x
    wrong "$c: a window that is no number" '-window: "first" is no span' $c -window first x
    wrong "$c: half a span" '-window: "4-" is no span' $c -window 4- x
    wrong "$c: a span from nowhere" '-window: "-4" is no span' $c -window=-4 x
    wrong "$c: a number that no window has" '-window: "4294967296" is no span' $c -window 4294967296 x
done
wrong 'split: an empty output' '-output is empty' split -o '' x
wrong 'split: a wrong list' '-rank: "all" is no list' split -rank all x
for n in 0 -3 2.5 many 1000001 ''; do
    wrong "plan: -windows $n" '-windows is ".*": a number from 1 to 1000000' plan -windows="$n" -length 1M x
done
for n in 0 -3 1.5M 10MB M 10X 9223372036854775808 9300P 10000000000G ''; do
    wrong "plan: -length $n" '-length is ".*": legal are instructions as a whole number, with K, M, G or T' plan -windows 5 -length="$n" x
done
wrong 'plan: a wrong warm-up' '-warmup is "long"' plan -windows 5 -length 1M -warmup long x
wrong 'plan: no windows' '-windows is missing: .* -windows 50' plan -length 1M x
wrong 'plan: no length' '-length is missing: .* -length 10M' plan -windows 5 x
wrong 'plan: an empty output' '-output is empty' plan -windows 5 -length 1M -o '' x
wrong 'dump: a wrong thread' '-thread is "main"' dump -thread main x
wrong 'ctl: no folder' 'no folder is named' ctl
wrong 'ctl: no request' 'fire\|open\|close\|status' ctl x
wrong 'ctl: a wrong request' '"explode" is no request' ctl x explode
wrong 'ctl: the folder behind the request' 'the folder comes first: regtrace ctl x open' ctl open x
wrong 'ctl: a thread with status' 'not with status' ctl x status -tid 1
wrong 'version: an argument' 'takes no argument' version 1
wrong 'help: of nothing' 'no subcommand "nothing"' help nothing
[ ! -e "$started" ]
ok $? 'no program was started by any of these'
rm fifo file
left=("$T"/*)
is "${left[0]}" "$T/*" 'and no folder was left behind'

# Every spelling of the same option. Documents make U+2013 of a dash.
for o in -run-id --run-id -run_id --run_id '–run-id' '––run_id'; do
    run 20 "$REGTRACE" run "$o" x --explain
    is "$status" 0 "spelling $o"
done
for c in report check dump recover; do
    run 20 "$REGTRACE" $c "$T/absent"
    is "$status" 1 "$c of a folder that is not there fails with 1"
    like "$err" 'absent"?: .* \(`regtrace run` prints the folder of a run at its end\)' "$c names it, and where folders are told"
done
run 20 "$REGTRACE" ctl "$T/absent" status
is "$status" 1 'ctl of a folder that is not there fails with 1'
like "$err" 'no such folder' 'and says so'
run 20 "$REGTRACE" report ''
like "$err" 'the name of the folder is empty' 'an empty name is called so'
run 20 "$REGTRACE" recover /etc/passwd
is "$status" 1 'recover of a file fails with 1'
like "$err" 'name the folder of the run' 'and says what to name'
mkdir "$T/empty"
run 20 "$REGTRACE" recover "$T/empty"
like "$err" 'has neither a .regtrace folder nor rank files' 'recover of a foreign folder says why it is none'
is "$status" 1 'and fails with 1'
run 20 "$REGTRACE" report "$T/empty"
is "$status" 1 'report of an empty folder fails with 1'
run 20 "$REGTRACE" ctl "$T/empty" status
like "$err" 'has ended, or has not begun' 'ctl of a folder without processes says so'
done_testing
