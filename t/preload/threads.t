#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Threads, their ends, names, keys and masks are the same as without the tracer.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/same.sh"

for how in '' REGTRACE_CONTROL="$CHAINS" REGTRACE_DEFAULT_START=0; do
    for part in many cancels c11 detached leaves blocked keys names; do
        same "$part ${how%%=*}" ${how:+"$how"} "$P/threads" $part
    done
done
done_testing
