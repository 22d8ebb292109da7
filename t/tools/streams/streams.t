#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The emulator gets each event of a run once, in the order of time, whatever the order in its files.
. "$(dirname "$0")/../../lib.sh"
STREAMS=$REGTRACE_BUILD/t/tools/streams/streams
cc -O2 -I"$REGTRACE_SOURCE/share/include" -o "$T/threads" "$REGTRACE_SOURCE/t/tools/streams/busy_threads.c" -pthread || exit 99
run 60 "$REGTRACE" run -quiet -o "$T/run" -- "$T/threads"
is "$status" 0 "a run of two processes with four threads each" || diag "$err"
is "$(find "$T/run" -name 'rank-*.h5' | wc -l)" 2 "has two files"
"$STREAMS" "$T/run" >"$T/found"
is $? 0 "its events are read"
"$STREAMS" "$T/run" | cmp -s - "$T/found"
ok $? "another time they are the same"
sort -s -n -k1,1 -c "$T/found"
ok $? "they come in the order of time"
# dumped DIR: prints what regtrace dump has, in an order that can be compared: time since the first
# event, thread and code.
dumped() {
    "$REGTRACE" dump --json "$1" | sed -E 's/.*"thread": ?(-?[0-9]+).*"ns": ?(-?[0-9]+).*"code": ?([0-9]+).*/\2 \1 \3/' | sort -n |
        awk 'NR == 1 { first = $1 } { print $1 - first, $2, $3 }' | sort
}
awk 'NR == 1 { first = $1 } { print $1 - first, $3, $5 }' "$T/found" | sort >"$T/sorted"
dumped "$T/run" | cmp -s - "$T/sorted"
ok $? "and all are there" || diag "$(dumped "$T/run" | diff - "$T/sorted" | head -6)"
[ "$(wc -l <"$T/found")" -gt 20000 ]
ok $? "which are many" || diag "$(wc -l "$T/found")"
cp -r "$T/run" "$T/cut"
head -c 3000 "$T/run/rank-00000.h5" >"$T/cut/rank-00000.h5"
run 60 "$STREAMS" "$T/cut"
isnt "$status" 0 "a damaged file is an error"
like "$err" 'rank-00000.h5' "which names it"
run 60 "$STREAMS" "$T/cut" skip
is "$status" 0 "where that is wished it is left out"
like "$out" 'left out: rank-00000.h5' "and told"

# The emulator learns from /pieces whose events are where: the table is right, and the emulator uses
# it.
[ -n "$PYTHON" ] && "$PYTHON" -c 'import h5py' 2>/dev/null || { skip "/pieces" "no python3 with h5py"; done_testing; }
pieces() { "$PYTHON" "$REGTRACE_SOURCE/t/tools/streams/pieces.py" "$@" 2>&1; }
run 60 pieces "$T"/run/rank-*.h5
is "$status" 0 "/pieces of both files has what /events has" || diag "$out"
like "$out" '^closed ([0-9]+) of \1 events in ([4-9]|[0-9]{2,}) pieces of 4 threads$' "all of it, of all threads" || diag "$out"
for how in without torn; do
    rm -rf "$T/cut" && cp -r "$T/run" "$T/cut" && pieces "$T/cut/rank-00000.h5" $how
    "$STREAMS" "$T/cut" | cmp -s - "$T/found"
    ok $? "where it is ${how/without/not there} nothing else changes"
done
rm -rf "$T/cut" && cp -r "$T/run" "$T/cut" && pieces "$T/cut/rank-00000.h5" lie
run 60 "$STREAMS" "$T/cut"
is "$status" 1 "a table that does not say the truth is not believed"
like "$err" "rank-00000.h5: event [0-9]+ is thread [0-9]'s, its table /pieces says [0-9]'s: .*regtrace check" "and named"

