#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of the kernels (t/kernels) by several compilers, levels and plans. In a window the
# replay is, access for access, what single steps by ptrace show for the same run. In order and
# counts it is what valgrind's lackey shows.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/exact.inc"
kernels=$REGTRACE_SOURCE/t/kernels
ISA=$REGTRACE_BUILD/isa/regtrace-isa
cc -O2 -Wall -c -o window.o "$kernels/window.c" || exit 99

# arguments NAME: prints the arguments of the kernel for tests.
arguments() { awk -v n="$1" '$1 == n { gsub(",", " ", $3); print $3 }' "$kernels/list"; }
# compiled NAME OUT COMPILER FLAG...: compiles a kernel. Returns 1, and says why, if that is not
# possible or this processor cannot run it.
compiled() {
    local name=$1 out=$2 sources
    shift 2
    mapfile -t sources < <(awk -v n="$name" -v d="$kernels" '$1 == n { k = split($2, s, ","); for (i = 1; i <= k; i++) print d "/" s[i] }' "$kernels/list")
    command -v "$1" >/dev/null || { skip "$name, $*" "$1 is not installed"; return 1; }
    ! grep -q 'pragma omp' "${sources[0]}" || set -- "$@" -fopenmp
    "$@" -o "$out" "${sources[@]}" window.o -lm 2>compile.err || { ok 1 "$name, $*: compiled" || diag "$(head -5 compile.err)"; return 1; }
    # shellcheck disable=SC2046
    "./$out" $(arguments "$name") >/dev/null 2>&1 || { skip "$name, $*" "this processor cannot run it"; return 1; }
}
# others PROGRAM: prints the functions that open and close the windows of other threads. They are no
# part of the window.
others() { objdump -d --no-show-raw-insn "$1" | awk '/^[0-9a-f]+ </ { f = substr($2, 2, length($2) - 3) } /(call|jmp).*<(open|close)_window>/ && tolower(f) !~ /^main/ { print f }' | sort -u | paste -sd,; }

# variables PLAN COUNT: sets variables to the whole environment of a run, which has no cache: plans
# that are found there would change the heap from the first run to the second. Call number COUNT of
# open_window opens its window.
variables() {
    variables=(TMPDIR=/proc/nowhere OMP_WAIT_POLICY=passive OMP_NUM_THREADS=3 REGTRACE_DIR="$T/exact" REGTRACE_SHM="$REGTRACE_SHM" REGTRACE_MEMORY=. REGTRACE_MEMORY_PLAN="$1"
        REGTRACE_CONTROL="start:enter_func:open_window:count$2,stop:enter_func:close_window:count$2" LD_PRELOAD="$LIBREGTRACE")
}
# recorded NAME PROGRAM PLAN: records the program and writes its replay to the file replayed. The
# program must print what it printed without the tracer.
recorded() {
    local name=$1 program=$2 plan=$3
    remove_run exact
    variables "$plan" 0000001
    # shellcheck disable=SC2046
    setarch -R env -i "${variables[@]}" "./$program" $(arguments "$name") >cloned.out 2>cloned.err </dev/null
    "$REGTRACE" skel replay exact >replayed 2>said || diag "$(cat said)"
    is "$(grep -v '^ns' cloned.out) $(cat cloned.err)" "$(grep -v '^ns' bare.out) " "$name, $plan: prints what it prints without"
}
# stepped NAME PROGRAM PLAN: steps through the same run without its window, and writes its accesses
# to the file steps.
stepped() {
    local name=$1 program=$2 plan=$3 bias from to at size fast=(-f)
    ! nm "$program" | grep -qE 'GOMP|kmpc|pthread_create' || fast=()
    bias=$(bias_of "$program") from=$(symbol "$program" open_window) to=$(symbol "$program" close_window)
    read -r at size < <(section "$program")
    remove_run exact
    variables "$plan" 1000001
    # shellcheck disable=SC2046
    timeout 500 "$STEPPER" "${fast[@]}" -w "$(printf '%x:%x' $((bias + from)) $((bias + to)))" -r "$(printf '%x:%x' $((bias + at)) $((bias + at + size)))" -o steps \
        "${variables[@]}" "./$program" $(arguments "$name") >bare.out 2>bare.err </dev/null || diag "the single-stepper: $?, $(cat bare.err)"
}
# exact TITLE PROGRAM HOW EXPECTED [OPTION]...: compares the replay with the accesses in EXPECTED.
exact() {
    local title=$1 program=$2 how=$3 expected=$4 said
    shift 4
    said=$("$PYTHON_ANY" "$kernels/exact.py" "$how" "$program" "$(printf %x "$(bias_of "$program")")" "$expected" replayed "$@" -without "$(others "$program"),-" 2>&1)
    like "$said" '^[0-9]+ accesses of' "$title"
    diag "$title: $said, of $(sed -n 's/^# rank.* \([0-9]*\) bytes.*/\1/p' replayed | paste -sd+) bytes"
}
# by_steps NAME PLANS COMPILER FLAG...: compares a kernel with single steps, for each plan.
by_steps() {
    local name=$1 plans=$2 plan any=()
    shift 2
    compiled "$name" program "$@" || return
    unlike "$("$ISA" skel --copies copies --skeleton skeleton.c program)" '^none' "$name, $*: every function has a copy"
    [ "$name" != tasks ] || any=(-any-order)
    for plan in $plans; do
        stepped "$name" program "$plan"
        recorded "$name" program "$plan"
        exact "$name, $*, $plan: single steps" program steps steps "${any[@]}"
    done
}
# by_lackey NAME COMPILER FLAG...: compares a kernel with lackey. The program is not
# position-independent, because only then its addresses under valgrind are known.
by_lackey() {
    local name=$1 any=()
    shift
    command -v valgrind >/dev/null || { skip "$name, $*: lackey" "valgrind is not installed"; return; }
    compiled "$name" program "$@" -no-pie -fno-pie || return
    # shellcheck disable=SC2046
    OMP_NUM_THREADS=3 timeout 500 valgrind --tool=lackey --trace-mem=yes --log-file=lackey "./program" $(arguments "$name") >bare.out 2>said </dev/null || diag "$(tail -3 said)"
    recorded "$name" program skeleton
    ! nm program | grep -qE 'GOMP|kmpc' || any=(-any-order)
    exact "$name, $*: lackey" program lackey lackey "${any[@]}"
}
# compiler_of NAME COMPILER: prints the compiler for the kernel's language, or nothing if this
# family has none.
compiler_of() {
    case $1:$2 in
    objects:gcc) echo g++ -std=c++17 ;;
    objects:clang) echo clang++ -std=c++17 ;;
    *_f:gcc) echo gfortran ;;
    *_f:*) ;;
    *) echo "$2" ;;
    esac
}

