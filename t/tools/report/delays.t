#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The report names the causes of waits, and their costs: those of a program that seeds them, by its
# own clock; all of them, and the critical path, by an independent program that reads the rank
# files.
. "$(dirname "$0")/../../lib.sh"
. "$here/logged.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "call paths need x86-64"
[ "$PYTHON" != no ] || skip_all "no Python with h5py"
source=$REGTRACE_SOURCE/t/tools/report/delays.c
# Prints what differs from the sums of each report.
all_costs='import json, sys
for name in sys.argv[1:]:
    report = json.load(open(name))
    path = report["critical_path"]
    costs = sum(d["direct_ns"] + d["propagated_ns"] for d in report["delays"])
    waits = sum(w["total_ns"] for w in report["waits"])
    if abs(costs - waits) > 1000 or report["delays_unknown_ns"] != 0:
        print(name, "costs", costs, "waits", waits, report["delays_unknown_ns"])
    if abs(sum(a["path_ns"] for a in path["activities"]) - path["length_ns"]) > 1000:
        print(name, "the path has gaps")
'
line() { grep -n "$1" "$source" | head -n 1 | cut -d: -f1; }
send=$(line 'late \*/')
step=$(line 'phases\[i\]();')
first=$(line '/. first ./')
chain='start:pcontrol:level=1,stop:pcontrol:level=0,repeat'
# Report, rank, cost by the log, kind, call that came late, and its path (delay_bounds.py).
cat >"$T/seeds" <<END
0 2 chain between MPI_Send main:$step chain:$(line 'root of the chain') root_cause:$send
1 1 collective between MPI_Allreduce main:$step collective:$(line 'MPI_Allreduce(')
2 2 waitall between MPI_Send main:$step wait_for_two:$(line 'last of two') root_cause:$send
3 1 first between MPI_Send main:$step twice:$first root_cause:$send
3 1 second between MPI_Send main:$step twice:$(line '/. second ./') root_cause:$send
4 1 left between MPI_Send main:$step two_at_once:$(line '/. left ./') root_cause:$send
4 3 right between MPI_Send main:$step two_at_once:$(line '/. right ./') root_cause:$send
5 1 receiver between MPI_Recv main:$step late_receiver:$(line 'late to receive ./') take:$(line '/. take ./')
6 0 broadcast between MPI_Bcast main:$step broadcast:$(line 'MPI_Bcast(')
7 1 probed between MPI_Send main:$step probed:$(line '/. late for a probe') root_cause:$send
8 1 matched between MPI_Send main:$step matched:$(line '/. late for a matched') root_cause:$send
9 1 nonblocking between MPI_Iallreduce main:$step nonblocking:$(line 'MPI_Iallreduce(')
END
names=$(cut -d' ' -f3 "$T/seeds")

# delay_bounds SEEDS REPORT...: compares the costs with the program's log.
delay_bounds() {
    local seeds=$1
    shift
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/report/delay_bounds.py" "$T/log" "$seeds" "$@"
}

# traced MPI OPTION...: records a run of the program into $T/run.
traced() {
    local mpi=$1
    shift
    rm -rf "$T/run" "$T/log"
    run 60 "$REGTRACE" run -quiet -control "$chain" -o "$T/run" "$@"
    is "$status" 0 "$mpi: the program ends" || diag "$err"
}

# broken REPORT SED NAME: shows that a report which sed has changed does not agree with the log.
broken() {
    sed -E "$2" "$T/report.$1" >"$T/broken"
    ! cmp -s "$T/broken" "$T/report.$1"
    ok $? "$3: the report is changed"
    delay_bounds <(sed -n "s/^$1 /0 /p" "$T/seeds") "$T/broken"
    unlike "$out" 'as logged$' "$3 is found"
}

