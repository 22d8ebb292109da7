#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long: fuzzes the parser with libFuzzer and the address and undefined-behaviour sanitizers for 10
# minutes (REGTRACE_FUZZ_SECONDS), beginning with the corpus. Prints each input that fails; add it
# to the corpus when the bug is fixed.
. "$(dirname "$0")/../lib.sh"

command -v clang >/dev/null || skip_all "no clang"
seconds=${REGTRACE_FUZZ_SECONDS:-600}
cd "$REGTRACE_SOURCE" || exit 1
build() {
    clang -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -D_GNU_SOURCE -std=gnu17 -I. \
        t/controller/fuzz_parse.c controller/[a-z]*.c base/error.c base/options.c -o "$T/fuzz_parse"
}
fuzz() {
    mkdir -p "$T/found" && cp -r t/controller/corpus "$T/corpus" && chmod -R u+w "$T/corpus" || return 1
    "$T/fuzz_parse" -max_total_time="$seconds" -artifact_prefix="$T/found/" "$T/corpus" >"$T/fuzz.out" 2>&1 &&
        grep -E '^Done [0-9]+ runs' "$T/fuzz.out" | sed 's/^/# /' && return 0
    tail -60 "$T/fuzz.out"
    for input in "$T"/found/*; do
        [ -f "$input" ] && echo "# input, in base64: $(base64 -w0 "$input")"
    done
    return 1
}
ok_run "the fuzz target builds" build
ok_run "$seconds s of random control strings, options and executions find nothing" fuzz
done_testing
