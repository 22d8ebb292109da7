#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces together with alarms that name places in the middle of functions. Marks of each kind
# open and close windows: each window has exactly what the trace of the whole run has between the
# marks. With alarms at all instructions of a kind, the trace of a window is, byte for byte, the
# trace without them, and the alarms count what they count without memory traces.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/exact.inc"
quick_replays
kernels=$REGTRACE_SOURCE/t/kernels
unset REGTRACE_RUN

# traced CHAINS [VAR=VALUE]... PROGRAM [ARGUMENT]...: writes the files replayed, out and err; sets
# status. Pads CHAINS to the length of the longest, so that stacks keep their addresses.
traced() {
    local chains
    chains=$(printf '%-160s' "$1")
    shift
    remove_run run
    timeout 100 setarch -R env -i TMPDIR=/proc/nowhere REGTRACE_DIR="$T/run" REGTRACE_SHM="$REGTRACE_SHM" REGTRACE_MEMORY="${memory:-.}" LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL="$chains" \
        "$@" >out 2>err </dev/null
    status=$?
    "$REGTRACE" skel replay run >replayed 2>said || echo "failed $?" >>said
}
# reached: prints how often the alarms that only count were reached.
reached() { "$REGTRACE" report run | sed -n 's/.*never fired.*(\([0-9]*\) of .*/\1/p' | paste -sd' '; }

# Windows that marks open and close.
cat >cut.py <<'PY'
# cut.py PROGRAM WHOLE PARTS BEFORE: compares the windows in PARTS with the accesses in WHOLE from a
# store of 1 to a store of 2 to mark, and BEFORE accesses before them.
import re, subprocess, sys
program, whole, parts, before = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', program], capture_output=True, text=True).stdout
places = {n: {int(at, 16) for at in re.findall(r'^ *([0-9a-f]+):\s+movl +\$0x%d,(?:%%fs:\S+|\(%%r\w+\)|%%fs:\(%%r\w+\))\s*$' % n, text, re.M)} for n in (1, 2)}
bias = 0 if b'EXEC' in subprocess.run(['readelf', '-h', program], capture_output=True).stdout else 0x555555554000
lines = [l for l in open(whole) if not l.startswith('#')]
wanted, begin = [], None
for n, l in enumerate(lines):
    at = int(l.split()[0], 16) - bias
    if at in places[1] and ' W 4 ' in l:
        begin = n - before
    elif at in places[2] and ' W 4 ' in l and begin is not None:
        wanted.append(lines[begin:n + 1])
        begin = None
got, other = [], 0
for l in open(parts):
    if l.startswith('# rank'):
        got.append([])
    elif l.startswith('#'):
        other += 'not recorded' in l or 'cut off' in l
    else:
        got[-1].append(l)
same = sum(a == b for a, b in zip(wanted, got))
print(f'{len(got)} windows of {len(wanted)}, {same} the same, {sum(map(len, got)) > 100}, {other} incomplete')
PY
marks() {
    local title=$1 kind=$2 start=$3 stop=$4 whole=$5 before=$6 flags
    shift 6
    for flags in "$@"; do
        # shellcheck disable=SC2086
        $flags -DKIND="$kind" -pthread -o marks "$here/programs/memory_sites.c" 2>said || { skip "$title, $flags" "it cannot be compiled"; continue; }
        traced "start:enter_func:all$whole" ./marks 20
        mv replayed whole
        traced "start:$start,stop:$stop,repeat" ./marks 20
        is "$status $(cat out err said)" "0 $(bare)" "$title, $flags: prints what it prints without"
        is "$("$PYTHON_ANY" cut.py marks whole replayed "$before")" "20 windows of 20, 20 the same, True, 0 incomplete" "$title, $flags: windows have what is between the marks"
        traced "start:$start,stop:$stop,repeat" ./marks 20 3
        is "$(grep -c '^# rank' replayed) $(sed -n 's/^# \([0-9]*\) accesses, .*/\1/p' replayed | sort -n | uniq -c | awk '$1 % 4 != 0' | wc -l)" "80 0" "$title, $flags: so have those of four threads"
        memory='^(turns|fall)$' traced "start:$start,stop:$stop,repeat" ./marks 20
        is "$status $(grep -c '^# rank' replayed) $(cat said)" "0 20 " "$title, $flags: where some functions alone are meant"
    done
}
# bare: prints the output without memory traces. Without an alarm an int3 would end the program.
bare() { if [ "$kind" = 3 ]; then "$REGTRACE" run -quiet -o other -control 'start:int3:count99999999' -- ./marks 20; rm -rf other; else ./marks 20; fi; }
all=('gcc -O2' 'gcc -O0' 'clang -O3')
marks "SSC marks" 1 ssc:11 ssc:22 "" 0 "${all[@]}"
marks "magic instructions" 2 magic:11.7 magic:22.7 "" 0 "${all[@]}"
marks "int3" 3 int3 int3 ";stop:int3:count99999999" 0 "${all[@]}"
marks "cpuid" 4 cpuid:0x11 cpuid:0x22 "" 0 "${all[@]}"
marks "bytes" 5 itext:0f1f840011000000 itext:0f1f840022000000 "" 0 "${all[@]}"
marks "addresses" 6 address:mark_11 address:mark_22 "" 1 'gcc -O2' 'gcc -O0' 'gcc -O2 -no-pie'

