#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `make dist` packs every file of the repository, and each test is listed.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tree.sh"

cd "$REGTRACE_BUILD" || exit 1
run 60 make -s print-distfiles
is "$status" 0 "make lists what it packs"
tr ' ' '\n' <<<"$out" | sed "s|^$REGTRACE_SOURCE/||; s|^\./||" | sort -u >"$T/packed"
tree_files | grep -vE '^\.|^(build-aux|m4)/|^[a-z0-9/]*Makemodule\.am$' | sort -u >"$T/tracked"
isnt "$(wc -l <"$T/tracked")" 0 "there are files to pack"
is "$(while read -r f; do
    grep -qxF "$f" "$T/packed" && continue
    # A folder is packed as a whole.
    d=$f found=0
    while [ "$d" != "$(dirname "$d")" ]; do d=$(dirname "$d") && grep -qxF "$d" "$T/packed" && found=1; done
    [ $found = 1 ] || echo "$f"
done <"$T/tracked")" "" "every file of the repository is packed"

# A test in bash that is not listed never runs.
run 60 make -s print-tests
tr ' ' '\n' <<<"$out" | sort -u >"$T/tests"
is "$(tree_files | grep -E '\.t$' | sort | comm -23 - "$T/tests")" "" "every test is in TESTS or LONG_TESTS"
is "$(tree_files | grep -E '\.t$' | while read -r f; do [ -x "$REGTRACE_SOURCE/$f" ] || echo "$f"; done)" "" "every test can be executed"
done_testing
