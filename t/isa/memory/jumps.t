#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jumps through tables: the skeleton has the table and computes the target from the index, and
# nothing of the jump is recorded. That does not hold if the program may change the table, or if a
# loaded entry also serves something else.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
# shellcheck source=t/isa/memory/stepped.inc
. "$here/stepped.inc"

# tables FUNCTION PROGRAM: prints the numbers of computed jumps, of recorded jumps, and of tables in
# the skeleton.
tables() {
    "$REGTRACE" skel source -function "^$1\$" "$2" >one.c
    echo "$(grep -c 'switch ((u64)' one.c) $(grep -c 'switch (OUTCOME' one.c) $(grep -c ' k_[0-9]*\[\] = ' one.c)"
}
for compiler in gcc clang; do
    command -v $compiler >/dev/null || { skip "$compiler" "it is not installed"; continue; }
    for flags in '-O0' '-O1' '-O2' '-O3' '-Os' '-O2 -fcf-protection=full'; do
        for place in '-fPIE -pie' '-fno-pie -no-pie -static'; do
            # shellcheck disable=SC2086
            $compiler $flags $place -o jumps "$here/jumps.c" 2>compile.err || { skip "$compiler $flags $place" "$(head -1 compile.err)"; continue; }
            bad=
            # With -Os the previous target stays above the byte that is the next index: that makes
            # an address.
            all='dense high unbounded'
            [ "$flags" != -Os ] || all='dense unbounded'
            for f in $all; do
                read -r computed recorded made < <(tables "$f" ./jumps)
                [[ $computed -ge 1 && $recorded = 0 && $made -ge 1 ]] || bad+=" $f: $computed $recorded $made"
            done
            for f in labels between; do
                read -r computed recorded made < <(tables "$f" ./jumps)
                case $flags in -O0 | -O1) ;; *) [[ $computed -ge 1 && $recorded = 0 && $made -ge 1 ]] || bad+=" $f: $computed $recorded $made" ;; esac
            done
            read -r computed recorded made < <(tables changing ./jumps)
            [ "$made" = 0 ] || bad+=" changing: $made"
            is "$bad" "" "$compiler $flags $place: jumps are computed where their tables stay as they are"
            setarch -R true 2>/dev/null || { skip "$compiler $flags $place" "addresses cannot be without randomization here"; continue; }
            case "$flags $place" in
            *-Os* | *-O1* | *-O3*) [ -n "${SKELETON_LONG:-}" ] || continue ;;
            esac
            exact "$compiler $flags $place" ./jumps
        done
    done
done

# Tables that may be written to, or whose entries also serve as addresses
cat >other.S <<'E2'
    .macro begin name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .endm
    .macro bound
    cmp $3, %rdi
    ja 9f
    .endm
    .macro end name
1:  add %rax, (%rsi)
    ret
2:  sub %rax, 8(%rsi)
    ret
3:  mov %rax, 16(%rsi)
    ret
4:  xor %rax, 24(%rsi)
9:  ret
    .cfi_endproc
    .size \name, .-\name
    .endm
    .macro jump
    add %rcx, %rax
    jmp *%rax
    .endm
    .macro table
    .balign 4
10: .long 1f-10b, 2f-10b, 3f-10b, 4f-10b
    .text
    .endm
    .macro load
    lea 10f(%rip), %rcx
    movslq (%rcx,%rdi,4), %rax
    .endm
    begin constant
    bound
    load
    jump
    .section .rodata
    table
    end constant
    begin written
    bound
    load
    jump
    .data
    table
    end written
    begin served
    bound
    load
    mov (%rsi,%rax), %dl
    jump
    .section .rodata
    table
    end served
    begin below
    lea 10f(%rip), %rcx
    movslq 8(%rcx,%rdi,4), %rax
    jump
    .section .rodata
    table
    end below
E2
gcc -shared -nostdlib -o other.so other.S || exit 99
is "$(tables constant ./other.so)" "1 0 1" "a table that is constant"
is "$(tables written ./other.so | cut -d' ' -f3)" 0 "one that may be written to is not taken"
is "$(tables served ./other.so | cut -d' ' -f3)" 0 "nor one whose entries serve an address"
is "$(tables below ./other.so)" "1 0 1" "one whose indexes are below 0 too"

# skeleton FUNCTION: compiles its skeleton to one.so.
skeleton() { "$REGTRACE" skel source -function "^$1\$" ./other.so >one.c && gcc -O1 -w -shared -fPIC -o one.so one.c; }
# replayed BYTES: replays a recording of one function that was entered with the stack pointer 0x7000
# and recorded these bytes. printf reads them.
zeros='\000\000\000\000\000\000' ones='\377\377\377\377\377\377'
replayed() {
    # shellcheck disable=SC2059
    printf "\\001\\000\\000\\000\\000\\000\\160$zeros$1\\000" >recording
    "$ISA" skel --replay recording --base 0 one.so
}
# The recording has rsi, 0x1000, and the index.
skeleton below
for index in "\\376\\377$ones" "\\377\\377$ones" "\\000\\000$zeros" "\\001\\000$zeros"; do replayed "\\000\\020$zeros$index"; done >accesses 2>&1
is "$(awk '$3 == 8 && $4 != 7000 { print $2, $4 }' accesses | xargs)" "M 1000 M 1008 W 1010 M 1018" "each index from -2 on leads to a place of its own"
# The recording has the index and the address that is accessed there; the function accesses it in
# only one way.
skeleton constant
within="\\001\\000$zeros\\010\\020$zeros"
like "$(replayed "$within" 2>&1 | xargs)" '^[0-9a-f]+ R 4 [0-9a-f]+ [0-9a-f]+ M 8 1008 [0-9a-f]+ R 8 7000$' "an index within"
# The same skeleton with a shorter table
sed 's/ k_\([0-9]*\)\[\] = {\(0x[0-9a-f]*\),.*}/ k_\1[] = {\2}/' one.c >short.c && gcc -O1 -w -shared -fPIC -o one.so short.c
run 20 replayed "$within"
is "$status" 1 "one that is beyond the table"
like "$err" 'the jump at 0x[0-9a-f]+ leads where no skeleton goes on' "the error says so"

# The benefit: recorded values an access, for a kernel that interprets (t/kernels).
gcc -O2 -o interpret "$here/../../kernels/interpret.c" "$here/../../kernels/window.c" || exit 99
REGTRACE_DIR=run "$REGTRACE" run -memory . -control 'start:enter_func:open_window,stop:enter_func:close_window' -- ./interpret 200 2 >out 2>&1
ok $? "an interpreter is recorded" || diag "$(cat out)"
said=$("$REGTRACE" skel replay -format count run)
ok_run "less than .33 values an access" awk -v s="$said" 'BEGIN { match(s, /[0-9]+ accesses/); n = substr(s, RSTART) + 0; match(s, /[0-9]+ values and/); exit !(n > 5000 && substr(s, RSTART) + 0 < .33 * n) }'
diag "$(grep accesses <<<"$said")"
done_testing
