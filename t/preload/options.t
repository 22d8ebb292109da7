#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Options change which programs and processes are traced, what is recorded, how files are written,
# and how a run ends.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99

cat >p.c <<'END'
#include <regtrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int handled;
static void handler(int signo) { handled += signo != 0; }
static void region(const char *name) { regtrace_region_begin(name); regtrace_region_end(name); }
int main(int argc, char **argv)
{
    signal(SIGUSR1, handler);
    signal(SIGUSR2, handler);
    region("one");
    raise(SIGUSR1);
    region("two");
    raise(SIGUSR2);
    region("three");
    if (argc > 1 && strcmp(argv[1], "fork") == 0) {
        if (fork() == 0) {
            region("forked");
            execl(argv[0], argv[0], "execed", (char *)NULL);
        }
        wait(NULL);
    }
    if (argc > 1 && strcmp(argv[1], "exec") == 0)
        execl("./other", "other", (char *)NULL);
    printf("handled %d\n", handled);
    return 9;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o p p.c || exit 99
cp p other
printf '#include <unistd.h>\nint main(int n, char **v) { execv(v[1], v + 1); return n; }\n' >wrap.c
cc -o wrap wrap.c

# traced NAME [VAR=VALUE]... COMMAND...: runs the command. Sets events to the dump, which is empty
# if nothing was recorded.
traced() {
    local name=$1
    shift
    trace=$T/$name
    run 60 env REGTRACE_DIR="$trace" LD_PRELOAD="$LIBREGTRACE" "$@"
    events=$("$REGTRACE" dump "$trace" 2>/dev/null)
}
regions() { sed -n 's/.*EV_REGION_BEGIN .*region="\(.*\)".*/\1/p' <<<"$events" | xargs; }
files() { find "$trace" -name 'rank-*.h5' 2>/dev/null | wc -l; }

# Which programs are traced.
for how in REGTRACE_EXCLUDE='^p$' REGTRACE_INCLUDE='^other$'; do
    traced "not.${how%%=*}" "$how" ./p
    is "$status $out $err" '9 handled 2 ' "$how: p runs as ever"
    [ ! -e "$trace" ]
    ok $? "$how: and is not traced"
    traced "yes.${how%%=*}" "$how" ./other
    is "$(regions)" 'one two three' "$how: other is"
done
traced both REGTRACE_EXCLUDE=th REGTRACE_INCLUDE=other ./other
[ ! -e "$trace" ]
ok $? 'what both name is not traced'
traced shell bash -c 'exit 4'
is "$status" 4 'a shell ends as it would'
[ ! -e "$trace" ]
ok $? 'and is not traced'
traced wanted REGTRACE_INCLUDE=bash REGTRACE_CONTROL=start:signal:USR1 bash -c 'trap : USR1; kill -USR1 $$; exit 4'
is "$status $(files)" '4 1' 'unless it is included by name'
traced wrong REGTRACE_INCLUDE='a(' ./p
is "$status $out" '2 ' 'an expression that is none is refused'
like "$err" 'REGTRACE_INCLUDE .*is "a\(", which is no extended regular expression: .*[a-z]' 'with the reason'

# Of the programs that start the application only the system's are left out, not a user's program of
# the same name.
for name in timeout time env perf; do
    cp p "$name"
    traced "user.$name" "./$name"
    is "$status $(regions)" '9 one two three' "a user's program called $name is traced"
done
# Nothing that is linked with MPI is a launcher or a shell.
for mpi in $(mpis); do
    printf '#include <mpi.h>\nint main(int n, char **v) { return MPI_Init(&n, &v) + MPI_Finalize(); }\n' >flux.c
    "mpicc.$mpi" -o flux flux.c || exit 99
    run 60 mpirun_for "$mpi" 1 REGTRACE_DIR="$T/flux.$mpi" LD_PRELOAD="$LIBREGTRACE" ./flux
    is "$status $(find "flux.$mpi" -name 'rank*' 2>/dev/null | wc -l)" '0 1' "$mpi: a program called flux is traced" || diag "$err"
done
for ((i = 0; i < 2; i++)); do
    run 60 "$REGTRACE" run -o way -run-id way -- env timeout 50 ./p
done
is "$status $out" '9 handled 2' "the system's env and timeout are not"
is "$(sed -n 's/.* note: \(.*\) was not traced.*/\1/p' way/regtrace.log | sort)" \
    "$(readlink -f "$(type -P env)" "$(type -P timeout)" | sort)" 'the log of the run says so, once for each'
is "$("$REGTRACE" dump way 2>/dev/null | grep -c 'region="two"')" 4 'what they start is recorded' || "$REGTRACE" dump way | head

# Which processes are traced.
traced followed ./p fork
is "$status $(regions | tr ' ' '\n' | sort | xargs)" '9 forked one one three three two two' 'children are followed, and what they exec'
traced alone REGTRACE_FOLLOW=0 ./p fork
is "$status $(regions)" '9 one two three' 'REGTRACE_FOLLOW=0: this process alone'
is "$(files)" 1 'and one file'
traced wrapped REGTRACE_CONTROL=stop:signal:SIGURG ./wrap ./other
is "$status $(regions) $(files)" '9 one two three 1' 'a program that does nothing but exec another leaves no file'
# What was asked of a program that execs another is kept: its windows, though they hold no event,
# and its counts.
cat >steps.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void work(void)
{
    __asm__ volatile("");
}
int main(int argc, char **argv)
{
    int left = argc > 1 ? atoi(argv[1]) : 0;
    char next[12];
    for (int i = 0; i < 6; i++)
        work();
    snprintf(next, sizeof next, "%d", left - 1);
    return left > 0 ? execl(argv[0], argv[0], next, (char *)NULL) : 0;
}
END
cc -finstrument-functions -o steps steps.c
traced asked REGTRACE_CONTROL=start:enter_func:work,stop:enter_func:work,repeat ./steps 2
is "$status $(grep -c EV_WINDOW_OPEN <<<"$events") $(files)" '0 9 3' 'windows of programs that exec another are kept'
if [ "$(uname -m)" = x86_64 ]; then
    traced counted REGTRACE_COUNT=1 REGTRACE_PMU=step ./steps 2
    is "$status $(files)" '0 3' 'and so are their counts'
else
    skip 'counts' 'steps are counted on x86-64'
fi

# A library forks and starts another program, as Open MPI's MPI_Init does. The child has nothing of
# its own: a region that its parent opened, and a window without accesses.
cat >starter.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
void start(void)
{
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}
END
cat >starts.c <<'END'
#include <regtrace.h>
void start(void);
int main(void)
{
    regtrace_region_begin("r");
    start();
    regtrace_region_end("r");
    return 0;
}
END
cc -shared -fPIC -o libstarter.so starter.c && cc -I"$REGTRACE_SOURCE/share/include" -o starts starts.c ./libstarter.so || exit 99
traced started ./starts
is "$status $(files)" '0 1' 'a child leaves no file for a region of its parent'
if [ "$(uname -m)" = x86_64 ]; then
    traced started_memory REGTRACE_MEMORY='^main$' ./starts
    is "$status $(files)" '0 1' 'nor for a window without accesses' || diag "$events"
else
    skip 'a window without accesses' 'memory is traced on x86-64'
fi
# Programs joined by exec share the folder that is named after the first one.
env -u REGTRACE_DIR LD_PRELOAD="$LIBREGTRACE" ./p exec >/dev/null
wait_for 20 bash -c 'test -e regtrace-p-*/regtrace.h5'
folders=(regtrace-*)
is "${#folders[@]} $(find "${folders[0]}" -name 'rank-*.h5' | wc -l)" '1 2' 'a program and what it execs: one folder, two files'

# What is recorded.
traced signals ./p
is "$(sed -n 's/.*EV_SIGNAL_ENTER .* name="\([A-Z0-9]*\)".*/\1/p' <<<"$events" | xargs)" 'USR1 USR2' 'received signals are recorded'
traced quiet REGTRACE_SIGNALS=0 ./p
is "$status $out" '9 handled 2' 'REGTRACE_SIGNALS=0: the program receives them'
is "$(grep -c EV_SIGNAL <<<"$events") $(regions)" '0 one two three' 'and they are not recorded'
traced alarms REGTRACE_SIGNALS=0 REGTRACE_CONTROL=start:signal:USR1,stop:signal:USR2 ./p
is "$out $(regions)" 'handled 2 two' 'alarms on them fire all the same'
mpi=$(mpis | head -n 1)
if [ -n "$mpi" ]; then
    traced mpi REGTRACE_MPI=0 "$APPS/stencil.$mpi"
    is "$(awk '$5 ~ /^MPI_/' <<<"$events")" '' 'REGTRACE_MPI=0: no call of MPI is recorded'
    like "$events" 'EV_MPI_PCONTROL' 'other events are'
    traced mpi1 "$APPS/stencil.$mpi"
    like "$events" ' MPI_Allreduce +enter ' 'by default they are'
else
    skip 'REGTRACE_MPI=0' 'no MPI'
fi

# How files are written.
if [ "$PYTHON" != no ]; then
    for level in 0 1 9; do
        traced "compress$level" REGTRACE_COMPRESS=$level ./p
        is "$("$PYTHON" -c 'import h5py, sys; e = h5py.File(sys.argv[1])["events"]; print(e.compression_opts or 0, bool(e.shuffle))' "$trace/rank-00000.h5")" \
            "$level $([ $level = 0 ] && echo False || echo True)" "REGTRACE_COMPRESS=$level: so the file says"
    done
    traced clock REGTRACE_CLOCK=monotonic ./p
    got=$("$PYTHON" - "$trace/rank-00000.h5" <<'END'
import sys, time, h5py
f = h5py.File(sys.argv[1])
now = time.monotonic_ns()
print(all(0 < now - int(c) < 600e9 for c in f["events"]["clock"]))
END
)
    is "$got" True 'REGTRACE_CLOCK=monotonic: ticks are nanoseconds of CLOCK_MONOTONIC'
else
    skip 'compression and clock' 'no h5py'
fi

# How a run ends, and which messages it gives.
traced ends REGTRACE_CONTROL=start:signal:USR1,stop:signal:USR2 REGTRACE_EXIT_ON_STOP=1 ./p
is "$status $out $(regions)" '0  two' 'REGTRACE_EXIT_ON_STOP: the program ends after its last window, with 0'
traced repeats REGTRACE_CONTROL=start:signal:USR1,stop:signal:USR2,repeat:2 REGTRACE_EXIT_ON_STOP=1 ./p
is "$status $out $(regions)" '9 handled 2 two' 'not after one that is not the last'
traced waits REGTRACE_CONTROL='stop:timeout:1000s;start:signal:USR1,stop:interactive;precond:signal:URG' ./p
report=$("$REGTRACE" report "$trace")
like "$report" 'stop:timeout:1000s: the program ended before that time had passed' 'an alarm whose time did not come says so'
like "$report" 'stop:interactive: nobody asked by regtrace ctl' 'one that nobody asked for too'
like "$report" 'precond:signal:URG: the signal did not come' 'and one whose signal did not come'
traced nowhere REGTRACE_CONTROL='start:signal:USR1' REGTRACE_CONTROLLER_LOG="$T/no/such/fired" ./p
is "$status $out" '2 ' 'a REGTRACE_CONTROLLER_LOG that cannot be written: the program is not started'
like "$err" 'REGTRACE_CONTROLLER_LOG .option -controller-log.: .*/no/such/fired cannot be written: No such file or directory' 'with the reason'
traced nothing REGTRACE_CONTROL='start:signal:URG' REGTRACE_CONTROLLER_LOG="$T/unborn" ./p
[ ! -e "$T/unborn" ]
ok $? 'nothing fired: no file of it'
traced log REGTRACE_CONTROL='start:signal:USR1,stop:signal:USR2;stop:signal:USR1' REGTRACE_CONTROLLER_LOG="$T/fired" ./p
is "$(sed -n 's/^rank 0 tid 0 event \(.*\) pass 0 icount .* requested - ip 0x[0-9a-f]* clock [0-9]*$/\1/p' fired | tr '\n' '|')" \
    'start alarm start:signal:USR1|stop alarm stop:signal:USR1|stop ignored alarm stop:signal:USR2|' 'REGTRACE_CONTROLLER_LOG: each fired event is a line'
is "$("$REGTRACE" report --json "$trace" | grep -oE '"(fired|ignored)": [0-9]+' | xargs)" 'fired: 3 ignored: 1' 'report --json counts them, and those that changed nothing'
for chain in start:sginal:USR1 start:signal:NIX; do
    traced refused REGTRACE_CONTROL=$chain ./p
    is "$status $out" '2 ' "$chain: refused before main"
    like "$err" 'not started \(REGTRACE_ON_ERROR=continue runs it untraced\)' "$chain: with the way out"
    traced untraced REGTRACE_CONTROL=$chain REGTRACE_ON_ERROR=continue ./p
    is "$status $out" '9 handled 2' "$chain: REGTRACE_ON_ERROR=continue runs it"
    like "$err" '^regtrace: running untraced: .*[a-z]' "$chain: and says why it is not traced"
    [ ! -e "$trace" ]
    ok $? "$chain: and it is not"
done
traced legacy REGTRACE_PMU=none REGTRACE_SKIP=1000 REGTRACE_LENGTH=10 ./p
is "$status $out" '2 ' 'a legacy option is a chain: what it needs is not here'
like "$err" "icount" 'and it says what'
printf '# windows\n\nstart:signal:USR1\n' >chains
traced file REGTRACE_CONTROL_FILE=chains REGTRACE_CONTROL=stop:signal:USR2 ./p
is "$(regions)" 'two' 'chains of REGTRACE_CONTROL_FILE and of REGTRACE_CONTROL together'
done_testing
