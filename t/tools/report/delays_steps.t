#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# With a window for each step, between which ranks do not wait for each other, causes are those of
# the steps before: by an independent program, and as with one window over all steps.
. "$(dirname "$0")/../../lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "call paths need x86-64"
[ "$PYTHON" != no ] || skip_all "no Python with h5py"
cat >"$T/steps.c" <<'END_OF_SOURCE'
/* Ranks in a row exchange with their neighbours. Rank 2 rests. Each message has a tag of its own. */
#include <mpi.h>
#include <time.h>
enum { STEPS = 12 };
int main(int argc, char **argv)
{
    int rank, size, in[2], out = 1, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1)
        MPI_Pcontrol(1, "all");
    for (int i = 0; i < STEPS; i++) {
        MPI_Request r[4];
        int n = 0;
        if (argc == 1)
            MPI_Pcontrol(1, "step");
        if (rank == 2)
            nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
        for (int to = rank - 1; to <= rank + 1; to += 2)
            if (to >= 0 && to < size)
                MPI_Irecv(&in[to > rank], 1, MPI_INT, to, i, MPI_COMM_WORLD, &r[n++]);
        for (int to = rank - 1; to <= rank + 1; to += 2)
            if (to >= 0 && to < size)
                MPI_Isend(&out, 1, MPI_INT, to, i, MPI_COMM_WORLD, &r[n++]);
        MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
        if (i % 6 == 5)
            MPI_Allreduce(&out, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (argc == 1)
            MPI_Pcontrol(0, "stepped");
    }
    if (argc > 1)
        MPI_Pcontrol(0, "end");
    return MPI_Finalize();
}
END_OF_SOURCE
# Prints for each report which rank has most of the costs, and most of the path, which on a busy
# machine need not be the slow one; then whether the path is no longer than the time that passed.
cat >"$T/shares.py" <<'END_OF_SCRIPT'
import json, sys
for name in sys.argv[1:]:
    report = json.load(open(name))
    costs = [0] * 4
    for d in report["delays"]:
        costs[d["rank"]] += d["direct_ns"] + d["propagated_ns"]
    ranks = [r["path_ns"] for r in report["critical_path"]["ranks"]]
    for r in report["waits_by_rank"]:
        for kind in ("direct_ns", "propagated_ns"):
            cost = sum(d[kind] for d in report["delays"] if d["rank"] == r["rank"])
            if abs(r[kind] - cost) > 1:
                print("rank", r["rank"], kind, r[kind], "sum", cost)
    windows = report["windows"]
    passed = max(w["stop_ns"] for w in windows) - min(w["start_ns"] for w in windows)
    print(costs.index(max(costs)), ranks.index(max(ranks)), report["critical_path"]["length_ns"] <= 1.01 * passed)
END_OF_SCRIPT
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -g -w -o "$T/steps" "$T/steps.c" 2>"$T/cc"; then
        skip "steps with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    run 60 "$REGTRACE" run -quiet -control start:pcontrol:step,stop:pcontrol:stepped,repeat -o "$T/steps.run" -- "mpirun.$mpi" -np 4 "$T/steps"
    is "$status" 0 "$mpi: a run with a window for each step" || diag "$err"
    run 60 "$REGTRACE" run -quiet -control start:pcontrol:all,stop:pcontrol:end -o "$T/whole.run" -- "mpirun.$mpi" -np 4 "$T/steps" whole
    is "$status" 0 "$mpi: and with one window" || diag "$err"
    for name in steps whole; do
        "$REGTRACE" report --json "$T/$name.run" >"$T/$name.json"
    done
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/report/delays.py" "$T/steps.run" --all "$T/steps.json"
    is "$out" "12 windows compared"$'\n'"windows overlap" "$mpi: costs and path over all windows are those of the rank files" || diag "$err"
    run 60 "$PYTHON" "$T/shares.py" "$T/steps.json" "$T/whole.json"
    is "$(sed 's/^[0-3] [0-3] //' <<<"$out")" True$'\n'True "$mpi: costs of ranks add up, and no path is longer than its run" || diag "$out $err"
    read -r costly _ <<<"$out"
    rows=$("$PYTHON" -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["delays"]))' "$T/steps.json")
    run 60 "$REGTRACE" report --top 3 "$T/steps.run"
    like "$(grep -A1 '^ *rank .* waited itself$' <<<"$out" | tail -n 1)" "^ +$costly " "$mpi: for people, the rank that costs most is the first one"
    like "$out" "^  [.]{3} $((rows - 3)) more, together [0-9.]+%" "$mpi: and as many rows as -top says"
    run 60 "$REGTRACE" report --critical-path "$T/steps.run"
    like "$out" "^ +[0-9]+-[0-9]+ +[0-9.]+ m?s +[0-9]+ +[0-3] " "$mpi: windows that overlap are one phase"
    like "$out" '^Windows of different ranks overlap in time' "$mpi: which is said"
    run 60 "$REGTRACE" report --window 3-5 "$T/steps.run"
    like "$out" '^Messages from rank to rank: 18 messages, 72 bytes, between 6 pairs, sent in windows 3 to 5$' "$mpi: messages are those of the windows that are asked for"
    like "$out" '^  all matched: ' "$mpi: and all are matched, which is said"
    rm -rf "$T"/*.run
done
done_testing
