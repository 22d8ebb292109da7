#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Skeletons of large programs are cut into units. Units are compiled in parallel, most of them
# without optimization; the accesses are the same as with one unit.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
mkdir tmp && export TMPDIR=$T/tmp XDG_CACHE_HOME=$T/cache
# Functions that call each other. Some have loops, tail calls, jump tables, registers that callers
# know, and recursion.
for ((n = 0; n < 120; n++)); do
    cat <<EOF
__attribute__((noinline)) static long f$n(long *a, long n, struct list *l)
{
    long sum = 0;
    for (long i = 0; i < n; i++)
        sum += a[i * (i + $n) % 64] * 3;
    for (; l != 0; l = l->next)
        l->value[sum & 7] += a[l->value[1] & 63];
    switch (a[sum & 63] & 7) {
$(for k in 0 1 2 3 4 5; do echo "    case $k: for (long i = $k; i < 9; i++) if (a[i] % $((k + 2)) == 0) sum += a[i + $k]; else a[i]++; break;"; done)
    default: memset(a + 3, (int)sum, (size_t)(n & 31)); a[0] = 1;
    }
    return n > 40 ? sum : n > 36 ? next$n(a, n + 1, l) : sum + next$n(a, n + 1, all + (n & 3));
}
EOF
done >functions
{
    printf '#include <stdio.h>\n#include <string.h>\nstruct list { struct list *next; long value[8]; };\nstatic struct list all[4];\n'
    for ((n = 0; n < 120; n++)); do
        printf 'static long f%d(long *a, long n, struct list *l);\n#define next%d f%d\n' $n $n $(((n + 7) % 120))
    done
    cat functions
    cat <<'EOF'
int main(void)
{
    static long a[128];
    long sum = 0;
    for (int k = 0; k < 3; k++)
        all[k].next = &all[k + 1];
    for (long k = 0; k < 30; k++)
        sum += f0(a, k, all) + f3(a, k / 2, all + 1);
    printf("%ld\n", sum);
}
EOF
} >program.c
gcc -O2 -g -o program program.c || exit 99
"$REGTRACE" run -o run -memory '^(main|f[0-9]+)$' -- ./program >out 2>said || { diag "$(cat said)"; exit 99; }
printf '#!/bin/sh\necho "$@" >>%q\nexec cc "$@"\n' "$T/calls" >compiler
printf '#!/bin/sh\necho "$@" >>%q\nexec cc "$@" -O0\n' "$T/calls" >quick && chmod +x compiler quick
# A run as of a release that does not cut skeletons into units.
cp -r run one && sed -i 's/SKELETON_UNIT/SKELETON_PIECE/' one/memory/*.c
"$REGTRACE" skel replay run >expected 2>said
CC=$T/compiler "$REGTRACE" skel replay -format count -jobs 3 run >count 2>said
is "$? $(cat said)" "0 " "it is replayed"
units=$(grep -c -- ' -c ' calls)
[ "$units" -gt 2 ]
ok $? "by several units" || diag "$(wc -c run/memory/*.c)"
is "$(grep -c -- '-O2 .* -c ' calls) $(grep -c -- '-O0 .* -c ' calls) $(grep -vc -- ' -c ' calls)" "$(grep -c -- '-O2 .* -c ' calls) $((units - $(grep -c -- '-O2 .* -c ' calls))) 1" "-O2 or quickly, and linked once"
for level in O2 O0; do
    grep -q -- "-$level .* -c " calls
    ok $? "some are compiled by -$level"
done
: >calls
CC=$T/quick "$REGTRACE" skel replay one >text 2>said
is "$? $(cat said) $(wc -l <calls)" "0  1" "one unit"
ok_run "the same accesses" cmp expected text
CC=$T/quick "$REGTRACE" skel replay -format count one >text 2>said
ok_run "and the same counts" cmp count text
: >calls
CC=$T/compiler "$REGTRACE" skel replay -format count run >text 2>said
is "$(wc -l <calls)" 0 "what units give is kept"
"$REGTRACE" skel replay -jobs 1 run >text 2>said
ok_run "one at a time" cmp expected text

# A unit that cannot be compiled.
rm run/memory/*.so && rm -rf cache
printf '#!/bin/sh\ncase "$*" in *unit2.c*) echo this one >&2; exit 1;; esac\nexec cc "$@"\n' >compiler
CC=$T/compiler "$REGTRACE" skel replay run >text 2>said
is "$? $(grep -c 'this one' said) $(grep -c 'cannot be compiled by' said)" "1 1 1" "a unit that cannot be compiled"
is "$(ls -A tmp)" "" "nothing is left behind"

# On a terminal, replay says when it starts a long compilation.
if command -v script >/dev/null; then
    run 100 script -qec "'$REGTRACE' skel replay -format count run" /dev/null
    like "$out" '^regtrace skel: [0-9]+ functions are being compiled, which is kept for the next replay' "a terminal is reported"
    run 100 script -qec "'$REGTRACE' skel replay -format count run" /dev/null
    unlike "$out" 'being compiled' "once"
fi
done_testing
