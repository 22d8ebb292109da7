#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# REGTRACE_SAMPLE: samples fall where the program's time goes, only in windows, and say how much
# time they represent.
. "$(dirname "$0")/../../lib.sh"
P=$REGTRACE_BUILD/t/preload/count/sampled
window=start:signal:SIGUSR1,stop:signal:SIGUSR2,repeat

# sampled NAME [VAR=VALUE]... ARGUMENT...: runs the program. Sets said to its output, hot to report
# --hot --json, and trace to its folder.
sampled() {
    local name=$1 env=()
    shift
    while [[ ${1:-} =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do env+=("$1"); shift; done
    trace=$T/$name
    run 120 env REGTRACE_DIR="$trace" REGTRACE_CONTROL=$window REGTRACE_SAMPLE=cpu:1ms REGTRACE_SAMPLE_DEPTH=16 \
        "${env[@]}" LD_PRELOAD="$LIBREGTRACE" "$P" "$@"
    said=$out
    is "$status" 0 "$name: the program ends well" || diag "$err"
    ok_run "$name: what is recorded holds" "$REGTRACE" check "$trace"
    run 60 "$REGTRACE" report --hot --json "$trace"
    hot=$out
}
# of NAME self|with_callees: prints the periods of a function in all images, or 0 if it is not
# there.
of() { grep -F "\"function\": \"$1\"," <<<"$hot" | sed -E "s/.*\"$2\": ([0-9]+).*/\1/" | awk '{ n += $1 } END { print n + 0 }'; }
periods() { sed -nE 's/^ *"periods": ([0-9]+),$/\1/p' <<<"$hot"; }
# near A B PERCENT: is A within PERCENT of B?
near() { awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN { d = a - b; exit !((d < 0 ? -d : d) * 100 <= p * b) }'; }

sampled work work 24
read -r _ cpu three one outside <<<"$said"
near "$(periods)" "$cpu" 10
ok $? "the samples stand for the window's CPU time" || diag "$(periods) ms of $cpu"
near "$(of innermost self)" "$cpu" 12
ok $? "and fall where it goes" || diag "$hot"
near "$(of three_parts with_callees)" "$three" 12
ok $? "callers have their share: three parts" || diag "$(of three_parts with_callees) of $three"
near "$(of one_part with_callees)" "$one" 20
ok $? "and one" || diag "$(of one_part with_callees) of $one"
is "$(of unseen self)" 0 "none of what runs outside the window"
near "$(of main with_callees)" "$(periods)" 5
ok $? "main calls all of it" || diag "$hot"
line=$(grep -n 's += 1.0 / (double)i' "$REGTRACE_SOURCE/t/preload/count/sampled.c" | cut -d: -f1)
like "$hot" "\"line\": \"[^\"]*sampled\\.c:($((line - 1))|$line|$((line + 1)))\", \"image\": \"[^\"]*/sampled\", \"self\": [0-9]{2}" \
    "lines of source are named"
run 60 "$REGTRACE" report --hot "$trace"
like "$out" 'Samples cpu:1ms inside windows: [0-9]+, of [0-9]+ periods, [0-9.]+ ' "the text says what was sampled"
like "$out" '^ +[0-9.]+ m?s +[0-9.]+ +[0-9.]+  sampled +innermost$' "and lists the functions"
run 60 "$REGTRACE" report --hot --top 1 "$trace"
is "$(grep -cE ' (three_parts|one_part|main)$' <<<"$out")" 0 "--top 1 shows one"
run 60 "$REGTRACE" dump --json "$trace"
is "$(grep EV_SAMPLE <<<"$out" | grep -cv '"window": *0[,}]')" 0 "each sample is in its window"

# By the tables for unwinders, in a program without frame pointers too.
sampled paths REGTRACE_CALLPATH=16 REGTRACE_SAMPLE_DEPTH=0 work 12
read -r _ cpu three one outside <<<"$said"
near "$(of three_parts with_callees)" "$three" 15
ok $? "call paths: callers have their share" || diag "$(of three_parts with_callees) of $three"
run 60 "$REGTRACE" report --hot --folded "$trace"
is "$(awk '{ n += $NF } END { print n }' <<<"$out")" "$(periods)" "folded stacks have all periods"
like "$out" '(^|;)main;(.*;)?three_parts;innermost [0-9]+$' "and the paths"

sampled shallow REGTRACE_SAMPLE_DEPTH=0 work 4
unlike "$hot" 'three_parts' "without a depth no callers are recorded"
like "$hot" '"with_callees": null' "and their share is not known"

sampled bcast REGTRACE_CONTROL=start:signal:SIGUSR1:bcast,stop:signal:SIGUSR2:bcast,repeat threads 12
[ "$(of one_part with_callees)" -gt 20 ]
ok $? "threads that only compute are sampled in a window that another opens" || diag "$hot"

sampled whole REGTRACE_CONTROL= threads 12
[ "$(of one_part with_callees)" -gt 20 ] && [ "$(of three_parts with_callees)" -gt 20 ]
ok $? "without chains every thread is sampled from its begin" || diag "$hot"

sampled gaps REGTRACE_SAMPLE=cpu:1ms:gaps work 12
read -r _ cpu three one outside <<<"$said"
is "$(of innermost self)" 0 "gaps: none of what runs inside the window"
near "$(of unseen self)" "$outside" 12
ok $? "and what runs outside, as long as it does" || diag "$(of unseen self) of $outside"
like "$hot" '"periods_in_windows": 0,' "the report knows of no window's"
run 60 "$REGTRACE" report --hot "$trace"
like "$out" 'Samples cpu:1ms between windows: [0-9]+, of [0-9]+ periods, [0-9.]+ ms of CPU time$' "and says where they were taken"

sampled always REGTRACE_SAMPLE=cpu:1ms:always work 12
read -r _ cpu three one outside <<<"$said"
near "$(of innermost self)" "$cpu" 12
ok $? "always: what runs inside the window" || diag "$(of innermost self) of $cpu"
near "$(of unseen self)" "$outside" 12
ok $? "and outside" || diag "$(of unseen self) of $outside"
in_windows=$(sed -nE 's/^ *"periods_in_windows": ([0-9]+),$/\1/p' <<<"$hot")
# Not equal: a sample may hit one of the few other instructions in the window.
near "$in_windows" "$(of innermost self)" 5
ok $? "the report tells them apart" || diag "$in_windows in windows, $(of innermost self) in the function that runs there"
run 60 "$REGTRACE" report --hot --window 0 "$trace"
like "$out" 'Samples cpu:1ms inside windows and between them: .*, ([0-9.]+ ms) of CPU time, \1 of it inside windows$' "--window takes those of one alone"
run 60 "$REGTRACE" dump --json "$trace"
is "$(grep '"EV_SAMPLE"' <<<"$out" | grep '"window": *0[,}]' | sed -E 's/.*"periods": *([0-9]+).*/\1/' | awk '{ n += $1 } END { print n + 0 }')" \
    "$in_windows" "as many as dump has in the window"
is "$(grep EV_SAMPLE <<<"$out" | grep -c '"window": *null')" "$(grep EV_SAMPLE <<<"$out" | grep -cv '"window": *0[,}]')" "the others are in no window"

sampled nowhere REGTRACE_CONTROL= REGTRACE_DEFAULT_START=0 REGTRACE_SAMPLE=cpu:1ms:gaps threads 4
[ "$(of one_part with_callees)" -gt 20 ] && [ "$(of three_parts with_callees)" -gt 20 ]
ok $? "a run without any window is sampled, in all threads" || diag "$hot"
sampled orphan REGTRACE_SAMPLE=cpu:1ms:gaps fork 8
[ "$(of three_parts with_callees)" = 0 ]
ok $? "a child goes on in its parent's window, which is no gap" || diag "$hot"
sampled late REGTRACE_CONTROL=start:signal:SIGURG REGTRACE_SAMPLE=cpu:1ms:gaps fork 8
files=("$trace"/rank-*.h5)
[ "${#files[@]}" = 2 ] && [ "$(of three_parts with_callees)" -gt 20 ]
ok $? "and is sampled where it is in none" || diag "$hot"
run 60 "$REGTRACE" run -o "$T/refused" -sample cpu:1ms:gaps -- "$P" work 1
is "$status" 2 "gaps of a run that is one window are refused"
like "$err" 'the whole run is one window: give chains' "with the remedy"
run 60 "$REGTRACE" run -o "$T/refused" -sample cpu:1ms:gap -- "$P" work 1
like "$err" 'legal is EVENT:PERIOD.:windows.gaps.always' "a wrong place is refused with what is legal"

sampled child fork 8
is "$said" 'child 0' "the child ends well"
files=("$trace"/rank-*.h5)
is "${#files[@]}" 2 "a forked child has its own file"
[ "$(of three_parts with_callees)" -gt 20 ]
ok $? "and is sampled" || diag "$hot"

sampled exec exec 6
[ "$(of innermost self)" -gt 20 ]
ok $? "a program started by exec is sampled" || diag "$hot"

sampled many REGTRACE_SAMPLE=cpu:100us many 100
is "$said" "all ended" "2,000 threads, 160,000 edges of windows: nothing of ours ends the program"

sampled without REGTRACE_SAMPLE= work 2
is "$(periods)" 0 "without the option there are none"
run 60 "$REGTRACE" report --hot "$trace"
like "$out" 'No samples: the run was not sampled' "and the report says so"

# Kernel events, which need no hardware: each page fault is an event.
run 60 "$REGTRACE" run -o "$T/probe" -sample page-faults:1 -- "$P" faults 1
if [ "$status" = 0 ]; then
    sampled faults REGTRACE_SAMPLE=page-faults:1 faults 3000
    near "$(of faults self)" 3000 1
    ok $? "each fault on a page is a sample" || diag "$hot"
    sampled faults10 REGTRACE_SAMPLE=page-faults:10 faults 3000
    near "$(of faults self)" 300 2
    ok $? "or each tenth" || diag "$hot"
else
    for i in 1 2 3 4 5 6; do skip "page faults $i" "$err"; done
fi

# --- MPI: nothing inside MPI_Init -----------------------------------------------------------------
for mpi in openmpi mpich; do
    if ! have_mpi $mpi; then
        for i in 1 2 3 4; do skip "$mpi $i" "no $mpi here"; done
        continue
    fi
    plain=$(mpirun_for $mpi 2 "$APPS/stencil.$mpi" 3 400 256 2>/dev/null)
    more=()
    [ $mpi = mpich ] || more=(--oversubscribe)
    run 120 "$REGTRACE" run -o "$T/$mpi" -sample cpu:100us -- mpirun.$mpi "${more[@]}" -np 2 "$APPS/stencil.$mpi" 3 400 256
    is "$out" "$plain" "$mpi: the same output"
    ok_run "$mpi: what is recorded holds" "$REGTRACE" check "$T/$mpi"
    run 60 "$REGTRACE" dump --rank 0 "$T/$mpi"
    init=$(awk '/MPI_Init.* enter/ { inside = 1; n = 0 } inside && /EV_SAMPLE / { n++ } /MPI_Init.* leave/ { print n + 0; exit }' <<<"$out")
    is "$init" 0 "$mpi: none inside MPI_Init"
    [ "$(grep -c 'EV_SAMPLE ' <<<"$out")" -gt 5 ]
    ok $? "$mpi: and some outside it"
done

# --- wrong requests -------------------------------------------------------------------------------
wrong() {
    run 30 env REGTRACE_DIR="$T/wrong" REGTRACE_SAMPLE="$1" LD_PRELOAD="$LIBREGTRACE" "$P" work 1
    is "$status,$out" 2, "\"$1\" is refused before main"
    like "$err" "$2" "with the reason"
}
wrong cpu 'missing.*legal is EVENT:PERIOD'
wrong cpu: 'a period of CPU time is a number and ns, us, ms or s'
wrong cpu:10 'a period of CPU time is a number and ns, us, ms or s'
wrong cpu:1us 'below 10us'
wrong cpu:99999999999999999999s 'too large'
wrong bogus:100 'no such event'
wrong page-faults:0 'the period is 0'
wrong page-faults:1ms 'how many of it, with an optional K, M or G'
run 30 env REGTRACE_SAMPLE=cpu:1ms REGTRACE_SAMPLE_DEPTH=65 LD_PRELOAD="$LIBREGTRACE" "$P" work 1
like "$err" 'REGTRACE_SAMPLE_DEPTH .*is "65": 0 to 64 frames are legal' "too deep is refused"
run 30 "$REGTRACE" run -o "$T/wrong" -sample bogus:1 -- "$P" work 1
is "$status" 2 "regtrace run refuses it too"
[ ! -e "$T/wrong" ]
ok $? "and starts nothing"

# --- names ----------------------------------------------------------------------------------------
cat >"$T/named.cc" <<'END'
#include <csignal>
namespace solver {
template <class T> struct Grid {
    T sum = 0;
    __attribute__((noinline)) void relax(int n)
    {
        for (int i = 1; i < n; i++)
            sum += T(1) / i;
    }
};
}
int main()
{
    solver::Grid<double> grid;
    signal(SIGUSR1, [](int) {});
    signal(SIGUSR2, [](int) {});
    raise(SIGUSR1);
    for (int i = 0; i < 200; i++)
        grid.relax(100000);
    raise(SIGUSR2);
    return grid.sum > 0 ? 0 : 1;
}
END
if g++ -g -O1 -Wl,--build-id -o "$T/named" "$T/named.cc" 2>/dev/null; then
    id=$(readelf -n "$T/named" | sed -n 's/.*Build ID: *//p')
    P=$T/named
    sampled cxx
    like "$hot" '"function": "solver::Grid<double>::relax\(int\)"' "C++ names are readable" || diag "$hot"
    like "$hot" '"changed_images": \[\]' "no file has changed"
    if [ "$PYTHON" != no ]; then
        run 30 "$PYTHON" -c '
import h5py, sys
with h5py.File(sys.argv[1]) as f:
    text = bytes(f["strings"][:]).decode() if f["strings"].dtype.kind == "u" else f["strings"][:].tobytes().decode()
    index = {int(r["id"]): (int(r["offset"]), int(r["length"])) for r in f["string_index"]}
    def name(i):
        at, n = index[i]
        return text[at:at + n]
    print(*sorted({name(int(m["build_id"])) for m in f["maps"] if name(int(m["path"])).endswith("/named")}))' "$trace/rank-00000.h5"
        is "$out" "$id" "/maps has its build id, as readelf reads it" || diag "$err"
    fi
    echo 'int unrelated() { return 1; }' >>"$T/named.cc"
    g++ -g -O2 -Wl,--build-id -o "$T/named" "$T/named.cc"
    run 60 "$REGTRACE" report --hot "$trace"
    like "$out" "No names in $T/named: it has changed since the run \\(its build id was $id\\)" "a program that was built again gives no wrong names"
    unlike "$out" 'relax' "none at all"
    run 60 "$REGTRACE" report --hot --json "$trace"
    like "$out" "^ *\"$T/named\",?\$" "nor in the JSON"
    echo 'no program' >"$T/named"
    run 60 "$REGTRACE" report --hot "$trace"
    like "$out" "No names in $T/named: no ELF file" "nor does what is no program, and it is reported"
    rm "$T/named"
    run 60 "$REGTRACE" report --hot "$trace"
    like "$out" "No names in $T/named: it is not there any more.*\(its build id was $id\)" "a program that was deleted is reported, too"
    run 60 "$REGTRACE" report --hot --json "$trace"
    is "$("$PYTHON" -c 'import json, sys; r = json.load(sys.stdin); print(*r["changed_images"], "|", *r["unreadable_images"])' <<<"$out")" \
        "| $T/named" "in the JSON, too"
else
    skip "C++ names" "no g++"
fi

for text in cpu:10ms:evermore page-faults:1:window; do
    run 60 "$REGTRACE" run -sample "$text" -- true
    is "$status" 2 "-sample $text is refused"
    like "$err" "\"$text\": the word after the period is none of windows, gaps and always" \
        'with the cause'
done
done_testing
