#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two versions of a program: diff finds what was changed on purpose, in calls and bytes, aligns call
# paths whose lines have moved, and has the figures that an independent program computes.
. "$(dirname "$0")/../../lib.sh"
. "$here/compare.sh"
needs h5py mpi
cd "$T" || exit 99
cp "$here/changed.c" one.c
{ printf '\n\n\n' && cat "$here/changed.c"; } >two.c # all lines move by three
line() { grep -n "$1" one.c | cut -d: -f1 | sed -n "${2:-1}p"; }

chains=start:pcontrol:level=1,stop:pcontrol:level=0,repeat
options=()
[ "$(uname -m)" != x86_64 ] || options+=(-callpath 16)
probes=0
[ ! -x "$REGTRACE_BUILD/isa/regtrace-isa" ] || { probes=1; options+=(-functions 'slow|same|gone|give'); }
"$REGTRACE" run -quiet -events page-faults -o counted -- true 2>/dev/null && options+=(-events page-faults)

# trace NAME PROGRAM RANKS: makes the run NAME with the MPI of this round.
trace() {
    run 100 "$REGTRACE" run -quiet "${options[@]}" -control "$chains" -o "$1" -- "mpirun.$mpi" -np "$3" "./p.$2"
    is "$status" 0 "$mpi: the run $1" || diag "$err"
}
# rows TABLE: prints name, calls and bytes of the table's rows, and a * after what is marked.
rows() {
    "$PYTHON" -c 'import json, sys
def pair(f):
    return "%g>%g%s" % (f["run_1"], f["run_2"], "*" if f["significant"] else "")
for row in sorted(json.load(open("answer.json"))[sys.argv[1]], key=lambda row: (row["name"], row["name_2"] or "")):
    print(row["name"], pair(row["count"]), pair(row["bytes"]))' "$1"
}
# shown NAME: prints both runs'"'"' texts of the call paths of that name.
shown() {
    "$PYTHON" -c 'import json, sys
for row in sorted(json.load(open("answer.json"))["paths"], key=lambda row: row["name_1"] or ""):
    if row["name"] == sys.argv[1]:
        print(row["name_1"], "|", row["name_2"])' "$1"
}

for mpi in $(mpis); do
    if ! { "mpicc.$mpi" -O2 -g -w -o p.one one.c && "mpicc.$mpi" -O2 -g -w -DCHANGED -o p.two two.c &&
        "mpicc.$mpi" -O2 -g -w -DMORE -o p.more two.c; } 2>cc.log; then
        skip "two versions with $mpi" "no compiler for it"
        continue
    fi
    trace one one 2
    trace two two 2
    compare one two "$mpi, another version"
    is "$(rows mpi)" 'MPI_Allreduce 16>0* 64>0*
MPI_Barrier 16>16 0>0
MPI_Irecv 32>32 3200>25600*
MPI_Send 32>32 3200>25600*
MPI_Wait 32>32 0>0' "$mpi: calls and bytes that the program was changed by"
    [ $probes = 0 ] || is "$(rows functions | cut -d' ' -f1,2)" 'give 32>32
gone 16>0*
same 16>16
slow 16>16' "$mpi: and functions"
    like "$(cat answer.txt)" ' MPI_Send$' "$mpi: for people too"
    if [ "$(uname -m)" = x86_64 ]; then
        a=$(line ' give();') b=$(line ' give();' 2) c=$(line ' MPI_Send(')
        is "$(rows paths | grep -E 'Send|Allreduce')" 'main > give > MPI_Send 16>16 1600>12800*
main > give > MPI_Send 16>16 1600>12800*
main > gone > MPI_Allreduce 16>0* 64>0*' "$mpi: and call paths"
        is "$(shown 'main > give > MPI_Send')" "main, one.c:$a > give, one.c:$c > MPI_Send | main, two.c:$((a + 3)) > give, two.c:$((c + 3)) > MPI_Send
main, one.c:$b > give, one.c:$c > MPI_Send | main, two.c:$((b + 3)) > give, two.c:$((c + 3)) > MPI_Send" "$mpi: the first call is the first, in other lines"
        trace more more 2
        compare one more "$mpi, one call more"
        is "$(rows paths | grep Send)" 'main > give > MPI_Send 32>48* 3200>4800*' "$mpi: two places and three: nobody knows which is new"
        is "$(shown 'main > give > MPI_Send')" 'main > give > MPI_Send | main > give > MPI_Send' "$mpi: so they have no lines"
    fi
    trace again one 2
    compare one again "$mpi, the same program"
    is "$(for t in mpi functions paths; do rows $t; done | grep -cE '\*')" 0 "$mpi: it calls the same"
    is "$(grep -cE '^  [0-9].* (new|gone) ' <<<"$(sed '/^Waits/,/^$/d;/^Windows/,$d' answer.txt)")" 0 "$mpi: all rows are in both runs"
    trace three one 3
    compare one three "$mpi, two ranks and three"
    is "$(rows mpi | grep Send)" 'MPI_Send 16>16 1600>1600' "$mpi: as many calls of each process"
    unlike "$(cat answer.txt)" 'different chains' "$mpi: windows of the same chain"
    chains=start:pcontrol:level=1,stop:pcontrol:level=0 trace once one 2
    compare one once "$mpi, another chain"
    like "$(cat answer.txt)" 'The runs had different chains' "$mpi: another chain is no secret"
    is "$("$PYTHON" -c 'import json; print(json.load(open("answer.json"))["chains_differ"])')" True "$mpi: nor in JSON"
    run 100 "$REGTRACE" run -quiet -mode profile -o profile -- "mpirun.$mpi" -np 2 ./p.one
    run 60 "$REGTRACE" diff profile profile
    is "$status" 1 "$mpi: profiles without windows are not compared"
    like "$err" 'no window is whole in both runs.*a profile .-mode profile. is not compared' "$mpi: and why"
    rm -rf profile once one two more again three
done
done_testing
