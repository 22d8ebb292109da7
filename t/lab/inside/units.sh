#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 6000
# Compiled tests of the suite pass on this machine too. Each program is one test here, and each of
# its skips is one more.
. "$(dirname "$0")/../../lib.sh"

cd "$REGTRACE_BUILD" || exit 1
while read -r test; do
    run 2000 "./$test"
    ok "$status" "$test" || diag "$(grep -A 3 '^not ok' <<<"$out" | head -40)$err"
    while read -r line; do skip "$test: ${line%% # SKIP*}" "${line#* # SKIP }"; done < <(grep ' # SKIP ' <<<"$out")
done <t/lab/units
done_testing
