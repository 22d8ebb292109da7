#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests regtrace-isa: the sites of requests, against labels of hand-written code and against
# objdump; its messages about names that match nothing; the folder of plans, with many processes at
# once and with damage.
. "$(dirname "$0")/../../lib.sh"
LOOK=$REGTRACE_BUILD/t/isa/image/look
ISA=$REGTRACE_BUILD/isa/regtrace-isa
[ -x "$ISA" ] || skip_all "this build has no isa/ (configure says why)"
for tool in gcc g++ objdump nm; do
    command -v $tool >/dev/null || skip_all "no $tool"
done
cd "$T" || exit 1
export HOME=$T/home XDG_CACHE_HOME=
src=$REGTRACE_SOURCE/t/isa/plan
ok_run "assembles marks" gcc -static -nostdlib -o marks "$src/marks.S"
libm=$(readlink -f "$(ldconfig -p | awk '/libm\.so\.6/ && /x86-64/ { print $NF; exit }')")
libc=$(ldd "$LOOK" | awk '/libc\.so/ { print $3 }')

# sites FILE REQUEST: prints addresses of sites. labels FILE REGEX: prints addresses of labels.
sites() { "$ISA" sites --text "$1" "$2" | awk -F'\t' '$1 == "site" && $0 !~ /refused=/ { print $2 }'; }
labels() { nm "$1" | awk -v want="^($2)\$" '$3 ~ want { print $1 }' | while read -r a; do printf '%x\n' $((0x$a)); done | sort -u; }
finds() { is "$(sites marks "$1" | xargs)" "$(labels marks "$2" | xargs)" "$1"; }
finds ssc:111 'site_ssc_.*'
finds ssc:222 near_ssc_1
finds ssc:333 none
finds magic 'site_magic_.*'
finds cpuid 'site_cpuid_.*'
finds int3 'site_int3_.*'
finds itext:488d4c5808 'site_itext_.*'
finds itext:4858 none
finds enter:marked site_enter_1
finds rets:marked 'site_ret_.*'
finds returns:marked 'site_return_.*'
finds symbol:marked+5 none
finds symbol:site_magic_1+3 site_magic_2
finds "address:0x$(labels marks site_cpuid_1)" site_cpuid_1
finds "offset:$((0x$(labels marks site_cpuid_1) - 0x400000))" site_cpuid_1
refused() { "$ISA" sites --text marks "$1" | sed -n 's/^site.*refused=//p'; }
is "$(refused symbol:site_magic_1+1)" "is inside of an instruction" "an address inside of an instruction is refused"
is "$(refused "address:0x$(labels marks pointer)")" "is not in code" "one in data too"
is "$(refused "address:$((0x$(labels marks marked) - 1))")" "is in padding, which nothing reaches" "and one in padding"

# --- Places where a jump fits ---
jump_at() { "$ISA" sites --text marks "address:0x$(labels marks "$1")" | grep -cE $'\tjump=[0-9]'; }
for label in refused_jump_1 refused_jump_2 refused_jump_3; do is "$(jump_at $label)" 0 "$label: int3 alone"; done
for label in fits_jump_1 fits_jump_2; do is "$(jump_at $label)" 1 "$label: a jump fits"; done
like "$("$ISA" sites --text marks enter:marked)" $'^site\t[0-9a-f]+\tpatch=4\tflags=1\tbytes=4885c0' "endbr64 stays the first instruction"
# For each jump in libm, objdump has the same instructions, and no branch into them.
"$ISA" sites --text "$libm" isa_category:DATAXFER enter:sin returns: >plan
objdump -d -z "$libm" >listing
is "$(awk -F'\t' '
    FNR == NR {
        if ($0 !~ /^ *[0-9a-f]+:\t/) next
        split($1, a, ":"); sub(/^ */, "", a[1]); bytes = $2; gsub(/ /, "", bytes)
        # A long instruction continues in the next line.
        if ($3 == "") { code[last] = code[last] bytes; next }
        last = a[1]; code[last] = bytes
        if ($3 ~ /nop|^xchg +%ax,%ax|^int3/) padding[last] = 1
        if ($3 ~ /^(bnd |notrack )?(j[a-z]+|loop[a-z]*|call) +[0-9a-f]+( |$)/) {
            split($3, w, " "); target[w[1] == "bnd" || w[1] == "notrack" ? w[3] : w[2]] = 1
        }
        next
    }
    function number(hex,  i, v) { v = 0; for (i = 1; i <= length(hex); i++) v = v * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1; return v }
    $1 == "site" && /\tjump=/ {
        split($3, patch, "="); at = number($2) + patch[2]; split($5, b, "="); left = b[2]
        start = sprintf("%x", at); jumps++
        for (i = 1; i < 5; i++) if (sprintf("%x", at + i) in target) print "a branch into " start
        while (left != "") {
            c = code[sprintf("%x", at)]
            if (c == "" || (length(c) <= length(left) ? substr(left, 1, length(c)) != c : 1)) { if (padding[sprintf("%x", at)] == "") print "other bytes at " start; break }
            left = substr(left, length(c) + 1); at += length(c) / 2
        }
    }
    END { print (jumps > 1000 ? "enough" : "too few: " jumps) }' listing plan | sort | uniq -c | head -5 | sed 's/^ *//')" "1 enough" \
    "jumps in libm are where objdump sees whole instructions, and branches to none of their inner bytes"

