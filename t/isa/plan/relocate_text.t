#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Displaced instructions as objdump shows them: the same ones in the same order, with the same
# targets and the same memory, and a jump back.
. "$(dirname "$0")/../../lib.sh"
RELOCATE=$REGTRACE_BUILD/t/isa/plan/relocate.t
[ -x "$RELOCATE" ] || skip_all "this build has no isa/ (configure says why)"
needs objdump
mkdir "$T/sequences"
run 60 "$RELOCATE" "$T/sequences"
is "$status" 0 "sequences are made and run"

# listing FILE: prints mnemonic and operands of each instruction, with absolute addresses and
# without distances.
listing() {
    objdump -D -b binary -m i386:x86-64 --adjust-vma="0x${1##*.}" "$1" | sed -n 's/^ *[0-9a-f]*:\t[0-9a-f ]*\t//p' |
        sed -E 's/-?0x[0-9a-f]+\(%rip\)/memory(%rip)/; s/ +/ /g; s/ $//'
}
# compare WAS IS: prints the first difference of a copy's listing. In copies, loop instructions go
# over a jump, which objdump shows as two more instructions.
compare() {
    local was=$1 is=$2
    listing "$was" >"$T/was"
    listing "$is" >"$T/is"
    awk -v want="$T/was" '
        function next_is() { at++; return is[at] }
        { is[NR] = $0 }
        END {
            at = 0
            while ((getline line < want) > 0) {
                got = next_is()
                n = split(line, w, " "); split(got, g, " ")
                if (line ~ /^(addr32 )?(loopl?|loopel?|loopnel?|jrcxz|jecxz) /) {
                    target = w[n]
                    if (g[1] != w[1] && !(w[1] == "addr32" && g[1] == "addr32")) { print "loop: " line " / " got; exit }
                    over = next_is(); far = next_is()
                    if (over !~ /^jmp /) { print "no jump over: " over; exit }
                    if (far != "jmp " target && far !~ ("^jmp +" target "$")) { print "far: " far " for " line; exit }
                } else if (line != got) { print line " / " got; exit }
            }
        }' "$T/is"
}
count=0 wrong=
for was in "$T"/sequences/*.was.*; do
    is=$(echo "${was%.was.*}".is.*)
    difference=$(compare "$was" "$is")
    count=$((count + 1))
    [ -z "$difference" ] || { wrong="$wrong $(basename "$was"): $difference;"; }
done
isnt "$count" 0 "there are sequences"
is "$wrong" "" "$count sequences read the same for objdump"
# The last instruction jumps back to the end of the originals, unless control never gets there.
back=0 wrong=
for was in "$T"/sequences/*.was.*; do
    end=$(printf '%x' $((0x${was##*.} + $(stat -c %s "$was"))))
    case $(listing "$was" | tail -1) in
    jmp*) continue ;;
    esac
    last=$(listing "$(echo "${was%.was.*}".is.*)" | tail -1)
    back=$((back + 1))
    [ "$last" = "jmp 0x$end" ] || wrong="$wrong $(basename "$was"): $last;"
done
isnt "$back" 0 "there are some that go on"
is "$wrong" "" "$back jump back to after the originals"
done_testing
