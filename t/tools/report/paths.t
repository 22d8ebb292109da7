#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Paths that are deeper than -callpath begin with [cut], others do not. Calls from one line are one
# row. Stacks of samples have no wrapper of libregtrace, and show samples there as [regtrace].
. "$(dirname "$0")/../../lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "call paths need x86-64"
needs h5py
source=$REGTRACE_SOURCE/t/tools/report/paths.c
line() { grep -n "$1" "$source" | cut -d: -f1; }
deep="deep, paths.c:$(line ' deep(n - 1);')"
last="deep, paths.c:$(awk '/^APART static void deep/ { inside = 1 } inside && /MPI_Barrier/ { print NR; exit }' "$source")"
shallow="shallow, paths.c:$(awk '/MPI_Barrier/ { print NR; exit }' "$source")"
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -g -w -pthread -o "$T/paths" "$source" 2>"$T/cc"; then
        skip "paths with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    rm -rf "$T/run"
    run 120 "$REGTRACE" run -quiet -callpath 8 -sample cpu:1ms -o "$T/run" -- "mpirun.$mpi" -np 1 "$T/paths"
    is "$status" 0 "$mpi: the program ends" || diag "$err"

    # --- paths of MPI calls ---
    run 60 "$REGTRACE" report --tree -top 0 "$T/run"
    tree=$out
    like "$tree" "% +- +1 +0 B  \[cut\]\$" "$mpi: the tree has a path that was cut" || diag "$tree"
    like "$tree" "  main, paths.c:$(line '^    shallow();' | tail -1)\$" "$mpi: and whole ones from main on" || diag "$tree"
    run 60 "$REGTRACE" report --folded "$T/run"
    folded=$out
    like "$folded" "^\[cut\];($deep;){7}$last;MPI_Barrier [0-9]+\$" "$mpi: the folded stack of a deep path begins with [cut]" || diag "$folded"
    is "$(grep -c '\[cut\]' <<<"$folded")" 1 "$mpi: which no other one has"
    like "$folded" "^main, paths.c:[0-9]+;$shallow;MPI_Barrier [0-9]+\$" "$mpi: main's own is whole"
    like "$folded" "in_thread, paths.c:[0-9]+;$shallow;MPI_Barrier [0-9]+\$" "$mpi: a thread's too" || diag "$folded"
    is "$(grep -c ';MPI_Comm_size ' <<<"$folded")" 1 "$mpi: two calls from one line are one stack"
    run 60 "$REGTRACE" report --json "$T/run"
    echo "$out" >"$T/report"
    run 60 "$PYTHON" -c 'import json, sys
report = json.load(open(sys.argv[1]))
tree = report["call_tree"]
print("cut", sum(n.get("caller") == "[cut]" and n["parent"] is None and n["image"] is None for n in tree))
sizes = [n for n in tree if n.get("function") == "MPI_Comm_size"]
print("tree", [n["calls"] for n in sizes])
print("sites", [s["calls"] for s in report["call_sites"] if s["function"] == "MPI_Comm_size"])
rows = {}
for n in tree:
    key = n["parent"], n.get("function") or (n["caller"], n["inlined"], n["line"])
    rows[key] = rows.get(key, 0) + (key[1][2] is not None)
print("most", max(rows.values()))' "$T/report"
    is "$out" $'cut 1\ntree [2]\nsites [2]\nmost 1' "$mpi: JSON has the same rows" || diag "$err"
    "$REGTRACE" report --pprof "$T/run" >"$T/profile"
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/report/pprof.py" "$T/profile"
    like "$out" "^1 calls, [0-9]+ ns: \[cut\]:0 (deep:[0-9]+ ){8}MPI_Barrier:0\$" "$mpi: pprof's profile has the mark" || diag "$out$err"
    "$REGTRACE" report --speedscope "$T/run" >"$T/profile"
    like "$(cat "$T/profile")" '"name": ?"\[cut\]"' "$mpi: and speedscope's file"

    run 60 env PYTHONPATH="$REGTRACE_SOURCE/share/python" "$PYTHON" -c 'import sys, regtrace
