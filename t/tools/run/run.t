#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace run: output, exit status and environment are the program's own. Also both orders with
# mpirun, and programs that cannot be traced.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99

# --- exit status ----------------------------------------------------------------------------------
for code in 0 1 2 42 255; do
    run 30 "$REGTRACE" run -quiet -o "$T/r" -- sh -c "exit $code"
    is "$status" $code "exit code $code is the program's"
done
for signal in TERM KILL USR1 SEGV; do
    # A shell reports 128 + N for an exit code and for a signal alike, so Python reads the wait
    # status itself.
    got=$("$PYTHON" -c 'import subprocess, sys; print(subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode)' \
        "$REGTRACE" run -quiet -o "$T/r" -- sh -c "kill -$signal \$\$")
    is "$got" "-$(kill -l $signal)" "a program that SIG$signal ended: so ends regtrace run"
done
run 30 "$REGTRACE" run -quiet -o "$T/r" -- sh -c 'echo out; echo err >&2; cat' <<<'in'
is "$out" 'out' 'stdout is the program'"'"'s alone'
is "$err" 'err' 'stderr too with -quiet'
printf 'line\n' >"$T/input"
is "$("$REGTRACE" run -quiet -o "$T/r" -- cat <"$T/input")" 'line' 'stdin reaches the program'
run 30 "$REGTRACE" run -quiet -o "$T/r" -- printf '%s|' -a --control '' 'a b' --
is "$out" '-a|--control||a b|--|' 'words after the program are its own'
run 30 "$REGTRACE" run -quiet -o "$T/r" printf x
is "$out" 'x' '-- may be left out'

# A signal that is sent to regtrace run alone reaches the program.
cat >"$T/waits.sh" <<'END'
trap 'echo got TERM; exit 7' TERM
echo ready >"$1"
while :; do sleep 0.05; done
END
"$REGTRACE" run -quiet -o "$T/r" -- bash "$T/waits.sh" "$T/ready" >"$T/waits.out" 2>&1 &
pid=$!
kill_at_end $pid
wait_for 20 test -s "$T/ready"
kill -TERM $pid
wait $pid
is "$?" 7 'a signal is passed on, and the code that the program then chose is taken over'
is "$(cat "$T/waits.out")" 'got TERM' 'the program received it once'
# A signal that was ignored before stays ignored in the program.
got=$(trap '' USR1; "$REGTRACE" run -quiet -o "$T/r" -- sh -c 'kill -USR1 $$; echo survived')
is "$got" 'survived' 'a signal that was ignored before stays ignored'
got=$(bash -c 'trap "" CHLD; exec "$@"' - "$REGTRACE" run -quiet -o "$T/r" -- sh -c 'exit 5'; echo $?)
is "$got" 5 'SIGCHLD ignored before does not lose the code'

# --- environment ----------------------------------------------------------------------------------
cat >"$T/other.c" <<'END'
int regtrace_test_other;
END
cc -shared -fPIC -o "$T/other.so" "$T/other.c"
got=$(LD_PRELOAD=$T/other.so "$REGTRACE" run -quiet -o "$T/r" -- sh -c 'echo "$LD_PRELOAD"')
is "$got" "$LIBREGTRACE:$T/other.so" 'what LD_PRELOAD held stays after ours'
got=$("$REGTRACE" run -quiet -o rel -control-file chains -control stop:timeout:9 -control stop:timeout:8 -buffer 1M -exit-on-stop \
    --controller_log=log -- env 2>&1)
like "$got" 'chains' 'a control file that is not there is refused'
for bad in "$T/nowhere/log" "$T/" /dev/null/log; do
    run 30 "$REGTRACE" run -o "$T/refused" -controller-log "$bad" -control start:signal:USR1 -- touch "$T/started"
    like "$status $err" "^2 .*-controller-log\): $bad cannot be written: [A-Z]" "-controller-log $bad is refused"
done
[ ! -e "$T/started" ] && [ ! -e "$T/refused" ]
ok $? 'before the program, and before its folder is made'
run 30 "$REGTRACE" run -quiet -o "$T/within" -controller-log "$T/within/log" -control start:signal:USR1 -- sh -c 'exit 4'
is "$status" 4 'in the folder of the run, which is not there yet, it is fine'
: >"$T/chains"
got=$("$REGTRACE" run -quiet -o rel -control-file chains -control stop:timeout:9 -control stop:timeout:8 -buffer 1M -exit-on-stop \
    --controller_log=log -- env)
