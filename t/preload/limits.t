#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs with small resource limits: the writer raises its own limits as far as it may, and
# messages name the limit that is too small.
. "$(dirname "$0")/../lib.sh"
P=$REGTRACE_BUILD/t/preload
leaves_streams=1 # of writers that die

# limited ULIMIT...: runs the program under this limit. Sets trace to the folder of the run, and log
# to its messages.
limited() {
    trace=$T/trace.$((n += 1))
    # Close the descriptors that make passes on, because they would count towards the limit.
    (exec 3<&- 4<&- 5<&- 6<&-; ulimit "$@" && REGTRACE_DIR=$trace LD_PRELOAD=$LIBREGTRACE exec "$P/libc/raw_children" program) >"$T/out" 2>"$T/err"
    is "$? $(cat "$T/out")" "0 " "ulimit $*: the program runs"
    # If not even the log can be opened, the messages are on stderr.
    log=$(cat "$trace/regtrace.log" "$T/err" 2>&1)
}
recorded() { "$REGTRACE" dump "$trace" 2>/dev/null | grep -cE 'region begins.*"program"'; }
n=0

for how in '-Sn 8' '-Ss 64' '-Sv 200000' '-Sd 20000'; do
    # shellcheck disable=SC2086  # two words
    limited $how
    is "$(recorded)" 1500 "ulimit $how, which the writer may lift: all is recorded" || diag "$log"
done
for open in 9 8 5; do
    limited -n $open
    like "$log" "the writer cannot be started: .*Too many open files; limits: open files .ulimit -n. $open\$" "ulimit -n $open: the reason"
    is "$(recorded)" 0 "and nothing was recorded"
done
limited -s 64
like "$log" "was killed, or had too little.*ulimit -s. 64\$" "ulimit -s 64: the reason"
run 60 "$REGTRACE" recover "$trace"
is "$(recorded)" 1500 "ulimit -s 64: and recover gets it all" || diag "$out$err"

rm -f "$REGTRACE_SHM"/*
export REGTRACE_WRITER
REGTRACE_WRITER=$(type -P false)
limited -c 0
like "$log" "the writer of this process ended as soon as it had begun; .regtrace recover. makes its file\$" "a writer that ends at once"
run 60 "$REGTRACE" recover "$trace"
is "$status $(recorded)" "0 1500" "recover makes its file" || diag "$out$err"
is "$(ls "$REGTRACE_SHM")" "" "and leaves no stream"

# A writer that ended before the stream had a name, and a process without events.
cat >"$T/removes" <<'END'
#!/bin/bash
rm "$REGTRACE_SHM"/*
END
chmod +x "$T/removes"
REGTRACE_WRITER=$T/removes
limited -c 0
like "$log" "nothing is recorded: the writer of this process ended as soon as it had begun\$" "a writer that leaves no stream to recover"
REGTRACE_WRITER=$(type -P false)
run 60 env REGTRACE_CONTROL=start:pcontrol:1 REGTRACE_DIR="$T/empty" LD_PRELOAD="$LIBREGTRACE" true
is "$status $(ls "$REGTRACE_SHM")" "0 " "a writer that ends at once leaves no stream without events"

# The writer is killed before it has entered the stream into the run's folder, while it makes the
# folder.
cat >"$T/stuck.c" <<'END'
#include <sys/stat.h>
#include <unistd.h>
int mkdir(const char *path, mode_t mode)
{
    (void)path, (void)mode;
    for (;;)
        pause();
}
END
cc -shared -fPIC -o "$T/stuck.so" "$T/stuck.c"
cat >"$T/early" <<END
#!/bin/bash
LD_PRELOAD=$T/stuck.so "$REGTRACE_BUILD/writer/regtrace-writer" "\$@" &
sleep 1
kill -KILL \$!
wait
END
chmod +x "$T/early"
REGTRACE_WRITER=$T/early
limited -c 0
like "$log" "the writer of this process ended as soon as it had begun; .regtrace recover. makes its file\$" "a writer that is killed before it has entered its stream"
run 60 "$REGTRACE" recover "$trace"
is "$status $(recorded)" "0 1500" "recover finds the stream" || diag "$out$err"
is "$(ls "$REGTRACE_SHM")" "" "and leaves none"
unset REGTRACE_WRITER

REGTRACE_DIR=$T/blind LD_PRELOAD=$LIBREGTRACE run 60 "$P/libc/raw_children" blind
is "$status $out$err" "0 " "a program that cannot look for its writer says nothing false of it"
trace=$T/blind
wait_for 20 test -e "$trace/regtrace.h5"
is "$(recorded)" 1500 "and is recorded"

for how in REGTRACE_DEFAULT_START=0 REGTRACE_EXCLUDE=raw_children; do
    run 60 env "$how" REGTRACE_DIR="$T/sandbox" LD_PRELOAD="$LIBREGTRACE" "$P/libc/raw_children" sandbox
    is "$status $out$err" "3 in the sandbox" "$how: a program that may only write and exit does so"
done
done_testing
