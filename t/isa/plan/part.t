#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# If requests name functions, or bytes that few functions have, only these functions are decoded.
# The sites are the same as with everything decoded, hardly a jump is missing, none is added, and it
# is less work.
. "$(dirname "$0")/../../lib.sh"
ISA=$REGTRACE_BUILD/isa/regtrace-isa
[ -x "$ISA" ] || skip_all "probes are for x86-64, and need regtrace-isa"

# sites FILE REQUEST...: prints the sites of entries, a line each. A preceding request about all
# code makes the program decode everything.
sites() {
    "$ISA" sites --no-cache --text "$@" | sed -n '/^plan\tenter/,$p' | grep '^site' | sort -u
}

part=0 all=0
for library in $(ldd "$(command -v gdb python3 2>/dev/null | head -1)" "$ISA" | grep -oE '/[^ ]*/(libm|libc|libpython3[^ ]*|libcrypto|libstdc\+\+|libZydis)\.so[^ ]*' | sort -u); do
    name=${library##*/}
    mapfile -t functions < <(nm -D --defined-only "$library" | awk '$2 ~ /^[TW]$/ && $3 !~ /^_Z/ {sub("@.*", "", $3); print "enter:" $3}' | sort -u | head -900)
    [ "${#functions[@]}" -ge 20 ] || continue
    sites "$library" "${functions[@]}" >"$T/part"
    sites "$library" cpuid "${functions[@]}" >"$T/all"
    is "$(cut -f1-4 "$T/part")" "$(cut -f1-4 "$T/all")" "$name: the same places"
    [ "$(wc -l <"$T/all")" -ge 15 ]
    ok $? "of functions: $(wc -l <"$T/all")"
    grep jump= "$T/part" | sort >"$T/part.jumps"
    grep jump= "$T/all" | sort >"$T/all.jumps"
    is "$(comm -23 "$T/part.jumps" "$T/all.jumps")" "" "no jump where decoding everything allows none"
    missing=$(comm -13 "$T/part.jumps" "$T/all.jumps" | wc -l)
    [ $((missing * 100)) -le "$(wc -l <"$T/all.jumps")" ]
    ok $? "and hardly one missing: $missing of $(wc -l <"$T/all.jumps")"
    mapfile -t functions < <(printf '%s\n' "${functions[@]#enter:}" | sed -n '1~41p')
    "$ISA" sites --no-cache --text "$library" "${functions[@]/#/exits:}" | grep '^site' | cut -f2- | sort -u >"$T/part"
    "$ISA" sites --no-cache --text "$library" "${functions[@]/#/returns:}" | grep '^site' | cut -f2- | sort -u >"$T/all"
    is "$(comm -23 <(cut -f1-3 "$T/part") <(cut -f1-3 "$T/all"))" "" "$name: where calls return to is no other place"
    is "$(comm -23 <(grep jump= "$T/part" | cut -f1) <(grep jump= "$T/all" | cut -f1))" "" "nor has it a jump more"
    part=$((part + $(wc -l <"$T/part"))) all=$((all + $(wc -l <"$T/all")))
done
[ "$rt_count" -ge 8 ]
ok $? "libraries were looked at"

# For the return places of calls, only the callers are decoded.
[ "$all" -ge 100 ] && [ $(((all - part) * 20)) -le "$all" ]
ok $? "returns of calls, where callers alone are decoded: $part of $all"
is "$("$ISA" sites --no-cache --text "$library" exits:no_such_function | sed -n 1p)" "$(printf 'plan\texits:no_such_function\t0\t0\t0\t-')" "of a function that nobody calls: none"

# For an instruction's bytes, only functions with such bytes are decoded.
for request in cpuid magic ssc:4711 itext:0fa2 itext:4883ec08 itext:f30f1efa; do
    "$ISA" sites --no-cache --text "$library" "$request" | grep -E '^(plan|site|say)' | cut -f1-4 >"$T/part"
    "$ISA" sites --no-cache --text "$library" int3 "$request" | sed -n "/^plan\t$request/,\$p" | grep -E '^(plan|site|say)' | cut -f1-4 >"$T/all"
    is "$(cat "$T/part")" "$(cat "$T/all")" "$name, $request: the same, $(grep -c ^site "$T/all") places"
done

# A jump from another function into the first bytes of a function, near and far; and none.
cat >"$T/into.S" <<'END'
    .text
#include "function.inc"
    function free_one
    push %rbx
    mov %rdi,%rbx
    mov %rbx,%rax
    pop %rbx
    ret
    over free_one
    function near_one
    xor %eax,%eax
1:  add %rdi,%rax
    lea 1(%rax),%rax
    ret
    over near_one
    function near_from
    xor %eax,%eax
    jmp 1b
    over near_from
    function far_one
    xor %eax,%eax
2:  add %rdi,%rax
    lea 1(%rax),%rax
    ret
    over far_one
    .fill 4096,1,0x90
    function far_from
    xor %eax,%eax
    test %rdi,%rdi
    jne 2b
    ret
    over far_from
END
cc -shared -nostdlib -I"$REGTRACE_SOURCE/t/isa/plan" -o "$T/into.so" "$T/into.S" || exit 99
for function in free_one:1 near_one:0 far_one:0; do
    is "$(sites "$T/into.so" "enter:${function%:*}" | grep -c jump=)" "${function#*:}" "${function%:*}: a jump where nobody comes into its bytes, else none"
done

# All other ways into the first bytes: from code in another segment or at its end, through a table,
# by a computed address. The program must run as before when these functions are patched.
for how in "-fPIE -pie" "-fno-pie -no-pie -DFIXED"; do
    cc $how -o "$T/into" "$REGTRACE_SOURCE/t/isa/plan/into.c" "$REGTRACE_SOURCE/t/isa/plan/into.S" -Wl,--section-start=.text2=0x900000 || exit 99
    mapfile -t ones < <(nm "$T/into" | sed -n 's/.* T \([a-z]*\)_one$/\1/p')
    for function in "${ones[@]}"; do
        [ "$function" = free ] && wanted=1 || wanted=0
        is "$(sites "$T/into" "enter:${function}_one" | grep -c jump=) $(sites "$T/into" isa_category:CALL "enter:${function}_one" | grep -c jump=)" "$wanted $wanted" "$how, $function: jumps of a part, and of all"
        [ "$function" != free ] || continue
        run 60 env REGTRACE_DIR="$T/run" XDG_CACHE_HOME="$T/cache" REGTRACE_CONTROL="start:enter_func:${function}_one:count1000" LD_PRELOAD="$LIBREGTRACE" "$T/into"
        is "$status $out" "0 " "and it runs"
        rm -rf "$T/run"
    done
    [ "${#ones[@]}" -ge 7 ]
    ok $? "functions: ${ones[*]}"
done

if command -v valgrind >/dev/null && [ -n "${library:-}" ]; then
    work() { valgrind --tool=callgrind --callgrind-out-file=/dev/null "$ISA" sites --no-cache "$@" 2>&1 >/dev/null | awk '/Collected/ {print $4}'; }
    part=$(work "$library" "enter:${functions[0]}") all=$(work "$library" cpuid "enter:${functions[0]}")
    [ $((part * 2)) -lt "$all" ]
    ok $? "one function of ${library##*/} is less work than all: $part instructions, $all"
else
    skip "the work" "no valgrind"
fi
done_testing
