#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Threads with the smallest stacks, 2 KiB of TLS and alternate stacks of 8,192 bytes behave as
# without the tracer, with every option.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../same.sh"
cc -O1 -g -o "$T/stacks" "$here/stacks.c" -pthread || exit 99
# A library with as much TLS as a memory allocator has.
echo '__thread char large[3072] __attribute__((tls_model("initial-exec"))); char *of_large(void) { return large; }' >"$T/large.c"
cc -shared -fPIC -O1 -o "$T/liblarge.so" "$T/large.c" || exit 99

same "nothing asked for" "$T/stacks" 4
cc -O1 -g -o "$T/beside" "$here/stacks.c" -pthread -L"$T" -Wl,--no-as-needed -llarge -Wl,-rpath,"$T" || exit 99
same "200 threads beside a library with 3 KiB of TLS" "$T/beside" 200
on_signals='start:signal:SIGUSR1,stop:signal:SIGUSR2,repeat'
on_time='start:timeout:500us,stop:timeout:100us,repeat:1000'
few='^(work|leaf|handled)$'
same "windows on signals" REGTRACE_CONTROL="$on_signals" "$T/stacks" 4
same "windows on timeouts" REGTRACE_CONTROL="$on_time" "$T/stacks" 4
same "windows on timeouts, for all" REGTRACE_CONTROL='start:timeout:500us:bcast,stop:timeout:100us:bcast,repeat:1000' "$T/stacks" 4
same "samples" REGTRACE_SAMPLE=cpu:100us REGTRACE_SAMPLE_DEPTH=64 "$T/stacks" 4
same "samples, windows on signals" REGTRACE_SAMPLE=cpu:100us REGTRACE_CONTROL="$on_signals" "$T/stacks" 4
same "events of the kernel" REGTRACE_EVENTS=page-faults REGTRACE_CONTROL="$on_signals" "$T/stacks" 4
if [ "$(uname -m)" = x86_64 ] && [ -x "$REGTRACE_BUILD/isa/regtrace-isa" ]; then
    same "functions" REGTRACE_FUNCTIONS="$few" "$T/stacks" 4
    same "functions, call paths" REGTRACE_FUNCTIONS="$few" REGTRACE_CALLPATH=64 "$T/stacks" 4
    same "functions, windows on signals" REGTRACE_FUNCTIONS="$few" REGTRACE_CONTROL="$on_signals" "$T/stacks" 4
    same "functions, windows on timeouts" REGTRACE_FUNCTIONS="$few" REGTRACE_CONTROL="$on_time" "$T/stacks" 4
    for function in work leaf handled; do
        same "enter_func and exit_func of $function" \
            REGTRACE_CONTROL="start:enter_func:$function,stop:exit_func:$function,repeat:200" "$T/stacks" 4
    done
    same "isa_category" REGTRACE_CONTROL='start:isa_category:CALL:count100,stop:isa_category:RET:count50,repeat:100' "$T/stacks" 4
    same "steps" REGTRACE_PMU=step REGTRACE_CONTROL='start:icount:2000,stop:icount:3000' "$T/stacks" 2
    same "values" REGTRACE_VALUES=vp-addr REGTRACE_VALUES_SAMPLE=cpu:100us REGTRACE_VALUES_FOLLOW=16 "$T/stacks" 4
    same "memory" REGTRACE_MEMORY=. "$T/stacks" 4
    same "memory, windows on signals" REGTRACE_MEMORY=. REGTRACE_CONTROL="$on_signals" "$T/stacks" 4
    same "memory, windows on timeouts" REGTRACE_MEMORY=. REGTRACE_CONTROL="$on_time" "$T/stacks" 4
    same "memory, windows at functions" REGTRACE_MEMORY=. \
        REGTRACE_CONTROL='start:enter_func:handled,stop:timeout:100us,repeat:200' "$T/stacks" 4
else
    skip "probes, steps, values and memory traces" "they are for x86-64 with Zydis"
fi
done_testing