# --- Sites by kinds of instructions: objdump's, at places that are sure ---
"$LOOK" starts "$libm" | sort >sure
same() {
    awk -F'\t' -v want="$2" '/^ *[0-9a-f]+:\t/ && $3 ~ want { split($1, a, ":"); sub(/^ */, "", a[1]); print a[1] }' listing | sort >theirs
    "$ISA" sites --text "$libm" "$1" | awk -F'\t' '$1 == "site" { print $2 }' | sort >ours
    isnt "$(wc -l <ours)" 0 "$1: there are some"
    is "$(comm -12 theirs sure | diff - ours | head -3)" "" "$1: $(wc -l <ours) sites are those of objdump"
}
same isa_category:COND_BR '^(bnd |notrack )?(j[a-ln-z][a-z]*|loop[a-z]*|jrcxz|jecxz) '
same isa_category:CALL '^(bnd |notrack |addr32 )?call '
same isa_category:RET '^(bnd |repz )?ret'
same isa_extension:FMA '^vfn?m(add|sub)(132|213|231).*mm'
same itext:c3 '^ret *$'
for request in isa_category:NOSUCH isa_extension:avx2 itext:123 itext:xx itext:00112233445566778899aabbccddeeff ssc:1ffffffff ssc: \
    address:12z int3:1 nonsense enter: 'enter'; do
    run 20 "$ISA" sites "$libm" "$request"
    is "$status,$(grep -c '^!' <<<"$out"),$(tail -1 <<<"$out")" 1,1,end "'$request' is refused"
done
like "$("$ISA" sites "$libm" isa_category:NOSUCH)" 'isa_category takes a category of the decoder' "with what is legal"

# --- Names ---
say() { "$ISA" sites --text "$1" "$2" | sed -n "s/^say\t[^\t]*\t//p"; }
like "$(say "$libc" enter:malloq)" "^no function 'malloq'; nearest are malloc" "a misspelt name gets the nearest"
like "$(say "$LOOK" enter:printf)" "^'printf' is called here, but is in another image" "one of another image is reported"
like "$(say "$libc" enter:memcpy)" "^'memcpy' is chosen when the program is loaded, from [1-9][0-9]* functions" "an indirect one is reported"
ok_run "compiles names" g++ -O1 -o names "$src/../image/names.cc"
is "$(sites names enter:outer::solve | sort)" "$(nm names | awk '/_ZN5outer5solveE/ { print $1 }' | sed 's/^0*//' | sort)" "overloads of a C++ function"

for how in -pie -no-pie; do
    ok_run "compiles names $how" g++ -O1 $how -o main "$src/../image/names.cc"
    want=$(labels main main)
    strip main
    is "$(sites main enter:main)" "$want" "main of a stripped program, $how"
    gcc -O1 $how -fno-asynchronous-unwind-tables -fno-unwind-tables -o main "$src/../memory/switches.c"
    want=$(labels main main)
    strip main
    is "$(sites main enter:main)" "$want" "and of one without frames"
done

