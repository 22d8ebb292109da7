#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Shared memory that is full or small: the program runs as it does without tracing, and the log says
# what was not recorded. Without the folder for streams the program is not started.
. "$(dirname "$0")/../lib.sh"

mpi=$(mpis | head -n 1)
[ -n "$mpi" ] || skip_all "no MPI"

traced() { mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" "$@" "$APPS/stencil.$mpi"; }

run 60 mpirun_for "$mpi" 2 "$APPS/stencil.$mpi"
bare=$status/$out

# absent: the folder does not exist
run 60 traced REGTRACE_SHM="$T/absent" REGTRACE_DIR="$T/run.absent"
isnt "$status" 0 "absent: the program is not started"
unlike "$out" "${bare#*/}" "absent: nor has it printed its result"
like "$err" 'regtrace: the folder for streams .*/absent .REGTRACE_SHM, option -shm. cannot be used: No such file' "absent: the message says why, and what to do"
[ ! -e "$T/run.absent" ]
ok $? "absent: no folder is left"

# small, full: a tmpfs of the test
mkdir "$T/tmpfs"
if [ "$(id -u)" != 0 ] || ! mount -t tmpfs -o size=1m none "$T/tmpfs" 2>/dev/null; then
    skip "small shared memory" "needs root and mount"
    skip "full shared memory" "needs root and mount"
    done_testing
fi
trap 'umount "$T/tmpfs"; rt_cleanup' EXIT

mount -o remount,size=3m "$T/tmpfs"
run 60 traced REGTRACE_SHM="$T/tmpfs" REGTRACE_DIR="$T/run.small" REGTRACE_BUFFER=4M
is "$status/$out" "$bare" "small: status and output as without us"
like "$(cat "$T/run.small/regtrace.log")" 'warning: little room in shared memory' "small: the log says that streams are smaller"
ok_run "small: all the same, both ranks were recorded whole" "$REGTRACE" check "$T/run.small"
is "$(find "$T/run.small" -name 'rank-*.h5' | wc -l)" 2 "small: a file a rank"

mount -o remount,size=1m "$T/tmpfs"
dd if=/dev/zero of="$T/tmpfs/filler" bs=4k count=1000 2>/dev/null
run 60 traced REGTRACE_SHM="$T/tmpfs" REGTRACE_DIR="$T/run.full"
is "$status/$out" "$bare" "full: status and output as without us (no SIGBUS)"
like "$(cat "$T/run.full/regtrace.log")" 'nothing is recorded.*No space left' "full: the log says why nothing is recorded"
is "$(ls "$T/tmpfs")" filler "full: nothing of ours is left in it"
done_testing
