#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs compiled with -fsanitize= run as without the tracer, or are refused before they start.
. "$(dirname "$0")/../lib.sh"
grep -q '^S\["SANITIZERS_TRUE"\]="#"' "$REGTRACE_BUILD/config.status" ||
    skip_all "this build is itself for a sanitizer"
export XDG_CACHE_HOME=$T/cache
cd "$T" || exit 99
can_probe=
[ -x "$REGTRACE_BUILD/isa/regtrace-isa" ] && can_probe=yes

# built PROGRAM COMPILER OPTION...: compiles it. Returns false, with a skipped test, if this machine
# lacks the compiler or its runtime, or if the program does not run untraced.
built() {
    local program=$1
    shift
    if ! "$@" -g -O1 -o "$program" "$here/sanitized.c" -lpthread 2>"$T/cc" || [ "$(./"$program" 2>/dev/null)" != 104 ]; then
        skip "$*" "this compiler or its runtime is not here, or does not work here: $(head -1 "$T/cc")"
        return 1
    fi
}

# works PROGRAM COMPILER OPTION...: checks that the program runs traced and with alarms, and is
# recorded.
works() {
    built "$@" || return
    local name=${*:2}
    run 60 "$REGTRACE" run -quiet -o "$1.run" -- "./$1"
    is "$status $out" "0 104" "$name: the program runs" || diag "$err"
    run 60 "$REGTRACE" run -quiet -o "$1.window" -control start:signal:10 ${can_probe:+-control start:enter_func:called} -- "./$1"
    is "$status $out" "0 104" "$name: with alarms" || diag "$err"
    isnt "$("$REGTRACE" report --json "$1.window" | grep -c '"ordinal"')" 0 "$name: it is recorded"
    local option
    for option in ${can_probe:+-functions -memory}; do
        run 100 "$REGTRACE" run -quiet -o "$1$option" $option . -- "./$1"
        is "$status $out" "0 104" "$name: with $option of the whole program" || diag "$err"
    done
}

runtime=$(dirname "$(clang -print-file-name=libclang_rt.asan-x86_64.so 2>/dev/null)")
works asan_gcc gcc -fsanitize=address
works asan_clang clang -fsanitize=address
works asan_shared clang -fsanitize=address -shared-libasan -Wl,-rpath,"$runtime"
works undefined gcc -fsanitize=undefined
works leak gcc -fsanitize=leak
for program in asan_gcc asan_clang asan_shared; do
    [ -x $program ] || continue
    ./$program over >/dev/null 2>&1
    bare=$?
    run 60 "$REGTRACE" run -quiet -o $program.over -- ./$program over
    is "$status" "$bare" "$program: what it finds ends it as ever"
    like "$err" 'heap-buffer-overflow' "and it says so"
done

# refused PROGRAM NAME COMPILER OPTION...: checks that the program is refused, because it is built
# for the sanitizer NAME.
refused() {
    local program=$1 what=$2
    shift 2
    built "$program" "$@" || return
    run 60 "$REGTRACE" run -o "$program.run" -- "./$program"
    is "$status|$out" "2|" "$*: refused before it starts" || diag "$err"
    like "$err" "this program is built for $what .*: trace a build without" "with the reason and the remedy"
    local said=${err#*: }
    run 60 env REGTRACE_DIR="$T/$program.alone" LD_PRELOAD="$LIBREGTRACE" "./$program"
    is "$status|$out" "2|" "by the library alone too" || diag "$err"
    is "$(head -1 <<<"${err#*: }")" "$said" "in the same words"
    run 60 "$REGTRACE" run -on-error continue -o "$program.run" -- "./$program"
    is "$status|$out" "0|104" "-on-error continue runs it untraced" || diag "$err"
}
refused tsan_gcc ThreadSanitizer gcc -fsanitize=thread
refused tsan_clang ThreadSanitizer clang -fsanitize=thread
refused msan MemorySanitizer clang -fsanitize=memory

# Launchers pass the sanitizer's runtime to the ranks only.
export ASAN_OPTIONS=detect_leaks=0 # MPI itself leaks
for mpi in $(mpis); do
    if ! mpicc."$mpi" -g -fsanitize=address -DSANITIZED_MPI -o "ranks.$mpi" "$here/sanitized.c" -lpthread 2>/dev/null; then
        skip "$mpi: two ranks with AddressSanitizer" "it cannot be compiled here"
        continue
    fi
    run 120 "$REGTRACE" run -quiet -o "ranks.$mpi.run" -- mpirun."$mpi" -n 2 "./ranks.$mpi"
    is "$status $(grep -c '^104$' <<<"$out")" "0 2" "$mpi: two ranks with AddressSanitizer run" || diag "$err"
    is "$(find "ranks.$mpi.run" -name 'rank-*.h5' | grep -c .)" 2 "$mpi: and are recorded"
done
done_testing