if [ -n "${MEMORY_LONG:-}" ]; then
    for family in gcc clang; do
        for level in -O0 -O1 -O2 -O3 '-O3 -march=x86-64-v3'; do
            for name in $(awk '!/^#/ { print $1 }' "$kernels/list"); do
                compiler=$(compiler_of "$name" $family)
                [ -n "$compiler" ] || continue
                # shellcheck disable=SC2086
                by_steps "$name" 'skeleton registers addresses' $compiler $level
                # shellcheck disable=SC2086
                by_lackey "$name" $compiler $level
            done
        done
    done
else
    for name in $(awk '!/^#/ { print $1 }' "$kernels/list"); do
        # shellcheck disable=SC2046
        by_steps "$name" skeleton $(compiler_of "$name" gcc) -O2
    done
    by_steps sort 'registers addresses' gcc -O1
    by_steps sparse skeleton gcc -O3 -march=x86-64-v3
    by_steps recurse skeleton clang -O0
    by_steps tasks skeleton clang -O1
    by_lackey su3_f gfortran -O3 -march=x86-64-v3
    by_lackey objects clang++ -std=c++17 -O2
    by_lackey tasks gcc -O2
fi

# Mid-function entries too, and copies that are made while the program runs.
cc -O2 -I"$REGTRACE_SOURCE" -o midway "$here/programs/memory_midway.c" || exit 99
for plan in registers addresses; do
    for part in 'name 200 8500 start:enter_func:open_window,stop:enter_func:close_window' 'start 100 5100 start:timeout:100000s'; do
        read -r way calls accesses chain <<<"$part"
        rm -rf late log
        env MEMORY_LOG="$T/log" REGTRACE_DIR="$T/late" REGTRACE_MEMORY='^[^l]' REGTRACE_MEMORY_PLAN=$plan REGTRACE_CONTROL="$chain,repeat:100000" \
            LD_PRELOAD="$LIBREGTRACE" ./midway "$way" 100 >said 2>&1 || diag "$(tail -3 said)"
        "$REGTRACE" skel replay late >replayed 2>said || diag "$(cat said)"
        is "$("$PYTHON_ANY" "$here/memory.py" ./midway log replayed 2>&1)" "100 windows, $calls calls, $accesses accesses, ended early: 0" "opened within a function, by $way, $plan"
    done
done

# What is recorded is counted as it is replayed. The plan of addresses records a value for each
# access; the plan of skeletons records few values.
counted() { recorded sort program "$1" >/dev/null; "$REGTRACE" skel replay -format count exact | sed -n 's/^# \([0-9]* accesses\), .*, \([0-9]* values\) and \([0-9]* outcomes\) recorded$/\1 \2 \3/p'; }
compiled sort program gcc -O2 && read -r all _ values _ outcomes _ <<<"$(counted addresses)"
is "$all" "$values" "by the plan of addresses there is a value for each access"
read -r same _ fewer _ less _ <<<"$(counted skeleton)"
is "$same" "$all" "as many accesses by that of skeletons"
ok_run "of fewer values, $fewer, and outcomes, $less" test "$((2 * fewer))" -lt "$values" -a "$less" -lt "$outcomes"

# Check of the check: it must find another address, another size, another order, a missing access
# and an added one.
compiled sort program gcc -O2 && stepped sort program skeleton && recorded sort program skeleton && cp replayed whole
at=$(grep -n '^[^#]' whole | sed -n '9s/:.*//p')
for change in "${at}s/\$/0/" "${at}s/ [0-9]* \([0-9a-f]*\)\$/ 3 \1/" "${at}{h;d};$((at + 1))G" "${at}d" "${at}p"; do
    sed "$change" whole >replayed
    said=$("$PYTHON_ANY" "$kernels/exact.py" steps program "$(printf %x "$(bias_of program)")" steps replayed 2>&1)
    like "$said" '^thread 0, access [0-9]+ of' "a replay is seen that was changed by $change"
done
done_testing
