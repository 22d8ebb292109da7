#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A process and its writer are killed while the writer starts: recover finds the stream. While the
# writer is alive, recover says that instead.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99

cat >p.c <<'END'
#include <regtrace.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    for (int i = 0; i < 25; i++) {
        regtrace_region_begin("r");
        regtrace_region_end("r");
    }
    puts("recorded");
    fflush(stdout);
    for (;;)
        pause();
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o p p.c || exit 99
# A writer whose start takes as long as the test wants. It prints its pid and waits for a child,
# which has the stream open too.
mkfifo never
cat >writer <<END
#!/bin/bash
echo \$\$ >"$T/writer.pid.tmp"
mv "$T/writer.pid.tmp" "$T/writer.pid"
cat "$T/never"
exec "$REGTRACE_WRITER_PROGRAM" "\$@"
END
chmod +x writer

# begin DIR [VAR=VALUE]...: starts a process that has recorded, with a writer that has not begun.
begin() {
    rm -f writer.pid said
    env "${@:2}" REGTRACE_WRITER="$T/writer" REGTRACE_DIR="$T/$1" LD_PRELOAD="$LIBREGTRACE" ./p >said &
    program=$!
    kill_at_end $program
    wait_for 60 test -s said -a -s writer.pid
    writer=$(cat writer.pid)
    kill_at_end "$writer"
}
# end: ends the process and its writer. Stops the writer first, because it would notice the
# process's end.
end() {
    kill -STOP "$writer"
    kill -KILL $program "$writer"
    wait $program 2>/dev/null
    wait_for 60 gone "$writer"
    # The writer's child lives on, but is not a writer.
}
gone() { ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$1/status" 2>/dev/null; }

begin run
run 60 "$REGTRACE" recover run
is "$status $out" "0 process $program, without a file yet: left alone, its writer is alive" 'a writer that starts is left alone, and said to be alive'
end
like "$(ls "$REGTRACE_SHM")" '^regtrace-' 'both killed: the stream stays'
run 60 "$REGTRACE" recover run
is "$status" 0 'recover ends well' || diag "$err"
like "$out" '^rank-00000\.h5: recovered, 0 events from the file and [1-9][0-9]* from the stream$' 'it finds the stream'
is "$("$REGTRACE" dump run | grep -c 'region begins.*"r"')" 25 'with every event'
is "$(ls "$REGTRACE_SHM")" '' 'nothing stays in memory'
ok_run 'the file is whole' "$REGTRACE" check run
run 60 "$REGTRACE" recover run
like "$out" 'nothing to recover in run: every file is closed' 'a second time there is nothing to do'

# A writer that was killed after it had withdrawn its entry: WRITER_READY in the stream's header.
begin ended
end
printf '\002' | dd of="$(echo "$REGTRACE_SHM"/regtrace-*)" bs=1 seek=28 conv=notrunc status=none
run 60 "$REGTRACE" recover ended
like "$status $out" '^0 rank-00000\.h5: recovered' 'a stream whose writer has withdrawn its entry is found'
is "$(ls "$REGTRACE_SHM")" '' 'and does not stay in memory'

# A folder that was moved, and a copy of it. The streams do not belong to the
# copy.
begin first
end
cp -r first copy
run 60 "$REGTRACE" recover copy
like "$out" 'nothing was found of copy' 'a copy of the folder does not take the streams'
mv first moved
run 60 "$REGTRACE" recover moved
like "$out" '^rank-00000\.h5: recovered, 0 events from the file and [1-9][0-9]* from the stream$' 'a folder that was moved has its streams'
is "$(ls "$REGTRACE_SHM")" '' 'which do not stay in memory'

# Streams in a folder that recover does not know.
mkdir "$T/shm"
begin elsewhere REGTRACE_SHM="$T/shm"
end
run 60 "$REGTRACE" recover elsewhere
is "$status" 0 'streams elsewhere: recover ends'
like "$out" 'nothing was found of elsewhere: .*REGTRACE_SHM' 'and says what it has not found, and what may help'
run 60 env REGTRACE_SHM="$T/shm" "$REGTRACE" recover elsewhere
like "$out" 'rank-00000.h5: recovered' 'which does'
is "$(ls "$T/shm")" '' 'nothing stays there either'

# recover ignores the stream of another run.
begin one
end
mkdir -p other/.regtrace
run 60 "$REGTRACE" recover other
like "$out" 'nothing was found of other' 'what is of another run is left alone'
like "$(ls "$REGTRACE_SHM")" '^regtrace-' 'and stays'
run 60 "$REGTRACE" recover one
like "$out" 'rank-00000.h5: recovered' 'until its own is recovered'

# The writer ends before it has made the run's folder, and the process is killed.
cat >killed.c <<'END'
#include <regtrace.h>
#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 25; i++) {
        regtrace_region_begin("r");
        regtrace_region_end("r");
    }
    return argc > 1 ? 0 : kill(getpid(), SIGKILL);
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o killed killed.c || exit 99
lost() { "$REGTRACE" run -quiet -o "$1" -writer "$(type -P false)" -- ./killed >/dev/null 2>&1; }
lost absent
run 60 "$REGTRACE" recover absent
like "$status $out" '^0 rank-00000.h5: recovered, 0 events from the file and [1-9][0-9]* from the stream$' \
    'a run without a folder: recover makes it' || diag "$err"
is "$(ls "$REGTRACE_SHM")" '' 'and nothing stays in memory'
lost again
ok_run 'a later run into a folder of that name' "$REGTRACE" run -quiet -o again -- ./killed not
run 60 "$REGTRACE" recover again
unlike "$out" 'recovered' 'does not get the stream of the one before' || diag "$out$err"
rm -r again
run 60 "$REGTRACE" recover again
like "$out" '^rank-00000.h5: recovered' 'which is found once that folder is gone' || diag "$err"
run 60 "$REGTRACE" recover again/nothing
like "$status $err" '^1 .*No such file' 'a folder that no run was to have'
: >never & # the children of the writers end
wait
done_testing
