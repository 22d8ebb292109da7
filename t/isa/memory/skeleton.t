#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests the analyses of functions for skeletons: `regtrace skel analyze`; every address and
# condition that can be computed, against programs single-stepped by ptrace; installed executables,
# and damaged ones.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
# shellcheck source=t/isa/memory/stepped.inc
. "$here/stepped.inc"

if [ "$(getconf LONG_BIT)" != 64 ] || ! setarch -R true 2>/dev/null; then
    skip "single-stepped programs" "addresses cannot be without randomization here"
else
    # Static programs need no dynamic loader, which takes many steps before main; and they include
    # functions of libc.
    static=-static
    echo 'int main(void) { return 0; }' | gcc $static -xc -o /dev/null - 2>/dev/null || static=
    for compiler in gcc clang; do
        command -v $compiler >/dev/null || { skip "$compiler" "it is not installed"; continue; }
        all=(-O0 -O1 -O2 -O3 -Os '-O3 -march=x86-64-v3 -funroll-loops' '-O2 -fno-omit-frame-pointer -fno-jump-tables -fno-inline')
        [ -n "${SKELETON_LONG:-}" ] || all=(-O2)
        [ -n "${SKELETON_LONG:-}" ] || [ $compiler = clang ] || all+=(-O0 '-O3 -march=x86-64-v3 -funroll-loops')
        for flags in "${all[@]}"; do
            # shellcheck disable=SC2086
            $compiler $flags $static -o kernels "$here/kernels.c" -lm 2>compile.err || { ok 1 "$compiler $flags" || diag "$(cat compile.err)"; continue; }
            case $flags in
            *v3*) ./kernels >/dev/null 2>&1 || { skip "$compiler $flags" "this processor has no AVX2"; continue; } ;;
            esac
            [ "$compiler $flags" != "gcc -O2" ] || optimize=(-O1)
            exact "$compiler $flags" ./kernels 4
            [ -n "${SKELETON_LONG:-}" ] || optimize=(-O0 -DSKELETON_LIGHT)
        done
    done
    if command -v g++ >/dev/null; then
        g++ -O2 $static -o virtual "$here/virtual.cc" && exact "C++" ./virtual
    fi
    if command -v gfortran >/dev/null; then
        gfortran -O2 $static -o swim "$here/swim.f90" && exact "Fortran" ./swim
    fi
    seq 40 | awk '{ print $1, $1 % 7 + 40 }' >pairs
    for program in expr tsort mawk; do
        path=$(readlink -f "$(command -v $program)")
        [ -x "$path" ] || { skip "$program" "it is not installed"; continue; }
        case $program in
        expr) exact $program "$path" 12 + 3 ;;
        tsort) exact $program "$path" pairs ;;
        mawk) exact $program "$path" 'BEGIN { for (i = 0; i < 9; i++) printf "%s %d\n", substr("text", i % 4), i * i }' ;;
        esac
    done
    # Damaged recordings must be reported and must not run for ever.
    bad=
    for cut in 1 3 7 100 1001 5000; do
        head -c $cut stream >shorter
        timeout 60 "$ISA" skel --replay shorter --base 0 all.so >/dev/null 2>cut.err
        [ $? -le 1 ] || bad+=" $cut"
        { cat shorter; head -c 3000 /dev/zero | tr '\0' '\377'; } >wrong
        timeout 60 "$ISA" skel --replay wrong --base 0 all.so >/dev/null 2>cut.err
        [ $? -le 1 ] || bad+=" wrong-$cut"
    done
    is "$bad" "" "recordings that are cut off or damaged"
    printf '\001\377\377\000\000' >wrong
    like "$("$ISA" skel --replay wrong all.so 2>&1)" 'the recording enters function 65535, which no skeleton has' "a function that there is not"
    printf '\011' >wrong
    like "$("$ISA" skel --replay wrong all.so 2>&1)" 'no token' "what is no token"
    like "$("$ISA" skel --replay stream ./kernels 2>&1)" 'cannot be loaded|is no skeleton' "what is no skeleton"

    # Test the check itself, with other addresses and another path.
    gcc -O2 $static -o kernels "$here/kernels.c" -lm && stepped ./kernels 4 >said
    read -r bias from to < <(section ./kernels)
    is "$(number "$(cat said)" wrong)" 0 "a trace as it is"
    awk '/^regs/ && ++n > 3000 && n < 3010 { for (i = 3; i <= 18; i++) $i = "0x8" } { print }' steps >changed
    isnt "$("$CHECK" ./kernels "$bias" changed | grep -c 'wrong 0$')" 1 "registers that have other values for a while are found out"
    awk '!(/^regs/ && ++n > 5000 && n < 5004)' steps >changed
    isnt "$("$CHECK" ./kernels "$bias" changed | grep -c 'wrong 0$')" 1 "instructions that are left out are found out"
