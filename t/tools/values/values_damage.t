#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs `regtrace values` on runs whose tables of values are damaged:
# t/tools/values/values_damage.py. REGTRACE_TEST_ROUNDS sets the number of rounds.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
needs h5py
[ -x "$REGTRACE_BUILD/isa/regtrace-vprofiler" ] || skip_all 'this build has no isa/ (configure says why)'
cat >hot.c <<'C'
static unsigned long a[4096];
__attribute__((noinline)) static unsigned long solve(unsigned long *p, unsigned n, unsigned k)
{
    unsigned long s = 0;
    for (unsigned i = 0; i < n; i++) {
        s += p[(i * k) & 4095];
        p[i & 4095] = s;
    }
    return s;
}
int main(void)
{
    unsigned long s = 0;
    for (unsigned i = 0; i < 60000; i++)
        s += solve(a, 4096, i % 7);
    return s == 1;
}
C
gcc -O1 -g -o hot hot.c || exit 99
"$REGTRACE" run -values vp-addr -values-follow 8 -vcontext callers -o good -- ./hot >run.out 2>&1
ok $? 'a run with values'
samples=$("$REGTRACE" values -json good | grep -oE '"samples": *[0-9]+' | head -1 | grep -oE '[0-9]+$')
ok "$((${samples:-0} < 20))" "with samples: ${samples:-none}"
"$PYTHON" "$here/values_damage.py" "$REGTRACE" "$T/good" "$T/bad" "${REGTRACE_TEST_ROUNDS:-30}" "${REGTRACE_TEST_SEED:-1}" >damage.out 2>&1
ok $? 'no damage brings it down'
sed 's/^/# /' damage.out
done_testing
