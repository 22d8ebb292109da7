#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The files of regtrace timeline, without a browser: their contents, what is refused, and that they
# are the same each time.
. "$(dirname "$0")/../../lib.sh"
cc -O2 -I"$REGTRACE_SOURCE/share/include" -o "$T/threads" "$REGTRACE_SOURCE/t/tools/streams/busy_threads.c" -pthread || exit 99
run 60 "$REGTRACE" run -quiet -o "$T/run" -- "$T/threads"
is "$status" 0 "a run of two processes with four threads each" || diag "$err"
cd "$T" || exit 99

run 60 "$REGTRACE" timeline run
is "$status" 0 "a page of it" || diag "$err"
like "$out" '^run.html: [0-9]+ bytes' "has the run's name, which is reported"
[ -s run.html ]
ok $? "and is there"
is "$(find . -maxdepth 1 -name '.spool*' | wc -l)" 0 "no temporary file is left"
run 60 "$REGTRACE" timeline run
is "$status" 1 "another time it is refused"
like "$err" 'run.html is there already.*-output FILE' "which says what to do"
run 60 "$REGTRACE" timeline -o again.html --svg one.svg run
cmp -s run.html again.html
ok $? "the same run gives the same page"
run 60 "$REGTRACE" timeline -o three.svg run
cmp -s one.svg three.svg
ok $? "-o with a name that ends in .svg makes the picture"
run 60 "$REGTRACE" timeline --svg two.svg run
cmp -s one.svg two.svg
ok $? "and the same picture"
[ ! -e timeline.html ] && [ "$(find . -maxdepth 1 -name '*.html' | wc -l)" = 2 ]
ok $? "which alone is made where it alone is wished"
unlike "$(cat run.html one.svg | sed 's|http://www.w3.org/2000/svg||')" '(https?:)?//[a-z]+\.|<link[^>]*href="[^d]|@import|<img' "they load nothing from anywhere"
like "$(head -c 3000 run.html)" "default-src 'none'" "and the page forbids it"

# Boxes, counted independently: each region has one, and each thread's window has one.
boxes() { sed -n 's/^[0-9]* events, \([0-9]*\) boxes.*/\1/p' <<<"$1"; }
all=$(boxes "$out")
regions=$("$REGTRACE" dump --json run | grep -c EV_REGION_BEGIN)
[ "$regions" -gt 13000 ]
ok $? "the run has many regions ($regions)" || diag "$("$REGTRACE" dump --json run | head -3)"
[ "$all" -gt "$regions" ]
ok $? "each has a box, and there is more ($all)"
run 60 "$REGTRACE" timeline --rank 0 -o rank.html run
is "$(boxes "$out")" "$all" "rank 0 is all of them"
run 60 "$REGTRACE" timeline --rank 7 -o none.html run
is "$status" 1 "no such rank"
[ ! -e none.html ]
ok $? "makes no page"
# The time in which the first third of the regions begins, whenever the threads got a processor.
read -r from to < <("$REGTRACE" dump run | awk '$5 == "EV_REGION_BEGIN" { print $1 }' | LC_ALL=C sort -n | awk '{ at[NR] = $1 } END { print at[1], at[int(NR / 3)] }')
run 60 "$REGTRACE" timeline --from "$from" --to "$to" -o part.html run
is "$status" 0 "a part of the time" || diag "$from $to $err"
[ "$(boxes "$out")" -gt 0 ] && [ "$(boxes "$out")" -lt "$all" ]
ok $? "has less" || diag "$out"
sed -n 's/.* from \([0-9.]*\) to \([0-9.]*\) s$/\1 \2/p' <<<"$out" | awk -v a="$from" -v b="$to" '{ exit !(NF == 2 && $1 >= a && $2 <= b) }'
ok $? "and lies where it is asked for" || diag "$out ($from $to)"
run 60 "$REGTRACE" timeline --window 5 -o none.html run
is "$status" 1 "a window that is not there"
like "$err" 'nothing is there to be shown' "the error says so"
for wrong in '--from x' '--to -1' '--window a' '--from 2 --to 1' '--svg='; do
    # shellcheck disable=SC2086  # words
    run 20 "$REGTRACE" timeline $wrong run
    is "$status" 2 "timeline $wrong is wrong usage"
    isnt "$err" '' "and is reported"
done
run 20 "$REGTRACE" timeline -o no/such/page.html run
is "$status" 1 "a folder that is not there"
like "$err" 'no/such/page.html.*-output FILE' "the error says so"
if [ -w /dev/full ]; then
    ln -s /dev/full full.html
    run 20 "$REGTRACE" timeline -o full.html run
    is "$status" 1 "what is there is no file to be written"
fi

# Forty functions that are recorded and sampled: each has a unique colour, the same wherever it is
# shown.
{
    for i in {1..40}; do echo "__attribute__((noinline)) void f$i(void) { for (volatile int k = 0; k < 200000; k++) ; }"; done
    echo 'int main(void) {'
    for i in {1..40}; do echo "f$i();"; done
    echo '}'
} >forty.c
cc -O1 -finstrument-functions -o forty forty.c || exit 99
run 60 "$REGTRACE" run -quiet -functions 1 -sample cpu:1ms -o forty.run -- ./forty
is "$status" 0 "a run of forty functions" || diag "$err"
run 60 "$REGTRACE" timeline -o forty.html forty.run
if [ "$PYTHON" = no ]; then
    skip "their colours" "no python3"
else
    cat >colours.py <<'P'
