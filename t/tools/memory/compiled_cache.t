#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compiled skeletons are cached: a second `regtrace skel replay` calls no compiler and prints the
# same. A cached file that is damaged, or that others may have written, is compiled again.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
mkdir tmp && export TMPDIR=$T/tmp XDG_CACHE_HOME=$T/cache
gcc -O2 -g -o program "$here/skel_program.c" -lpthread || exit 99
"$REGTRACE" run -o run -memory . -control 'start:enter_func:open_window,stop:enter_func:close_window,repeat:100000' -- ./program 3 4 >out 2>said || exit 99
# A compiler that logs each call. `other` is the same compiler in another file.
printf '#!/bin/sh\necho called >>%q\nexec cc "$@"\n' "$T/calls" | tee compiler >other && chmod +x compiler other
export CC=$T/compiler
touch calls
# replayed NAME CALLS [FORMAT]: a replay prints what the first one printed, and calls the compiler
# CALLS times.
replayed() {
    local before
    before=$(wc -l <calls)
    "$REGTRACE" skel replay -format "${3:-text}" run >again 2>said
    is "$? $(cat said) $(($(wc -l <calls) - before))" "0  $2" "$1: calls of the compiler"
    ok_run "$1: the same accesses" cmp "${3:-text}" again
}
kept() { find "${1:-run/memory}" -name '*.so' | wc -l; }
"$REGTRACE" skel replay run >text 2>said
is "$(wc -l <calls) $(kept)" "1 1" "what is compiled is kept" || diag "$(cat said)"
replayed "a second replay" 0
"$REGTRACE" skel replay -format count run >count 2>said
is "$(wc -l <calls) $(kept)" "2 2" "one that counts is another"
replayed "which is kept as well" 0 count
rm "$(find run/memory -name '*.so' -newer text)"
CC=$T/other replayed "another compiler" 1
CC="$T/compiler -O0" replayed "one with an option" 1
CC=" $T/compiler  -O0" replayed "which is the same with more blanks" 0
mkdir 'a b' && cp compiler 'a b/c d' && CC="$T/a b/c d" replayed "one whose path has blanks" 1
rm run/memory/*.so
replayed "none is kept" 1

# A cached file is used only if it is complete and if nobody else can have written it.
file=$(echo run/memory/*.so) && cp "$file" whole
for change in 'head -c 5000 whole' 'head -c 20 whole' 'true' 'head -c -1 whole' 'tr a-z b-za <whole' 'cat whole; echo'; do
    bash -c "$change" >"$file"
    replayed "damaged ($change)" 1
done
replayed "it is made good" 0
chmod 666 "$file"
replayed "a file that others may write" 1
replayed "which is one no more" 0
if [ "$(id -u)" = 0 ]; then
    chown 12345 "$file"
    replayed "somebody else's file" 1
    replayed "which is ours again" 0
else
    skip "somebody else's file" "only root can make one"
fi
mv "$file" elsewhere && ln -s "$T/elsewhere" "$file"
replayed "a link" 1

# Several replays at once.
rm run/memory/*.so
for n in 1 2 3 4 5 6; do
    "$REGTRACE" skel replay run >"at_once$n" 2>&1 &
done
wait
bad=
for n in 1 2 3 4 5 6; do
    cmp -s text "at_once$n" || bad+=" $n"
done
is "$bad" "" "six at once say the same"
is "$(kept) $(find run/memory -name '.part*' | wc -l)" "1 0" "and leave one file"
replayed "which is whole" 0

# If the run's folder is not writable, skeletons are cached in the user's cache.
rm run/memory/*.so
is "$(kept cache)" 0 "nothing was kept there"
before=$(wc -l <calls)
plain=()
[ "$(id -u)" != 0 ] || plain=(setpriv --bounding-set=-all) # root as it is without its rights
chmod -R a-w run
if ! "${plain[@]}" touch run/memory/try 2>/dev/null && "${plain[@]}" true; then
    for n in 1 2; do
        "${plain[@]}" "$REGTRACE" skel replay run >again 2>said
        is "$? $(cat said) $(kept) $(kept cache)" "0  0 1" "a run that cannot be written, $n: it is kept in the user's cache"
        ok_run "the same accesses, $n" cmp text again
    done
    is "$(wc -l <calls)" "$((before + 1))" "and compiled once"
else
    skip "a run that cannot be written" "everything can be written here"
fi
chmod -R u+w run

# -follow: how far the program is determines what is compiled, so the result is not cached.
rm -f run/memory/*.so
"$REGTRACE" skel replay -follow run >again 2>said
is "$? $(kept)" "0 0" "what is compiled meanwhile is not kept"
is "$(find tmp -type f)" "" "nothing is left behind"
done_testing
