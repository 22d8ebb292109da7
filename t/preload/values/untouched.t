#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs whose instructions are followed at samples do what they do without the tracer.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../same.sh"
needs values

# Samples as often as this machine allows: by the kernel's timer for events, else by the timer for
# CPU time.
often=task-clock:50000
"$REGTRACE" run -o "$T/try" -values vp-addr -values-sample $often -- true >"$T/said" 2>&1 || often=cpu:100us
diag "samples by $often"

for how in 'vp-classic 16' 'vp-addr 64'; do
    read -r plugin follow <<<"$how"
    for part in 'repair 10' 'leave 100' 'threads 10' 'numbers 10' 'strings 200' 'calls 50' 'signals 200' 'descriptors 100'; do
        # shellcheck disable=SC2086
        same "$part, $plugin, $follow followed" REGTRACE_VALUES="$plugin" REGTRACE_VALUES_FOLLOW="$follow" \
            REGTRACE_VALUES_SAMPLE=$often REGTRACE_VCONTEXT=callers "$P/values/untouched" $part
    done
done
values=(REGTRACE_VALUES=vp-classic REGTRACE_VALUES_FOLLOW=16 REGTRACE_VALUES_SAMPLE="$often")
for part in nested jump fault waits restarts; do
    same "handlers: $part" "${values[@]}" "$P/libc/handlers" $part
done
for death in '11 fault' '6 abort' '5 kill'; do
    # shellcheck disable=SC2086
    same "death by $death" "${values[@]}" "$P/libc/handlers" die $death
done
same "a small alternate stack" "${values[@]}" "$P/stack/small_stack" 32768
same "threads by clone()" "${values[@]}" "$P/odd" clones
done_testing