import json, re
page = open("forty.html", encoding="utf-8").read()
meta = json.loads(re.search(r'<script id="meta" type="application/json">(.*?)</script>', page, re.S).group(1))
by_name = {}
for lane in meta["lanes"]:
    if lane["name"] in ("func.name", "sample.function"):
        for name, colour in zip(lane["values"], lane["colours"]):
            by_name.setdefault(name, set()).add(colour)
functions = [n for n in by_name if re.fullmatch(r"f[0-9]+", n)]
print(len(functions), len(set.union(*(by_name[n] for n in functions))), [n for n in functions if len(by_name[n]) > 1])
P
    is "$("$PYTHON" colours.py 2>&1)" '40 40 []' "each has one colour, and no other has it"
fi

run 60 "$REGTRACE" timeline -o figure.PDF run
like "$status $err" '^2 .*figure.PDF: a page, FILE.html, and the pictures FILE.svg and FILE.png are legal' "a kind of picture that is not made is refused"
for wrong in '-png figure.pdf' '-png figure.svg' '-svg figure.png' '-svg figure.html' '-o figure.html -svg figure.html' '-svg figure -png figure'; do
    # shellcheck disable=SC2086  # options are separate words
    run 60 "$REGTRACE" timeline $wrong run
    like "$status $err" '^2 .*(a name that ends in .(svg|png) is legal|name the same file)' "$wrong: is refused"
done
[ -z "$(find . -maxdepth 1 -name 'figure*')" ]
ok $? "and no file is made"

# A PNG by libcairo, or the reason why there is none.
run 60 "$REGTRACE" timeline --png one.png run
if [ "$status" = 0 ]; then
    is "$(head -c 8 one.png | od -An -tx1 | tr -d ' ')" 89504e470d0a1a0a "a PNG"
    [ "$(stat -c %s one.png)" -gt 5000 ]
    ok $? "which has something in it"
    "$REGTRACE" timeline -o three.PNG run >/dev/null && cmp -s one.png three.PNG
    ok $? "-o with a name that ends in .PNG makes the same"
else
    like "$err" 'libcairo2.*-svg' "without libcairo it says so"
    [ ! -e one.png ]
    ok $? "and leaves no file"
    skip "a PNG" "no libcairo"
fi
mkdir none
echo nothing >none/libcairo.so.2
LD_LIBRARY_PATH=$T/none run 60 "$REGTRACE" timeline --png two.png run
is "$status" 1 "a libcairo that cannot be opened"
like "$err" 'libcairo2.*-svg' "is reported, with the remedy"
[ ! -e two.png ]
ok $? "and no file is left"
python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' one.svg
ok $? "the SVG is well-formed"
like "$(cat one.svg)" '>rank 0\.[0-4]<' "and names its rows"

# A killed process: the policy decides.
cc -O2 -I"$REGTRACE_SOURCE/share/include" -x c -o killed - <<'C' || exit 99
#include <regtrace.h>
#include <signal.h>
int main(void)
{
    for (int i = 0; i < 5000; i++) {
        regtrace_region_begin("part");
        regtrace_region_end("part");
    }
    regtrace_region_begin("open");
    return raise(SIGKILL);
}
C
run 60 "$REGTRACE" run -quiet -o dead -- ./killed
run 60 "$REGTRACE" timeline dead
is "$status" 1 "a run that was killed is refused"
like "$err" 'salvage' "with the remedy"
[ ! -e dead.html ]
ok $? "and no page is left"
run 60 "$REGTRACE" timeline -policy salvage dead
[ -s dead.html ]
ok $? "which makes one" || diag "$err"

# Names that are not UTF-8, and outputs that are not files.
cat >latin.c <<'C'
#include <regtrace.h>
#include <unistd.h>
int main(void)
{
    static const char *const names[] = {"caf\351 <&>", "a[b[0]]>c", "\357\277\276 \357\277\277"};
    for (int i = 0; i < 3; i++) {
        regtrace_region_begin(names[i]);
        usleep(1000);
        regtrace_region_end(names[i]);
    }
    return 0;
}
C
cc -I"$REGTRACE_SOURCE/share/include" -o latin latin.c || exit 99
run 60 "$REGTRACE" run -quiet -o latin.run -- ./latin
ok_run "a picture of names in another encoding" "$REGTRACE" timeline --svg latin.svg latin.run
is "$("$PYTHON_ANY" -c 'import xml.dom.minidom as m; print(m.parse("latin.svg").documentElement.tagName)' 2>&1)" svg "is XML"
like "$(cat latin.svg)" 'a\[b\[0\]\]&gt;c' "with a name that holds ]]>"
if compgen -G '/usr/lib/*/libcairo.so.2' >/dev/null || compgen -G '/usr/lib64/libcairo.so.2' >/dev/null; then
    ok_run "and is drawn as PNG" "$REGTRACE" timeline --png latin.png latin.run
else
    skip "a PNG of such names" "no libcairo"
fi
for wrong in 'timeline -o -' 'timeline --svg -' 'emulate -o -'; do
    echo precious >./-
    # shellcheck disable=SC2086
    run 60 "$REGTRACE" $wrong -force latin.run
    is "$status $(cat ./-)" '1 precious' "$wrong: standard output is refused, a file of that name left alone"
done
rm ./-
run 60 "$REGTRACE" timeline --svg one --png one latin.run
is "$status" 2 "two pictures with one name are refused"
run 60 "$REGTRACE" timeline -rows processors -o rows.html latin.run
like "$status $err" '^2 .*-rows is of pictures: give -svg or -png' "-rows without a picture is refused, with the remedy"
leaves_streams=1
done_testing
