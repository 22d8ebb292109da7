#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The PMU lab: runs tests that need a hardware counter on an emulated 64-bit Arm machine, which has
# one.
#
#   t/lab/lab.t                     all tests; make check runs it like every test
#   t/lab/lab.t counter run         only these tests
#   t/lab/lab.t shell               a shell in the machine, to try things by hand
#
# Steps:
# - root.sh fetches an arm64 Debian (kernel, C library, Open MPI, HDF5, PAPI).
# - The project is cross-built against it.
# - QEMU boots kernel and root from memory (the kernel's disk drivers are modules) with a
#   Cortex-A57, whose counters QEMU keeps exactly.
# - init.sh in the machine runs the tests of inside/. They print TAP to the first serial port. Their
#   files in $LAB_OUT are sent back through the second one.
# - The tests of outside/ check these files with this machine's tools.
#
# An inside test is a file inside/NAME.sh in bash, like every test of the suite: it sources t/lib.sh
# and t/lab/lab.sh, and REGTRACE_SOURCE, REGTRACE_BUILD, APPS, LIBREGTRACE and so on are those of
# the machine inside. Programs are in $LAB_PROGRAMS. It starts as root on a machine of one
# processor, with perf_event_paranoid 1 and an empty folder $LAB_OUT. To add a test:
# - Add files of the source that it needs to lab_files below.
# - Add its own program as programs/PROGRAM.c, with two lines in t/lab/Makemodule.am (lab_programs,
#   _SOURCES; _LDADD for libraries, any of the sysroot's).
# - Add a mini-application of t/apps to lab_apps there.
# - With a file outside/NAME.sh the test continues outside, where $LAB_OUT is the copy of its
#   folder.
#
# Time inside the machine counts instructions, 64 ns each, and idle time is skipped: a second there
# is 16 million instructions, about a fifth of a second here. Limits are in those seconds ("# limit:
# 6000" in a test; 2000 by default), and speed cannot be measured. With one processor, counts are
# exact and repeat. With several, each processor's counter would also count what the others execute
# in their turns (QEMU derives it from the one count of the whole machine). An overflow's interrupt
# is late by up to some 60,000 instructions, and never early. A panic or a hang shows as tests that
# fail, with the end of the console.
#
# REGTRACE_LAB_CACHE: the folder of root and kernel (default t/lab/cache of the build folder): 22 s
# to make, 350 MB.
#
# REGTRACE_LAB_LIMIT: seconds for the machine, from boot to power-off (900; it takes 400 on two
# quiet processors).
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lab.sh"
# These are of the make that runs this test. Our own make must print only what we ask it for.
unset MAKEFLAGS MFLAGS MAKELEVEL

lab=$REGTRACE_SOURCE/t/lab
cache=${REGTRACE_LAB_CACHE:-$REGTRACE_BUILD/t/lab/cache}
cross=$REGTRACE_BUILD/t/lab/cross
lab_files='t/lib.sh t/lab/lab.sh t/lab/inside t/controller/corpus share/include'
limit=${REGTRACE_LAB_LIMIT:-900}

need() { command -v "$1" >/dev/null || skip_all "no $1 (Debian: apt-get install $2)"; }

# Makes the root again if root.sh or this machine's distribution has changed.
make_root() {
    local key
    key=$(cat "$lab/root.sh" /etc/os-release 2>/dev/null | cksum)
    [ -e "$cache/vmlinuz" ] && [ "$(cat "$cache/key" 2>/dev/null)" = "$key" ] && return
    rm -f "$cache/key"
    bash "$lab/root.sh" "$cache" >"$T/root.log" 2>&1
    case $? in
    0) echo "$key" >"$cache/key" ;;
    77) skip_all "$(tail -n 1 "$T/root.log")" ;;
    *)
        ok 1 "the arm64 root is made"
        diag "$(tail -n 40 "$T/root.log")"
        done_testing
        ;;
    esac
}

