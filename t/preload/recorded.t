#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Events of threads, signals and children: the right events in the right files.
. "$(dirname "$0")/../lib.sh"
P=$REGTRACE_BUILD/t/preload

# traced NAME [VAR=VALUE]... COMMAND...: runs the command. Sets trace to its folder, events to the
# dump of that folder, and ended to the status and output of the command.
traced() {
    local name=$1 env=()
    shift
    while [[ $# -gt 0 && $1 =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do
        env+=("$1")
        shift
    done
    trace=$T/$name
    run 120 env REGTRACE_DIR="$trace" "${env[@]}" LD_PRELOAD="$LIBREGTRACE" "$@"
    ended="$status $out$err"
    # If nobody waited for a program, its writer may still be at work.
    wait_for 20 test -e "$trace/regtrace.h5"
    run 60 "$REGTRACE" dump "$trace"
    is "$status" 0 "$name: the trace can be read"
    events=$out
    run 60 "$REGTRACE" check "$trace"
    is "$status" 0 "$name: and its invariants hold" || diag "$out$err"
}
count() { grep -cE -- "$1" <<<"$events"; }

traced many "$P/threads" many
is "$ended" '0 500 threads: ran 500, results 500' "500 threads run, in waves"
is "$(count 'region begins.*"worker"')" 500 "500 threads record one region each"
is "$(count 'window closes.*end of thread')" 500 "each thread's end closes its window"
# Columns of the dump: seconds, rank, thread, window, name.
is "$(awk '/"worker"/ { print $3 }' <<<"$events" | sort -nu | tail -n 1)" 500 "numbers are dense, main is 0"

traced cancels "$P/threads" cancels
is "$(count 'region begins.*"destructor"')" $(((40 + 1) * 4)) "destructors record up to their last round"
is "$(count 'window closes.*end of thread')" 42 "cancelled threads are seen to end"

traced names "$P/threads" names
run 60 "$REGTRACE" report --json "$trace"
like "$out" solver "a thread's name is kept"

traced nested "$P/libc/handlers" nested
is "$(count 'handler begins')" 10 "nested handlers begin"
is "$(count 'handler ends')" 10 "and end"

traced jump "$P/libc/handlers" jump
isnt "$(count 'handler begins')" 0 "handlers that jump out are recorded"
is "$(count 'handler ends')" 0 "without an end"

traced signals REGTRACE_CONTROL='start:signal:SIGUSR1,stop:signal:SIGUSR2,repeat' "$P/libc/handlers" nested
is "$(count 'window opens')" 5 "alarms on signals open windows"
is "$(count 'window closes')" 5 "and close them"

traced killed REGTRACE_CONTROL='start:signal:SIGUSR1' "$P/libc/handlers" die 10 kill
is "$(count 'alarm fires')" 1 "a signal that kills fires first"

traced vforks "$P/libc/children" vforks
is "$(count '"around"')" 400 "200 vforks leave the parent's recording whole"
is "$(count 'never seen')" 0 "their children write nothing"
is "$(count 'process forks')" 201 "each is an event"

traced spawns REGTRACE_FOLLOW=0 REGTRACE_CONTROL=stop:signal:SIGUSR2 "$P/libc/children" spawns
is "$(count 'process forks')" 2 "posix_spawn and posix_spawnp are forks, unless they fail"

traced working "$P/libc/children" working
is "$(count 'region begins.*"child"')" 5 "forked children record"
is "$(find "$trace" -name 'rank-*.h5' | wc -l)" 6 "in files of their own, beside that of the parent, which has forked"

# Without REGTRACE_DIR, folders get their default names.
mkdir "$T/by_name"
(cd "$T/by_name" && env -u REGTRACE_DIR LD_PRELOAD="$LIBREGTRACE" timeout 60 "$P/libc/children" nested_shells) >/dev/null
is "$(find "$T/by_name" -maxdepth 1 -name 'regtrace-*' | wc -l)" 1 "programs started by system() and popen() have their parent's folder"
wait_for 20 test -e "$T"/by_name/regtrace-*/regtrace.h5
is "$(find "$T/by_name" -name 'rank-*.h5' | wc -l)" 3 "each with a file of its own"

traced alone REGTRACE_FOLLOW=0 "$P/libc/children" failing
is "$(count 'region begins.*"before"( path=[0-9]+)?$')" 3 "a failing exec does not end the recording"
is "$(count 'window closes.*"exec"') $(count 'window opens')" '7 7' "each exec closes the window, and another opens where it fails"

traced chain "$P/libc/children" chain 0
is "$(count 'region begins.*"link"')" 10 "programs joined by exec record each"
is "$(count 'process calls exec')" 9 "each exec is an event"
is "$(count 'window closes.*"exec"') $(count 'window closes.*"end of program"')" '9 1' "and closes the window"

traced threads "$P/libc/children" threads
is "$(count 'region begins.*"in child"')" 20 "children of forking threads record in atfork handlers"
is "$(count 'process forks')" 20 "the forks are events"

# A program that is killed after a failed exec counts as killed: it did not go on as another
# program.
cat >"$T/tried.c" <<'END'
#include <regtrace.h>
#include <signal.h>
#include <unistd.h>
int main(void)
{
    regtrace_region_begin("tried");
    execl("/nowhere", "nowhere", (char *)0);
    return raise(SIGKILL);
}
END
cc -I "$REGTRACE_SOURCE/share/include" -o "$T/tried.out" "$T/tried.c"
traced tried "$T/tried.out"
like "$("$REGTRACE" report --json "$trace")" '"end_reason": "killed"' "killed after an exec that failed: killed"

# How a program ended: by itself, with its window closed, or killed in its window.
cat >"$T/ends.c" <<'END'
#include <regtrace.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    regtrace_region_begin("r");
    switch (argv[argc - 1][0]) {
    case '_': _exit(3);
    case 'E': _Exit(3);
    case 'q': quick_exit(3);
    case 'e': exit(3);
    case 'a': abort();
    case 's': syscall(SYS_exit_group, 3);
    case 't': raise(SIGTERM);
    default: return 3;
    }
}
END
cc -D_GNU_SOURCE -I "$REGTRACE_SOURCE/share/include" -w -o "$T/ends.out" "$T/ends.c"
for how in _exit Exit quick_exit exit return abort syscall term; do
    case $how in abort | syscall | term) want='end_reason: killed closed_by: killed truncated: true' ;;
    *) want='end_reason: finished closed_by: end of program truncated: false' ;; esac
    traced "ends.$how" "$T/ends.out" $how
    is "$("$REGTRACE" report --json "$trace" | grep -oE '"(end_reason|closed_by|truncated)": "?[a-z ]*' | tr -d '"' | xargs)" "$want" "$how: so it ended"
