#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests regtrace-vprofiler's answers about instructions. Lengths, control flow, memory operands and
# copies are compared with objdump, for hand-written code with all kinds of operands, for libm and
# for a third of libc. The captured operands are compared with a table made by hand.
. "$(dirname "$0")/../../lib.sh"
VP=$REGTRACE_BUILD/isa/regtrace-vprofiler
ASKING=$REGTRACE_BUILD/t/isa/values/asking
[ -x "$VP" ] || skip_all "this build has no isa/ (configure says why)"
for tool in gcc as objdump; do
    command -v $tool >/dev/null || skip_all "no $tool"
done
python=$(command -v python3) || skip_all "no python3"
cd "$T" || exit 1
compare() { "$python" "$REGTRACE_SOURCE/t/isa/values/operands.py" "$@"; }

# agrees NAME LEAST: compares the instructions of the file `text`, of which there must be LEAST.
agrees() {
    compare questions text >questions
    "$ASKING" answer "$VP" vp-addr <questions >answers
    compare check text answers >differ
    local count
    count=$(sed -n 's/^\([0-9]*\) instructions, 0 differ$/\1/p' differ)
    [ "${count:-0}" -ge "$2" ]
    ok $? "$1: objdump agrees on $2 instructions at least" || diag "$(tail -40 differ)"
    diag "$1: $(tail -1 differ)"
    compare copies text answers copies.bin >wanted
    objdump -D -w -b binary -m i386:x86-64 copies.bin >copied
    is "$(grep -v '^want' wanted | head -5)" "" "$1: copies use registers that are free"
    is "$(compare plain copied | diff - <(grep '^want' wanted) | head -5)" "" "$1: $(grep -c ^want wanted) copies do what the instructions do"
}
if as -o operands.o "$REGTRACE_SOURCE/t/isa/values/operands.S" 2>as.err; then
    objdump -d -w --adjust-vma=0x400000 operands.o >text
    agrees "all kinds of operands" 300
    isnt "$(grep -c stack_as answers),$(grep -c fixup answers)" "0,0" "there are copies of both kinds"
    # The comparison must find faults.
    sed 's/where=0,-1,1,0,/where=0,-1,1,8,/; s/condition=5/condition=4/' answers >wrong
    isnt "$(compare check text wrong | tail -1)" "$(tail -1 differ)" "and would find a fault"
    like "$(compare check text wrong)" 'condition 4' "of a condition too"
else
    skip "all kinds of operands" "the assembler is too old: $(head -1 as.err)"
fi
for library in libc.so.6 libm.so.6; do
    file=$(ldconfig -p | awk -v name="$library" '$1 == name && /x86-64/ { print $NF; exit }')
    if [ -z "$file" ]; then
        skip "$library" "it is not here"
        continue
    fi
    objdump -d -w -j .text "$file" | head -120000 >text
    agrees "$library" 30000
done

# Random bytes, and instructions that are cut short, get an answer each.
"$python" -c '
import random
random.seed(5)
for n in range(20000):
    print("%x" % (n << 4), random.randbytes(16).hex(), random.randint(0, 20))
' >questions
"$ASKING" answer "$VP" vp-classic <questions >answers
is "$(wc -l <answers),$(tail -1 answers)" "20001,status 0" "bytes at random are answered"
is "$(awk '$2 == "length=0" && $3 != "flow=stop"' answers | head -3)" "" "what is no instruction stops"
is "$(awk 'NR == FNR { n[$1] = $3 < 16 ? $3 : 16; next } { sub("length=", "", $2); if ($2 + 0 > n[$1] + 0) print }' questions answers | head -3)" "" \
    "no instruction is longer than its bytes"