like "$got" "^REGTRACE_CONTROL_FILE=$T/chains$" 'the path of a file is made absolute'
like "$got" "^REGTRACE_CONTROLLER_LOG=$T/log$" 'also after ='
like "$got" "^REGTRACE_DIR=$T/rel$" 'the folder is absolute'
like "$got" '^REGTRACE_BUFFER=1M$' 'a value goes into its variable'
like "$got" '^REGTRACE_EXIT_ON_STOP=1$' 'a switch is 1'
is "$(grep -A1 '^REGTRACE_CONTROL=' <<<"$got" | tr '\n' '|')" 'REGTRACE_CONTROL=stop:timeout:9|stop:timeout:8|' 'chains are separated by newlines'
unlike "$got" 'REGTRACE_LIBRARY' 'REGTRACE_LIBRARY is not passed on'

# --- programs that cannot be traced ---------------------------------------------------------------
cat >"$T/hello.c" <<'END'
#include <stdio.h>
int main(void)
{
    puts("hello");
    return 3;
}
END
cc -static -o "$T/static" "$T/hello.c"
cc -o "$T/dynamic" "$T/hello.c"
run 30 "$REGTRACE" run -- "$T/static"
is "$status" 2 'a static program is refused'
like "$err" 'statically linked' 'with the reason'
is "$out" '' 'and is not started'
run 30 "$REGTRACE" run -on-error continue -- "$T/static"
is "$status $out" '3 hello' '-on-error continue runs it untraced'
like "$err" 'running untraced.*statically' 'and says so'
if [ "$(id -u)" = 0 ]; then
    cp "$T/dynamic" "$T/setuid"
    chown nobody "$T/setuid" && chmod u+s "$T/setuid"
    run 30 "$REGTRACE" run -- "$T/setuid"
    is "$status" 2 'a setuid program is refused'
    like "$err" 'setuid' 'with the reason'
else
    skip 'a setuid program is refused' 'needs root to make one'
    skip 'with the reason' 'needs root to make one'
fi
printf '#!%s\n' "$T/static" >"$T/script" && chmod +x "$T/script"
run 30 "$REGTRACE" run -- "$T/script"
like "$err" 'statically linked' 'a script whose interpreter is static is refused'
printf '\x7fELF' >"$T/cut" && chmod +x "$T/cut"
run 30 "$REGTRACE" run -- "$T/cut"
is "$status" 2 'a cut ELF file is refused'
head -c 64 "$T/dynamic" >"$T/cut2" && chmod +x "$T/cut2"
run 30 "$REGTRACE" run -- "$T/cut2"
like "$err" 'program headers' 'also with a header alone'
printf 'text\n' >"$T/text" && chmod +x "$T/text"
run 30 "$REGTRACE" run -- "$T/text"
like "$err" 'neither an ELF program nor a script' 'a text file is refused'

# --- --explain ------------------------------------------------------------------------------------
run 30 "$REGTRACE" run --explain -control start:pcontrol:solve:count3,stop:timeout:5,repeat -- sh -c "touch $T/ran"
is "$status" 0 '--explain is fine'
like "$out" 'solve' 'it speaks of the alarm'
[ ! -e "$T/ran" ]
ok $? 'and runs nothing'
run 30 "$REGTRACE" run --explain -control start:pcontrol:step:count10,stop:pcontrol:stepped:count11
like "$out" '1\. when it has happened 10 times that it calls MPI_Pcontrol' 'the first alarm counts from the start'
like "$out" '2\. when it has happened 11 times since then that it calls' 'a later one from the one before'
run 30 "$REGTRACE" run --explain -pmu none -control start:icount:100
is "$status" 0 'it explains what this build cannot serve'
like "$out" 'icount is not available' 'and says that it cannot'
run 30 "$REGTRACE" run --explain -control start:bogus
is "$status" 2 'a wrong chain is wrong there too'

