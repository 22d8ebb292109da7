#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every conversion, in a build with the address and undefined-behaviour sanitizers, on real runs and
# on damaged copies of them.
. "$(dirname "$0")/../lib.sh"
[ "$PYTHON" != no ] || skip_all 'no python3'
mpi=$(mpis | tail -1)
[ -n "$mpi" ] || skip_all 'no MPI here'
[ -z "$(find "$REGTRACE_SOURCE" -maxdepth 1 -name config.status)" ] || skip_all 'the source folder is configured itself: it cannot be built elsewhere as well'
cd "$T" || exit 99
mkdir build
(
    unset MAKEFLAGS MFLAGS MAKELEVEL TESTS TEST_LOGS
    cd build && "$REGTRACE_SOURCE/configure" CFLAGS='-O0 -g1' --enable-sanitizers=address,undefined >../configure.out 2>&1 &&
        make -j2 regtrace >../make.out 2>&1
)
ok $? 'a build for the sanitizers' || { diag "$(tail -5 configure.out make.out)"; done_testing; }

rt_limit=60
run 60 mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=start:pcontrol:solve,stop:pcontrol:solved,repeat \
    REGTRACE_DIR="$T/windows" "$APPS/stencil.$mpi"
is "$status" 0 'a run with windows'
run 60 mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_FUNCTIONS=. REGTRACE_SAMPLE=cpu:5ms REGTRACE_DIR="$T/whole" "$APPS/stencil.$mpi"
is "$status" 0 'a run with functions and samples'
for name in windows whole; do
    ok_run "$name is as it should be" "$REGTRACE" check -wait 30 $name
done
WITHOUT_OTF2=0
"$REGTRACE" export -otf2 otf2 whole 2>otf2.err || WITHOUT_OTF2=1
[ $WITHOUT_OTF2 = 0 ] || skip 'OTF2' "$(tail -1 otf2.err)"
export WITHOUT_OTF2 ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 UBSAN_OPTIONS=print_stacktrace=1
PYTHONDONTWRITEBYTECODE=1 "$PYTHON" "$here/conversions.py" "$T/build/regtrace" "$T/damaged" "${REGTRACE_TEST_ROUNDS:-6}" "$T/windows" "$T/whole" >conversions.out 2>&1
ok $? 'all were tried'
while read -r line; do
    case $line in
    'ok '*) ok 0 "${line#* - }" ;;
    'not ok '*) ok 1 "${line#* - }" ;;
    '#'*) echo "$line" ;;
    1..*) rounds=$line ;;
    *) diag "$line" ;;
    esac
done <conversions.out
isnt "${rounds:-}" '' 'to the end'
done_testing
