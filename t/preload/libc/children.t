#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fork, vfork, posix_spawn, exec, shells, daemons and every way to end behave as they do without the
# tracer.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../same.sh"
# shellcheck disable=SC2034  # read by same.sh
same_limit=120

for how in '' REGTRACE_CONTROL="$CHAINS" REGTRACE_FOLLOW=0 REGTRACE_DEFAULT_START=0; do
    for part in forks working vforks handler spawns signals failing shells nested_shells daemon; do
        same "$part ${how%%=*}" ${how:+"$how"} "$P/libc/children" $part
    done
    same "exec, ten times ${how%%=*}" ${how:+"$how"} "$P/libc/children" chain 0
    for end in _exit _Exit quick_exit abort syscall exit; do
        same "$end ${how%%=*}" ${how:+"$how"} "$P/libc/children" end $end
    done
done
same "threads fork while others record" "$P/libc/children" threads
done_testing