fi

# The output for calc1, the example of Ketterlin and Clauss, "Efficient Memory Tracing by Program
# Skeletonization", ISPASS 2011.
cat >seed.c <<'E2'
double p[300][300], cu[300][300];
void calc1(long n, long m) { for (long j = 0; j < n; j++) for (long i = 0; i < m; i++) cu[j][i + 1] = .5 * (p[j][i + 1] + p[j][i]); }
long chase(long **q) { long s = 0; for (; q; q = (long **)q[0]) s += (long)q[1]; return s; }
int main(void) { calc1(3, 4); return (int)chase(0); }
E2
gcc -O1 -fno-pie -no-pie -o seed seed.c
p=$(nm seed | awk '$3 == "p" { print $1 }') cu=$(nm seed | awk '$3 == "cu" { print $1 }')
text=$("$REGTRACE" skel analyze -function '^calc1$' ./seed)
like "$text" "W 8 0x$(printf %x $((0x$cu + 8))) \+ 2400\*I \+ 8\*J" "a store is linear in two counters"
like "$text" "R 8 0x$(printf %x $((0x$p + 8))) \+ 2400\*I \+ 8\*J" "so is a load"
like "$text" "record rdi.1" "the number of iterations is recorded"
like "$text" "0 of [0-9]+ conditions by their outcome" "and no condition"
unlike "$text" "\[record the address\]" "nor an address"
like "$("$REGTRACE" skel analyze -function '^chase$' ./seed)" "record r[a-z0-9]+.[0-9]+ \(loaded\)" "a pointer that is followed is recorded as it is loaded"
like "$("$REGTRACE" skel analyze -summary ./seed)" '^[0-9]+ functions, [0-9]+ analysed .*static ratio' "a summary"
like "$("$REGTRACE" skel analyze -function calc1 -dot ./seed | tr '\n' ' ')" 'digraph "calc1".*subgraph cluster_0.*subgraph cluster_1.*}' "a graph"
text=$("$REGTRACE" skel analyze -plan registers -function '^calc1$' ./seed)
like "$text" "\* +record r[a-z0-9]+\.[0-9]+" "by the plan of registers phis are recorded"
is "$(grep -c 'record the outcome' <<<"$text")" "$(grep -c '^ *?' <<<"$text")" "and all outcomes"
unlike "$text" "\[record the address\]|8\*J" "no address, and no counter is needed"
text=$("$REGTRACE" skel analyze -plan addresses -function '^calc1$' ./seed)
is "$(grep -c 'record the address' <<<"$text")" "$(grep -cE '^ +0x[0-9a-f]+  [RWM]' <<<"$text")" "by the plan of addresses all of them are recorded"
unlike "$text" "\* +record" "and no value"
run 20 "$REGTRACE" skel analyze -plan all ./seed
is "$status" 2 "what is no plan"
like "$err" '"all": legal is skeleton\|registers\|addresses' "the error says so"
if command -v dot >/dev/null; then
    "$REGTRACE" skel analyze -function calc1 -dot ./seed | dot -Tsvg -o seed.svg
    ok $? "that dot takes"
fi

