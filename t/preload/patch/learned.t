#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What regtrace must find out within a window counts as its own overhead: where a call through a
# pointer returns to, and the functions of a library that dlopen() loads. A stand-in for
# regtrace-isa takes a fifth of a second for each.
. "$(dirname "$0")/../../lib.sh"
export XDG_CACHE_HOME=$T/cache
needs probes
cat >"$T/plugin.c" <<'END'
void gamma_of_plugin(void) { __asm__ volatile("movl $1, %%eax\n\tmovl $2, %%ecx" ::: "eax", "ecx"); }
END
cat >"$T/p.c" <<'END'
#include <dlfcn.h>
#define FUNCTION(name) __attribute__((noinline)) void name(void) { __asm__ volatile("movl $1, %%eax\n\tmovl $2, %%ecx" ::: "eax", "ecx"); }
FUNCTION(alpha) FUNCTION(beta)
static void (*volatile function)(void) = alpha;
__attribute__((noinline)) void pointers(void)
{
    function();
    function = beta;
    function();
    for (int i = 0; i < 100; i++)
        function();
}
__attribute__((noinline)) int load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    return library == 0;
}
int main(int argc, char **argv)
{
    if (argc > 1)
        return load(argv[1]);
    pointers();
    return 0;
}
END
cc -O1 -fno-optimize-sibling-calls -o "$T/p" "$T/p.c" -ldl && cc -O1 -shared -fPIC -o "$T/plugin.so" "$T/plugin.c" || exit 99
mkdir "$T/lib"
cp -L "$LIBREGTRACE" "$T/lib/libregtrace.so"
ln -s "$REGTRACE_WRITER_PROGRAM" "$T/lib/regtrace-writer"
cat >"$T/lib/regtrace-isa" <<END
#!/bin/sh
case "\$*" in
*--instruction*|*plugin.so*) echo "\$*" >>"$T/asked"; /bin/sleep 0.2 ;;
esac
exec "$REGTRACE_BUILD/isa/regtrace-isa" "\$@"
END
chmod +x "$T/lib/regtrace-isa"

# learns N WHAT FUNCTION ARGUMENT...: in a window of that function regtrace-isa is asked N times,
# and the slow path has at least that time.
learns() {
    local n=$1 what=$2 function=$3
    shift 3
    rm -rf "$T/run"
    : >"$T/asked"
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_FUNCTIONS='^(alpha|beta)$;^gamma.*@plugin.so' REGTRACE_CONTROL="start:enter_func:$function,stop:exit_func:$function" LD_PRELOAD="$T/lib/libregtrace.so" "$T/p" "$@"
    is "$status $(grep -c . "$T/asked")" "0 $n" "$what: $n questions in a window" || diag "$err" "$(cat "$T/asked")"
    run 60 "$REGTRACE" report --json "$T/run"
    own=$("$PYTHON" -c 'import json, sys; print(int(sum(r["overhead"]["slow_path_ns"] for r in json.load(sys.stdin)["ranks"])))' <<<"$out")
    [ "$own" -ge $((n * 200000000)) ]
    ok $? "$what: the own overhead has them" || diag "$own ns"
}
learns 3 'calls through pointers' pointers
learns 1 'a library that is loaded' load "$T/plugin.so"
done_testing