# --- Captured values --- An instruction | operands 0 to 3, address, loaded, stored | its
# destination. "-": no record.
mkdir -p include
cp -r "$REGTRACE_SOURCE/share/include/regtrace" include/
ok_run "a plug-in is built" gcc -std=c11 -D_GNU_SOURCE -Iinclude -shared -fPIC -o test.so "$REGTRACE_SOURCE/t/isa/values/plugin.c" "$REGTRACE_BUILD/libregtrace-trace.a"
cat >table <<'EOF'
mov %rax, %rbx | general:3,0,8,0 general:0,0,8,0 | general:3,0,8,0
mov %eax, %r15d | general:15,0,4,0 general:0,0,4,0 | general:15,0,4,0
mov %ax, %si | general:6,0,2,0 general:0,0,2,0 | general:6,0,2,0
mov %ah, %bh | general:3,0,1,8 general:0,0,1,8 | general:3,0,1,8
mov %al, %dil | general:7,0,1,0 general:0,0,1,0 | general:7,0,1,0
mov %spl, %r9b | general:9,0,1,0 general:4,0,1,0 | general:9,0,1,0
mov 8(%rax), %rcx | general:1,0,8,0 loaded:0,0,8,0 address:0,0,8,0 loaded:0,0,8,0 | general:1,0,8,0
movl $5, (%rax) | stored:0,0,4,0 address:0,0,8,0 stored:0,0,4,0 | -
addw %cx, (%rax) | stored:0,0,2,0 general:1,0,2,0 address:0,0,8,0 loaded:0,0,2,0 stored:0,0,2,0 | -
cmp %rax, (%rcx) | loaded:0,0,8,0 general:0,0,8,0 address:0,0,8,0 loaded:0,0,8,0 | -
lea 8(%rax), %rcx | general:1,0,8,0 address:0,0,8,0 | general:1,0,8,0
imul $3, %rax, %rcx | general:1,0,8,0 general:0,0,8,0 | general:1,0,8,0
mul %rcx | general:1,0,8,0 | general:0,0,8,0
shld $3, %rax, %rcx | general:1,0,8,0 general:0,0,8,0 | general:1,0,8,0
movzbl %ah, %ecx | general:1,0,4,0 general:0,0,1,8 | general:1,0,4,0
bts %rax, (%rcx) | general:0,0,8,0 address:0,0,8,0 | -
push %rbx | general:3,0,8,0 address:0,0,8,0 stored:0,0,8,0 | -
pop %rbx | general:3,0,8,0 address:0,0,8,0 loaded:0,0,8,0 | general:3,0,8,0
call *8(%rbx) | loaded:0,0,8,0 address:0,0,8,0 loaded:0,0,8,0 | -
call *%rbx | general:3,0,8,0 | -
ret | address:0,0,8,0 loaded:0,0,8,0 | -
jne . | | -
movsb | address:0,0,8,0 stored:0,0,1,0 | -
lodsq | address:0,0,8,0 loaded:0,0,8,0 | general:0,0,8,0
rdtsc | | general:0,0,4,0
setne %dl | general:2,0,1,0 | general:2,0,1,0
mov %ds, %eax | general:0,0,4,0 | general:0,0,4,0
lgdt (%rax) | loaded:0,0,8,0 address:0,0,8,0 loaded:0,0,8,0 | -
addsd %xmm1, %xmm2 | vector:2,0,8,0 vector:1,0,8,0 | vector:2,0,8,0
addss (%rax), %xmm2 | vector:2,0,4,0 loaded:0,0,4,0 address:0,0,8,0 loaded:0,0,4,0 | vector:2,0,4,0
movss (%rax), %xmm2 | vector:2,0,4,0 loaded:0,0,4,0 address:0,0,8,0 loaded:0,0,4,0 | vector:2,0,4,0
movaps (%rax), %xmm2 | vector:2,0,8,0 loaded:0,0,8,0 address:0,0,8,0 loaded:0,0,8,0 | vector:2,0,8,0
cvttsd2si %xmm1, %eax | general:0,0,4,0 vector:1,0,8,0 | general:0,0,4,0
vfmadd231sd %xmm1, %xmm2, %xmm3 | vector:3,0,8,0 vector:2,0,8,0 vector:1,0,8,0 | vector:3,0,8,0
vblendvpd %ymm1, %ymm2, %ymm3, %ymm4 | vector:4,0,8,0 vector:3,0,8,0 vector:2,0,8,0 vector:1,0,8,0 | vector:4,0,8,0
vaddpd %zmm1, %zmm2, %zmm30{%k1} | vector:30,0,8,0 vector:2,0,8,0 vector:1,0,8,0 | vector:30,0,8,0
vmovupd (%rax), %zmm3{%k1} | vector:3,0,8,0 address:0,0,8,0 | vector:3,0,8,0
vmovupd (%rax), %zmm3 | vector:3,0,8,0 loaded:0,0,8,0 address:0,0,8,0 loaded:0,0,8,0 | vector:3,0,8,0
vmaskmovpd %ymm1, %ymm2, (%rax) | vector:2,0,8,0 vector:1,0,8,0 address:0,0,8,0 | -
vgatherdpd %ymm1, 8(%rax,%xmm2,4), %ymm3 | vector:3,0,8,0 vector:1,0,8,0 address:0,0,8,0 | vector:3,0,8,0
vpcmpeqd %zmm1, %zmm2, %k3 | mask:3,0,8,0 vector:2,0,8,0 vector:1,0,8,0 | mask:3,0,8,0
kmovq %k3, %rax | general:0,0,8,0 mask:3,0,8,0 | general:0,0,8,0
fldl (%rax) | loaded:0,0,8,0 address:0,0,8,0 loaded:0,0,8,0 | x87:0,0,8,0
fld %st(2) | x87:3,0,8,0 | x87:0,0,8,0
fstp %st(2) | x87:1,0,8,0 | x87:1,0,8,0
fstpl (%rax) | stored:0,0,8,0 address:0,0,8,0 stored:0,0,8,0 | -
faddp %st, %st(2) | x87:1,0,8,0 | x87:1,0,8,0
fadd %st(3), %st | x87:0,0,8,0 x87:3,0,8,0 | x87:0,0,8,0
fyl2x | | x87:0,0,8,0
fsqrt | | x87:0,0,8,0
fucomip %st(1), %st | x87:0,0,8,0 | -
fnstsw %ax | general:0,0,2,0 | general:0,0,2,0
movq %mm1, %mm2 | | -
vzeroall | | -
nop | | -
EOF
# items PLUG-IN: prints what is captured for each question, a line each.
items() {
    "$ASKING" answer "$VP" "$1" <questions | awk '$1 == "status" { next } {
        at = 0; for (i = 1; i <= NF; i++) if ($i == "selected") at = i
        line = ""; for (i = at + 1; i <= NF; i++) line = line " " $i
        print at ? line : "-" }' | sed 's/^ //'
}
sed 's/ *|.*//' table | as -o table.o 2>as.err
objdump -d -w table.o | awk -F'\t' 'NF > 2 { gsub("[ :]", "", $1); gsub(" ", "", $2); print $1, $2 }' >questions
if [ "$(wc -l <questions)" = "$(wc -l <table)" ]; then
    items ./test.so >operands
    items vp-classic >destinations
    while IFS='|' read -r text operands destination <&3 && read -r got <&4 && read -r result <&5; do
        is "$got | $result" "$(xargs <<<"$operands") | $(xargs <<<"$destination")" "captured of $text"
    done 3<table 4<operands 5<destinations
