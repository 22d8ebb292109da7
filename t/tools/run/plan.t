#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `regtrace plan` prints the chains that were worked out by hand for given totals
# (synthetic_windows.py writes files with them). The tests of pmu/ show that such chains open their
# windows at these places.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
needs h5py
export PYTHONDONTWRITEBYTECODE=1

made=0
# totals SPEC: makes a run with these totals and sets dir to it.
totals() {
    made=$((made + 1))
    dir=run-$made
    "$PYTHON" "$here/../report/synthetic_windows.py" "$dir" "$1" || ok 1 "a run with totals $1"
}

# planned NAME SPEC CHAINS OPTION...: plan prints exactly these chains, and the control language
# accepts them.
planned() {
    local name=$1 spec=$2 want=$3
    shift 3
    totals "$spec"
    run 60 "$REGTRACE" plan "$@" "$dir"
    is "$status $out" "0 $want" "$name" || diag "$err"
    run 60 "$REGTRACE" run --explain -control "$out"
    is "$status" 0 "$name: the language takes it" || diag "$err"
}

# The period is 1,000,000 / 4 = 250,000; half of the gap of 240,000 comes first.
planned 'one rank' 1000000 'precond:icount:120000,uniform:250000:10000:4' --windows 4 --length 10K
planned 'one window lies in the middle' 1000000 'precond:icount:450000,uniform:1000000:100000:1' -n 1 -l 100K
planned 'the whole run in windows' 1000000 'precond:icount:0,uniform:250000:250000:4' -windows 4 -length 250000
planned 'an odd total: nothing beyond its end' 1000003 'precond:icount:71423,uniform:142857:11:7' -n 7 -l 11
# DynamoRIO's own example: 50 windows of 10 billion instructions over the 382 trillion of bwaves_s.
planned '50 windows of 10 billion over 3.82e14' 382000000000000 \
    'precond:icount:3815000000000,uniform:7640000000000:10000000000:50' --windows 50 --length 10G
planned 'suffixes are decimal, small letters too' 382000000000000 \
    'precond:icount:3815000000000,uniform:7640000000000:10000000000:50' --windows 50 --length 10000m
planned 'up to what an icount can be' 9223372036854775807 \
    'precond:icount:4611186018427387903,uniform:9223372036854775807:1000000000000000:1' -n 1 -l 1000T
# With a warm-up W: N periods P, then half a gap. P = (2T + W + L) / (2N + 1); the gap is P - W - L.
planned 'a warm-up' 4500000 \
    'warmup-start:icount:893333:bcast,start:icount:100000:bcast,stop:icount:20000:bcast,repeat:4' \
    --windows 4 --length 20K --warmup 100K
# Several ranks.
planned 'ranks that differ by no more than 1 %: one chain, made for the smallest' 1000000,1010000,1005000 \
    'precond:icount:45000,uniform:100000:10000:10' -n 10 -l 10K
planned 'ranks that differ by more: a chain each' 1000000,1010001 \
    'precond:icount:45000:ranks0,uniform:100000:10000:10:ranks0
precond:icount:45500:ranks1,uniform:101000:10000:10:ranks1' -n 10 -l 10K
planned 'groups of ranks, in lists' 2000000,1000000,2000000,1000500,2000000,2000001 \
    'precond:icount:45000:ranks1+3,uniform:100000:10000:10:ranks1+3
precond:icount:95000:ranks0+2+4-5,uniform:200000:10000:10:ranks0+2+4-5' -n 10 -l 10K
planned 'with a warm-up too' 4500000,9000000 \
    'warmup-start:icount:893333:ranks0:bcast,start:icount:100000:ranks0:bcast,stop:icount:20000:ranks0:bcast,repeat:4
warmup-start:icount:1893333:ranks1:bcast,start:icount:100000:ranks1:bcast,stop:icount:20000:ranks1:bcast,repeat:4' \
    --windows 4 --length 20K --warmup 100K
planned 'ranks that are asked for' 1000000,5000000,1000000 'precond:icount:45000:ranks0+2,uniform:100000:10000:10:ranks0+2' \
    -n 10 -l 10K --rank 0,2
planned 'a rank that was killed is left out when asked' 1000000,5000000! 'precond:icount:45000:ranks0,uniform:100000:10000:10:ranks0' \
    -n 10 -l 10K --rank 0
