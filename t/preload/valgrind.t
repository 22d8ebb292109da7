#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tracing under valgrind: the tracer records, and valgrind reports no error of it. valgrind_long.t
# runs the longer programs.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/same.sh"
. "$(dirname "$0")/valgrind.sh"

for part in cancels keys names; do
    clean "$part" 1 threads $part
done
clean "threads, nothing recorded" 0 REGTRACE_DEFAULT_START=0 threads names
clean "forked children, and their parent" 6 libc/children working
clean "exec, ten times" 10 libc/children chain 0
for end in _exit syscall; do
    clean "end by $end" 1 libc/children end $end
done
for part in nested waits masks; do
    clean "handlers: $part" 1 REGTRACE_CONTROL="$CHAINS" libc/handlers $part
done
clean "killed by a signal" 1 REGTRACE_CONTROL="$CHAINS" libc/handlers die 10 kill
done_testing