# --- nothing recorded -----------------------------------------------------------------------------
rm -rf "$T/r" "$T/rel"
run 30 "$REGTRACE" run -o "$T/none" -- sh -c true
like "$err" 'nothing was recorded' 'a run without a traced program says so'
[ ! -e "$T/none" ]
ok $? 'and leaves no folder'
run 30 "$REGTRACE" run -o "$T/none" -- "$T/dynamic"
like "$err" 'the whole run is one window, and the program made no MPI call.*-sample' 'no chain, no MPI: what was true, and what would show something'
unlike "$err" 'no window opened' 'and not that no window opened'
run 30 "$REGTRACE" run -mpi 0 -o "$T/none" -- "$T/dynamic"
like "$err" '-mpi 0 leaves MPI calls out' '-mpi 0 is reported there'
run 30 "$REGTRACE" run -controller-default-start 0 -o "$T/none" -- "$T/dynamic"
like "$err" '-controller-default-start 0 opens no window' 'nor is a window spoken of that was not asked for'
run 30 "$REGTRACE" run -control start:pcontrol:never -o "$T/none" -- "$T/dynamic"
like "$err" 'no window opened, since nothing that the chains wait for came' 'a chain that opened none is'
run 30 "$REGTRACE" run -signals 1 -exclude '^dyn' -o "$T/none" -- "$T/dynamic"
like "$err" 'nothing was recorded: -exclude "\^dyn" leaves dynamic out' '-exclude leaves the program out: said'
run 30 "$REGTRACE" run -include 'other' -o "$T/none" -- "$T/dynamic"
like "$err" 'nothing was recorded: -include "other" leaves dynamic out' 'so does -include'
run 30 "$REGTRACE" run -include '^dynamic$' -exclude other -o "$T/none" -- "$T/dynamic"
unlike "$err" 'leaves dynamic out' 'and not where they do not'
for bad in '-include a(' '-exclude a(' '-sample-depth 65'; do
    # shellcheck disable=SC2086 # option and value
    run 30 "$REGTRACE" run -sample cpu:10ms $bad -o "$T/none" -- touch "$T/started"
    like "$status $err" "^2 regtrace run: REGTRACE_.*option ${bad% *}. is " "$bad is refused by regtrace run"
done
[ ! -e "$T/started" ]
ok $? 'and nothing was started'
mkdir "$T/mine" && touch "$T/mine/keep"
run 30 "$REGTRACE" run -o "$T/mine" -- sh -c true
[ -e "$T/mine/keep" ]
ok $? 'a folder with something in it is never removed'

