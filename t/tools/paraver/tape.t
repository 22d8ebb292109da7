#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# States at times that repeat, as clocks give that advance in steps: none has no length, and no two
# equal ones follow each other, also where the tape passes its records on.
. "$(dirname "$0")/../../lib.sh"
cc -g -I"$REGTRACE_SOURCE" -o "$T/tape" "$(dirname "$0")/tape.c" "$REGTRACE_SOURCE/tools/channels/tape.c" || exit 99
for seed in 1 2 3 4 5; do
    run 60 "$T/tape" $seed
    is "$status $out" '0 same' "seed $seed"
done
done_testing
