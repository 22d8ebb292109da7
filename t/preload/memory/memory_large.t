#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Windows of memory traces that are larger than a file's buffer: the replay has each access that the
# program has logged itself. Blocks that were allocated ahead are given back. A kill, a full disk
# and a limit on file sizes leave what was written before.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
needs memory
# Not PIE: addresses are the same in each run.
gcc -O2 -no-pie -fno-pie -o large "$here/programs/memory_large.c" || exit 99
export REGTRACE_MEMORY='^walk$' REGTRACE_CONTROL='start:enter_func:open_window,stop:enter_func:close_window,repeat'

# record FOLDER COMMAND...: runs it, and records it.
record() { run 60 env REGTRACE_DIR="$1" LD_PRELOAD="$LIBREGTRACE" "${@:2}"; }
# nodes FOLDER: prints the addresses of nodes that `walk` has read, as replayed.
nodes() { "$REGTRACE" skel replay "$1" 2>replay.said | awk '/^#/ { next } first == "" { first = $1 } $1 == first { print $4 }'; }
# blocks_over FOLDER: prints how many bytes of the disk the recording takes beyond its length.
blocks_over() { stat -c '%b %B %s' "$1"/memory/*.rec | awk '{ over += $1 * $2 - $3 } END { print over }'; }

bare=$(./large log 800000)
record run ./large /dev/null 800000
is "$status $out" "0 $bare" "prints what it prints without"
nodes run >replayed
ok_run "the replay has each node that the program has read" cmp log replayed
diag "$(wc -l <log) nodes in $(stat -c %s run/memory/*.rec) bytes"
ok_run "in several buffers" test "$(stat -c %s run/memory/*.rec)" -gt 6000000
ok_run "the file takes no more of the disk than its length" test "$(blocks_over run)" -le 65536

leaves_streams=1
record killed ./large /dev/null 800000 kill
is "$status $out" "137 $bare" "killed within a window"
nodes killed >replayed
is "$(wc -l <replayed)" "$(($(wc -l <log) + 799999))" "the replay has all of them but the last one"
ok_run "and before that window the same ones" cmp log <(head -n "$(wc -l <log)" replayed)
ok_run "at most 4 MiB of the disk are lost" test "$(blocks_over killed)" -le $((65536 + (4 << 20)))

# is_prefix TITLE: compares the replay of ended.run with the log.
is_prefix() {
    is "$out" "$bare" "$1: prints what it prints without"
    like "$err $(cat ended.run/regtrace.log 2>/dev/null)" 'memory traces end: ' "$1: a message says that traces end"
    nodes ended.run >replayed
    ok_run "$1: the replay has the accesses before that" cmp <(head -n "$(wc -l <replayed)" log) replayed
    ok_run "$1: and many" test "$(wc -l <replayed)" -gt 200000
}
record ended.run bash -c 'ulimit -f 4096; ./large /dev/null 800000'
is_prefix "a limit on file sizes"
if unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016
    run 60 unshare -m bash -c 'mkdir small && mount -t tmpfs -o size=5m none small && REGTRACE_DIR=small/run LD_PRELOAD=$1 ./large /dev/null 800000 && cp -r small/run full.run' - "$LIBREGTRACE"
    rm -rf ended.run && mv full.run ended.run
    is_prefix "a full disk"
else
    skip "a full disk" "mounts are not allowed here"
fi
done_testing