# Configures with the root as sysroot, and again if the root or the options have changed. Settings
# that must survive a config.status --recheck are arguments, not variables of the environment.
cross_build() {
    local multiarch=$cache/sysroot/usr/lib/aarch64-linux-gnu cc="aarch64-linux-gnu-gcc --sysroot=$cache/sysroot" options
    ! command -v ccache >/dev/null || cc="ccache $cc"
    options=(--host=aarch64-linux-gnu CC="$cc" CFLAGS=-O2 PKG_CONFIG="$cross/pkg-config" MPICC_OPENMPI="$cross/mpicc")
    unset MAKEFLAGS MFLAGS MAKELEVEL TESTS TEST_LOGS
    mkdir -p "$cross" && cd "$cross" || return 1
    [ "$(cat "$cache/key" && echo "${options[@]}")" = "$(cat key 2>/dev/null)" ] || rm -rf ./* || return 1
    printf '#!/bin/sh\nexec ${OMPI_CC:-cc} -I%s "$@" -L%s -lmpi\n' "$multiarch/openmpi/include" "$multiarch/openmpi/lib" >mpicc
    printf '#!/bin/sh\nPKG_CONFIG_SYSROOT_DIR=%s PKG_CONFIG_LIBDIR=%s PKG_CONFIG_PATH= exec pkg-config "$@"\n' \
        "$cache/sysroot" "$multiarch/pkgconfig:$cache/sysroot/usr/share/pkgconfig" >pkg-config
    chmod +x mpicc pkg-config
    if [ ! -x config.status ]; then
        "$REGTRACE_SOURCE/configure" "${options[@]}" >configure.out 2>&1 || { tail -n 30 configure.out; return 1; }
        (cat "$cache/key" && echo "${options[@]}") >key
    fi
    make -j2 lab >make.out 2>&1 || { grep -E 'error|warning|\*\*\*' make.out || tail -n 30 make.out; return 1; }
    if grep -q 'warning:' make.out; then grep -A 5 'warning:' make.out; return 1; fi
}

# overlay: makes the initrd from source and cross-build.
overlay() {
    local o=$T/overlay file
    mkdir -p "$o/lab/source" "$o/lab/build/t/lab" && cd "$cross" || return 1
    # shellcheck disable=SC2086  # names are separate words
    (cd "$REGTRACE_SOURCE" && tar -c --mode=u+w $lab_files) | tar -x -C "$o/lab/source" || return 1
    make -s print-lab >"$T/built" && make -s print-lab-units | tr ' ' '\n' >"$o/lab/build/t/lab/units" || return 1
    for file in .libs/libregtrace.so $(cat "$T/built"); do
        mkdir -p "$o/lab/build/$(dirname "$file")"
        cp "$file" "$o/lab/build/$file" || return 1
    done
    printf '#!/bin/sh\nS["PYTHON3"]="no"\n' >"$o/lab/build/config.status"
    cp "$lab/init.sh" "$o/init"
    chmod +x "$o/init" "$o/lab/build/config.status"
    (cd "$o" && find . -mindepth 1 | sed 's|^\./||' | cpio --quiet -o -H newc -R 0:0) >"$T/overlay.cpio" || return 1
    cat "$cache/base.cpio" "$T/overlay.cpio" >"$T/initrd.cpio"
}

# machine KERNEL-ARGUMENT QEMU-ARGUMENT...: runs QEMU. Its icount option gives the machine the
# counter of instructions.
machine() {
    local append="console=ttyAMA0 panic=-1 rdinit=/init quiet nokaslr cryptomgr.notests rcupdate.rcu_cpu_stall_suppress=1 mitigations=off init_on_alloc=0 psi=0 $1"
    shift
    run_with_limit "$limit" qemu-system-aarch64 -M virt,gic-version=3 -cpu cortex-a57,pmu=on -m 2048 -icount shift=6,sleep=off -nodefaults -display none \
        -no-reboot -kernel "$cache/vmlinuz" -initrd "$T/initrd.cpio" -append "$append" "$@"
}

# section NAME: prints the console's lines between the marks of a test.
section() {
    awk -v name="$1" '$1 == "@@" { on = $2 == "begin" && $3 == name; next } on' "$T/console"
}

adopt_inside() {
    local name=$1 end code
    end=$(grep -E "^@@ end $name " "$T/console")
    section "$name" >"$T/section"
    read -r _ _ _ code _ <<<"$end"
    if [ -z "$end" ]; then
        adopt_tap "$name" 0 "$T/section"
        ok 1 "$name: ended before the machine did"
        diag "$(tail -n 20 "$T/console")"
        return
    fi
    [ "$code" != 124 ] || diag "$name: killed at its limit (# limit: in t/lab/inside/$name.sh)"
    adopt_tap "$name" "$code" "$T/section"
}

adopt_outside() {
    LAB_OUT=$T/out/$1 bash "$lab/outside/$1.sh" >"$T/section" 2>&1
    adopt_tap "$1, out here" $? "$T/section"
}

need qemu-system-aarch64 qemu-system-arm
need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
need cpio cpio
need flock util-linux
[ ! -e "$REGTRACE_SOURCE/config.status" ] ||
    skip_all "the source folder is configured itself: it cannot be built elsewhere as well"
mkdir -p "$cache" "$cross" && exec 9>"$cache/lock" || exit 99
flock -w 900 9 || skip_all "another run has held $cache for 15 minutes"

tests=("$@")
if [ $# = 0 ]; then
    mapfile -t tests < <(cd "$lab/inside" && printf '%s\n' *.sh | sed 's/\.sh$//')
fi
seconds=$SECONDS
make_root
diag "root: $((SECONDS - seconds)) s"
# Check that adopt_tap finds tests that fail, end early, or end with a bad status.
adopted() { printf '%b' "$2" >"$T/section" && (rt_failed=0 && adopt_tap x "$1" "$T/section" >/dev/null; echo "$rt_failed"); }
is "$(adopted 0 '1..1\nok 1 - a\n') $(adopted 1 '1..2\nok 1 - a\nnot ok 2 - b\n') $(adopted 0 '1..2\nok 1 - a\n')" "0 1 1" \
    "a test that fails or ends early is seen"
is "$(adopted 0 'ok 1 - a\n') $(adopted 3 '1..1\nok 1 - a\n') $(adopted 0 'Bail out! b\n1..0\n')" "1 1 1" \
    "so is one without a plan, with a bad status, or that gives up"
seconds=$SECONDS
ok_run "the project is built for aarch64, without a warning" cross_build || done_testing
ok_run "the machine's memory is filled" overlay || done_testing
diag "cross-build: $((SECONDS - seconds)) s"
if [ "${1:-}" = shell ]; then
    limit=0
    machine lab.shell -serial mon:stdio
    rt_finished=1
    exit 0
fi

seconds=$SECONDS
machine "lab.tests=$(IFS=, && echo "${tests[*]}")" -serial stdio -chardev "file,id=out,path=$T/out.tar.gz" \
    -device pci-serial,chardev=out </dev/null 2>"$T/qemu.err" | sed -u 's/\r//g' |
    while IFS= read -r line; do
        # Add the time that a test takes outside.
        case $line in '@@ '*) line+=" at $((SECONDS - seconds)) s" ;; esac
        printf '%s\n' "$line"
    done >"$T/console"
status=${PIPESTATUS[0]}
diag "machine: $((SECONDS - seconds)) s"
sed -n 's/^@@ /# /p' "$T/console"
grep -q '^@@ off ' "$T/console" || [ "$status" != 0 ] || status='0, before its end'
ok "$status" "the machine boots and powers off" || {
    [ "$status" != 124 ] || diag "killed after $limit seconds (REGTRACE_LAB_LIMIT)"
    diag "$(tail -n 40 "$T/console" "$T/qemu.err")"
}
for name in "${tests[@]}"; do adopt_inside "$name"; done
sent=$(awk '$1 == "@@" && $2 == "sent" { print $3 }' "$T/console")
is "$(stat -c %s "$T/out.tar.gz" 2>/dev/null)" "${sent:-nothing}" "what the tests left is sent, whole"
mkdir -p "$T/out" && tar -C "$T/out" -xzf "$T/out.tar.gz" 2>"$T/tar.err"
for name in "${tests[@]}"; do
    [ ! -e "$lab/outside/$name.sh" ] || adopt_outside "$name"
done
done_testing
