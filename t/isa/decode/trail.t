#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Single-steps programs (t/isa/decode/trail.c): isa/ is sure of every instruction that they execute,
# in the C library and the dynamic linker too.
. "$(dirname "$0")/../../lib.sh"
LOOK=$REGTRACE_BUILD/t/isa/image/look
TRAIL=$REGTRACE_BUILD/t/isa/decode/trail
[ -x "$LOOK" ] || skip_all "this build has no isa/ (configure says why)"
for tool in gcc strip readelf; do
    command -v $tool >/dev/null || skip_all "no $tool"
done
cd "$T" || exit 1
src=$REGTRACE_SOURCE/t/isa/decode

# sure NAME LEAST COMMAND...: all that the command executes is sure, in each image; at least LEAST
# instructions are in the program's own image.
sure() {
    local name=$1 least=$2 images image line
    shift 2
    run 300 "$TRAIL" "$@"
    is "$status" 0 "$name: is stepped to its end"
    # The program's own output is in between.
    grep -E '^/[^ ]+ [0-9a-f]+$' <<<"$out" >trail
    mapfile -t images < <(cut -d' ' -f1 trail | sort -u)
    for image in "${images[@]}"; do
        line=$(awk -v i="$image" '$1 == i { print $2 }' trail | "$LOOK" trail "$image" | tail -3 | xargs)
        like "$line" '^sure=[0-9]+ unsure=0 inside=0$' "$name: $line in $(basename "$image")"
    done
    line=$(awk -v i="$(realpath "$1")" '$1 == i { print $2 }' trail | wc -l)
    [ "$line" -ge "$least" ]
    ok $? "$name: $line instructions of its own"
}
ok_run "compiles switches" gcc -O2 -o switches "$src/../memory/switches.c"
sure switches 300 ./switches
strip switches
sure "switches, stripped" 300 ./switches
# Test the comparison itself: it must report an address within an instruction.
like "$(printf '%x\n' $((0x$(readelf -h switches | sed -n 's/.*Entry point address: *0x//p') + 1)) |
    "$LOOK" trail switches)" '^sure=0 unsure=0 inside=1$' "it would find one inside of another"
done_testing
