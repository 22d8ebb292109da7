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
# seeded LOG REPORT...: of each window as many delays as it has seeds, those first that cost most,
# and whether the cost is that of the log.
cat >"$T/seeded.py" <<'END_OF_SCRIPT'
import json, sys
log = dict(line.split() for line in open(sys.argv[1]))
seeds = {0: {2: "chain"}, 1: {1: "collective"}, 2: {2: "waitall"}, 3: {"first": "first", "second": "second"},
         4: {1: "left", 3: "right"}, 5: {1: "receiver"}, 6: {0: "broadcast", 3: None}}
first = sys.argv[2]  # the line of the first send of window 3
for window, names in seeds.items():
    report = json.load(open(sys.argv[3 + window]))
    found = []
    for row in report["delays"][:len(names)]:
        places = [f'{p["caller"]}:{p["line"].rpartition(":")[2]}' for p in row["to"]["call_path"] if p["line"] and "delays.c" in p["line"]]
        name = names.get(row["rank"] if window != 3 else "first" if f"twice:{first}" in places else "second")
        cost, logged = row["direct_ns"], float(log.get(name, 0))
        agrees = name is None or abs(cost - logged) <= 0.05 * logged
        found.append(f'{window} {row["rank"]} {row["to"]["function"]} {" ".join(places)} {"as logged" if agrees else (cost, logged)}')
    print("\n".join(sorted(found)))
    costs = sum(d["direct_ns"] + d["propagated_ns"] for d in report["delays"])
    waits = sum(w["total_ns"] for w in report["waits"])
    if window < 6 and (abs(costs - waits) > 1000 or report["delays_unknown_ns"] != 0):
        print(window, "costs", costs, "waits", waits, report["delays_unknown_ns"])
chain = json.load(open(sys.argv[3]))
print("propagated", chain["delays"][0]["propagated_ns"] > 1.9 * float(log["chain"]))
END_OF_SCRIPT
send=$(line 'late \*/')
step=$(line 'phases\[i\]();')
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -g -w -o "$T/delays" "$source" 2>"$T/cc"; then
        skip "delays with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    run 60 "$REGTRACE" run -quiet -callpath 16 -control start:pcontrol:level=1,stop:pcontrol:level=0,repeat -o "$T/run" -- "mpirun.$mpi" -np 4 "$T/delays" "$T/log"
    is "$status" 0 "$mpi: the program ends" || diag "$err"
    for window in 0 1 2 3 4 5 6; do
        "$REGTRACE" report --json --window $window "$T/run" >"$T/report.$window"
    done
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/report/delays.py" "$T/run" "$T"/report.?
    is "$out" "7 windows compared" "$mpi: all costs and paths are those of the rank files" || diag "$err"
    run 60 "$PYTHON" "$T/seeded.py" "$T/log" "$(line '/. first ./')" "$T"/report.?
    is "$out" "0 2 MPI_Send main:$step chain:$(line 'root of the chain') root_cause:$send as logged
1 1 MPI_Allreduce main:$step collective:$(line 'MPI_Allreduce(') as logged
2 2 MPI_Send main:$step wait_for_two:$(line 'root_cause(2, 2') root_cause:$send as logged
3 1 MPI_Send main:$step twice:$(line '/. first ./') root_cause:$send as logged
3 1 MPI_Send main:$step twice:$(line '/. second ./') root_cause:$send as logged
4 1 MPI_Send main:$step two_at_once:$(line 'root_cause(4, 1') root_cause:$send as logged
4 3 MPI_Send main:$step two_at_once:$(line 'root_cause(4, 2') root_cause:$send as logged
5 1 MPI_Recv main:$step late_receiver:$(line 'MPI_Recv(&x, 1, MPI_INT, from, 10') as logged
6 0 MPI_Bcast main:$step as logged
6 3 MPI_Bcast main:$step as logged
propagated True" "$mpi: the causes that the program seeds, and what they cost by its clock" || diag "$err"
    run 60 "$REGTRACE" report --window 0 "$T/run"
    like "$out" "^ +2 .*from the window's opening to MPI_Send in main, delays.c:$step > chain, delays.c:$(line 'root of the chain') > root_cause, delays.c:$send\$" "$mpi: and for people"
    like "$out" '^Critical path: [0-9.]+ ms long; rank [0-3] has [0-9.]+% of it' "$mpi: with the critical path in one line"
    run 60 "$REGTRACE" report --critical-path --all "$T/run"
    like "$out" "^ +[0-9.]+ ms .* from MPI_Send in twice, delays.c:$(line '/. first ./') > root_cause, delays.c:$send to MPI_Send in twice, delays.c:$(line '/. second') > root_cause, delays.c:$send\$" "$mpi: its activities have call paths"
    is "$(grep -cE '^ +[0-6] +[0-9.]+ ms +[0-9]+ +[0-3] +[0-9.]+%$' <<<"$out")" 7 "$mpi: and each window has one" || diag "$out"
    rm -rf "$T/run"
done
done_testing
