#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The output of a conversion appears when it is complete. A signal before leaves nothing, and an
# older output stays until then.
. "$(dirname "$0")/../lib.sh"
[ "$PYTHON" != no ] || skip_all "no python3"
cd "$T" || exit 99
cc -O2 -I"$REGTRACE_SOURCE/share/include" -x c -o much - <<'C' || exit 99
#include <regtrace.h>
int main(void)
{
    for (int i = 0; i < 300000; i++) {
        regtrace_region_begin("inner");
        regtrace_region_end("inner");
    }
    return 0;
}
C
run 60 "$REGTRACE" run -quiet -o run -- ./much
is "$status" 0 "a run of 600,000 events" || diag "$err"
names=(prv emulate csv chrome ovni html svg)
if "$REGTRACE" export -otf2 one.otf2 run 2>"$T/otf2"; then
    names+=(otf2)
else
    skip "OTF2" "$(cat "$T/otf2")"
fi
PYTHONDONTWRITEBYTECODE=1 run 200 "$PYTHON" "$REGTRACE_SOURCE/t/tools/unfinished.py" "$REGTRACE" run 6 "${names[@]}"
is "$status" 0 "all were killed" || diag "$err"
while read -r name ended before wrong; do
    is "$wrong" - "$name: nothing is left, and what is there is whole ($ended were killed, $before were done before)"
done <<<"$out"
is "$(wc -l <<<"$out")" ${#names[@]} "each command was looked at"

# A signal while it writes: SIGXFSZ, as the size of files is limited.
run 60 bash -c "ulimit -c 0; ulimit -f 64; exec '$REGTRACE' export -csv limited run"
isnt "$status" 0 "a file that may not grow"
is "$(find . -name 'limited*')" '' "leaves nothing"
run 60 bash -c "trap '' XFSZ; ulimit -f 64; exec '$REGTRACE' prv -o limited run"
is "$status" 1 "likewise where the signal is ignored" || diag "$err"
is "$(find . -name 'limited*')" '' "and a folder"

# SIGKILL leaves the unfinished output, and never NAME.
"$REGTRACE" prv -o gone run >/dev/null 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null && [ ! -e gone.unfinished-$pid ]; do :; done
kill -9 $pid 2>/dev/null
wait $pid 2>/dev/null
[ $? = 0 ] || [ ! -e gone ]
ok $? "SIGKILL makes none that looks whole"

mkdir other && : >other/mine && : >file
for what in 'prv -o' 'export -ovni'; do
    # shellcheck disable=SC2086  # words
    run 60 "$REGTRACE" $what other -force run
    is "$status" 1 "$what: a folder that is another's stays, also with -force"
    like "$err" 'other holds something else.*names another' "$what: which says so"
    # shellcheck disable=SC2086  # words
    run 60 "$REGTRACE" $what file -force run
    like "$err" 'file is there and no folder' "$what: a file is no folder"
done
[ -e other/mine ]
ok $? "and is as it was"
for what in 'emulate -o' 'export -csv' 'timeline -o' 'timeline -svg' 'page -o'; do
    # shellcheck disable=SC2086  # words
    run 60 "$REGTRACE" $what run/rank-00000.h5 -force run
    is "$status" 1 "$what: no file of a recording is replaced"
    # shellcheck disable=SC2086  # words
    run 60 "$REGTRACE" $what file run
    is "$status" 1 "$what: a file that is there is left alone"
    like "$err" 'file is there already: -force replaces it; -[a-z]+ FILE names another' "$what: with the remedy"
    is "$(wc -c <file)" 0 "$what: it is as it was"
    # shellcheck disable=SC2086  # words
    run 60 "$REGTRACE" $what other run
    like "$err" 'other is a folder' "$what: a folder is no file"
done
run 60 "$REGTRACE" emulate -o file -force run
is "$status" 0 "-force replaces it" || diag "$err"
[ -s file ]
ok $? "by the new one"
"$REGTRACE" emulate run >/dev/null && run 60 "$REGTRACE" emulate run
is "$status" 0 "the run's own channels.h5 is made anew" || diag "$err"
is "$(find . -name '*.unfinished-*' ! -path "./gone.unfinished-$pid*")" '' "nothing unfinished is left"
done_testing
