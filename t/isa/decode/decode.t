#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests where instructions begin, for programs and libraries of several kinds. objdump has every
# instruction that isa/ is sure of, and most of the text is sure. Data in hand-written text is not
# sure. No instruction that a stepped program executes begins inside of one that isa/ has found.
. "$(dirname "$0")/../../lib.sh"
LOOK=$REGTRACE_BUILD/t/isa/image/look
[ -x "$LOOK" ] || skip_all "this build has no isa/ (configure says why)"
for tool in g++ gcc objdump strip; do
    command -v $tool >/dev/null || skip_all "no $tool"
done
cd "$T" || exit 1

# objdump joins fwait with the instruction after it; the processor does not.
starts_of_objdump() {
    objdump -d -z "$1" | awk -F'\t' '/^ *[0-9a-f]+:\t/ { split($1, a, ":"); sub(/^ */, "", a[1]); print a[1]
        if ($2 ~ /^9b ./) { getline x < "/dev/null"; print "fwait", a[1] } }' >objdump.all
    awk '$1 == "fwait" { print $2 }' objdump.all | while read -r a; do printf '%x\n' $((0x$a + 1)); done >objdump.fwait
    grep -v fwait objdump.all | cat - objdump.fwait | sort
}
# counts FILE FIELD: prints one of look's counts, in bytes of the executable sections that objdump
# shows.
counts() { "$LOOK" counts "$1" | tr ' ' '\n' | sed -n "s/^$2=//p"; }
# agrees NAME FILE LEAST-PERMILLE [FILE-WITH-SYMBOLS]: each sure instruction is one of objdump's,
# and of the bytes that are no padding at least that share is sure.
agrees() {
    local sure padding bytes share
    starts_of_objdump "${4:-$2}" >theirs
    "$LOOK" starts "$2" | sort >ours
    is "$(comm -23 ours theirs | head -5 | xargs)" "" "$1: objdump has all $(wc -l <ours) of ours"
    sure=$(counts "$2" sure) padding=$(counts "$2" padding) bytes=$(counts "$2" bytes)
    share=$((1000 * sure / (bytes - padding)))
    diag "$1: $(wc -l <theirs) instructions of objdump, $(wc -l <ours) sure; $("$LOOK" counts "$2")"
    [ "$share" -ge "$3" ]
    ok $? "$1: $share per mille of what is no padding is sure, at least $3"
}
library() { ldconfig -p | awk -v name="$1" '$1 ~ "^" name && /x86-64/ { print $NF; exit }'; }

agrees libc "$(ldd "$LOOK" | awk '/libc\.so/ { print $3 }')" 995
agrees libstdc++ "$(ldd "$LOOK" | awk '/libstdc/ { print $3 }')" 995
agrees libm "$(library libm.so.6)" 995
python=$(readlink -f "${PYTHON:-/usr/bin/python3}")
agrees "$(basename "$python")" "$python" 995
mpi=$(library libmpi.so)
if [ -n "$mpi" ]; then agrees libmpi "$(readlink -f "$mpi")" 995; else skip "libmpi" "no Open MPI"; fi

compiled() {
    local name=$1 compiler=$2
    shift 2
    ok_run "compiles $name" "$compiler" -o "$name" "$@" -lm
    agrees "$name" "$name" 985
    cp "$name" "$name.stripped" && strip "$name.stripped"
    agrees "$name, stripped" "$name.stripped" 980 "$name"
}
src=$REGTRACE_SOURCE/t/isa/decode
for compiler in gcc clang; do
    command -v $compiler >/dev/null || { skip "switches of $compiler" "no $compiler"; continue; }
    for how in -O0 "-O3 -no-pie" "-O2 -fcf-protection" "-O2 -fno-plt -fno-pic -no-pie"; do
        # shellcheck disable=SC2086  # options are separate words
        compiled "switches$compiler${how// /}" $compiler $how "$src/../memory/switches.c"
        "./switches$compiler${how// /}" >output
        is "$(cat output)" "$(cat expected 2>/dev/null || tee expected <output)" "it runs as the others"
        # All cases are found, so all that they execute is sure, the interpreter's labels included.
        is "$(counts "switches$compiler${how// /}" unsure)" 0 "nothing in it is unsure"
    done
done
compiled names-O0 g++ -O0 "$src/../image/names.cc"
compiled names-O3 g++ -O3 "$src/../image/names.cc"
# The headers and constants are in the segment of the code, as linkers placed them before 2018.
ok_run "compiles a library in one segment" gcc -O2 -fPIC -shared -Wl,-z,noseparate-code -o together.so "$src/../memory/switches.c"
agrees "a library in one segment" together.so 400
compiled static-pie gcc -O2 -static-pie "$src/../memory/switches.c"

# --- Hand-written code ---
for how in -static-pie -static; do
    ok_run "assembles hostile code $how" gcc $how -nostdlib -o "hostile$how" "$src/hostile.S"
    # Nothing relocates the PIE, so only the other program can run.
    [ $how = -static ] && { run 20 "./hostile$how"; is "$status" 0 "it runs"; }
    h=hostile$how
    "$LOOK" starts "$h" | sort >ours
    nm "$h" >symbols
    is "$(awk '/ [tT] code_/ { print $1, $3 }' symbols | while read -r a n; do
        grep -qx "$(printf %x $((0x$a)))" ours || echo "$n"; done)" "" "$how: all its labels of code are sure"
    is "$(awk '/ [tT] data_/ { print $1, $3 }' symbols | while read -r a n; do
        end=$(awk -v n="end_${n#data_}" '$3 == n { print $1 }' symbols)
        for ((b = 0x$a; b < 0x$end; b++)); do
            grep -qx "$(printf %x "$b")" ours && printf '%s+%d ' "$n" $((b - 0x$a))
        done
    done)" "" "$how: nothing in its data is"
    for label in overlap_outer overlap_inner; do
        a=$(awk -v n=$label '$3 == n { print $1 }' symbols)
        is "$(grep -cx "$(printf %x $((0x$a)))" ours)" 0 "$how: $label shares bytes and is not sure"
    done
done
done_testing
