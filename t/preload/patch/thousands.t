#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Windows of a program with thousands of functions, which are patched each time while another thread
# runs them: page by page, not place by place. After the windows the original bytes are there again.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
[ -n "$PYTHON_ANY" ] || skip_all "no python3"
needs memory
grep -q '^syscw:' /proc/self/io 2>/dev/null || skip_all "the kernel does not count system calls (/proc/self/io)"

functions=3000
"$PYTHON_ANY" "$here/thousands.py" $functions >program.c && gcc -O1 -w -pthread -o program program.c || exit 99
REGTRACE_DIR=run run 300 "$REGTRACE" run -quiet -o run -memory '^f[0-9]' -control 'start:enter_func:open_window:bcast,stop:enter_func:close_window:bcast,repeat' -- ./program
is "$status" 0 "a program of $functions functions" || diag "$err"
like "$out" 'wrong 0$' "computes the same, while they are switched"
is "$(grep -c '^bytes' <<<"$out")" 5 "through all its windows"
# A page is read and written once in each of three steps when a window opens, and of four when it
# closes. Pages with a single place need some more calls.
ok_run "functions are changed in windows" awk -v n=$functions '/^bytes/ && $8 < 3 * n { bad = 1 } END { exit bad }' <<<"$out"
is "$(awk '/^bytes/ { n += $10 } END { print n + 0 }' <<<"$out")" 0 "and as they were outside"
ok_run "a page at a time" awk '/^bytes/ && ($4 > 400 + 8 * $2 / 4096 || $6 > 400 + 10 * $2 / 4096) { bad = 1 } END { exit bad }' <<<"$out"
diag "$(tail -2 <<<"$out" | head -1)"
"$REGTRACE" skel replay -format count run >counted
ok $? "and it is replayed"
ok_run "with an access of each function" awk -v n=$functions '/ accesses,/ { all += $2 } END { exit !(all > 5 * n) }' counted
done_testing
