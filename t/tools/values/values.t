#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace values lists profiles that are known beforehand (t/writer/value_emitter.c) exactly; h5py
# reads the same values.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99

# A stand-in for regtrace-vprofiler is beside the copy of the library. Beside the copy of the
# writer, the writer's test values.t takes that part.
mkdir programs
cp "$REGTRACE_WRITER_PROGRAM" programs/regtrace-writer
cp "$REGTRACE_BUILD/t/writer/values.t" programs/regtrace-vprofiler
mkdir lib
cp "$LIBREGTRACE" lib/libregtrace.so
cp "$here/vprofiler_stand_in.sh" lib/regtrace-vprofiler
export REGTRACE_LIBRARY=$T/lib/libregtrace.so

# emit DIR PLUGIN KIND [SAMPLES]: makes a run; sets first and second to the offsets of its
# functions.
emit() {
    mkdir -p "$1"
    run 60 "$REGTRACE_BUILD/t/writer/value_emitter" "$T/programs/regtrace-writer" "$T/$1" "$REGTRACE_SHM/stream-$1" "${@:2}"
    is "$status" 0 "$1: a run with values" || diag "$out$err"
    eval "$out"
}
emit plain each plain 4000
run 60 "$REGTRACE" check plain
is "$status" 0 'check finds it whole' || diag "$out$err"
run 60 "$REGTRACE" dump plain
unlike "$out" 'EV_VALUES' 'no captured value among the events'

# plainly TEXT: prints TEXT without source lines and offsets, which depend on compiler and build.
plainly() { sed -E 's/ +[^ ]*value_emitter\.c:[0-9]+$//; s/0x[0-9a-f]+ +(4|9|c)/AT \1/; s/ +$//' <<<"$1"; }
run 60 "$REGTRACE" values plain
is "$status" 0 'values lists it' || diag "$err"
is "$(plainly "$out" | sed -n 1,3p)" "Values of each: 4000 samples, 10000 captured instructions, 1 process
  without values: 1 in no image
  without values: 1 at an instruction that is not followed" 'what was sampled'
names=$(plainly "$out")
if grep -q 'first_kernel' <<<"$out"; then
    is "$(sed -n '/^first_kernel/,$p' <<<"$names")" "first_kernel in value_emitter: captured 8000 times, 80.0 %
        4000  AT 488b07
              addr: (75.0 % 7) (8.3 % 1) (8.3 % 2) (8.3 % 3) of 4000
        4000  AT 90

second_kernel in value_emitter: captured 2000 times, 20.0 %
        2000  AT 488907
              all rare ... of 2000" 'functions, instructions and values'
    like "$out" "0x$(printf %x $((first + 16))) " 'where the instruction is'
    run 60 "$REGTRACE" values -function '^sec' -cut 0 -most 2 plain
    unlike "$out" 'first_kernel' 'functions by a regular expression'
    like "$out" '\(~[0-9.]+ % [0-9]+\) \(~[0-9.]+ % [0-9]+\) \.\.\. of 2000$' 'estimates are marked, and as many as asked for'
    like "$out" '^~: estimated' 'and explained'
    run 60 "$REGTRACE" values -by procedure plain
    is "$(tail -n 2 <<<"$out")" "        8000   80.00  16000         first_kernel in value_emitter
        2000   20.00  4000          second_kernel in value_emitter" 'by procedure'
else
    skip 'functions by name' 'built without libdw'
fi
run 60 "$REGTRACE" values -by image plain
like "$out" "      10000  100\.00  20000         .*value_emitter\$" 'by image'
run 60 "$REGTRACE" values -invariant -plugin each plain
is "$(grep -c 'of 4000' <<<"$out")" 0 'the plug-in omits the list of the invariant instruction'
like "$out" '  90 ' 'which is listed'
unlike "$out" '488b07' 'and no other'
run 60 "$REGTRACE" values -invariant -least 5000 plain
like "$out" '^No instruction has the same value nearly always' 'too few values'
cp -r plain again
run 60 "$REGTRACE" values plain again
like "$out" '^Values of each: 8000 samples, 20000 captured instructions, 2 processes' 'runs are added up'
like "$out" '75\.0 % 7.* of 8000$' 'and so are values'
run 60 "$REGTRACE" values -plugin crash plain
is "$status" 1 'a plug-in that crashes'
like "$err" "-plugin is \"crash\", which writes no values: the plug-in's process has ended; without -plugin" 'is reported, with what to do' || diag "$err"
run 60 env -u REGTRACE_LIBRARY "$REGTRACE" values -plugin no-such-plug-in plain
is "$status" 1 'one that is not there'
run 60 "$REGTRACE" values -plugin none plain
is "$status" 0 'none'
like "$out" '75\.0 % 0x7' 'is hexadecimal'
emit gone crash plain 100
run 60 "$REGTRACE" values gone
is "$status" 0 "a run's own plug-in that crashes"
like "$out" "^Values are hexadecimal: the plug-in's process has ended" 'the error says so' || diag "$out"

