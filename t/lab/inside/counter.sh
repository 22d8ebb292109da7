#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The machine has a counter of instructions that counts exactly and overflows. perf_event_paranoid
# forbids it as it should.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lab.sh"

ok_program "perf" "$LAB_PROGRAMS/perf"
ok_program "PAPI" "$LAB_PROGRAMS/papi"

is "$("$LAB_PROGRAMS/perf" denied)" allowed "perf_event_paranoid 1: a user may count"
like "$("$LAB_PROGRAMS/papi" denied)" '^disabled 0:' "and PAPI has the counter"
echo 3 >/proc/sys/kernel/perf_event_paranoid
is "$("$LAB_PROGRAMS/perf" denied)" EACCES "perf_event_paranoid 3: a user may not"
like "$("$LAB_PROGRAMS/papi" denied)" '^disabled -?[1-9].*paranoid' "and PAPI names the reason"
done_testing