done

# The process that calls MPI_Init gets the rank's name, although a wrapper and the process itself
# had files before.
cat >"$T/takes.c" <<'END'
#include <mpi.h>
#include <regtrace.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
    pid_t child;
    int status = 9;
    char *const as_rank[] = {argv[0], (char *)"rank", NULL};
    regtrace_region_begin(argc > 1 ? "rank" : "wrapper");
    usleep(1500000); /* by now it has its file */
    if (argc > 1) {
        MPI_Init(NULL, NULL);
        return MPI_Finalize();
    }
    if (posix_spawn(&child, argv[0], NULL, NULL, as_rank, environ) == 0)
        waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}
END
for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -I "$REGTRACE_SOURCE/share/include" -o "$T/takes.$mpi" "$T/takes.c" 2>/dev/null; then
        skip "a rank takes its name with $mpi" "no mpicc.$mpi"
        continue
    fi
    traced "takes.run.$mpi" "$T/takes.$mpi"
    is "$(find "$trace" -name 'rank-*.h5' | wc -l)" 2 "a rank that had a file before MPI_Init, of a wrapper that had one: two files ($mpi)"
    is "$("$REGTRACE" dump --json "$trace/rank-00000.h5" | grep -oE '"region": "[a-z]*"|EV_MPI_READY' | sort -u | xargs)" \
        'region: rank EV_MPI_READY' "and the rank's name is the rank's"
