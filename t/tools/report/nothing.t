#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What regtrace report says where there is nothing to show: no MPI call, no sample, no window, no
# file that can be read. Each message comes once, with the remedy.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
cat >named.c <<'END_OF_C'
#include <regtrace.h>
int main(void)
{
    regtrace_region_begin("r");
    regtrace_region_end("r");
    return 0;
}
END_OF_C
gcc -I"$REGTRACE_SOURCE/share/include" -o named named.c 2>cc ||
    skip_all "no compiler for the program: $(tail -n 1 cc)"

# says NAME TEXT OPTION... FOLDER: nothing but one message, which has the text, on standard error.
says() {
    local name=$1 text=$2
    shift 2
    run 60 "$REGTRACE" report "$@"
    like "$err" "$text" "$name"
    is "$(wc -l <<<"$err") $out" '1 ' "$name: in one line, and nothing else is printed"
}

run 60 "$REGTRACE" run -quiet -o plain -- ./named
is "$status" 0 'a run without MPI and samples' || diag "$err"
says 'no folded stacks without MPI' \
    'plain: no MPI call was recorded: .* called no MPI in windows; .*-sample cpu:10ms' \
    --folded plain
is "$status" 0 'which is no failure'
says 'no folded samples' \
    'plain: no samples: the run was not sampled .regtrace run -sample cpu:10ms' \
    --hot --folded plain
is "$status" 0 'neither is that'
for format in pprof speedscope; do
    run 60 "$REGTRACE" report --$format plain
    like "$err" 'plain: no MPI call was recorded: ' "--$format says so too"
done
run 60 "$REGTRACE" run -quiet -control 'start:timeout:1000s' -o closed -- ./named
is "$status" 0 'a run without windows' || diag "$err"
says 'no folded stacks without windows' 'closed: no MPI call was recorded: no window opened' \
    --folded closed

# Files that cannot be read: the error, and no word about what they may have.
mkdir damaged
: >damaged/rank-00000.h5
for option in --all --hot --tree --folded '--hot --folded' --pprof --speedscope --efficiency \
    --critical-path; do
    # shellcheck disable=SC2086  # two options
    says "unreadable, $option" 'rank-00000.h5 is not an HDF5 file' $option damaged
    is "$status" 1 "unreadable, $option: is a failure"
done

# One of two files can be read.
cp -r plain half
rm -f half/regtrace.h5
: >half/rank-00001.h5
run 60 "$REGTRACE" report --efficiency plain half
is "$status" 1 'efficiencies: a file that cannot be read is a failure'
is "$(grep -c 'rank-00001.h5 is not an HDF5 file' <<<"$err")" 1 'which is reported once'
like "$out" '^ +plain +half$' 'and the rest is shown'
done_testing
