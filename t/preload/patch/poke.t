#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Patched jumps are written and removed while eight threads, and a handler in them, execute the
# instructions that they displace. REGTRACE_POKE_SECONDS: how long each of the two builds does so.
. "$(dirname "$0")/../../lib.sh"
P=$T/poke
export XDG_CACHE_HOME=$T/cache
needs probes
seconds=${REGTRACE_POKE_SECONDS:-4}
chains=
for f in frame pushes whole singles four two three; do
    chains="$chains${chains:+;}precond:enter_func:f_$f"
done

# poked ARGUMENT...: runs the program with these chains, and those in $more.
poked() {
    rm -rf "$T/run" "$T/log"
    run $((seconds + 120)) env REGTRACE_DIR="$T/run" REGTRACE_CONTROL="$chains$more" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$LIBREGTRACE" "$P" "$@"
    fired=$(grep -c "event precond" "$T/log")
}

for how in "-O2 -fPIE -pie" "-O2 -fno-pie -no-pie"; do
    cc $how -D_GNU_SOURCE -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/poke.c" -pthread || exit 99
    more=
    poked "$seconds" "${how##* }" # -pie or -no-pie
    read -r rounds there gone <<<"$out"
    is "$status" 0 "$how: every result is right" || diag "$out $err"
    [ "${rounds:-0}" -ge 5 ]
    ok $? "threads begin and end: $rounds"
    is "$there" "${rounds:-some}" "a jump is there as each thread begins"
    if [ "$how" = "-O2 -fPIE -pie" ]; then
        is "$gone" "${rounds:-some}" "and is gone when nothing is armed any more"
    else
        is "$gone" 0 "and stays where it could not be put back: 858 MB below the program there is nothing"
    fi
    is "$fired" $((7 * rounds + 63)) "each of them came to each place once, and the nine others too"
done

cat >"$T/late.c" <<'END'
__asm__(".text\n.globl late\n.type late,@function\n"
        "late: push %rbp; mov %rsp,%rbp; lea 1(%rdi),%rax; pop %rbp; ret\n.size late,.-late\n");
END
cc -shared -fPIC -o "$T/liblate.so" "$T/late.c" || exit 99
more=';precond:enter_func:late,repeat'
poked dlopen "$T/liblate.so"
is "$status $fired" "0 $((56 + 100))" "a library that comes while threads run has its places too" || diag "$out $err"
like "$out" '^(e9|cc) 5050$' "by a jump, or an int3 where a thread's memory lies 858 MB below it"

# An ended thread that is still there, and one that blocks SIGTRAP in the tracer, keep no jump out.
cc -O2 -D_GNU_SOURCE -fPIE -pie -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/poke.c" -pthread || exit 99
if (ulimit -n 20000) 2>/dev/null; then
    ulimit -n 20000
    more=
    poked 6 -pie 19900
    read -r rounds there gone <<<"$out"
    is "$status $there $gone" "0 ${rounds:-some} $rounds" "threads end slowly: each round has its jumps" || diag "$out $err"
    is "$fired" $((7 * rounds + 63)) "and all events"
else
    skip "threads end slowly" "no 20,000 files"
fi
done_testing