# Contexts and arguments.
emit args each args 400
run 60 "$REGTRACE" values -args args
if grep -q 'second_kernel' <<<"$out"; then
    is "$(sed -n '/^second_kernel/,$p' <<<"$out")" "second_kernel in value_emitter
    returns: (75.0 % 0x0) (25.0 % 0x1) of 400
    argument 1: (100.0 % 0x5) of 400
    argument 2: (50.0 % 0x1000) (50.0 % 0x1001) of 400" 'arguments and what is returned'
fi
run 60 "$REGTRACE" values -contexts -cut 0 args
like "$out" '\(50\.0 % 5 in 0x1 0x[0-9a-f]+\)' 'contexts'
run 60 "$REGTRACE" values -diff args plain
is "$status" 0 'two runs'
like "$out" '\+|-' 'side by side'
like "$out" '488b07; addr: 7 75\.0 % of 4000 before, 0\.0 % of 800 after' 'and what they have differently' || diag "$out"

# A plug-in that the file names by a path is not loaded.
emit path /nowhere/each.so plain 100
run 60 "$REGTRACE" values path
like "$out" '^Values are hexadecimal: the plug-in was named by a path, which is not followed' 'no plug-in by a path from a file'
like "$out" '75\.0 % 0x7' 'values as they are'
run 60 "$REGTRACE" values -plugin each path
like "$out" '75\.0 % 7' 'unless it is named again'
run 60 "$REGTRACE" values plain path
is "$status" 1 'different plug-ins are not mixed'
like "$err" 'list them apart' 'and that is reported'

# Options that are refused.
run 60 "$REGTRACE" values
is "$status" 2 'no folder'
run 60 "$REGTRACE" values -by thread plain
is "$status" 2 '-by: a legal value'
run 60 "$REGTRACE" values -function '(' plain
is "$status" 2 '-function: a regular expression'
while IFS=: read -r options why; do
    # shellcheck disable=SC2086
    run 60 "$REGTRACE" values $options plain
    is "$status" 2 "$options"
    like "$err" "$why" 'is said to make no sense'
done <<'END'
-diff plain -json:-diff compares all instructions
-diff plain -args:-diff compares all instructions
-by image -args:-by lists no values
-by procedure -invariant:-by lists no values
-args -contexts:-args lists no instructions
-least 7:-least belongs to -invariant
-output x.h5 -json:-output writes all values
-force:-force belongs to -output
END
run 60 "$REGTRACE" values -rank 7 plain
is "$status" 1 'a rank that is not there'
like "$err" 'plain has no rank of those that -rank names' 'is not taken for a run without values'
emit addresses vp-addr plain 100
emit fewer each args 0
run 60 "$REGTRACE" values -args fewer
like "$out" 'No arguments to list: no sample was taken .a shorter period' 'no arguments: the reason is that of this run'
run 60 "$REGTRACE" values -args addresses
is "$status" 1 'arguments of a run that has none'
like "$err" 'has values of vp-addr: -args lists what vp-args captures' 'are not made up'
run 60 "$REGTRACE" values -cut 101 plain
is "$status" 2 '-cut: a percentage'

if [ "$PYTHON" != no ]; then
    "$PYTHON" - plain/rank-00000.h5 plain/regtrace.h5 >oracle 2>&1 <<'END'
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    code = {int(i["number"]): i for i in f["value_instructions"][()]}
    hot = f["value_hot"][()]
    one = {int(h["value"]): int(h["count"]) for h in hot if h["number"] == 1}
    assert one == {7: 3000, 1: 334, 2: 333, 3: 333}, one
    assert code[1]["code"] == b"488b07" and code[1]["samples"] == 4000 and code[1]["periods"] == 8000
    assert code[1]["threshold"] == 1 and code[3]["threshold"] > 1 and code[3]["values"] == 2000
    three = [int(h["count"]) for h in hot if h["number"] == 3]
    assert 0 < len(three) <= 64
    t = f["value_threads"][()]
    assert len(t) == 1 and t[0]["samples"] == 4000 and t[0]["unknown"] == 1 and t[0]["not_run"] == 1
    base = f["maps"][0]["base"]
    assert code[1]["address"] - base == code[1]["offset"]