text=$("$REGTRACE" skel source -function '^calc1$' ./seed)
like "$text" "OUT\(0x[0-9a-f]+, 'W', 8, 0x$(printf %x $((0x$cu + 8)))ull \+ 2400ull \* I \+ 8ull \* J\);" "the skeleton's C has the same expression"
like "$text" "p_7 = IN\(8\);" "reads what is recorded"
like "$text" "^ +J\+\+;" "and counts"
like "$("$REGTRACE" skel source -plan registers -function '^calc1$' ./seed)" "if \(OUTCOME\(1\) == 0\)" "an outcome that is recorded"
is "$(grep -c '^static int f_' <<<"$text")" 1 "it has that function alone"
# Its loops, against an oracle of another kind: calc1 has two back edges, and each of its three
# accesses to arrays lies in both loops.
"$REGTRACE" skel source -function '^calc1$' ./seed >loops.c
sed -n 's,^/\* \(\(loop\|place\) .*\) \*/$,\1,p' loops.c >shapes
is "$(sed -n 's/^loop [0-9a-f]* //p' shapes | xargs)" "- 1 I 0 2 J" "a loop in a loop"
like "$(grep '^place' shapes)" "^place [0-9a-f]+ 1 W 8 0x$(printf %x $((0x$cu + 8))) \+ 2400\*I \+ 8\*J\$" "its accesses as expressions"
objdump -d --no-show-raw-insn ./seed | awk '/<calc1>:/, /^$/' | sed -n 's/^ *\([0-9a-f]*\):.*/\1 &/p' >disassembled
head=$(awk '$1 == "loop" && $3 == 0 { print $2 }' shapes)
back=$(awk -v head="$head" '$3 ~ /^j/ && $4 == head { last = $1 } END { print last }' disassembled)
isnt "$back" "" "a jump leads back to the inner one's head"
is "$(awk -v from="$head" -v to="$back" '{ n = sprintf("%16s", $1) } n >= sprintf("%16s", from) && n <= sprintf("%16s", to) && /\(/ && !/lea|nop/ { print $1 }' disassembled | xargs)" \
    "$(awk '$1 == "place" && $3 == 1 { print $2 }' shapes | xargs)" "what accesses memory between is in it"

# Direct calls, for which nothing is recorded. Functions that are called by pointer, that leave for
# a library, or for whose name an alarm waits are called by tokens.
cat >calls.c <<'E2'
int puts(const char *);
__attribute__((noinline, noclone)) long within(long n, long *a) { return n < 1 ? a[0] : within(n - 1, a + 1) + a[n]; }
__attribute__((noinline, noclone)) long forever(volatile long *a) { return forever(a + 1) + a[0]; }
__attribute__((noinline, noclone)) int says(const char *s) { return puts(s); }
__attribute__((noinline, noclone)) long left(long *a) { return within(a[0] & 7, a); }
long (*volatile pointed)(long *) = left;
int main(int argc, char **argv) { long a[9] = {argc}; return says(argv[0]) + (int)pointed(a) + (int)left(a); }
E2
gcc -O2 -fcf-protection=none -fno-ipa-ra -fno-optimize-sibling-calls -o calls calls.c && gcc -O2 -o tails calls.c || exit 99
text=$("$REGTRACE" skel source ./calls)
at() { nm "$1" | awk -v n="$2" '$3 == n { sub("^0*", "", $1); print "d_0x" $1 }'; }
like "$text" "DIRECT\($(at calls within), to(, p_[67])*\);" "a direct call"
like "$text" "return skeleton_left\(s, $(at calls left)\(s, p_4(, p_7)?\)\);" "which has an entry by its token"
like "$("$REGTRACE" skel source ./tails)" "TAIL\([dt]_$(at tails within | cut -c3-), " "a jump"
unlike "$("$REGTRACE" skel source ./tails)" "DIRECT\($(at tails says)," "what is left for a library is called by tokens"
like "$("$REGTRACE" skel analyze -function '^(left|within)$' ./calls)" 'record rsp\.[0-9]+ \(where it is not called directly\)' "the stack pointer of such"
unlike "$("$REGTRACE" skel analyze -function '^main$' ./calls)" 'not called directly' "and of others"
# A recursion deeper than any stack, from a recording that does not end.
"$REGTRACE" skel source ./calls >source.c && gcc -O0 -w -shared -fPIC -o calls.so source.c
awk -v n="$(sed -n 's/^ENTRY(\([0-9]*\),.*"forever".*/\1/p' source.c)" 'BEGIN { printf "%02x000000\n", n }' >number
{ printf '\001%b' "$(sed 's/../\\x&/g' number)" && printf '\000\000\000\000\377\177\000\000' &&
    head -c 160000000 /dev/zero | tr '\000' '\001'; } >endless
