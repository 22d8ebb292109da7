#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace export: wrong options, places that are taken or not writable, and empty selections.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
printf '#include <regtrace.h>\nint main(void) {\n    for (int i = 0; i < 100; i++) {\n        regtrace_region_begin("r");\n        regtrace_region_end("r");\n    }\n    return 0;\n}\n' >one.c
cc -I"$REGTRACE_SOURCE/share/include" -o one one.c || exit 99
run 60 "$REGTRACE" run -quiet -o "$T/run" -- ./one
is "$status" 0 'a run'

# wrong NAME ERE OPTION...: export exits with 2 and writes nothing.
wrong() {
    local name=$1 pattern=$2
    shift 2
    run 20 "$REGTRACE" export "$@"
    [ "$status" = 2 ] && [ -z "$out" ] && grep -qE -e "$pattern" <<<"$err"
    ok $? "$name" || diag "status $status, $err"
}
wrong 'no format' 'no format is named: -chrome FILE, -otf2 OUT, -ovni OUT or -csv FILE' run
wrong 'two formats' 'one format at a time: -csv and -chrome' -csv a -chrome b run
wrong 'no name' '-ovni is empty: the name of a new folder is legal' -ovni '' run
wrong 'standard output for a folder' '-ovni cannot write to standard output: name a folder' -ovni - run
wrong 'ranks' '-rank: "one" is no list of ranks' -csv a -rank one run
wrong 'windows' '-window: "4-2" is no span' -csv a -window 4-2 run
for s in later -1 1. .5 1.5s 1e3 0x10 1,5 1.5.2 1234567890123 ''; do
    wrong "from \"$s\"" '-from is ".*": seconds since the run began are legal, for example 1.25' -csv a -from="$s" run
done
wrong 'to' '-to is "soon"' -csv a -to soon run
wrong 'from after to' '-from lies after -to' -csv a -from 2 -to 1.999999999 run
wrong 'wait' '-wait is "long"' -csv a -wait long run
wrong 'an option that is not there' 'no option -otf; the nearest legal one is -otf2' -otf a run
is "$(find . -newer one -not -path './run*' -type f -not -name '.out' -not -name '.err')" '' 'nothing is written by these'

# fails NAME ERE OPTION...: export exits with 1.
fails() {
    local name=$1 pattern=$2
    shift 2
    run 20 "$REGTRACE" export "$@"
    [ "$status" = 1 ] && grep -qE -e "$pattern" <<<"$err"
    ok $? "$name" || diag "status $status, $err"
}
fails 'no such run' 'absent' -csv a absent
fails 'no such rank' 'none of the ranks asked for \(-rank\) is in run' -csv a -rank 7 run
fails 'a place that is not there' 'no/where cannot be made: No such file or directory; -csv FILE names another place' -csv no/where run
fails 'a folder that cannot be made' '/proc/there cannot be made' -ovni /proc/there run
[ ! -e a ]
ok $? 'what fails writes nothing'

run 20 "$REGTRACE" export -csv a run
is "$status$err" 0 'a file'
mode=$(stat -c %a a)
is "$mode" "$(: >plain && stat -c %a plain)" 'with the mode that files have'
cp a before
fails 'a file that is there' 'a is there already: -force replaces it; -chrome FILE names another' -chrome a run
cmp -s a before
ok $? 'stays as it was'
run 20 "$REGTRACE" export -chrome a -force run
is "$status$err" 0 'with -force it is replaced'
like "$(head -c 20 a)" 'display' 'by the new one'
mkdir folder full && : >full/mine
fails 'a folder for a file' 'folder is a folder, and a file is to be made' -csv folder -force run
fails 'a file for a folder' 'a is there and no folder; -ovni DIR names another' -ovni a -force run
run 20 "$REGTRACE" export -ovni folder/ run
is "$status$err" 0 'an empty folder serves'
fails 'a folder that holds something' 'folder is there already: -force' -ovni folder run
fails 'a folder with something else' 'full holds something else than what this command makes' -ovni full -force run
[ -e full/mine ]
ok $? 'which stays also with -force'
: >folder/old
run 20 "$REGTRACE" export -ovni folder -force run
is "$status$err" 0 'an earlier export is replaced with -force'
[ ! -e folder/old ] && [ -n "$(find folder -name stream.json)" ]
ok $? 'as a whole'
mkfifo pipe
cat pipe >piped &
run 20 "$REGTRACE" export -csv pipe run
wait $!
cmp -s piped before
ok $? 'a pipe is written to as it is'
run 20 "$REGTRACE" export -csv nothing -from 1000 run
is "$status" 0 'a stretch of time in which nothing was'
like "$err" 'no event of run is in the selection' 'which is reported'
is "$(wc -l <nothing)" 1 'has a head alone'

# No room: a file that could not be written completely is removed.
for f in chrome csv ovni; do
    run 20 bash -c 'trap "" XFSZ; ulimit -f 1; exec "$@"' - "$REGTRACE" export -$f "room.$f" run
    is "$status" 1 "no room for $f"
    like "$err" 'could not be written: File too large' 'is an error that says why'
    is "$(ls -d room.* 2>/dev/null)" '' 'and nothing is left'
done
if grep -q 'DHAVE_OTF2' "$REGTRACE_BUILD/config.status"; then
    run 20 "$REGTRACE" export -otf2 otf2 run
    is "$status$err" 0 'an OTF2 archive'
    run 20 bash -c 'trap "" XFSZ; ulimit -f 1; exec "$@"' - "$REGTRACE" export -otf2 room.otf2 run
    is "$status" 1 'no room for OTF2'
    like "$err" 'room.otf2.* could not be written: File too large' 'is an error that names it and says why'
    is "$(ls -d room.* 2>/dev/null)" '' 'and nothing is left'
else
    fails 'OTF2 that is not built' 'this build cannot write OTF2: install libopen-trace-format2-dev' -otf2 otf2 run
fi

# A file that cannot be read is left out with a message; the others are exported.
cp -r run cut && cp run/rank-00000.h5 cut/rank-00001.h5 && head -c 3000 run/rank-00000.h5 >cut/rank-00000.h5
run 20 "$REGTRACE" export -csv some -wait 0 cut
is "$status" 1 'a damaged file'
like "$err" 'rank-00000.h5' 'is named'
is "$(grep -c EV_REGION_BEGIN some)" 100 'the other one is there'
done_testing
