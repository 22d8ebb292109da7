#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# 1,000 requests of regtrace ctl to four processes while 16 others keep the processors busy: each
# process executes each request once. CTL_FIRES sets another number.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
fires=${CTL_FIRES:-1000} processes=4

cat >p.c <<'END'
#include <unistd.h>
int main(int argc, char **argv)
{
    while (access(argv[1], F_OK) != 0)
        usleep(20000);
    return argc - 2;
}
END
cc -O2 -o p p.c
export REGTRACE_DIR=$T/run REGTRACE_RUN=busy
for i in $(seq $processes); do
    REGTRACE_CONTROL=start:interactive:bcast,stop:interactive:bcast,repeat LD_PRELOAD=$LIBREGTRACE ./p stop &
    traced[i]=$!
    kill_at_end $!
done
unset REGTRACE_DIR REGTRACE_RUN
wait_for 60 bash -c "[ \$(ls $T/run/ctl/*.path | wc -l) = $processes ]"
for i in $(seq 16); do
    nice -n 19 bash -c 'while :; do :; done' &
    kill_at_end $!
    busy[i]=$!
done
failed=0
for i in $(seq "$fires"); do
    "$REGTRACE" ctl --wait 300 run fire >answer 2>&1 || { failed=$((failed + 1)); diag "$(cat answer)"; }
    [ "$(grep -c ': fired=1 counted=0$' answer)" = $processes ] || { failed=$((failed + 1)); diag "$(cat answer)"; }
done
is $failed 0 "$fires requests: every process has answered each"
is "$("$REGTRACE" ctl --wait 300 --json run status | grep -c "\"fired\":${fires}[,}].*\"ignored\":0[,}]")" $processes 'and fired as often, each start and stop in its turn'
kill "${busy[@]}"
touch stop
for i in $(seq $processes); do wait "${traced[i]}" || failed=1; done
is $failed 0 'the programs end as they would'
done_testing
