# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# For tests of regtrace diff.

# compare RUN1 RUN2 NAME: all outputs agree with the oracle; leaves them in answer.json, answer.txt
# and page.html. Sets marked to what is marked.
compare() {
    "$REGTRACE" diff --json --html page.html --force "$1" "$2" >answer.json &&
        "$REGTRACE" diff -top 0 "$1" "$2" >answer.txt
    ok $? "$3: is compared"
    run 60 "$PYTHON" "$here/oracle.py" "$1" "$2" answer.json answer.txt page.html
    is "$(grep -v 'marked:' <<<"$out")" '' "$3: as computed from the files" || diag "$err"
    like "$out" '^[1-9][0-9]* figures, [1-9]' "$3: there were figures"
    marked=${out#*marked: }
}
