#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Forked children that can no longer write to the run's folder, after chroot or as another user. The
# run's log and its report name them.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
[ "$(id -u)" = 0 ] || skip_all 'chroot and setuid need root'
mkdir jail
chmod 755 "$T"
cat >children.c <<'END'
#include <regtrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void work(void)
{
    for (int i = 0; i < 10; i++) {
        regtrace_region_begin("work");
        regtrace_region_end("work");
    }
}
int main(int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        pid_t child = fork();
        int status;
        if (child == 0) {
            if (strcmp(argv[k], "chroot") == 0 && (chroot("jail") != 0 || chdir("/") != 0))
                return 1;
            if (strcmp(argv[k], "setuid") == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
                return 1;
            work();
            exit(7);
        }
        if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
            return 2;
        printf("%s %d\n", argv[k], (int)child);
        fflush(stdout);
        work();
    }
    work();
    return 0;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o children children.c || exit 99
run 60 ./children chroot setuid
[ "$status" = 0 ] || skip_all 'chroot or setuid does not work here'
run 60 "$REGTRACE" run -o run -- ./children plain chroot plain setuid
is "$status" 0 'a program whose children leave its folder behind ends as it did' || diag "$err"
is "$("$REGTRACE" report --json run | grep -c '"end_reason": "finished"')" 3 'those that can record do'
while read -r how pid; do
    case $how in
    plain) unlike "$(cat run/regtrace.log)" "pid $pid " 'nothing is reported of a child that records' ;;
    chroot) like "$(cat run/regtrace.log)" "^rank 0 pid $pid error: nothing is recorded in this process: " 'the log has the one that was chrooted' ;;
    setuid) like "$(cat run/regtrace.log)" "^rank 0 pid $pid error: (recording has ended early|nothing is recorded)" 'and the one of another user' ;;
    esac
    [ "$how" = plain ] || like "$("$REGTRACE" report run)" "pid $pid error" "report shows it ($how)"
done <<<"$out"
done_testing
