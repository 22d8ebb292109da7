#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 6000
# Traces a program and a job of 4 ranks on this machine, with the library built for it. Their files
# leave in $LAB_OUT.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"

run 600 "$LAB_PROGRAMS/regions" 100
is "$status|$out|$err" "0|100 regions|" "the program alone"
run 600 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/program" "$LAB_PROGRAMS/regions" 100
is "$status|$out|$err" "0|100 regions|" "traced, it does and says the same"
run 600 "$REGTRACE" check "$LAB_OUT/program"
is "$status" 0 "its file is consistent" || diag "$out$err"
run 600 "$REGTRACE" dump "$LAB_OUT/program"
is "$(grep -c 'turn' <<<"$out")" 200 "all 100 regions are in it" || diag "$(head -20 <<<"$out")"

rt_limit=3000
run 3000 mpirun_for openmpi 4 "$APPS/stencil.openmpi" 3 5 16
bare=$status/$out
is "$status" 0 "4 ranks run under mpirun" || diag "$out$err"
run 3000 mpirun_for openmpi 4 LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$LAB_OUT/ranks" \
    REGTRACE_CONTROL='start:pcontrol:solve,stop:pcontrol:solved,repeat' "$APPS/stencil.openmpi" 3 5 16
is "$status/$out" "$bare" "traced, they do and say the same" || diag "$err"
wait_for 60 test -e "$LAB_OUT/ranks/regtrace.h5"
is "$(find "$LAB_OUT/ranks" -name 'rank-?????.h5' | wc -l)" 4 "a file a rank"
run 1000 "$REGTRACE" check "$LAB_OUT/ranks"
is "$status" 0 "the files are consistent" || diag "$out$err"
run 1000 "$REGTRACE" report "$LAB_OUT/ranks"
is "$status" 0 "the report can be made" || diag "$out$err"
done_testing
