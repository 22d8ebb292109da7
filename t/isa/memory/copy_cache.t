#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests instrumented copies and skeletons that are cached in the user's cache: the cached files
# equal new ones, for many processes at once too, and damaged files are made again.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
ISA=$REGTRACE_BUILD/isa/regtrace-isa
gcc -O2 -Wl,--build-id -o kernels "$here/kernels.c" -lm || exit 99
export XDG_CACHE_HOME=$T/cache

# made NAME OPTION...: writes NAME.copies, NAME.c and NAME.said.
made() {
    local name=$1
    shift
    "$ISA" skel "$@" --copies "$name.copies" --skeleton "$name.c" ./kernels >"$name.said"
}
same() { cmp -s "$1.copies" "$2.copies" && cmp -s "$1.c" "$2.c" && cmp -s "$1.said" "$2.said"; }
kept() { find cache -name '*.copies' | wc -l; }
made bare --function '^[a-m]' --opens main
is "$(kept 2>/dev/null)" 0 "nothing is kept unasked"
for n in 1 2 3 4 5 6; do
    made at_once$n --kept --function '^[a-m]' --opens main &
done
wait
bad=
for n in 1 2 3 4 5 6; do
    same bare at_once$n || bad+=" $n"
done
is "$bad" "" "six at once get what is made without"
is "$(kept)" 1 "which is kept once"
made again --kept --function '^[a-m]' --opens main
ok_run "and once more" same bare again
made other --kept --function '^[a-m]' --opens main --plan addresses
ok_run "another plan makes others" bash -c '! cmp -s bare.copies other.copies'
made fewer --kept --function '^[a-f]' --opens main
ok_run "other functions do" bash -c '! cmp -s bare.copies fewer.copies'
is "$(kept)" 3 "each is kept"
cp kernels before && gcc -O1 -Wl,--build-id -o kernels "$here/kernels.c" -lm
made anew --kept --function '^[a-m]' --opens main
ok_run "so does another build of the program" bash -c '! cmp -s bare.copies anew.copies'
cp before kernels

# A cached file is used only if nobody else may write it and it is complete.
for f in cache/regtrace/*.copies; do
    cp "$f" whole
    for change in 'head -c 50000 whole' 'head -c 20 whole' ': nothing' 'tr a-z b-za <whole' '{ head -c 30000 whole; printf "\351"; tail -c +30002 whole; }'; do
        bash -c "${change/#: nothing/:}" >"$f"
        made damaged --kept --function '^[a-m]' --opens main
        same bare damaged || bad+=" $f,$change"
    done
done
is "$bad" "" "damaged files are made anew"
chmod 666 cache/regtrace/*.copies
for f in cache/regtrace/*.copies; do
    printf '#' | dd of="$f" bs=1 conv=notrunc seek="$(($(stat -c %s "$f") - 3))" 2>/dev/null
done
made foreign --kept --function '^[a-m]' --opens main
ok_run "files that others may write are not taken" same bare foreign
TMPDIR=/proc/nowhere XDG_CACHE_HOME=/proc/nowhere made nowhere --kept --function '^[a-m]' --opens main
ok_run "without a cache they are made" same bare nowhere
made refused --kept --function '^nothing_is_called_so$'
is "$(cat refused.said)" "missing
end" "what is not there is not kept"
done_testing