done

# The writer leads its own session, may run on every processor, and has none of the program's files
# open.
cat >"$T/waits.c" <<'END'
#include <regtrace.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    regtrace_region_begin("r");
    while (access(argv[argc - 1], F_OK) != 0)
        usleep(2000);
    return 0;
}
END
cc -I "$REGTRACE_SOURCE/share/include" -o "$T/waits.out" "$T/waits.c"
cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
REGTRACE_DIR=$T/apart LD_PRELOAD=$LIBREGTRACE taskset -c "$cpu" "$T/waits.out" "$T/enough" \
    <"$T/waits.c" >"$T/apart.out" 2>"$T/apart.err" 7>"$T/apart.seven" &
pid=$!
kill_at_end $pid
wait_for 20 bash -c "ls $T/apart/.regtrace/*.entry"
writer=$(sed -n 's/^writer_pid=//p' "$T"/apart/.regtrace/*.entry)
is "$(for fd in 0 1 2; do readlink "/proc/$writer/fd/$fd"; done | sort -u)" /dev/null 'the writer has /dev/null for its input and output'
is "$(for fd in "/proc/$writer/fd"/*; do readlink "$fd"; done | grep -c "$T/\(waits.c\|apart[.]\)")" 0 "and none of the program's files open"
is "$(awk '{ sub(/.*[)] /, ""); print $4 }' "/proc/$writer/stat")" "$writer" 'it leads a session of its own'
is "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$writer/status")" "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/$$/status)" \
    'and may run on every processor, though the program may not'
is "$(tr '\0' '\n' <"/proc/$writer/environ" | grep -c '^LD_PRELOAD=') $(grep -c 'libregtrace[.]so' "/proc/$writer/maps")" '0 0' \
    'nor is anything preloaded into it: it traces nothing, itself least of all'
touch "$T/enough"
wait $pid
is "$?" 0 'the program ends as it would'

# Timers are released after they have fired.
cat >"$T/timers.c" <<'END'
#include <pthread.h>
#include <unistd.h>
static void *work(void *a)
{
    for (int i = 0; i < 300; i++)
        usleep(1000);
    return a;
}
int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
END
cc -o "$T/timers.out" "$T/timers.c" -pthread
traced timers REGTRACE_EXIT_WAIT=60 REGTRACE_CONTROL=start:timeout:1ms:bcast,stop:timeout:1ms:bcast,repeat "$T/timers.out"
windows=$(count 'alarm fires.*event="start"')
[ "$windows" -gt 20 ]
ok $? "four threads' timers open many windows for all" || diag "$windows"
is "$(cat "$trace/regtrace.log" 2>/dev/null)" "" "and none of them runs out"
traced chains REGTRACE_EXIT_WAIT=60 REGTRACE_CONTROL="$(printf 'start:timeout:%sms:tid0;' {50..89}; echo start:pcontrol:never)" "$T/timers.out"
is "$(count 'alarm fires.*event="start"') $(cat "$trace/regtrace.log" 2>/dev/null)" "40 " "forty chains wait for times of their own"
# A handler may interrupt the program in setenv(), which has freed the list that environ still
# points to.
cat >"$T/broken_environ.c" <<'EOF'
#include <regtrace.h>
extern char **environ;
int main(void)
{
    char **keep = environ;
    environ = (char **)16;
    regtrace_region_begin("solve");
    regtrace_region_end("solve");
    environ = keep;
    return 0;
}
EOF
cc -I "$REGTRACE_SOURCE/share/include" -o "$T/broken_environ.out" "$T/broken_environ.c"
traced broken_environ "$T/broken_environ.out"
is "$(count 'region begins.*"solve"')" 1 "a first event while environ points nowhere is recorded"

# The file of a process also has the types and labels of marks that the process gave before it
# recorded, and the regions and marks that its parent had open or had given.
cat >"$T/handed.c" <<'END'
#include <regtrace.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void windows(void)
{
    for (int i = 0; i < 2; i++) {
        regtrace_start(0);
        regtrace_mark_push(1, 7);
        regtrace_mark_pop(1, 7);
        regtrace_stop(0);
    }
}
int main(int argc, char **argv)
{
    int status, bad = 0;
    (void)argv;
    regtrace_mark_type(1, 0, "phase");
    regtrace_mark_label(1, 7, "seven");
    regtrace_mark_label(1, 7, "seven");
    regtrace_region_begin("lost"); /* nothing is recorded yet, unless the whole run is a window */
    regtrace_region_end("lost");
    if (argc > 1)
        windows();
    regtrace_region_begin("outer");
    regtrace_region_begin("inner");
    if (fork() == 0) { /* records nothing itself */
        if (fork() == 0) {
            regtrace_mark_label(1, 8, "eight");
            windows();
            regtrace_region_end("inner");
            exit(0);
        }
        wait(&status);
        _exit(status != 0);
    }
    wait(&status);
    bad |= status;
    regtrace_region_end("inner");
    regtrace_region_end("outer");
    return bad != 0;
}
END
cc -I "$REGTRACE_SOURCE/share/include" -o "$T/handed.out" "$T/handed.c"
# labels FOLDER: prints how many marks there are, how many of them have their title and how many
# their label, and the processes.
labels() {
    PYTHONPATH=$REGTRACE_SOURCE/share/python "$PYTHON" -c 'import regtrace, sys
m = regtrace.open(sys.argv[1]).marks()
print(len(m), int((m.title == "phase").sum()), int((m.label == "seven").sum()), sorted(m.process.unique()))' "$1"
}
traced handed "$T/handed.out"
is "$(count 'region begins.*"(outer|inner)" .cut.')" 4 "regions that were open at the fork are named in the child's windows"
is "$(count 'window opens')" 3 "the window goes on in the child of a child that recorded nothing"
is "$(count 'EV_MARK_TYPE.*"phase"') $(count 'EV_MARK_LABEL.*"seven"') $(count 'EV_MARK_LABEL.*"eight"')" "2 3 1" "what marks mean is told again, in the child's file"
traced late REGTRACE_DEFAULT_START=0 "$T/handed.out" late
is "$(count '"lost"')" 0 "nothing is recorded before the first window"
is "$(count 'region begins.*"(outer|inner)" .cut.')" 4 "the child's windows have the names of regions that its parent did not record"
is "$(count 'EV_MARK_TYPE.*"phase"') $(count 'EV_MARK_LABEL.*"seven"') $(count 'EV_MARK_LABEL.*"eight"')" "2 2 1" \
    "what was said of marks before there was a file stands in it"
if [ -n "$PYTHON" ]; then
    is "$(labels "$trace")" "8 8 8 [0, 1]" "every mark has its title and label"
    ok_run "the windows are split" "$REGTRACE" split -o "$T/late.split" "$trace"
    for window in 0 1; do
        ok_run "split window $window: it holds" "$REGTRACE" check "$T/late.split/window-0000$window"
        is "$(labels "$T/late.split/window-0000$window")" "4 4 4 [0, 1]" "split window $window: and so it has in files that stand alone"
    done
else
    skip "titles and labels in Python" "no python3 with h5py"
fi
# A window by regtrace_start() in which nothing happens is recorded too.
cat >"$T/lonely.c" <<'END'
#include <regtrace.h>
int main(void)
{
    regtrace_start(0);
    return 0;
}
END
cc -I "$REGTRACE_SOURCE/share/include" -o "$T/lonely.out" "$T/lonely.c"
traced lonely REGTRACE_DEFAULT_START=0 "$T/lonely.out"
is "$(count 'window opens') $(count 'window closes.*end of program')" "1 1" "a window that the program opens and leaves open is recorded"
done_testing
