#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of functions whose jumps through tables lead where their analysis has found nothing.
# The program does what it does without the tracer. In a window the replay is, access for access,
# what single steps by ptrace show for the same run.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/exact.inc"
quick_replays

for flags in gcc' -O0' gcc' -O1 -no-pie -fno-pie' gcc' -O2' gcc' -O2 -no-pie -fno-pie' gcc' -O3 -fno-jump-tables' clang' -O2' clang' -O1 -no-pie -fno-pie'; do
    command -v "${flags%% *}" >/dev/null || { skip "$flags" "it is not installed"; continue; }
    # shellcheck disable=SC2086
    $flags -fno-builtin -w -o lost "$here/programs/memory_lost.c" || exit 99
    plans=skeleton
    [ "$flags" != 'gcc -O2' ] || plans='skeleton registers addresses'
    for plan in $plans; do
        exact_window "$flags, $plan" lost "" main "$plan"
    done
done
done_testing
