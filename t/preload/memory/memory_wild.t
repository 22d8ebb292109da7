#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of functions with jumps whose targets cannot be known beforehand. In a window the
# replay is, access for access, what single steps by ptrace show for the same run. Messages say what
# cannot be recorded.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/exact.inc"
quick_replays

for flags in gcc' -O0' gcc' -O2' gcc' -O2 -no-pie -fno-pie -mcmodel=large' gcc' -O2 -fcf-protection=none' clang' -O2' clang' -O1'; do
    command -v "${flags% -O*}" >/dev/null || { skip "$flags" "it is not installed"; continue; }
    # shellcheck disable=SC2086
    $flags -w -o wild "$here/programs/memory_wild.c" || exit 99
    exact_window "$flags, calls" wild calls -
    # A copy cannot begin with such code. Messages say what is missing then, and what is called from
    # there is recorded.
    recorded "$flags, places without copies" wild begins skeleton
    is "$(sed -n 's/^# \([0-9]*\) times a function was not recorded .* 0x[0-9a-f]*$/\1/p' replayed)" 4 "$flags: the replay says how often something is missing"
    like "$(cat exact/regtrace.log)" 'error: memory traces lack what a function does from a place on: begins\+0x[0-9a-f]* \(it begins with what a copy cannot do' "$flags: and the log of what"
    cell=$(printf %x $(($(bias_of wild) + $(symbol wild cells) + 8)))
    is "$(grep -c " W 8 $cell\$\| M 8 $cell\$" replayed)" 4 "$flags: what is called from there is recorded"
    "$REGTRACE" skel replay -format binary exact >records
    is "$(tail -c 8 records | od -An -tx1 | xargs)" 'fe 00 00 00 45 00 00 00' "$flags: so does the last record"
done
done_testing