# Several threads: the one with the most instructions drives the chain.
planned 'the thread with the most instructions drives' 1000+1000000+2000 'precond:icount:45000:tid1,uniform:100000:10000:10:tid1' \
    -n 10 -l 10K
planned 'ranks with different drivers do not share a chain' 1000+1000000,1000000+1000 \
    'precond:icount:45000:tid1:ranks0,uniform:100000:10000:10:tid1:ranks0
precond:icount:45000:tid0:ranks1,uniform:100000:10000:10:tid0:ranks1' -n 10 -l 10K
planned 'a thread that lived to the end of the program counts' 1000+1000000? 'precond:icount:45000:tid1,uniform:100000:10000:10:tid1' \
    -n 10 -l 10K
planned 'a thread that nobody counted does not' 1000000+0 'precond:icount:45000,uniform:100000:10000:10' -n 10 -l 10K

# No window reaches beyond the end of any rank, whatever the totals: Python checks this
# independently.
"$PYTHON" - "$REGTRACE" "$here/../report/synthetic_windows.py" >"$T/random.out" 2>&1 <<'END'
import random, re, subprocess, sys
random.seed(7)
for n in range(25):
    windows, length = random.randint(1, 60), random.randint(1, 10 ** random.randint(1, 9))
    warmup = random.choice((0, random.randint(1, 3 * length)))
    least = windows * (length + warmup)
    ranks = [random.randint(least, least * random.choice((1, 2, 1000)) + 1) for _ in range(3)]
    folder = f"random-{n}"
    subprocess.run([sys.executable, sys.argv[2], folder, ",".join(map(str, ranks))], check=True)
    p = subprocess.run([sys.argv[1], "plan", "-n", str(windows), "-l", str(length), "--warmup", str(warmup), folder],
                       capture_output=True, text=True)
    if p.returncode == 1 and "do not fit" in p.stderr:
        continue
    assert p.returncode == 0, (ranks, windows, length, warmup, p)
    seen = set()
    for chain in p.stdout.splitlines():
        numbers = [int(x) for x in re.findall(r"icount:(\d+)", chain)]
        u = re.search(r"uniform:(\d+):(\d+):(\d+)", chain)
        spec = re.search(r"ranks([\d+-]+)", chain)
        mine = range(3) if not spec else [r for s in spec[1].split("+") for r in
                                          range(int(s.split("-")[0]), int(s.split("-")[-1]) + 1)]
        if u:
            period, size, times = map(int, u.groups())
            end = numbers[0] + (times - 1) * period + size
            assert size == length and times == windows and period >= size
        else:
            end = sum(numbers) * windows
            assert numbers[1:] == [warmup, length] and chain.endswith(f"repeat:{windows}")
        assert all(end <= ranks[r] for r in mine), (chain, end, ranks)
        assert not seen & set(mine)
        seen |= set(mine)
    assert seen == {0, 1, 2}, (seen, p.stdout)
END
ok $? 'random totals: every rank has its windows, within its instructions' || diag "$(cat "$T/random.out")"

# Messages, and the output file of the chains.
totals 1000000,2000000+5000
run 60 "$REGTRACE" plan -n 10 -l 10K "$dir"
like "$err" '^rank 0: 1000000 to 1000000 instructions; 10 windows of 10000, one every 100000$' 'what was planned is reported on stderr'
like "$err" '^rank 1: 2000000 to 2000000 instructions of thread 0; 10 windows' 'for each group of ranks'
chains=$out
run 60 "$REGTRACE" plan -n 10 -l 10K -o chains.txt "$dir"
is "$status $out" '0 ' '-output: nothing on stdout'
is "$(grep -v '^#' chains.txt)" "$chains" 'the file has the same chains'
like "$(head -1 chains.txt)" "^# regtrace plan: 10 windows of 10000 instructions, warm-up 0, for the totals of $dir" 'and says what they are'
run 60 "$REGTRACE" run --explain -control-file chains.txt
is "$status" 0 'it is a control file'
run 60 "$REGTRACE" plan -n 10 -l 20K -o chains.txt "$dir"
is "$status" 1 'a file that is there'
like "$err" 'cannot write chains.txt: File exists; -output FILE names another' 'is not replaced'
is "$(grep -v '^#' chains.txt)" "$chains" 'and is as it was'
run 60 "$REGTRACE" plan -n 10 -l 20K -o /dev/full/x "$dir"
is "$status" 1 'a file that cannot be made'
run 60 bash -c '"$1" plan -n 10 -l 10K "$2" >/dev/full' - "$REGTRACE" "$dir"
is "$status" 1 'chains that are lost on their way out are an error'
run 60 "$REGTRACE" plan -n 10 -l 10K "$dir/rank-00001.h5"
is "$status $out" '0 precond:icount:95000:tid0,uniform:200000:10000:10:tid0' 'one rank file'

