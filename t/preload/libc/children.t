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

# The timer expires while vfork() waits for the child.
echo 'int main(void) { pid_t c = vfork(); if (c == 0) { usleep(200000); _exit(0); }
return waitpid(c, 0, 0) != c; }' | cc -D_GNU_SOURCE -include unistd.h -include sys/wait.h -xc -o "$T/waits" - || exit 99
run 60 "$REGTRACE" run -quiet -o "$T/vfork" -control start:timeout:20ms -- "$T/waits"
is "$status $("$REGTRACE" dump "$T/vfork" | grep -c 'window opens')" '0 1' \
    'a window opens whose time comes within vfork()'

# A warning of a child would be taken for its output. libc starts the children of popen() itself.
echo 'int fired(void) { return 0; }
int main(void) { char b[99]; FILE *p = popen("sleep 0 2>&1", "r"); while (fgets(b, 99, p)) puts(b);
return pclose(p) + fired(); }' | cc -include stdio.h -xc -o "$T/reads_child" - || exit 99
for how in 'FUNCTIONS=^fired$' CONTROL=start:enter_func:fired,stop:exit_func:fired; do
    run 60 env "REGTRACE_$how" REGTRACE_DIR="$T/reads_child.${how%%=*}" LD_PRELOAD="$LIBREGTRACE" "$T/reads_child"
    is "$status $out$err" '0 ' "${how%%=*}: no warning of a child is in its output"
done
same "threads fork while others record" "$P/libc/children" threads
done_testing