else
    skip "what is captured" "the assembler is too old: $(head -1 as.err)"
fi

# Gathers have all their elements captured, seven at most; other instructions have one.
printf '%s\n' 'vgatherdpd %ymm1, 8(%rax,%xmm2,4), %ymm3' 'vgatherqps %xmm1, 8(%rax,%xmm2,4), %xmm3' 'vgatherdps 8(%rax,%zmm2,4), %zmm3{%k1}' \
    'vscatterqpd %xmm3, 8(%rax,%xmm2,4){%k1}' 'mov (%rax), %rcx' | as -o table.o
objdump -d -w table.o | awk -F'\t' 'NF > 2 { gsub("[ :]", "", $1); gsub(" ", "", $2); print $1, $2 }' >questions
is "$(items vp-addr | awk '{ print NF ":" $NF }' | xargs)" "4:address:0,3,8,0 2:address:0,1,8,0 7:address:0,6,8,0 2:address:0,1,8,0 1:address:0,0,8,0" "elements of gathers"
is "$("$ASKING" answer "$VP" vp-addr <questions | sed -n 's/.* where=\([^ ]*\).*/\1/p' | cut -d, -f5- | xargs)" "0,4,8,0,65 0,8,4,0,65 0,4,4,0,2 0,8,8,0,2 0,0,8,0,0" \
    "their indices, data and masks"
done_testing