with h5py.File(sys.argv[2]) as f:
    assert len(f["rank/00000/value_hot"]) == len(hot)
END
    ok $? 'h5py reads the same, in regtrace.h5 too' || diag "$(cat oracle)"
    run 60 "$REGTRACE" values -json -cut 0 -most 0 plain
    "$PYTHON" -c '
import json, sys
p = json.load(sys.stdin)
i = {x["code"]: x for x in p["instructions"]}
assert p["samples"] == 4000 and p["without_values"] == {"unknown": 1, "unlearned": 0, "not_run": 1, "busy": 0, "skipped": 0}
assert [(h["value"], h["text"], h["times"], h["percent"]) for h in i["488b07"]["hot"]][0] == ("0x7", "7", 3000, 75)
assert i["90"]["preface"] is None and i["488907"]["estimated"] and i["488907"]["values"] == 2000
' <<<"$out" >oracle 2>&1
    ok $? 'JSON says it too' || diag "$(cat oracle)"
    for runs in plain 'plain again' args; do
        # shellcheck disable=SC2086
        run 60 "$REGTRACE" values -output merged.h5 -force $runs
        is "$status" 0 "$runs: a profile as a file" || diag "$err"
        # shellcheck disable=SC2086
        "$REGTRACE" values -json -contexts -cut 0 -most 0 -plugin none $runs >listed.json
        "$PYTHON" - merged.h5 listed.json >oracle 2>&1 <<'END'
import h5py, json, sys
f, listed = h5py.File(sys.argv[1]), json.load(open(sys.argv[2]))
assert f.attrs["samples"] == listed["samples"] and f.attrs["processes"] == listed["processes"] and f.attrs["plugin"] == b"each"
images, hot = f["images"][()], f["hot"][()]
assert len(f["instructions"]) == len(listed["instructions"])
for n, (row, want) in enumerate(zip(f["instructions"][()], listed["instructions"])):
    image = images[row["image"] - 1]
    got = (image["path"].decode(), image["build_id"].decode(), row["offset"], row["samples"], row["values"], row["code"].decode())
    assert got == (want["image"], want["build_id"] or "", int(want["offset"], 16), want["samples"], want["values"], want["code"]), (got, want)
    assert (row["function"].decode() or None, row["line"].decode() or None) == (want["function"], want["line"])
    values = [(int(h["value"]), float(h["times"]), int(h["context0"]), int(h["context1"])) for h in hot[hot["instruction"] == n]]
    assert values == [(int(h["value"], 16), h["times"], int(h["context0"], 16), int(h["context1"], 16)) for h in want["hot"]], (values, want["hot"])
END
        ok $? "$runs: it has what is listed, by h5py" || diag "$(cat oracle)"
    done
    run 60 "$REGTRACE" values merged.h5
    is "$status" 1 'such a file is no run'
    like "$err" 'merged.h5 has the profile that .regtrace values -output. wrote' 'which is reported'
    run 60 "$REGTRACE" values plain ./plain/rank-00000.h5
    is "$status" 1 'a run that is named twice'
    like "$err" 'is named twice, and would count twice' 'is not counted twice'
    cp merged.h5 before.h5
    run 60 "$REGTRACE" values -output merged.h5 args
    is "$status" 1 'a file that is there'
    ok_run 'is left alone' cmp merged.h5 before.h5
    run 60 "$REGTRACE" values -output merged.h5 -force args
    ok_run 'and the same again if it is to be replaced' cmp merged.h5 before.h5
    PYTHONPATH=$REGTRACE_SOURCE/share/python PYTHONDONTWRITEBYTECODE=1 "$PYTHON" - plain args >oracle 2>&1 <<'END'
import sys, regtrace
run = regtrace.open(sys.argv[1])
hot, code = run.value_hot(), run.value_instructions()
one = hot[hot["number"] == 1].set_index("value")
assert one.loc[7, "times"] == 3000 and one.loc[7, "percent"] == 75 and not one.loc[7, "estimated"]
assert hot[hot["number"] == 3]["estimated"].all()
row = code[code["number"] == 1].iloc[0]
assert row["samples"] == 4000 and row["code"] == "488b07" and row["image"].endswith("value_emitter"), row
assert len(regtrace.open(sys.argv[2]).value_hot()) == 5
END
    ok $? 'the Python package has it as frames' || diag "$(cat oracle)"
else
    skip 'h5py as the oracle' 'no python3 with h5py'
fi
done_testing
