#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Folders that vanish or fill up while the program runs: one message, and the program goes on. A
# folder that cannot be made is refused before the start.
. "$(dirname "$0")/../lib.sh"

mpi=$(mpis | head -n 1)
[ -n "$mpi" ] || skip_all "no MPI"
leaves_streams=1 # where a disk was full, `regtrace recover` would need them

run 300 mpirun_for "$mpi" 2 "$APPS/stencil.$mpi"
bare=$status/$out

# A folder whose parent is not writable: for root, a read-only mount.
mkdir "$T/disk"
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=200k none "$T/disk" 2>/dev/null; then
    trap 'umount "$T/disk"; rt_cleanup' EXIT
    mount -o remount,ro "$T/disk"
    run 300 mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/disk/run" "$APPS/stencil.$mpi"
    isnt "$status" 0 "read-only folder: the program is not started"
    like "$err" 'regtrace: cannot make the folder.*Read-only file system.*REGTRACE_DIR' "read-only folder: the reason and the remedy, on stderr"
    is "$(grep -c 'cannot make' <<<"$err")" 1 "read-only folder: one message a node"

    # A folder in the working directory: programs in a script may stand in another one.
    cd "$T/disk" || exit 99
    run 300 mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" "$APPS/stencil.$mpi"
    cd "$T" || exit 99
    is "$status/$out" "$bare" "read-only working directory: status and output as without us"
    like "$err" 'regtrace.*cannot make the folder.*Read-only file system.*REGTRACE_DIR' "read-only working directory: the reason and the remedy, on stderr"
    is "$(grep -c regtrace: <<<"$err")" 2 "read-only working directory: one line a process"

    mount -o remount,rw "$T/disk"
    run 300 mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/disk/run" "$APPS/stencil.$mpi"
    is "$status/$out" "$bare" "disk full: status and output as without us"
    wait_for 10 test -s "$T/disk/run/regtrace.log"
    like "$(cat "$T/disk/run/regtrace.log" 2>/dev/null; echo "$err")" 'No space left|disk full' "disk full: the reason is reported"
else
    skip "read-only folder" "needs root and mount"
    skip "disk full" "needs root and mount"
fi

# The folder is deleted while the program runs.
cat >"$T/deleter" <<END
#!/bin/bash
"$APPS/emit.$mpi" "\$@" &
sleep 1
rm -rf "$T/run.deleted"
wait \$!
END
chmod +x "$T/deleter"
run 60 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/run.deleted" REGTRACE_COMPRESS=0 EMIT_PAUSE=500 EMIT_LOG="$T/emit" "$T/deleter" 200000
deleted=$status
run 60 env EMIT_LOG="$T/bare" "$APPS/emit.$mpi" 200000
is "$deleted" "$status" "deleted folder: the program ends as it does without us"
done_testing
