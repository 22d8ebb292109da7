#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long test: follows a million cases, of instructions of all programs and libraries of this machine,
# in a handler (t/preload/values/followed_fuzz.c).
. "$(dirname "$0")/../../lib.sh"

FUZZ=$REGTRACE_BUILD/t/preload/values/followed_fuzz.t
[ -x "$FUZZ" ] || skip_all "this build has no t/preload/values/followed_fuzz.t"
many() {
    local out
    out=$("$FUZZ" "$1" 250000 /usr/bin/* /usr/lib/x86_64-linux-gnu/*.so* 2>&1)
    local rc=$?
    grep -vE '^1\.\.' <<<"$out" | sed 's/^/# /'
    return $rc
}
for seed in 1000 2000 3000 4000; do
    ok_run "seed $seed" many $seed
done
done_testing
