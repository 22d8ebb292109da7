#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The report names the causes of waits, and their costs: those of a program that seeds them, by its
# own clock; all of them, and the critical path, by an independent program that reads the rank
# files.
. "$(dirname "$0")/../../lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "call paths need x86-64"
[ "$PYTHON" != no ] || skip_all "no Python with h5py"
source=$REGTRACE_SOURCE/t/tools/report/delays.c
line() { grep -n "$1" "$source" | head -n 1 | cut -d: -f1; }
# seeded.py LOG SEEDS REPORT...: prints the delays that the program seeds, and whether they cost
# what the log says. On a busy machine there are others.
cat >"$T/seeded.py" <<'END_OF_SCRIPT'
import json, sys
log = dict(line.split() for line in open(sys.argv[1]))
for line in open(sys.argv[2]):
    window, rank, name, function, *places = line.split()
    report = json.load(open(sys.argv[3 + int(window)]))
    for row in report["delays"]:
        at = [f'{p["caller"]}:{p["line"].rpartition(":")[2]}' for p in row["to"]["call_path"] if p["line"] and "delays.c" in p["line"]] if row["kind"] == "between" else []
        if (row["rank"], at) == (int(rank), places) and row["to"]["function"] == function:
            cost, logged = row["direct_ns"], float(log[name])
            print(name, "as logged" if abs(cost - logged) <= 0.05 * logged else (cost, logged))
    costs = sum(d["direct_ns"] + d["propagated_ns"] for d in report["delays"])
    waits = sum(w["total_ns"] for w in report["waits"])
    if window != "6" and (abs(costs - waits) > 1000 or report["delays_unknown_ns"] != 0):
        print(window, "costs", costs, "waits", waits, report["delays_unknown_ns"])
END_OF_SCRIPT
send=$(line 'late \*/')
step=$(line 'phases\[i\]();')
first=$(line '/. first ./')
chain='start:pcontrol:level=1,stop:pcontrol:level=0,repeat'
# Window, rank, name in the log, call that came late, and its path.
cat >"$T/seeds" <<END
0 2 chain MPI_Send main:$step chain:$(line 'root of the chain') root_cause:$send
1 1 collective MPI_Allreduce main:$step collective:$(line 'MPI_Allreduce(')
2 2 waitall MPI_Send main:$step wait_for_two:$(line 'root_cause(2, 2') root_cause:$send
3 1 first MPI_Send main:$step twice:$first root_cause:$send
3 1 second MPI_Send main:$step twice:$(line '/. second ./') root_cause:$send
4 1 left MPI_Send main:$step two_at_once:$(line 'root_cause(4, 1') root_cause:$send
4 3 right MPI_Send main:$step two_at_once:$(line 'root_cause(4, 2') root_cause:$send
5 1 receiver MPI_Recv main:$step late_receiver:$(line 'MPI_Recv(&x, 1, MPI_INT, from, 10')
6 0 broadcast MPI_Bcast main:$step
END

# seeded MPI: runs the program until each seed has cost once what the log says: on a busy machine a
# rank may lose the processor between the program's clock and the call. Leaves the last run.
seeded() {
    local try wrong=''
    : >"$T/agreed"
    for try in 1 2 3 4 5 6; do
        rm -rf "$T/run"
        run 60 "$REGTRACE" run -quiet -callpath 16 -control "$chain" -o "$T/run" -- "mpirun.$1" -np 4 "$T/delays" "$T/log"
        [ "$status" = 0 ] || wrong+="$err"
        for window in 0 1 2 3 4 5 6; do
            "$REGTRACE" report --json --window $window "$T/run" >"$T/report.$window"
        done
        run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/report/delays.py" "$T/run" "$T"/report.?
        [ "$out" = "7 windows compared" ] || wrong+="$out$err"
        run 60 "$PYTHON" "$T/seeded.py" "$T/log" "$T/seeds" "$T"/report.?
        grep ' as logged$' <<<"$out" >>"$T/agreed"
        [ "$(sort -u "$T/agreed" | wc -l)" -lt 9 ] || break
    done
    is "$wrong" "" "$1: all costs and paths are those of the rank files, in $try runs"
    is "$(sort -u "$T/agreed" | wc -l)" 9 "$1: the causes that the program seeds, and what they cost by its clock" || diag "$out $err"
}

# recorded MPI KIND NAME [ARGUMENT...]: what the run records is named, not the calls around it.
recorded() {
    local mpi=$1 kind=$2 name=$3
    shift 3
    run 60 "$REGTRACE" run -quiet -functions '^rest$' -control "$chain" -o "$T/run" -- "mpirun.$mpi" -np 4 "$T/delays" "$T/log" "$@"
    "$REGTRACE" report --json --window 0 "$T/run" >"$T/report"
    run 60 "$PYTHON" -c 'import json, sys
report, log = json.load(open(sys.argv[1])), dict(line.split() for line in open(sys.argv[2]))
rows = [d for d in report["delays"] if d["rank"] == 2 and d["kind"] == sys.argv[3]]
print(rows[0][sys.argv[3]], rows[0]["direct_ns"] > 0.5 * float(log["chain"]))
costs, waits = sum(d["direct_ns"] + d["propagated_ns"] for d in report["delays"]), sum(w["total_ns"] for w in report["waits"])
path = report["critical_path"]
print(abs(costs - waits) < 1000, abs(sum(a["path_ns"] for a in path["activities"]) - path["length_ns"]) < 1000)' "$T/report" "$T/log" "$kind"
    is "$out" "$name True"$'\n'"True True" "$mpi: a recorded $kind is named instead of the calls around it" || diag "$err"
    rm -rf "$T/run"
}

for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -g -w -I"$REGTRACE_SOURCE/share/include" -o "$T/delays" "$source" 2>"$T/cc"; then
        skip "delays with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    seeded $mpi
    run 60 "$REGTRACE" report --window 0 "$T/run"
    like "$out" "^ +2 .*from the window's opening to MPI_Send in main, delays.c:$step > chain, delays.c:$(line 'root of the chain') > root_cause, delays.c:$send\$" "$mpi: and for people"
    like "$out" '^Critical path: [0-9.]+ ms long; rank [0-3] has [0-9.]+% of it' "$mpi: with the critical path in one line"
    run 60 "$REGTRACE" report --critical-path --all "$T/run"
    like "$out" "^ +[0-9.]+ ms .* from MPI_Send in twice, delays.c:$first > root_cause, delays.c:$send to MPI_Send in twice, delays.c:$(line '/. second') > root_cause, delays.c:$send\$" "$mpi: its activities have call paths"
    is "$(grep -cE '^ +[0-6] +[0-9.]+ ms +[0-9]+ +[0-3] +[0-9.]+%$' <<<"$out")" 7 "$mpi: and each window has one" || diag "$out"
    rm -rf "$T/run"
    recorded $mpi function rest
    recorded $mpi region resting regions
done
done_testing