# --- processes that outlive their launcher, as ranks do when one of them aborts -------------------
cat >lasts.c <<'END'
#include <stdlib.h>
#include <unistd.h>
/* Lasts until the file $UNTIL exists, else a second. */
int main(void)
{
    const char *until = getenv("UNTIL");
    usleep(until == NULL ? 1000000 : 0);
    while (until != NULL && access(until, F_OK) != 0)
        usleep(10000);
    return 0;
}
END
cc -o lasts lasts.c
cat >hold.sh <<'END'
# Stops the writer of folder $1 before it has made its file. The process ends after this launcher,
# and the writer ends after the process, which does not wait for it.
rm -f over
UNTIL=over REGTRACE_EXIT_WAIT=0 ./lasts >/dev/null 2>&1 &
lasts=$!
until [ "$(cat "$1"/.regtrace/*.entry 2>/dev/null | grep -cE '^state=(waiting|open)')" = 1 ]; do sleep 0.01; done
writer=$(grep -lE '^state=(waiting|open)' "$1"/.regtrace/*.entry | xargs sed -n 's/^writer_pid=//p')
kill -STOP "$writer"
(
    while kill -0 $$; do sleep 0.05; done
    touch over
    while readlink /proc/$lasts/exe; do sleep 0.05; done
    kill -CONT "$writer"
) >/dev/null 2>&1 &
sleep 1 # by then the process has recorded something
END
run 60 "$REGTRACE" run -o "$T/outlives" -exit-wait 60 -include lasts -control start:timeout:10ms -- sh hold.sh "$T/outlives"
like "$err" "1 process recorded in $T/outlives" 'a process that ends after the launcher is waited for, though it has no file yet'
is "$("$REGTRACE" check "$T/outlives" | sed 's/, [0-9]* facts.*,/,/')" "$T/outlives: 1 file, no violation" 'and its file is complete'
export REGTRACE_RUN=same REGTRACE_INCLUDE=lasts REGTRACE_DIR=$T/follows REGTRACE_CONTROL=start:timeout:10ms
LD_PRELOAD=$LIBREGTRACE ./lasts
wait_for 20 grep -rq '^state=closed' "$T/follows/.regtrace"
run_with_limit 30 env LD_PRELOAD="$LIBREGTRACE" sh hold.sh "$T/follows"
like "$("$REGTRACE" check "$T/follows")" ' 2 files' 'check knows of a file that follows'
unset REGTRACE_RUN REGTRACE_INCLUDE REGTRACE_DIR REGTRACE_CONTROL

# regtrace run repeats the lines of the log, and warns of too little room for streams.
run 30 "$REGTRACE" run -o "$T/least" -buffer 1 -control start:timeout:10ms -- ./lasts
like "$err" '^regtrace: rank 0 pid [0-9]+ note: REGTRACE_BUFFER is less than' 'lines of the log stand at the end'
mkdir shm
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=1m none shm 2>/dev/null; then
    trap 'umount "$T/shm"; rt_cleanup' EXIT
    run 30 "$REGTRACE" run -o "$T/room" -shm "$T/shm" -- ./lasts
    like "$err" "warning: $T/shm has 10[0-9][0-9] KiB free, the streams want [0-9]+ KiB" 'little room for streams: said before the start'
    is "$status" 0 'and the program runs'
else
    skip 'little room for streams' 'needs root and mount'
fi

# --- launchers: both orders, both MPIs ------------------------------------------------------------
chain=start:pcontrol:solve,stop:pcontrol:solved,repeat
printf '[ "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" = 0 ] && sleep 0.3\nexec "$@"\n' >"$T/late"
for mpi in openmpi mpich; do
    if ! have_mpi $mpi; then
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do skip "$mpi $i" "no $mpi here"; done
        continue
    fi
    app=$APPS/stencil.$mpi
    plain=$(mpirun_for $mpi 3 "$app" 2>/dev/null)
    extra=()
    [ $mpi = openmpi ] && extra=(--oversubscribe)
    run 120 "$REGTRACE" run -o "$T/a.$mpi" -control $chain -- mpirun.$mpi "${extra[@]}" -np 3 "$app"
    is "$status" 0 "$mpi: regtrace run mpirun ends well"
    is "$out" "$plain" "$mpi: with the same output"
    like "$err" "3 processes recorded in $T/a.$mpi" "$mpi: and says where"
    unlike "$err" 'no window opened' "$mpi: and that windows opened is nothing to say"
    ok_run "$mpi: what it recorded holds" "$REGTRACE" check "$T/a.$mpi"
    run 120 "$REGTRACE" run -o "$T/none.$mpi" -control start:pcontrol:nowhere -- mpirun.$mpi "${extra[@]}" -np 2 "$app"
    like "$err" 'but no window opened: nothing that the chains wait for happened' "$mpi: that none opened is said"
    run 120 mpirun_for $mpi 3 "$REGTRACE" run -o "$T/b.$mpi" -control $chain -- "$app"
    is "$status" 0 "$mpi: mpirun regtrace run ends well"
    is "$out" "$plain" "$mpi: with the same output"
    ok_run "$mpi: what it recorded holds" "$REGTRACE" check "$T/b.$mpi"
    run 120 mpirun_for $mpi 3 "$REGTRACE" run -o "$T/c.$mpi" -control start:addres:x -- "$app"
    like "$err" 'addres.*address' "$mpi: a wrong chain is named"
    is "$(grep -c '^regtrace run: ' <<<"$err")" 1 "$mpi: once for the node"
    [ ! -e "$T/c.$mpi" ]
    ok $? "$mpi: and nothing was started"
    # Launchers end a job at its first failed rank: the message appears even if the rank that prints
    # it comes last.
    run 120 mpirun_for $mpi 3 sh "$T/late" "$REGTRACE" run -control start:addres:x -- "$app"
    like "$err" 'addres.*address' "$mpi: also when the rank that says so comes last"
    run 120 mpirun_for $mpi 3 sh "$T/late" env LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=start:addres:x "$app"
    like "$err" 'addres.*address' "$mpi: and by the library"
done
if have_mpi openmpi; then
    run 120 "$REGTRACE" run -o "$T/mpmd" -control $chain -- mpirun.openmpi --oversubscribe -np 1 "$APPS/stencil.openmpi" : -np 2 "$APPS/stencil.openmpi"
    files=("$T"/mpmd/rank-*.h5)
    is "${#files[@]}" 3 'both contexts of mpirun A : B are traced'
    run 120 "$REGTRACE" run -exit-on-stop -o "$T/ends" -control start:pcontrol:solve,stop:pcontrol:solved -- mpirun.openmpi -np 1 "$APPS/stencil.openmpi"
    like "$status ${err//$'\n'/ }" '^1 .*finalize' 'a rank that -exit-on-stop ends makes mpirun say that it did not finalize, and return 1, as control.md says'
    ok_run 'what it recorded is complete' "$REGTRACE" check "$T/ends"
    run 30 "$REGTRACE" run -o "$T/s" -- mpirun.openmpi -np 1 "$T/static"
    is "$status" 2 'a static program after mpirun is refused'
else
    skip 'both contexts are traced' 'no openmpi here'
    skip '-exit-on-stop under mpirun' 'no openmpi here'
    skip 'what it recorded is complete' 'no openmpi here'
    skip 'a static program after mpirun is refused' 'no openmpi here'
fi

# Warnings about legal chains appear once before the start and once in the log of the run, and never
# from the ranks.
printf '#include <unistd.h>\nint main(void) { usleep(300000); return 0; }\n' >nap.c
cc -o nap nap.c
endless='start:signal:USR1,repeat,name:a;start:signal:USR2,waitfor:a'
run 60 "$REGTRACE" run -o "$T/warned" -control "${endless%;*}" -control "${endless#*;}" -- ./nap
is "$status" 0 'a suspicious chain is no error'
is "$(grep -c 'repeats without end' <<<"$err")" 1 'regtrace run warns once, and does not say it again at the end'
is "$(grep -c 'warning: chain 2 waits' "$T/warned/regtrace.log")" 1 'the warning is in the log'
for r in 0 1 2 3 4 5; do
    OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=6 OMPI_COMM_WORLD_LOCAL_RANK=$r REGTRACE_RUN=six REGTRACE_DIR=$T/six \
        REGTRACE_CONTROL=$endless LD_PRELOAD=$LIBREGTRACE ./nap 2>"six.$r" &
    six[r]=$!
done
wait "${six[@]}"
is "$(cat six.?)" '' 'six ranks: none says it on its standard error'
is "$(grep -c 'warning: chain 2 waits' "$T/six/regtrace.log")" 1 'six ranks: one line in the log'
run 60 env OMPI_COMM_WORLD_RANK=0 REGTRACE_CONTROL=start:sginal:USR1 LD_PRELOAD="$LIBREGTRACE" ./nap
like "$err" "unknown alarm type 'sginal'" 'errors are reported at once'
for option in '-vcontext caller' '-values-follow 8' '-values-sample cpu:1ms'; do
    # shellcheck disable=SC2086
    run 60 "$REGTRACE" run $option -- ./nap
    is "$status" 2 "$option without -values"
    like "$err" "^regtrace run: -${option:1:5}.* has no effect without -values" 'the error says so'
done

run 60 "$REGTRACE" run -memory-plan addresses -- ./nap
is "$status" 2 '-memory-plan without -memory'
like "$err" '^regtrace run: -memory-plan has no effect without -memory' 'the error says so'
run 60 env REGTRACE_MEMORY_PLAN=addresses "$REGTRACE" run -- true
is "$status" 0 'as a variable it may stand'
# When the library refuses a chain, regtrace run invents no reason why nothing was recorded.
run 60 "$REGTRACE" run -o "$T/refused" -- env REGTRACE_CONTROL=start:sginal:USR1 ./nap
is "$status" 2 'a wrong chain that only the program has'
like "$err" 'nothing was recorded: the program was not started, if a line above says so; else ' 'that is why nothing was recorded'

cat >regions.c <<'END'
#include <regtrace.h>
int main(void)
{
    regtrace_region_begin("r");
    regtrace_region_end("r");
    return 0;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o regions regions.c || exit 99

# A writer that ends before it makes an entry leaves a stream that recover can read.
run 60 "$REGTRACE" run -writer /bin/true -o "$T/unwritten" -- ./regions
like "$err" 'the writer of this process ended as soon as it had begun; .regtrace recover. makes its file' 'the log says so'
unlike "$err" 'nothing was recorded' 'and no other reason is invented'
run 60 "$REGTRACE" recover "$T/unwritten"
is "$status" 0 'and recover makes its file'

# -o names the folder of an earlier run.
run 60 "$REGTRACE" run -o "$T/earlier" -- ./regions
unlike "$err" 'earlier run' 'a folder that was not there'
run 60 "$REGTRACE" run -o "$T/earlier/" -- ./regions
like "$err" "^regtrace run: warning: $T/earlier is an earlier run's and is left as it is: this run goes to $T/earlier-2 " 'one that is there: said at the start'
like "$err" "^regtrace: $T/earlier is an earlier run's and was left as it is" 'and at the end'
like "$err" "see it with: regtrace report $T/earlier-2\$" 'with the right command'
mkdir "$T/empty"
run 60 "$REGTRACE" run -o "$T/empty/" -- ./regions
unlike "$err" 'earlier run' 'an empty folder is taken'
like "$err" "recorded in $T/empty\$" 'as it is'
mkdir "$T/own"
touch "$T/own/file"
run 60 "$REGTRACE" run -o "$T/own" -- ./regions
like "$err" "^regtrace run: warning: $T/own is not empty and is left as it is: this run goes to $T/own-2 " "a folder with the user's files: said at the start"
like "$err" "^regtrace: $T/own is not empty and was left as it is" 'and at the end'
mkdir "$T/here"
run 60 sh -c "cd '$T/here' && exec '$REGTRACE' run -o . -- ../regions"
like "$err" '; name a folder in it, which the run makes' 'the current folder cannot be the one of a run'

# A launcher that fails: its own message and its status appear, and regtrace names the launcher.
for mpi in $(mpis); do
    run 60 "$REGTRACE" run -o "$T/refused" -- mpirun.$mpi -np 2 "$T/nowhere/app"
    isnt "$status" 0 "mpirun.$mpi without its program"
    how="status $status"
    if [ "$status" = 141 ]; then # bare, on a busy machine, 6 times of 240
        how='signal 13'
        skip 'says so itself' "SIGPIPE ended mpirun.$mpi before it wrote why, as it does without us"
    else
        like "$err" "nowhere/app" 'says so itself'
    fi
    like "$err" "nothing was recorded: mpirun.$mpi ended with $how; if it could not start the ranks, its own message above" 'and that it failed'
done
run 60 "$REGTRACE" run -o "$T/refused" -- sh -c 'exit 3'
unlike "$err" 'could not start the ranks' 'another program is no launcher'

# A program that ends before its writer has begun: its file exists when regtrace run ends.
mkdir -p "$T/slow" && cat >"$T/slow/slow.c" <<'END'
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    (void)argc;
    nanosleep(&(struct timespec){.tv_nsec = 700000000}, NULL);
    execv(WRITER, argv);
    return 127;
}
END
cat >"$T/slow/dies.c" <<'END'
#include <regtrace.h>
#include <signal.h>
int main(void)
{
    regtrace_mark_set(1, 2);
    return raise(SIGKILL);
}
END
cc -DWRITER="\"$REGTRACE_BUILD/writer/regtrace-writer\"" -o "$T/slow/regtrace-writer" "$T/slow/slow.c" &&
    cc -I"$REGTRACE_SOURCE/share/include" -o "$T/slow/dies" "$T/slow/dies.c" || exit 99
REGTRACE_WRITER=$T/slow/regtrace-writer run 60 "$REGTRACE" run -o "$T/comes-late" -- "$T/slow/dies"
like "$err" '1 process recorded in ' "a killed program whose writer comes late is waited for"
ok_run "and recorded" test -s "$T/comes-late/rank-00000.h5"

# In the middle of execve a process has no command line. The stand-in has none for longer.
mkdir "$T/bare" && cc -DWRITER="\"$REGTRACE_BUILD/writer/regtrace-writer\"" -o "$T/bare/regtrace-writer" "$here/bare_writer.c" -pthread || exit 99
REGTRACE_WRITER=$T/bare/regtrace-writer run 60 "$REGTRACE" run -o "$T/bare-run" -- "$T/slow/dies"
like "$err" '1 process recorded in ' "a writer without a command line is waited for"

# A writer that ends early leaves work for regtrace recover: run says so, and blames nothing else.
cat >"$T/slow/kills.c" <<'END'
#include <regtrace.h>
#include <signal.h>
#include <stdlib.h>
int main(int n, char **v)
{
    for (int i = 0; i < 100; i++)
        regtrace_mark_set(1, i);
    return n < 2 || system(v[1]) != 0 || raise(SIGKILL);
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o "$T/slow/kills" "$T/slow/kills.c" || exit 99
cat >"$T/slow/kill" <<END
until writer=\$(sed -n 's/^writer_pid=\([1-9][0-9]*\)/\1/p' "$T/left"/.regtrace/*.entry 2>/dev/null) && [ -n "\$writer" ]; do sleep 0.02; done
kill -9 "\$writer"
END
run 60 "$REGTRACE" run -o "$T/left" -- "$T/slow/kills" "unset LD_PRELOAD; sh $T/slow/kill"
like "$err" "^regtrace: 1 process is not completely recorded: the writer ended early .* regtrace recover $T/left\$" "a killed writer: the remedy is named"
unlike "$err" 'nothing was recorded' "and no other reason"
ok_run "which completes it" "$REGTRACE" recover "$T/left"
is "$("$REGTRACE" dump "$T/left" | grep -c EV_MARK_SET)" 100 "with all events"
done_testing
