#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of functions whose names have dots, given by compilers. They are recorded as others
# are; their own names and the function's name select them. A stripped program is not taken for the
# program that was not stripped. With retpolines, messages say what cannot be recorded.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/exact.inc"
quick_replays
export XDG_CACHE_HOME=$T/cache

for flags in 'gcc -O0' 'gcc -O2' 'gcc -O3' 'clang -O2'; do
    # shellcheck disable=SC2086
    $flags -w -o named "$here/programs/memory_named.c" 2>said || { skip "$flags" "it cannot be compiled"; continue; }
    exact_window "$flags ($(nm named | grep -ci ' t [a-z_]*\.[a-z0-9]') names with dots)" named 20 "-"
done
gcc -O2 -w -no-pie -z noexecstack -o named "$here/programs/memory_named.c" || exit 99
# recorded_of REGEX [PROGRAM]: prints the functions whose accesses were recorded.
recorded_of() {
    remove_run run
    "$REGTRACE" run -quiet -o run -memory "$1" -- "./${2:-named}" 20 >out 2>err
    "$REGTRACE" skel replay run >replayed 2>said
    awk '!/^#/ { print $1 }' replayed | sort -u >places
    nm -S named | "$PYTHON_ANY" -c '
import sys
functions = [(int(f[0], 16), int(f[1], 16), f[3]) for f in (l.split() for l in sys.stdin) if len(f) == 4 and f[2] in "tT"]
seen = set()
for place in open("places"):
    at = int(place, 16)
    seen.update(name for start, size, name in functions if start <= at < start + size)
print(*sorted(seen))'
}
part=$(nm named | awk '$3 ~ /^grow\.part/ { print $3 }')
if [ -n "$part" ]; then
    is "$(recorded_of '^grow$')" "$part" "a part is meant by its function's name"
    is "$(recorded_of '^grow\.part')" "$part" "and by its own"
    is "$(cat err)" "" "without a warning"
else
    skip "parts" "this compiler makes none"
fi
like "$("$REGTRACE" skel analyze -function '^by' named)" '^by\.[0-9]+ at' "functions within functions are analysed by either name"

# strip keeps the build ID.
strip -o bare named
whole=$(recorded_of . >/dev/null; grep -c . replayed)
rm -rf cache
recorded_of . bare >/dev/null
is "$(recorded_of . >/dev/null; grep -c . replayed)" "$whole" "what was made of a stripped program is not taken for the whole one"
is "$(recorded_of '^(one|two)$' >/dev/null; grep -c . replayed)" "$(rm -rf cache; recorded_of '^(one|two)$' bare >/dev/null; recorded_of '^(one|two)$' >/dev/null; grep -c . replayed)" "nor where functions are named"

# Retpolines: calls that return elsewhere.
for how in thunk-inline thunk; do
    gcc -O2 -w -fcf-protection=none -mindirect-branch=$how -o retpolines "$here/programs/memory_named.c" 2>said || { skip "retpolines, $how" "this compiler makes none"; continue; }
    remove_run run
    "$REGTRACE" run -o run -memory . -control start:enter_func:open_window,stop:enter_func:close_window -- ./retpolines 20 >out 2>err
    is "$? $(cat out)" "0 $(./retpolines 20)" "retpolines, $how: prints what it prints without"
    "$REGTRACE" skel replay run >replayed 2>said
    is "$? $(cat said)" "0 " "retpolines, $how: its replay"
    ok "$([ "$(grep -vc '^#' replayed)" -gt 300 ]; echo $?)" "retpolines, $how: $(grep -vc '^#' replayed) accesses"
    if [ $how = thunk ]; then
        like "$(cat err)" 'not recorded for memory traces: __x86_indirect_thunk_r[a-z0-9]* \(it begins with' "retpolines, $how: what is not recorded is named"
    else
        like "$(grep '^#' replayed)" 'times a function was not recorded from a place in it on' "retpolines, $how: what is not recorded is reported"
    fi
done
done_testing