# An alarm at the entry of a function that is the head of its loop; windows that open and close
# anywhere.
gcc -O2 -DKIND=1 -pthread -o marks "$here/programs/memory_sites.c" || exit 99
for of in enter_func:again address:again; do
    traced "stop:$of:count99999999" ./marks 5
    is "$(reached) $(awk '$2 ~ /[MRW]/ && $3 == 4 { n[$1 " " $2]++ } END { for (k in n) if (n[k] == 64) same++; print same + 0 }' replayed)" "64 2" "$of: each turn of its loop is an entry, and is recorded"
done
# writes ELEMENT: prints how often the replay writes to that element of data.
writes() { awk -v a="$(printf %x $((0x$(nm marks | awk '$3 == "data" { print $1 }') + 0x555555554000 + 4 * $1)))" '$2 == "W" && $4 == a { n++ } END { print n + 0 }' replayed; }
for chain in 'start:enter_func:around;stop:address:mark_std:count99999999' 'start:address:mark_std'; do
    traced "$chain" ./marks 5
    is "$status $(cat out err said)" "0 $(./marks 5)" "$chain: prints what it prints without"
    is "$(writes 9) $(writes 10)" "0 1" "$chain: what no copy may have is missing, and the caller is not"
    like "$(cat replayed)" "^# 1 times a function was not recorded from a place in it on: the first is 0x$(printf %x $((0x$(nm marks | awk '$3 == "mark_std" { print $1 }') + 0x555555554000)))\$" "$chain: that is reported"
done
for of in isa_category:COND_BR isa_category:PUSH isa_category:CALL isa_category:BINARY; do
    memory=none_at_all traced "start:timeout:300us,stop:timeout:300us,repeat:100000;stop:$of:count99999999" ./marks 2000
    alone=$(reached)
    traced "start:timeout:300us,stop:timeout:300us,repeat:100000;stop:$of:count99999999" ./marks 2000
    is "$status $(cat out err said)" "0 $(./marks 2000)" "$of and windows anywhere: prints what it prints without"
    is "$(reached)" "$alone" "$of and windows anywhere: it came as often as without ($alone, $(grep -c '^# rank' replayed) windows)"
done

# Alarms all over a program. The library's own allocations may move the program's mappings, all by
# one distance, and what is on its heap.
cat >moved.py <<'PY'
import sys
def load(name):
    return [l.split() for l in open(name) if not l.startswith('#')]
a, b, image = load(sys.argv[1]), load(sys.argv[2]), int(sys.argv[3])
moved = {}
for n, (x, y) in enumerate(zip(a, b)):
    at = int(x[3], 16)
    region = 'stack' if at >> 32 == 0x7fff else 'maps' if at >> 40 == 0x7f else 'image' if at < image else 'heap'
    distance = (int(y[3], 16) - at) % (16 if region == 'heap' else 1 << 64)
    if x[:3] != y[:3] or moved.setdefault(region, distance) != distance or (region in ('stack', 'image') and distance != 0):
        sys.exit(f'access {n}: {x}, {y}, where {moved}')
print('same' if len(a) == len(b) else f'{len(a)} and {len(b)} accesses')
PY
# everywhere NAME COMPILER FLAG...: tests a kernel of t/kernels with alarms at all instructions of
# several kinds.
everywhere() {
    local name=$1 compiler=$2 of arguments sources alone image
    shift
    mapfile -t sources < <(awk -v n="$name" -v d="$kernels" '$1 == n { k = split($2, s, ","); for (i = 1; i <= k; i++) print d "/" s[i] }' "$kernels/list")
    read -ra arguments < <(awk -v n="$name" '$1 == n { gsub(",", " ", $3); print $3 }' "$kernels/list")
    command -v "$compiler" >/dev/null || { skip "$name, $*" "$compiler is not installed"; return; }
    "$@" -o kernel "${sources[@]}" window.o -lm 2>said || { ok 1 "$name, $*: compiled" || diag "$(head -5 said)"; return; }
    image=$(($(bias_of kernel) + $(readelf -lW kernel | awk '$1 == "LOAD" { at = $3 " + " $6 } END { print at }')))
    traced "start:enter_func:open_window,stop:enter_func:close_window" ./kernel "${arguments[@]}"
    grep -v '^#' replayed >without
    ok "$([ "$(wc -l <without)" -gt 50 ]; echo $?)" "$name, $*: $(wc -l <without) lines"
    for of in isa_category:COND_BR isa_category:CALL isa_category:RET isa_category:PUSH isa_category:SHIFT itext:c3; do
        memory=none_at_all traced "start:enter_func:open_window,stop:enter_func:close_window;stop:$of:count99999999" ./kernel "${arguments[@]}"
        alone=$(reached)
        traced "start:enter_func:open_window,stop:enter_func:close_window;stop:$of:count99999999" ./kernel "${arguments[@]}"
        if grep -q 'alarms stand at more than 256 places' err; then
            is "$status" 127 "$name, $*, $of: too many places are refused"
            continue
        fi
        is "$("$PYTHON_ANY" moved.py without replayed "$image" 2>&1; grep -c '^#.*\(not recorded\|cut off\)' replayed; cat said)" "same
0" "$name, $*: $of: the trace is that without"
        is "$(reached)" "$alone" "$name, $*: $of: and it came as often ($alone)"
    done
}
cc -O2 -Wall -c -o window.o "$kernels/window.c" || exit 99
for name in shallow su3 simplex sparse fft sort search recurse interpret; do
    everywhere $name gcc -O2
done
everywhere objects g++ -std=c++17 -O1
everywhere su3_f gfortran -O2
everywhere recurse clang -O0
everywhere interpret clang -O2
done_testing
