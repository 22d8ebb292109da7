#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Values that are known beforehand, from the program to `regtrace values`: which occur, where, and
# in which processes and windows. t/preload/values/followed.c tests that values are exact.
. "$(dirname "$0")/../../lib.sh"
needs values
cd "$T" || exit 99

cat >kernel.c <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef USE_MPI
#include <mpi.h>
#endif

static double numbers[1024];

/* r13 holds 8 in three of four iterations, else 10. */
__attribute__((noinline)) void three_of_four(long n);
void three_of_four(long n)
{
    for (long i = 0; i < n; i++)
        __asm__ volatile("lea 1(%0), %%r13" ::"r"((i & 3) == 3 ? 9L : 7L) : "r13");
}

/* Each second number. */
__attribute__((noinline)) double strided(const double *at, long n);
double strided(const double *at, long n)
{
    double sum = 0;
    for (long i = 0; i < n; i += 2)
        __asm__ volatile("addsd (%1), %0" : "+x"(sum) : "r"(at + i));
    return sum;
}

static double spent(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(double seconds)
{
    for (double end = spent() + seconds; spent() < end;) {
        three_of_four(10000);
        if (strided(numbers, 1024) != 0)
            abort();
    }
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
#ifdef USE_MPI
    MPI_Init(&argc, &argv);
#endif
    work(seconds);
    if (argc > 2 && fork() == 0) {
        work(seconds);
        return 0;
    }
    while (argc > 2 && wait(NULL) > 0)
        ;
#ifdef USE_MPI
    MPI_Finalize();
#endif
    printf("%p\n", (void *)numbers);
    return 0;
}
END
cc -O2 -g -fno-omit-frame-pointer -o kernel kernel.c || exit 99

# about BASE registers|addresses DIR...: prints a summary of what `regtrace values` has of these
# runs.
cat >about.py <<'END'
import json, subprocess, sys
d = json.loads(subprocess.run([sys.argv[1], "values", "-json", "-cut", "0", "-most", "0", *sys.argv[4:]], stdout=subprocess.PIPE, check=True).stdout)
base = int(open(sys.argv[2]).read().split()[0], 16)
values = lambda code: {int(v["value"], 16) for i in d["instructions"] if i["function"] in ("three_of_four", "strided") and i["code"].startswith(code) for v in i["hot"]}
if sys.argv[3] == "registers":
    print(d["processes"], sorted(values("4c8d")))
else:
    wrong = [hex(v) for v in values("f20f58") if v < base or v >= base + 8192 or (v - base) % 16 != 0]
    print(d["processes"], "wrong" if wrong else "right", sum(i["values"] for i in d["instructions"] if i["function"] == "strided") > 0, *wrong[:3])
END
about() { "$PYTHON_ANY" about.py "$REGTRACE" "$@" 2>&1; }

for follow in 16 64; do
    run 120 "$REGTRACE" run -quiet -o regs$follow -values vp-classic -values-follow $follow -values-sample cpu:1ms -- ./kernel 2
    is "$status $err" '0 ' "registers, $follow followed: the program ends as it would"
    printf '%s\n' "$out" >base
    is "$(about base registers regs$follow)" '1 [8, 10]' "registers, $follow followed: both values of r13, and no other"
    ok_run "registers, $follow followed: the run is sound" "$REGTRACE" check regs$follow
done

run 120 "$REGTRACE" run -quiet -o addresses -values vp-addr -values-follow 8 -values-sample cpu:1ms -vcontext caller -- ./kernel 2
printf '%s\n' "$out" >base
is "$(about base addresses addresses)" '1 right True' 'addresses: each of a number that the loop reads'
like "$("$REGTRACE" values -contexts -cut 0 -function strided addresses)" ' in [a-z]+ 0x[0-9a-f]+\)' 'and the caller with it, by its name'
run 120 "$REGTRACE" run -quiet -o more -values vp-addr -values-follow 8 -values-sample cpu:1ms -vcontext caller -- ./kernel 1
callers() { "$REGTRACE" values -contexts -cut 0 -most 0 -function strided "$@" | grep -oE ' in [a-z_]+ 0x[0-9a-f]+' | sort -u; }
is "$(callers addresses more)" "$(callers addresses)" 'callers are the same places in two processes'
unlike "$("$REGTRACE" dump addresses)" 'EV_VALUES' 'none of it stands among the events'

run 120 "$REGTRACE" run -quiet -o forked -values vp-classic -values-follow 16 -values-sample cpu:1ms -- ./kernel 1 fork
printf '%s\n' "$out" >base
is "$(about base registers forked)" '2 [8, 10]' 'a forked child has values of its own'

run 120 "$REGTRACE" run -quiet -o gap -control start:pcontrol:never -values vp-classic -values-sample cpu:1ms -- ./kernel 0.2
like "$("$REGTRACE" values gap 2>&1)" ' 0 samples|no |nothing' 'outside windows there are none'

run 120 "$REGTRACE" run -o no -values vp-nosuch -- ./kernel 0.1
is "$status" 2 'a plug-in that is not there is refused before the start'
like "$err" 'there is no plug-in of the name vp-nosuch' 'by its name'
[ ! -e no ]
is $? 0 'and nothing is made'

# If nothing was captured, the output says what to do. The first program has a loop without access
# to memory; the second ends at once, without a sample.
echo 'int main(void) { for (long i = 0; i < 800000000; i++) __asm__ volatile(""); return 0; }' | cc -O2 -o empty -xc - || exit 99
run 120 "$REGTRACE" run -quiet -o run.empty -values vp-addr -values-sample cpu:1ms -- ./empty
run 60 "$REGTRACE" values run.empty
like "$out" '^No instruction to list: the instructions that samples came to .*-values-follow' "nothing is captured: the remedy"
run 120 "$REGTRACE" run -quiet -o run.short -values vp-addr -values-sample cpu:10s -- ./kernel 0
run 60 "$REGTRACE" values run.short
like "$out" '^No instruction to list: no sample was taken .*-values-sample' "no sample: the remedy"

for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -DUSE_MPI -O2 -g -o kernel.$mpi kernel.c 2>cc; then
        skip "values under $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    run 120 "$REGTRACE" run -quiet -o run.$mpi -values vp-classic -values-follow 16 -values-sample cpu:1ms -- "mpirun.$mpi" -np 2 ./kernel.$mpi 1
    is "$status" 0 "$mpi: the program ends as it would" || diag "$err"
    printf '%s\n' "$out" >base
    is "$(about base registers run.$mpi)" '2 [8, 10]' "$mpi: two ranks, merged"
done
done_testing