# wrong NAME ERE SPEC OPTION...: plan exits with 1, prints nothing on stdout, and its message
# matches ERE.
wrong() {
    local name=$1 pattern=$2
    totals "$3"
    shift 3
    run 60 "$REGTRACE" plan "$@" "$dir"
    is "$status $out" '1 ' "$name"
    like "$err" "$pattern" "$name: the message"
}
wrong 'windows that do not fit' '50 windows of 10000000 instructions do not fit: rank 0 has 400000000 instructions, room for at most 40 such windows .-windows.' \
    400000000 -n 50 -l 10M
wrong 'windows that fit into the largest rank only' 'do not fit: rank 1 has 1000000' 5000000,1000000 -n 50 -l 50K
wrong 'a window longer than the program' 'room for not even one such window .-length, -warmup.' 1000 -n 1 -l 1001
wrong 'a warm-up that takes it all' 'do not fit: .* -warmup alone takes them all' 1000000 -n 10 -l 1 --warmup 100K
wrong 'no overflow' 'do not fit' 1000000 -n 1000000 -l 9000000000G
wrong 'no totals' 'rank-00000.h5: it has no instruction totals: .*regtrace run --count' 0 -n 5 -l 10
wrong 'a rank without totals' 'rank-00001.h5: it has no instruction totals' 1000000,0 -n 5 -l 10
wrong 'a rank that was killed' 'rank-00001.h5: rank 1 was killed, so that its total is unknown; .*-rank' 1000000,500000! -n 5 -l 10
wrong 'a rank that is not there' 'none of the ranks asked for .-rank. is in' 1000000 -n 5 -l 10 --rank 4
totals 1000000,1000000,1000000
rm "$dir/rank-00001.h5"
run 60 "$REGTRACE" plan -n 5 -l 10 "$dir"
is "$status $out" '1 ' 'a rank without a file'
like "$err" 'has totals of 2 of 3 ranks; count again, or say for which ranks to plan .-rank.' 'is an error with the remedy'
run 60 "$REGTRACE" plan -n 5 -l 10 --rank 0,2 "$dir"
is "$status" 0 'which works'
totals 1000000,1000000
truncate -s 3000 "$dir/rank-00001.h5"
run 60 "$REGTRACE" plan -n 5 -l 10 "$dir"
is "$status $out" '1 ' 'a truncated file'
like "$err" 'rank-00001.h5: .*(damaged|not an HDF5)' 'is said to be damaged'
for w in nowhere /etc/passwd "$T"; do
    run 60 "$REGTRACE" plan -n 5 -l 10 "$w"
    is "$status $out" '1 ' "$w is no run"
    like "$err" "$(basename "$w")" 'and named'
done
totals 1000000
"$PYTHON" -c 'import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "r+", libver="latest") as f:
    f.attrs.modify("state", np.array(b"open", dtype=h5py.string_dtype("utf-8", 16)))
    f.attrs.modify("writer_pid", np.uint32(2**22 + 5))' "$dir/rank-00000.h5"
run 60 "$REGTRACE" plan --wait 0 -n 5 -l 10 "$dir"
is "$status $out" '1 ' 'a file that is not closed'
like "$err" 'rank-00000.h5: (its writer left it; .regtrace recover. finishes it|it is still being written)' 'is said to be so'
printf 'int main(void) { return 0; }\n' >none.c && cc -o none none.c
"$REGTRACE" run -quiet -o "$T/plain" -control start:signal:USR1 -- ./none
run 60 "$REGTRACE" plan -n 5 -l 10 plain
is "$status $out" '1 ' 'a run that counted nothing'
like "$err" 'it has no instruction totals: they come from a counting run, .regtrace run --count -- program' 'and how to get one that does'
done_testing
