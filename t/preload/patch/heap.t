#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Probes, copies of functions and captured values take memory near the program's code. The heap
# (brk) grows there as far as it does without regtrace, also where addresses are not randomized.
. "$(dirname "$0")/../../lib.sh"
needs probes
cd "$T" || exit 99
for how in "" "-no-pie -fno-pie"; do
    # shellcheck disable=SC2086  # options
    cc -O2 $how -o heap "$REGTRACE_SOURCE/t/preload/patch/programs/heap.c" || exit 99
    for fixed in "" "setarch -R"; do
        is "$($fixed ./heap)" 1024 "${how:-pie} $fixed: the heap of the program alone"
        for options in "-functions ." "-memory ." "-values vp-addr -values-sample cpu:1ms" \
            "-control start:enter_func:grows,stop:exit_func:grows,repeat" "-functions grows -control start:timeout:100us,stop:timeout:100us,repeat"; do
            # shellcheck disable=SC2086  # words
            run 60 "$REGTRACE" run -quiet -o "$T/run" $options -- $fixed ./heap
            is "$status $out" "0 1024" "${how:-pie} $fixed $options: grows as far" || diag "$err"
            rm -rf "$T"/run*
        done
    done
done
done_testing