stacks = regtrace.open(sys.argv[1]).mpi_calls(places=True)["stack"]
print(stacks.str.startswith("[cut];deep;").sum(), stacks.str.contains("cut", regex=False).sum())' "$T/run"
    is "$out" "1 1" "$mpi: Python has it too" || diag "$err"

    # --- stacks of samples ---
    cat >"$T/own.py" <<'END'
import glob, sys, h5py
# Is libregtrace among the callers? edit: moves the samples that it called into it, and prints how
# many periods they stand for.
(name,) = glob.glob(sys.argv[1] + "/rank-*.h5")
with h5py.File(name, "r+" if sys.argv[2:] else "r") as f:
    every = f["strings"][:].tobytes()
    text = {int(r["id"]): every[int(r["offset"]):][:int(r["length"])].decode() for r in f["string_index"][:]}
    own = {i for i, t in text.items() if t.rpartition("/")[2].startswith("libregtrace.so")}
    base = [int(m["base"]) for m in f["maps"][:] if int(m["path"]) in own][0]
    rows = {int(r["path"]): r for r in f["paths"][:]}
    sample = ord("P") | ord("S") << 8 | ord("s") << 16
    events, moved, above = f["events"][:], 0, 0
    for e in events:
        row = rows.get(int(e["b"]) >> 32) if e["code"] == sample else None
        while row is not None and int(row["image"]) not in own:
            row = rows.get(int(row["parent"]))
        above += row is not None
        if row is not None:
            periods = int(e["b"]) & 0xffffffff
            moved += periods
            e["a"] = base + int(row["offset"])
            e["b"] = int(row["parent"]) << 32 | periods
    if sys.argv[2:]:
        f["events"][...] = events
print(moved if sys.argv[2:] else above > 0)
END
    run 60 "$PYTHON" "$T/own.py" "$T/run"
    is "$out" True "$mpi: libregtrace is among the callers of samples" || diag "$err"
    run 60 "$REGTRACE" report --hot --folded "$T/run"
    like "$out" "main;reduce;P?MPI_Reduce_local" "$mpi: whose stacks go from the program to MPI" || diag "$out"
    run 60 "$REGTRACE" page -force -o "$T/page.html" "$T/run"
    cat >"$T/tree.py" <<'END'
import json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
data = json.loads(re.search(r'<script id="report" type="application/json">(.*?)</script>', text, re.S)[1])["samples"]
parents = {n["parent"] for n in data["tree"]}
for i, n in enumerate(data["tree"]):
    if (n["image"] or "").rpartition("/")[2].startswith("libregtrace") and (n["function"] != "[regtrace]" or i in parents):
        print(n)
print(sum(n["self"] for n in data["tree"]) == data["periods"])
END
    run 60 "$PYTHON" "$T/tree.py" "$T/page.html"
    is "$out" True "$mpi: the page's flame graph has no function of libregtrace, but all samples" || diag "$err"
    cp -r "$T/run" "$T/moved"
    run 60 "$PYTHON" "$T/own.py" "$T/moved" edit
    moved=$out
    like "$moved" '^[1-9]' "$mpi: samples are moved into libregtrace" || diag "$err"
    run 60 "$REGTRACE" report --hot --folded "$T/moved"
    ok "$([ "$(sed -n 's/.*;\[regtrace\] //p' <<<"$out" | awk '{ n += $1 } END { print n + 0 }')" -ge "$moved" ]; echo $?)" "$mpi: they are in [regtrace]" || diag "$out"
    like "$out" "main;reduce;\[regtrace\] [0-9]+\$" "$mpi: below the caller of MPI" || diag "$out"
    unlike "$out" '\[regtrace\];' "$mpi: which calls nothing"
    rm -rf "$T/moved"
done
done_testing