# seeded MPI: leaves the run and its reports.
seeded() {
    local window
    traced "$1" -callpath 16 -- "mpirun.$1" -np 4 "$T/delays" "$T/log"
    for window in 0 1 2 3 4 5 6 7 8 9; do
        "$REGTRACE" report --json --window $window "$T/run" >"$T/report.$window"
    done
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/report/delays.py" "$T/run" "$T"/report.?
    is "$out$err" "10 windows compared" "$1: all costs and paths are those of the rank files"
    run 60 "$PYTHON" -c "$all_costs" "$T"/report.[0-57-9]
    is "$out$err" "" "$1: the costs together are the time of all waits"
    delay_bounds "$T/seeds" "$T"/report.?
    is "$out$err" "$(sed 's/$/ as logged/' <<<"$names")" "$1: the causes that the program seeds cost what its log says"
}

# recorded MPI KIND NAME [ARGUMENT...]: what the run records is named, not the calls around it.
recorded() {
    local mpi=$1 kind=$2 name=$3
    shift 3
    traced "$mpi" -functions '^rest$' -- "mpirun.$mpi" -np 4 "$T/delays" "$T/log" "$@"
    "$REGTRACE" report --json --window 0 "$T/run" >"$T/report"
    delay_bounds <(echo "0 2 resting $kind $name") "$T/report"
    is "$out$err" "resting as logged" "$mpi: a recorded $kind is named instead of the calls around it"
    run 60 "$PYTHON" -c "$all_costs" "$T/report"
    is "$out$err" "" "$mpi: with a recorded $kind, the costs are the time of all waits, and the path has no gap"
    [ $kind = region ] || run 60 "$PYTHON" -c 'import json, sys
rows = [d for d in json.load(open(sys.argv[1]))["delays"] if d["rank"] == 2 and d["kind"] == "function"]
print(rows[0]["called_in"]["caller"], "delays.c:" in rows[0]["called_in"]["line"])' "$T/report"
    [ $kind = region ] || is "$out" "root_cause True" "$mpi: and the line that called it" || diag "$err"
}

for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! build_logged $mpi "$source" "$T/delays" -I"$REGTRACE_SOURCE/share/include" 2>"$T/cc"; then
        skip "delays with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    seeded $mpi
    broken 0 's/("direct_ns": )[0-9]{8,}/\139999999/' "$mpi: half of the cost"
    broken 2 's/"rank": 2(.*"direct_ns": [0-9]{8,})/"rank": 1\1/' "$mpi: a wrong rank"
    broken 3 "s/(delays.c:)$first\"/\\1$((first + 1))\"/" "$mpi: a wrong path"
    run 60 "$REGTRACE" report --window 0 "$T/run"
    like "$out" "^ +2 .*from the window's opening to MPI_Send in main, delays.c:$step > chain, delays.c:$(line 'root of the chain') > root_cause, delays.c:$send\$" "$mpi: and for people"
    like "$out" '^  "from ... to ..." is work between two MPI calls: -functions' "$mpi: and how to name the work"
    calls=$(sed -n '/^What these ranks did/,/^$/p' <<<"$out" | grep -cE '[0-9] (ns|us|ms|s)  MPI_')
    is "$(grep -c '^  Of an MPI call it is the part that did not wait: ' <<<"$out")" $((calls > 0)) "$mpi: and what an MPI call does there, if there is one"
    like "$out" '^Critical path: [0-9.]+ m?s long, in windows between MPI_Init and MPI_Finalize; rank [0-3] has [0-9.]+% of it' "$mpi: with the critical path in one line"
    like "$out" '^which can exceed the length of the run\)$' "$mpi: that says what costs are"
    run 60 "$REGTRACE" report --critical-path --all "$T/run"
    like "$out" "^ +[0-9.]+ m?s .* from MPI_Send in twice, delays.c:$first > root_cause, delays.c:$send to MPI_Send in twice, delays.c:$(line '/. second') > root_cause, delays.c:$send\$" "$mpi: its activities have call paths"
    is "$(grep -cE '^ +[0-9] +[0-9.]+ m?s +[0-9]+ +[0-3] +[0-9.]+%$' <<<"$out")" 10 "$mpi: and each window has one" || diag "$out"
    rm -rf "$T/run"
    recorded $mpi function rest
    recorded $mpi region resting regions
done
done_testing
