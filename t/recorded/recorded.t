#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The tools' outputs for recordings of an older regtrace are, byte for byte, what the regtrace that
# made them printed. Each recording NAME.tar.xz has its outputs in NAME.out.xz, one after the other,
# each under a line "== COMMAND". `recorded.t --write` writes these files anew. If a change of an
# output is intended, the commit says which and why. record.sh made the recordings.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99

# lacks COMMAND: prints why it cannot run here, or nothing.
lacks() {
    case $1 in
    skel*) [ -x "$REGTRACE_BUILD/isa/regtrace-isa" ] && [ "$(uname -m)" = x86_64 ] || echo "memory traces are for x86-64 with Zydis" ;;
    values*) [ -x "$REGTRACE_BUILD/isa/regtrace-vprofiler" ] || echo "built without Zydis" ;;
    emulate*) [ -n "$PYTHON" ] && [ "$PYTHON" != no ] || echo "no Python with h5py" ;;
    esac
}

# content FILE: prints what a command made, as text. Of a page, prints what comes from the
# recording: its style and scripts are parts of the tree.
content() {
    case $1 in
    *.obs) od -An -v -tx1 "$1" ;;
    *.h5) "$PYTHON" "$here/h5text.py" "$1" 2>/dev/null ;;
    *.html) sed -n '/^<script id="data"/p; /^<script id="meta"/,/<\/script>/p' "$1" ;;
    *) cat "$1" ;;
    esac
}

# outputs NAME: runs all commands that fit this recording; prints each command with its output.
outputs() {
    local name=$1 command
    grep "^$name " "$here/commands" | while read -r _ command; do
        printf '== %s\n' "$command"
        rm -rf made made.*
        # shellcheck disable=SC2086 # a command is words
        env -u REGTRACE_DIR "$REGTRACE" $command 2>/dev/null | sed 's/^\(made\.html\): [0-9]* bytes$/\1/'
        echo "exit code ${PIPESTATUS[0]}"
        find made made.* -type f 2>/dev/null | LC_ALL=C sort | while read -r file; do
            echo "-- $file"
            content "$file"
        done
    done
}

for archive in "$here"/*.tar.xz; do
    name=$(basename "$archive" .tar.xz)
    tar -xf "$archive" || exit 99
    outputs "$name" >"$name.out"
    if [ "${1:-}" = --write ]; then
        xz -9 <"$name.out" >"$here/$name.out.xz"
        continue
    fi
    xz -dc "$here/$name.out.xz" >expected
    awk '/^== / { n++ } { print >("expected." n) }' expected
    awk '/^== / { n++ } { print >("got." n) }' "$name.out"
    n=0
    while read -r command; do
        n=$((n + 1))
        why=$(lacks "$command")
        [ -z "$why" ] || { skip "$name: $command" "$why"; continue; }
        cmp -s "expected.$n" "got.$n"
        ok $? "$name: $command" || diag "$(diff -a "expected.$n" "got.$n" | cut -c 1-200 | head -10)"
    done < <(sed -n 's/^== //p' expected)
    is "$(grep -c '^== ' "$name.out")" "$n" "$name: every command has its expected output"
    rm -f expected.* got.*
done
done_testing
