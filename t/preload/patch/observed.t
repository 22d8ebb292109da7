#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A window begins after its probes are written and ends before they are removed: another thread
# watches the code and the clock all the time. The time for writing probes counts as the thread's
# own overhead.
. "$(dirname "$0")/../../lib.sh"
needs h5py
[ "$(uname -m)" = x86_64 ] || skip_all 'probes are for x86-64'
grep -q '^flags.*constant_tsc' /proc/cpuinfo || skip_all 'no constant TSC: the clock of traces is another one'

{
    cat <<'END'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>
#define FUNCTION(n) __attribute__((noinline)) void g##n(void) { __asm__ volatile("movl $" #n ", %%eax\n\tmovl $1, %%ecx" ::: "eax", "ecx"); }
END
    for i in $(seq 0 1499); do echo "FUNCTION($i)"; done
    echo 'static void (*const g[])(void) = {'
    for i in $(seq 0 1499); do echo "g$i,"; done
    cat <<'END'
};
enum { WATCHED = 100, EVERY = 15, CALLS = 20 };
static unsigned char clean[WATCHED];
/* The last call in which the observer saw all watched bytes changed, and the last call after which
 * it saw all of them as before again. */
static volatile int dirty_in, clean_after;
static volatile int over;
static struct { uint64_t c, c2, after_c, after_c2, writing; } seen[CALLS + 1];
__attribute__((noinline)) void f(int call)
{
    while (dirty_in < call)
        ;
}
static int look(void)
{
    int n = 0;
    for (int i = 0; i < WATCHED; i++)
        n += *(volatile unsigned char *)(uintptr_t)g[i * EVERY] == clean[i];
    return n;
}
static void *observe(void *unused)
{
    uint64_t c, c2, last_c = 0, last_c2 = 0, first_dirty = 0;
    int call = 1;
    while (!over) {
        c = __rdtsc();
        int n = look();
        c2 = __rdtsc();
        if (dirty_in < call) {
            if (n != 0) {
                last_c = c;
                last_c2 = c2;
            }
            if (n != WATCHED && first_dirty == 0)
                first_dirty = c2;
            if (n == 0) {
                seen[call].c = last_c;
                seen[call].c2 = last_c2;
                seen[call].writing = last_c > first_dirty ? last_c - first_dirty : 0;
                dirty_in = call;
            }
        } else {
            if (n != 0 && seen[call].after_c == 0) {
                seen[call].after_c = c;
                seen[call].after_c2 = c2;
            }
            if (n == WATCHED) {
                clean_after = call++;
                first_dirty = 0;
            }
        }
    }
    return unused;
}
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < WATCHED; i++)
        clean[i] = *(unsigned char *)(uintptr_t)g[i * EVERY];
    pthread_create(&thread, NULL, observe, NULL);
    for (int call = 1; call <= CALLS; call++) {
        f(call);
        while (clean_after < call)
            ;
    }
    over = 1;
    pthread_join(thread, NULL);
    for (int i = 1; i <= CALLS; i++)
        printf("%llu %llu %llu %llu %llu\n", (unsigned long long)seen[i].c, (unsigned long long)seen[i].c2,
               (unsigned long long)seen[i].after_c, (unsigned long long)seen[i].after_c2, (unsigned long long)seen[i].writing);
    return 0;
}
END
} >"$T/p.c"
cc -O1 -w -o "$T/p" "$T/p.c" -pthread
run 300 env REGTRACE_DIR="$T/run" REGTRACE_FUNCTIONS='^g[0-9]+$' REGTRACE_CONTROL=start:enter_func:f:tid0,stop:exit_func:f:tid0,repeat \
    LD_PRELOAD="$LIBREGTRACE" "$T/p"
is "$status $(wc -l <<<"$out")" '0 20' 'twenty windows of one function' || diag "$err"
echo "$out" >"$T/seen"
run 60 "$PYTHON" "$REGTRACE_SOURCE/t/preload/patch/observed.py" "$T/run/rank-00000.h5" "$T/seen"
like "$out" '^begun before its probes were in: 0; closed after they went: 0$' 'the probes are in from the first to the last clock of each' || diag "$err"
like "$out" '^own overhead has the writing$' 'writing them is in the own overhead'
done_testing