run 60 bash -c '"$1" skel --replay endless calls.so >/dev/null' - "$ISA"
is "$status" 1 "a recursion without an end: no crash"
like "$err" 'nests calls more deeply than any stack is' "the error says so"
rm endless
"$ISA" skel --copies copies --skeleton awaited.c --awaits within ./calls >said
unlike "$(cat awaited.c)" "DIRECT\($(at calls within)" "where an alarm waits it is entered"
like "$(cat awaited.c)" "DIRECT\($(at calls left)" "and others are not"
"$ISA" skel --copies copies --skeleton awaited.c --tokens ./calls >said
unlike "$(cat awaited.c)" "^ *(DIRECT|TAIL)\(" "and none where it is not known who waits"
run 20 "$REGTRACE" skel source -dot ./seed
is "$status" 2 "no picture of a source"

# Errors are reported.
run 20 "$REGTRACE" skel analyze -function nothing_of_that_name ./seed
is "$status" 1 "a function that is not there"
like "$err" "no function matches nothing_of_that_name" "is named"
run 20 "$REGTRACE" skel source -function nothing_of_that_name ./seed
is "$status $out" "1 " "it has no source"
run 20 "$REGTRACE" skel analyze ./seed.c
is "$status" 1 "a file that is no program"
run 20 "$REGTRACE" skel record ./seed
is "$status" 2 "what is no action"
like "$err" "is no action: skel analyze PROGRAM, skel source PROGRAM, skel replay DIR or skel stats DIR" "the error says so"
run 20 "$REGTRACE" skel replay -function main ./seed
is "$status" 2 "an option of another action"
like "$err" "-function is not for skel replay" "the error says so"
run 20 "$REGTRACE" skel analyze
is "$status" 2 "no program"
run 20 "$REGTRACE" skel analyze -function '(' ./seed
is "$status" 2 "no regular expression"
cat >wild.S <<'E2'
    .globl wild
    .type wild, @function
wild:
    .cfi_startproc
    lea (%rdi,%rsi,8), %rax
    jmp *%rax
    .cfi_endproc
    .size wild, .-wild
E2
gcc -shared -nostdlib -o wild.so wild.S
like "$("$REGTRACE" skel analyze -function wild ./wild.so)" 'cannot be analysed: a jump whose targets are not known' "why a function cannot be analysed"

# Nine of ten functions are analysed, and no input makes the program crash.
for f in "$(ldconfig -p | awk '/libm\.so\.6 .*x86-64/ { print $NF; exit }')" "$(ldconfig -p | awk '/libc\.so\.6 .*x86-64/ { print $NF; exit }')"; do
    said=$("$ISA" skel --summary "$f" | head -1)
    ok_run "$f: 9 of 10 functions" awk -v s="$said" 'BEGIN { split(s, w, " "); exit !(w[1] > 100 && w[3] > 0.9 * w[1]) }'
    diag "$said"
done
every=80
[ -z "${SKELETON_LONG:-}" ] || every=4
n=0 bad=
for f in $(find /usr/bin -maxdepth 1 -type f -size -2000k | LC_ALL=C sort | awk -v every="$every" 'NR % every == 3'); do
    [ "$(head -c 4 "$f" | tail -c 3)" = ELF ] || continue
    timeout 120 "$ISA" skel --summary "$f" >/dev/null 2>&1
    [ $? -le 1 ] || bad+=" $f"
    n=$((n + 1))
done
is "$bad" "" "$n executables"
bad=
for seed in $(seq "$([ -n "${SKELETON_LONG:-}" ] && echo 300 || echo 10)"); do
    cp seed damaged
    awk -v s="$seed" 'BEGIN { srand(s); for (i = 0; i < 40; i++) print int(rand() * 16000), int(rand() * 256) }' | while read -r at byte; do
        # shellcheck disable=SC2059
        printf "\\x$(printf %x "$byte")" | dd of=damaged bs=1 seek="$((at < 64 ? at + 64 : at))" conv=notrunc status=none
    done
    timeout 60 "$ISA" skel damaged >/dev/null 2>&1
    [ $? -le 1 ] || bad+=" $seed"
done
is "$bad" "" "damaged programs"
done_testing