# A long sequence of one thread's events has several rows. The process is killed.
cat >"$T/long.c" <<'END'
#include <regtrace.h>
#include <signal.h>
int main(void)
{
    for (int i = 0; i < 100000; i++)
        regtrace_mark_set(1, i);
    return raise(SIGKILL);
}
END
cc -O2 -I"$REGTRACE_SOURCE/share/include" -o "$T/long" "$T/long.c" || exit 99
run 60 "$REGTRACE" run -quiet -o "$T/killed" -- "$T/long"
run 60 pieces "$T"/killed/rank-*.h5
like "$status $out" '^0 closed (1[0-9]{5}) of \1 events in 2 pieces of 1 threads$' "a killed process, a long stretch"

# The last chunk of /events cannot be read: a reader that begins by reading all events sees none.
"$PYTHON" - "$T" <<'END'
import glob, h5py, shutil, sys
T = sys.argv[1]
shutil.rmtree(f"{T}/cut")
shutil.copytree(f"{T}/killed", f"{T}/cut")
path = glob.glob(f"{T}/cut/rank-*.h5")[0]
with h5py.File(path, "r") as f:
    chunks = f["events"].id
    last = chunks.get_chunk_info(chunks.get_num_chunks() - 1)
    assert chunks.get_num_chunks() > 1
with open(path, "r+b") as f:
    f.seek(last.byte_offset + last.size // 2)
    f.write(b"\xff" * 64)
END
run 60 "$STREAMS" "$T/cut"
is "$status" 1 "what cannot be read"
[ "$(wc -l <<<"$out")" -gt 1000 ]
ok $? "is met on the way, not before" || diag "$(wc -l <<<"$out") $err"
pieces "$T"/cut/rank-*.h5 without
run 60 "$STREAMS" "$T/cut"
is "$status $out" "1 " "or before, without the table"

# The writer is killed while /pieces lags behind /events; then the file is recovered.
leaves_streams=1
env REGTRACE_DIR="$T/left" LD_PRELOAD="$LIBREGTRACE" "$T/threads" 10000000 >/dev/null 2>&1 &
traced=$!
kill_at_end $traced
for ((i = 0; i < 300; i++)); do
    [ "$(stat -c %s "$T/left/rank-00000.h5" 2>/dev/null || echo 0)" -gt 200000 ] && break
    sleep 0.1
done
writer=$("$PYTHON" -c 'import h5py, sys; print(h5py.File(sys.argv[1], "r", libver="latest", swmr=True).attrs["writer_pid"])' "$T/left/rank-00000.h5")
run 60 pieces "$T/left/rank-00000.h5"
like "$status $out" '^0 open [1-9][0-9]{3,} of [0-9]+ events in' "of a file that grows"
kill -9 "$writer" "$traced"
wait $traced 2>/dev/null
run 60 pieces "$T/left/rank-00000.h5"
like "$status $out" '^0 open [1-9][0-9]{3,} of [0-9]+ events in' "of one whose writer was killed"
"$STREAMS" "$T/left" | awk 'NR == 1 { first = $1 } { print $1 - first, $3, $5 }' | sort >"$T/sorted"
dumped "$T/left" | cmp -s - "$T/sorted"
ok $? "its events are all there" || diag "$(dumped "$T/left" | diff - "$T/sorted" | head -6)"
run 120 "$REGTRACE" recover "$T/left"
is "$status" 0 "it is recovered" || diag "$out $err"
run 60 pieces "$T/left/rank-00000.h5"
like "$status $out" '^0 recovered ([0-9]+) of \1 events in ([6-9]|[0-9]{2,}) pieces of 5 threads$' "and has all then"
ok_run "which check says too" "$REGTRACE" check "$T/left"

# Files of one window.
run 60 "$REGTRACE" split -o "$T/split" "$T/run"
run 60 pieces "$T"/split/window-*/rank-*.h5
is "$status" 0 "files of one window have it" || diag "$out"
"$STREAMS" "$T/split/window-00000" >/dev/null
ok $? "and are read"
done_testing
