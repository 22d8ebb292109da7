#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# `regtrace skel replay` says once why it cannot compile skeletons, and what helps. Also files of a
# run that are damaged or not regular files.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
mkdir tmp && export TMPDIR=$T/tmp XDG_CACHE_HOME=$T/cache
gcc -O2 -g -o program "$here/skel_program.c" -lpthread || exit 99
"$REGTRACE" run -o run -memory . -control 'start:enter_func:open_window,stop:enter_func:close_window,repeat:100000' -- ./program 3 4 >out 2>said || exit 99
[ "$(echo run/memory/*.rec | wc -w)" -gt 2 ] || exit 99
# trouble NAME LINES ERE: replay fails in each format with LINES lines, which match ERE.
trouble() {
    local format
    for format in text count; do
        "$REGTRACE" skel replay -jobs 2 -format $format run >out 2>said
        is "$? $(wc -l <said)" "1 $2" "$1, $format: is reported once" || diag "$(cat said)"
        like "$(tr "\n" " " <said)" "$3" "with what helps"
    done
}
CC=$T/absent trouble "no compiler" 2 "/absent cannot be run: No such file.*by .*/absent \\(the variable CC names another C compiler\\)"
printf '#!/bin/sh\necho "fatal error: error writing to x.s: No space left on device" >&2\nexit 1\n' >full && chmod +x full
CC=$T/full trouble "a full disk" 2 'No space left on device.*cannot be compiled by .*/full \(the variable TMPDIR names another folder for temporary files\)'
unlike "$(cat said)" 'the variable CC' "and nothing that does not"
printf '#!/bin/sh\necho "no such option" >&2\nexit 1\n' >wrong && chmod +x wrong
CC=$T/wrong trouble "a compiler that fails" 2 'no such option.*cannot be compiled by .*/wrong \(the variable CC'
TMPDIR=$T/absent trouble "no folder" 1 'no folder for compiled skeletons: .*/absent/.*: No such file or directory \(the variable TMPDIR names another folder'

# Incomplete skeletons: cut off within a function, or between two functions.
skeleton=$(echo run/memory/*.c)
cp "$skeleton" whole
for bytes in $(($(wc -c <whole) / 2)) $(($(wc -c <whole) - 5)) 0; do
    head -c "$bytes" whole >"$skeleton"
    trouble "a skeleton of $bytes bytes" 1 "the skeleton $skeleton is damaged or incomplete"
done
awk '/^\/\* [0-9]+ calls / { caller = 1 } { print } caller && /^#endif/ { exit }' whole >"$skeleton"
trouble "a skeleton that lacks who is called" 1 "the skeleton $skeleton is damaged or incomplete"
cp whole "$skeleton"

# Files that are not regular, and names that are invalid.
cp -r run other && mkfifo other/memory/98-0.0.rec
run 20 "$REGTRACE" skel replay other
is "$status" 1 "a FIFO among recordings"
like "$err" 'other/memory/98-0.0.rec is no recording of memory accesses, or damaged' "the error says so"
rm -r other && cp -r run other && rm other/memory/*.c && mkfifo "other/memory/$(basename "$skeleton")"
run 20 "$REGTRACE" skel replay other
is "$status" 1 "a FIFO as a skeleton"
like "$err" '^regtrace skel: no skeleton: other/memory/' "the error says so"
rm -r other && cp -r run other && name=$(basename "$skeleton")
for rec in other/memory/*.rec; do
    at=$(grep -obUaF "$name" "$rec" | head -n 1 | cut -d : -f 1)
    printf '\352\033' | dd of="$rec" bs=1 seek="$at" conv=notrunc status=none
done
run 20 "$REGTRACE" skel replay other
is "$status $(LC_ALL=C grep -c '[^ -~]' <<<"$err")" "1 0" "a skeleton's name of bytes that are none"
like "$err" 'is no recording of memory accesses, or damaged' "the error says so"
awk '!done && /^    OUT\(/ { printf "    \352\033 oops \001;\n"; done = 1 } { print }' whole >"$skeleton"
run 20 "$REGTRACE" skel replay run
is "$status $(LC_ALL=C grep -c '[^ -~]' <<<"$err")" "1 0" "what compilers quote of a damaged skeleton"
cp whole "$skeleton"
"$REGTRACE" skel replay run >text 2>said
is "$? $(cat said)" "0 " "the whole one is replayed"
is "$(ls -A tmp)" "" "nothing is left behind"
done_testing
