#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The usage examples in the manual of Intel SDE's controller (Pin's InstLib control_manager), word
# for word, on a program that does what each example describes. The windows hold the marks between
# the two events and no others. The examples that count instructions are in t/pmu.
. "$(dirname "$0")/../../lib.sh"
P=$T/examples
export XDG_CACHE_HOME=$T/cache
needs probes
cc -O2 -I"$REGTRACE_SOURCE/share/include" -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/examples.c" -pthread || exit 99

# example TEXT CALLS WANTED: checks the marks of each window. WANTED has a letter for a begin, and
# the letter with a point for an end; windows are separated by /, and preceded by their thread if it
# is not 0. TEXT is the rest of the command line, with all options.
example() {
    local text=$1 calls=$2 wanted=$3 options got
    rm -rf "$T/run"
    mapfile -t options < <(xargs -n 1 printf '%s\n' <<<"$text")
    run 60 "$REGTRACE" run -quiet -o "$T/run" "${options[@]}" -- "$P" "$calls"
    is "$status" 0 "$text, $calls: the program runs" || diag "$err"
    got=$("$REGTRACE" dump "$T/run" | awk '
        $5 == "EV_WINDOW_OPEN" { printf("%s%s", (n++ ? "/" : ""), ($3 == 0 ? "" : $3 ":")) }
        $5 == "EV_MARK_SET" { split($NF, v, "="); printf("%c%s", v[2] % 1000, (v[2] >= 1000 ? "." : "")) }')
    is "$got" "$wanted" "and its windows hold what is reported" || diag "$("$REGTRACE" dump "$T/run")"
}

# The manual's text has a letter missing ("addres"): it is refused, and the message suggests the
# right word.
for text in start:address:foo,stop:addres:bar precond:ssc:11223344,start:address:foo,stop:addres:bar start:address:foo:tid0,stop:addres:bar:tid0; do
    run 60 "$REGTRACE" run -quiet -o "$T/run" -control $text -- "$P" fb
    is "$status" 2 "-control $text: refused"
    like "$err" "addres.*address" "and address is suggested"
done
example "-control start:address:foo,stop:address:bar" "CfDbC" "ff.DD."
example "-control stop:address:foo:count3" "CfffC" "CC.ff.ff."
example "-control precond:ssc:11223344,start:address:foo,stop:address:bar" "fbsCfDbC" "ff.DD."
example "-control start:address:foo:bcast,stop:address:bar:bcast" "fDb" "ff.DD."
example "-control start:address:foo:tid0,stop:address:bar:tid0" "TfDb" "ff.DD."
example "-control start:address:foo,stop:address:bar" "TfDb" "1:ff.DD./2:ff.DD./3:ff.DD./ff.DD."
example "-control precond:address:bar,start:address:foo,stop:address:boo" "fCb(f(C))oC" "fCC.f.b."
example "-control precond:address:foo,precond:address:bar,repeat:2,name:c1 -control start:address:boo,waitfor:c1" "ofbofboC" "oo.CC."
example "-control start:enter_func:foo,stop:exit_func:foo" "A(b(f(C(D))))" "fCDD.C.f."
example "-control start:enter_func:foo,stop:exit_func:bar" "A(b(f(C(b(D)))))C" "fCbDD.b.C.f.b."
example "-control start:enter_func:foo,stop:exit_func:foo" "A(f(f(f(f(C)))))D" "ffffCC.f.f.f.f."
# The same with repeat, and with other places of the same functions.
example "-control start:enter_func:foo,stop:exit_func:foo,repeat" "f(C)Df(D)Af" "fCC.f./fDD.f./ff."
example "-control start:address:foo,stop:exit_func:foo,repeat:2" "f(C)Df(D)Af" "fCC.f./fDD.f."
done_testing
