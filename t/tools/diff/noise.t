#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What diff says of runs with known noise: sums, noise and marks are those that an independent
# program computes; windows that are not comparable are left out; -fail-above decides the exit.
. "$(dirname "$0")/../../lib.sh"
. "$here/compare.sh"
needs h5py
cd "$T" || exit 99
make() { "$PYTHON" "$here/synthetic.py" "$1" "$2" "$3" || ok 1 "$1 was written"; }

make base base 1
make again base 2
compare base again 'two runs of the same program'
is "$marked" '' 'nothing is marked'
make slower slower 3
compare base slower 'a slower function'
is "$marked" 'totals in windows time_ns; totals in MPI time_ns; mpi MPI_Barrier time_ns' 'it is marked, and what it is a part of'
compare slower base 'a faster function'
like "$marked" 'mpi MPI_Barrier time_ns' 'it is marked too'
make larger larger 4
compare base larger 'a larger message'
is "$marked" 'totals in MPI bytes; mpi MPI_Send bytes' 'one byte more is marked, and no time'
make more more 5
compare base more 'one call more in one window'
is "$(tr ';' '\n' <<<"$marked" | grep -cE '^ ?windows 4, in MPI (count|bytes)$')" 2 'stands out, in calls and bytes, of nine windows that are the same'
unlike "$marked" 'mpi MPI_Send' 'but is no more than chance, over all windows'
make late late 6
compare base late 'one long window'
like "$marked" 'windows 6, in MPI time_ns' 'it stands out'
unlike "$marked" 'windows [0-57-9]' 'and no other'

make four four 7
compare base four 'two ranks and four'
is "$marked" '' 'means of a process do not differ'
like "$(cat answer.txt)" '^10 windows of both compared, by their means over processes\.$' 'and it says that they are means'
make fewer fewer 8
compare base fewer 'fewer windows'
like "$(cat answer.txt)" 'not compared: 3, 7-9$' 'it says which are left out of run 1'
like "$(cat answer.txt)" 'not compared: 3$' 'and of run 2'
make cut cut 9
compare base cut 'a killed rank'
like "$(cat answer.txt)" 'not compared: 9$' 'its last window is left out'
make one one 10
make two one 11
compare one two 'one window'
is "$marked" '' 'nothing is marked'
like "$(cat answer.txt)" 'What is noise is unknown' 'it says why'
compare base one 'one window of ten'
make hostile hostile 12
compare base hostile 'names with tags of HTML'
is "$(grep -c '<script>' page.html)" 1 'the page has its own script alone'
like "$(cat answer.txt)" ' 4 .</td><script>alert.1.</script> &amp; "r"., in MPI$' 'names are shown as they are'
run 60 "$REGTRACE" diff --window 2-5 base slower
like "$out" '^4 windows of both compared' '-window chooses windows'
run 60 "$REGTRACE" diff --rank 1 base slower
like "$out" '^  1 process, 10 windows$' '-rank chooses ranks'
run 60 "$REGTRACE" diff -top 1 base slower
is "$(grep -cE 'MPI_(Barrier|Send)$' <<<"$out")" 1 '-top chooses rows: one of each table'
like "$out" '\.\.\. 1 more that differs \(-top 0 shows all\)' 'and says so'

# A file that cannot be read.
cp -r base broken && echo x >broken/rank-00001.h5
run 60 "$REGTRACE" diff base broken
is "$status" 1 'exit 1: a file could not be read'
like "$err" '^regtrace diff: rank-00001.h5: ' 'which, and why'
like "$out" '^10 windows of both compared, by their means over processes' 'the rest is compared'

# -fail-above: MPI_Barrier takes some 16 % of the time in windows more.
run 60 "$REGTRACE" diff -fail-above 3 base slower
is "$status" 1 'exit 1: slower than allowed'
like "$err" '^regtrace diff: -fail-above 3: .* longer$' 'and why'
run 60 "$REGTRACE" diff -fail-above 30 base slower
is "$status" 0 'exit 0: not that much slower'
run 60 "$REGTRACE" diff -fail-above 0 slower base
is "$status" 0 'exit 0: faster'
run 60 "$REGTRACE" diff -fail-above 0 base again
is "$status" 0 'exit 0: longer or not, no more than noise'
run 60 "$REGTRACE" diff -fail-above 5 one two
is "$status" 2 'exit 2: nothing to judge by'
like "$err" 'needs two windows or more' 'and why'

# What cannot be.
run 60 "$REGTRACE" diff base
is "$status $err" '2 regtrace diff: two runs are compared: regtrace diff RUN1 RUN2' 'one run'
run 60 "$REGTRACE" diff base again slower
is "$status $err" '2 regtrace diff: two runs are compared; "slower" is a third one' 'three runs'
run 60 "$REGTRACE" diff base nothing
is "$status" 1 'a run that is not there'
like "$err" '^regtrace diff: .*nothing' 'is named'
run 60 "$REGTRACE" diff --window 20 base again
is "$status" 1 'windows that are not there'
like "$err" 'window 20 of -window is not in' 'are named'
run 60 "$REGTRACE" diff --window 8 base fewer
is "$status" 1 'windows that one run does not have'
run 60 "$REGTRACE" diff -fail-above x base again
is "$status $err" '2 regtrace diff: -fail-above is "x": a number from 0 to 1000000 is legal' 'a percentage that is none'
cp page.html kept.html
run 60 "$REGTRACE" diff --html page.html base slower
is "$status" 1 'a page that is there already'
cmp -s page.html kept.html
ok $? 'is not overwritten'

# Test the oracle itself: it finds a wrong value, mark and line.
"$REGTRACE" diff --json --html page.html --force base slower >answer.json
"$REGTRACE" diff -top 0 base slower >answer.txt
look() { "$PYTHON" "$here/oracle.py" base slower "${1:-answer.json}" "${2:-answer.txt}" "${3:-page.html}" | grep -c '^wrong'; }
is "$(look)" 0 'the oracle agrees'
"$PYTHON" -c 'import json, sys
a = json.load(open("answer.json")); f = a["mpi"][0]["time_ns"]
f["p"] *= 1.2; f["p"] += 1e-6; json.dump(a, open("p.json", "w"))
f["p"] = 0; a["totals"][0]["count"]["run_2"] += 2; json.dump(a, open("count.json", "w"))'
isnt "$(look p.json)" 0 'it finds a wrong p'
isnt "$(look count.json)" 0 'it finds a wrong count'
sed 's/\*/ /' answer.txt >mark.txt
isnt "$(look answer.json mark.txt)" 0 'it finds a lost mark'
sed 's/\(MPI_Send<.td>.*data-v="\)4000"/\14001"/' page.html >other.html
isnt "$(look answer.json answer.txt other.html)" 0 'it finds a wrong value of the page'
done_testing
