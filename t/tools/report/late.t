#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that sleeps before its 40th send, in a function that two others call, is diagnosed: the
# rank, the call path, and what it cost the other rank, by the program's own clock. The call tree,
# and its files for other programs, have its path. Without debug information the report says so.
. "$(dirname "$0")/../../lib.sh"
. "$here/logged.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "call paths need x86-64"
source=$REGTRACE_SOURCE/t/tools/report/late.c
line() { grep -n "$1" "$source" | cut -d: -f1; }
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! build_logged $mpi "$source" "$T/late" 2>"$T/cc"; then
        skip "a late rank with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    rm -f "$T"/log*
    run 60 "$REGTRACE" run -quiet -callpath 16 -o "$T/run" -- "mpirun.$mpi" -np 2 "$T/late" "$T/log"
    is "$status" 0 "$mpi: the program ends" || diag "$err"
    # i = 40 is not a multiple of 3: the send is from second().
    path="main, late.c:$(line ' second(i);') > second, late.c:$(line '/. from second') > give, late.c:$(line '/. the send')"
    run 60 "$REGTRACE" report --json "$T/run"
    echo "$out" >"$T/report"
    run 60 "$PYTHON" -c 'import json, sys
for row in json.load(open(sys.argv[1]))["late_calls"]:
    places = [(p["caller"], p["line"].rpartition("/")[2]) for p in row["call_path"] if p["line"] and "late.c" in p["line"]]
    if row["kind"] == "late sender" and "second" in [p[0] for p in places]:
        break
print(row["rank"], row["function"], row["longest_rank"], " > ".join(", ".join(p) for p in places))
least, most = map(float, open(sys.argv[2]).read().split())
print("cost as logged" if 2000000 < least <= row["cost_ns"] <= most else (row["cost_ns"], least, most))' "$T/report" "$T/log"
    is "$out" "1 MPI_Send 0 $path"$'\n'"cost as logged" "$mpi: the late rank, its call path, the cost" || diag "$err"
    run 60 "$REGTRACE" report -top 0 "$T/run"
    like "$out" "^ +1 .* from MPI_Recv in main, late.c:$(line 'MPI_Recv(&x, 1, MPI_INT, 0, 2') to MPI_Send in $path\$" "$mpi: and for people"
    unlike "$out" 'No source lines' "$mpi: and no line is missing"
    run 60 "$REGTRACE" report --tree "$T/run"
    like "$out" "give, late.c:$(line '/. the send')" "$mpi: the call tree has it"
    run 60 "$REGTRACE" report --folded "$T/run"
    like "$out" "main, late.c:[0-9]+;second, late.c:[0-9]+;give, late.c:[0-9]+;MPI_Send [0-9]+"$'\n' "$mpi: and the folded stacks"
    "$REGTRACE" report --pprof "$T/run" >"$T/profile"
    run 60 "$PYTHON" "$REGTRACE_SOURCE/t/tools/report/pprof.py" "$T/profile"
    like "$out" "^[0-9]+ calls, [0-9]+ ns: main:$(line ' second(i);') second:$(line '/. from second') give:$(line '/. the send') MPI_Send:0"$'\n' "$mpi: and pprof's profile" || diag "$err"
    is "$(awk '{ n += $1 } END { print n }' <<<"$out")" "$(grep -o '"calls": [0-9]*, "total_ns"' "$T/report" | tr -dc '0-9\n' | awk '{ n += $1 } END { print n }')" "$mpi: with all calls"
    "$REGTRACE" report --speedscope "$T/run" >"$T/profile"
    run 60 "$PYTHON" -c 'import json, sys
file, report = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
frames = file["shared"]["frames"]
assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
for profile, of_report in zip(file["profiles"], ("total_ns", "waited_ns")):
    assert (profile["type"], profile["unit"]) == ("sampled", "nanoseconds")
    assert len(profile["samples"]) == len(profile["weights"]) and profile["startValue"] == 0
    assert abs(sum(profile["weights"]) - profile["endValue"]) < 1
    assert abs(profile["endValue"] - sum(c[of_report] for c in report["call_sites"])) < 1, of_report
stacks = [" ".join("{}:{}".format(frames[f]["name"], frames[f].get("line", 0)) for f in sample) for sample in file["profiles"][0]["samples"]]
print("\n".join(stacks))' "$T/profile" "$T/report"
    like "$out" "^main:$(line ' second(i);') second:$(line '/. from second') give:$(line '/. the send') MPI_Send:0\$" "$mpi: and speedscope's file, with all time" || diag "$err"
    rm -rf "$T/run"
    build_logged "$mpi" "$source" "$T/late" -g0
    rm -f "$T"/log*
    run 60 "$REGTRACE" run -quiet -callpath 16 -o "$T/run" -- "mpirun.$mpi" -np 2 "$T/late" "$T/log"
    run 60 "$REGTRACE" report "$T/run"
    is "$(grep 'No source lines' <<<"$out")" "No source lines of late: it has no debug information (compile with -g)." \
        "$mpi: without debug information the report says so once"
    like "$out" '  give in late$' "$mpi: and names functions"
    rm -rf "$T/run"
done
run 60 "$REGTRACE" report --speedscope --tree "$T"
is "$status" 2 "one view at a time"
like "$err" "^regtrace report: one of --hot, .*--speedscope, .* at a time" "and the message says so"
done_testing