# --- Plans and their cache ---
run 60 "$ISA" sites "$libm" enter:sin isa_category:COND_BR
is "$status" 0 "plans are made"
like "$out" $'^plan\tenter:sin\t[1-9][0-9]*\t0\t0\t'"$T/home/.cache/regtrace/[0-9a-f]*-[0-9a-f]{16}.sites\$" "and kept in the user's cache"
is "$(stat -c %a "$T/home/.cache/regtrace")" 700 "which nobody else reads"
plan=$(awk -F'\t' '$2 == "enter:sin" { print $6 }' <<<"$out")
cp "$plan" whole
inode=$(stat -c %i "$plan")
is "$("$ISA" sites "$libm" enter:sin)" "$(grep -v COND_BR <<<"$out")" "asked again it answers the same"
is "$(stat -c %i "$plan")" "$inode" "without making it again"
remade() {
    run 60 "$ISA" sites "$libm" enter:sin
    is "$status,$(cmp whole "$plan" 2>&1)" 0, "$1: it is made anew"
}
head -c 200 whole >"$plan"; remade "a plan cut short"
sed 's/enter:sin/enter:cos/' whole >"$plan"; remade "a plan of another request"
: >"$plan"; remade "an empty one"
# The program executes a plan's code: each damaged bit must be found.
"$PYTHON_ANY" -c 'import sys
plan = bytearray(open("whole", "rb").read())
for bit in range(0, 8 * len(plan), 1 + 8 * len(plan) // 40):
    plan[bit // 8] ^= 1 << bit % 8
    open("flipped.%d" % bit, "wb").write(plan)
    plan[bit // 8] ^= 1 << bit % 8'
for flipped in flipped.*; do
    cp "$flipped" "$plan"
    "$ISA" sites "$libm" enter:sin >/dev/null
    cmp -s whole "$plan" || echo "$flipped"
done >taken
is "$(ls flipped.* | wc -l) $(cat taken)" "40 " "each of 40 plans with one damaged bit is made anew"
rm flipped.*
rm "$plan"; ln -s "$T/whole" "$plan"; remade "a symbolic link"
cp whole "$plan"; chmod 666 "$plan"; inode=$(stat -c %i "$plan"); remade "one that others may write"
isnt "$(stat -c %i "$plan")" "$inode" "and it is another file"
chmod 777 "$T/home/.cache/regtrace"
like "$(TMPDIR=/proc/nowhere "$ISA" sites "$libm" enter:sin | tr -d '\0')" $'^plan\tenter:sin\t[0-9]*\t0\t0\t=[0-9]+$' "a folder that others may write is not used"
chmod 700 "$T/home/.cache/regtrace"
"$ISA" sites --no-cache "$libm" enter:sin >inline
n=$(sed -n '1s/.*=//p' inline)
tail -c +$(($(head -1 inline | wc -c) + 1)) inline | head -c "$n" | cmp - whole
ok $? "without a folder the plan comes on the pipe, the same"
like "$(HOME=/proc/nowhere TMPDIR=/proc/nowhere "$ISA" sites "$libm" enter:sin | tr -d '\0')" $'^plan\t.*\t=[0-9]+$' "where none can be made too"

# 64 processes ask for the same plan at once: one makes it, and all get it complete.
mkdir many
pids=()
for ((i = 0; i < 64; i++)); do
    timeout 120 "$ISA" sites --cache "$T/many" "$libm" isa_category:SSE >"answer.$i" &
    pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=$((failed + 1)); done
is "$failed,$(cat answer.* | sort -u | grep -vc '^end$')" 0,1 "64 at once get the same answer"
is "$(find many -name '*.sites' | wc -l),$(find many -name '.part*' | wc -l)" 1,0 "from one plan, and leave nothing else"
is "$("$ISA" sites --cache "$T/many" "$libm" isa_category:SSE)" "$(cat answer.0)" "which is whole"

run 20 "$ISA" sites
is "$status" 2 "asked nothing it explains itself"
run 20 "$ISA" sites --help
is "$status,$(head -c 6 <<<"$out")" 0,Usage: "and with --help"
run 20 "$ISA" sites "$T/nowhere" enter:f
is "$status,$out" $'1,!\tenter:f\t'"$T/nowhere: No such file or directory"$'\nend' "no such image"

# Sizes that a damaged file gives its symbols
printf '.globl sized, odd\nsized: nop\nret\n.type sized, @function\n.size sized, 0x7fffffffffff0000\n.type odd, @function\nodd = 0x123456789000\n.size odd, 0x7fffffffffff0000\n' >sized.s
cc -nostdlib -shared -o libsized.so sized.s || exit 99
run 20 "$ISA" sites --text libsized.so rets:sized
is "$status $(grep -c 'bytes=c3' <<<"$out")" "0 1" "a size beyond all code ends with the code"
run 20 "$ISA" sites --text libsized.so rets:odd
isnt "$status" 124 "as does one of what lies in no code"
done_testing
