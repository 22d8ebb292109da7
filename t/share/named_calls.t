#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace.h and regtrace.f90: strict compilers do not complain, nothing happens without the
# library, and every call arrives with it, no matter how the program is linked.
# shellcheck source=t/lib.sh
. "$(dirname "$0")/../lib.sh"

include=$REGTRACE_SOURCE/share/include
want='start 0
type 7 1 phases of the day.
label 7 3 noon.
begin solve.
push 7 3
pop 7 3
set 8 5000000000
end solve.
stop 0
start 1
stop 1
fire 4 3 1
fire 10 -1 0'

# The stand-in is loaded as the library is.
gcc -shared -fPIC -I"$include" -o "$T/log.so" "$here/named_calls_log.c" || exit 99

# try NAME COMPILER ARGUMENT...: compiles without a message, does nothing alone, and every call
# arrives if the stand-in is preloaded.
try() {
    local name=$1 said
    shift
    if ! said=$("$@" -o "$T/program" 2>&1); then
        ok 1 "$name: compiles"
        diag "$said"
        return
    fi
    run 10 "$T/program"
    is "$said|$status|$out|$err" "|0|done|" "$name: no warning, and nothing happens without the library"
    run 10 env LD_PRELOAD="$T/log.so" "$T/program"
    is "$status|$out|$err" "0|done|$want" "$name: every call arrives"
}

strict=(-Wall -Wextra -Wconversion -Wshadow -pedantic -I"$include")
for std in c90 c17; do
    for compiler in gcc clang; do
        command -v $compiler >/dev/null || { skip "$compiler -std=$std" "no $compiler"; continue; }
        try "$compiler -std=$std" $compiler -std=$std "${strict[@]}" "$here/named_calls.c"
    done
done
for std in c++98 c++20; do
    for compiler in g++ clang++; do
        command -v $compiler >/dev/null || { skip "$compiler -std=$std" "no $compiler"; continue; }
        try "$compiler -std=$std" $compiler -x c++ -std=$std "${strict[@]}" "$here/named_calls.c"
    done
done
# -finstrument-functions does not instrument the named calls as functions of the program.
printf '#include <regtrace.h>\nint main(void) { regtrace_region_begin("a"); regtrace_region_end("a"); return 0; }\n' >"$T/plain.c"
for compiler in gcc clang; do
    command -v $compiler >/dev/null || { skip "$compiler -finstrument-functions" "no $compiler"; continue; }
    $compiler -O1 -finstrument-functions -I"$include" -c -o "$T/plain.o" "$T/plain.c"
    is "$(objdump -r "$T/plain.o" | grep -c cyg_profile_func_enter)" 1 "$compiler -finstrument-functions: main alone is entered"
done
while read -r -a how; do
    try "gcc ${how[*]}" gcc "${how[@]}" "${strict[@]}" "$here/named_calls.c"
done <<'LINKS'
-fPIE -pie
-fno-pie -no-pie
-fno-pie -no-pie -O2
-fPIE -no-pie -O2
-fPIE -pie -O2 -fno-plt
-O2 -flto
-O3 -Wl,-z,now -fvisibility=hidden
LINKS
for linker in gold lld; do
    command -v ld.$linker >/dev/null || { skip "ld.$linker" "no ld.$linker"; continue; }
    try "ld.$linker -no-pie" gcc -fuse-ld=$linker -fno-pie -no-pie "${strict[@]}" "$here/named_calls.c"
done
ok_run "static program" gcc -static "${strict[@]}" -o "$T/static" "$here/named_calls.c"
run 10 "$T/static"
is "$status|$out" "0|done" "nothing happens in a static program"

if command -v gfortran >/dev/null; then
    for how in -O0 -O2 -no-pie; do
        try "gfortran $how" gfortran $how -std=f2008 -Wall -Wextra -pedantic -J "$T" "$REGTRACE_SOURCE/share/fortran/regtrace.f90" \
            "$here/named_calls.f90"
    done
else
    skip "Fortran" "no gfortran"
fi
done_testing
