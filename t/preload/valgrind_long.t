#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long test: traces under valgrind all programs of t/preload that bare valgrind runs as the machine
# does.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/same.sh"
. "$(dirname "$0")/valgrind.sh"

for part in many cancels c11 leaves blocked keys names; do
    clean "$part" 1 threads $part
    clean "$part, nothing recorded" 0 REGTRACE_DEFAULT_START=0 threads $part
done
clean "detached" 0 threads detached
for part in handler vforks failing daemon; do
    clean "children: $part" 1 libc/children $part
done
for part in forks spawns signals shells; do
    clean "children: $part" 0 libc/children $part
done
for end in _exit _Exit quick_exit abort syscall exit; do
    clean "end by $end" 1 libc/children end $end
done
for chains in '' "$CHAINS"; do
    for part in nested waits signalfd realtime masks restarts inherited; do
        clean "$part, chains '$chains'" 0 REGTRACE_CONTROL="$chains" libc/handlers $part
    done
    for signo in 1 10 12 14 34 64; do
        clean "killed by $signo, chains '$chains'" 0 REGTRACE_CONTROL="$chains" libc/handlers die $signo kill
    done
done
done_testing
