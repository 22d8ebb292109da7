#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The first and only service of the PMU lab's machine. It runs the tests of
# /lab/source/t/lab/inside, prints their results on the console, sends /lab/out back through the
# second serial port, and powers the machine off. t/lab/lab.t reads the marks (@@).
export PATH=/usr/sbin:/usr/bin:/usr/local/bin HOME=/root LC_ALL=C TERM=dumb
# busybox has the programs that coreutils and the like lack (mount, ip, setsid).
mkdir -p /usr/local/bin && /usr/bin/busybox --install -s /usr/local/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm /lab/out /root
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
chmod 1777 /tmp /dev/shm
# A program that dies is a finding of its test. The kernel's message about it would stand in the
# middle of a line.
echo 1 >/proc/sys/kernel/printk
exec </dev/ttyAMA0 >/dev/ttyAMA0 2>&1
stty -opost -echo 2>/dev/null
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/0 /dev/stdin
ln -s /proc/self/fd/1 /dev/stdout
ln -s /proc/self/fd/2 /dev/stderr
ip link set lo up
hostname lab
# QEMU translates code anew where a process has it at another address: half of the time.
echo 0 >/proc/sys/kernel/randomize_va_space
# Debian's default, 3, forbids all counters. Tests of the messages for that case set it themselves.
echo 1 >/proc/sys/kernel/perf_event_paranoid

# Open MPI looks for ssh even if all ranks are on this machine.
export OMPI_MCA_plm_rsh_agent=false
export REGTRACE_SOURCE=/lab/source REGTRACE_BUILD=/lab/build LAB_PROGRAMS=/lab/build/t/lab/programs
inside=$REGTRACE_SOURCE/t/lab/inside
cd /root || poweroff -f
if grep -qw lab.shell /proc/cmdline; then
    stty opost echo sane
    echo "The tests are in $inside, programs in $REGTRACE_BUILD; exit ends the machine (and so does C-a x)."
    setsid -c bash -i
    poweroff -f
fi
for test in $(sed 's/.*lab\.tests=\([^ ]*\).*/\1/; s/,/ /g' /proc/cmdline); do
    limit=$(sed -n 's/^# limit: \([0-9]*\)$/\1/p' "$inside/$test.sh")
    export LAB_OUT=/lab/out/$test
    mkdir -p "$LAB_OUT"
    echo "@@ begin $test"
    start=$(cut -d ' ' -f 1 /proc/uptime)
    timeout -k 60 "${limit:-2000}" bash "$inside/$test.sh" 2>&1
    status=$?
    echo "@@ end $test $status $start $(cut -d ' ' -f 1 /proc/uptime)"
    echo 1 >/proc/sys/kernel/perf_event_paranoid
done
if [ -c /dev/ttyS0 ]; then
    stty -F /dev/ttyS0 raw -echo 4000000
    tar -C /lab/out -czf /tmp/out.tar.gz .
    cat /tmp/out.tar.gz >/dev/ttyS0
    echo "@@ sent $(stat -c %s /tmp/out.tar.gz)"
else
    echo "@@ sent nothing: there is no second serial port"
fi
echo "@@ off"
sync
poweroff -f
