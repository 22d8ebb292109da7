#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# regtrace report on runs without chains: counting runs (synthetic_windows.py writes files with
# given totals), runs without a default start, and runs whose program opens windows itself.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 99
export PYTHONDONTWRITEBYTECODE=1

# head_of FOLDER: prints the line that the report shows in place of chains.
head_of() { "$REGTRACE" report "$1" | sed -n 's/^  no chains: //p'; }

cat >calls.c <<'END'
#include <regtrace.h>
#include <string.h>
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "start") == 0)
        regtrace_start(0);
    regtrace_region_begin("r");
    regtrace_region_end("r");
    if (argc > 1)
        regtrace_stop(0);
    return 0;
}
END
cc -I"$REGTRACE_SOURCE/share/include" -o calls calls.c || exit 99
REGTRACE_DIR=$T/whole LD_PRELOAD=$LIBREGTRACE ./calls
is "$(head_of whole)" 'the whole run is one window' 'no chain: the whole run'
REGTRACE_DIR=$T/stopped LD_PRELOAD=$LIBREGTRACE ./calls stop
like "$(head_of stopped)" '^each thread starts in a window; regtrace_stop\(\)' 'not where the program closes windows'
REGTRACE_DIR=$T/started REGTRACE_DEFAULT_START=0 LD_PRELOAD=$LIBREGTRACE ./calls start
like "$(head_of started)" 'no default start .*regtrace_start\(\) in the program$' 'without a default start: those that the program opens'

[ "$PYTHON" != no ] || { skip 'counting runs' 'no python3 with h5py'; done_testing; }
# totals NAME SPEC: makes a counting run with these totals.
totals() { "$PYTHON" "$here/synthetic_windows.py" "$1" "$2" || ok 1 "a run with totals $2"; }
# table FOLDER [OPTION]: prints the rows of the table of instructions, with single spaces.
table() { "$REGTRACE" report "${@:2}" "$1" | sed -n '/^Instructions in user mode/,/^$/p' | sed '1,2d; /^$/d; s/^ *//; s/ *$//' | tr -s ' '; }
totals two 1000000+500000,2500000
is "$(head_of two)" 'a counting run, which opens no window' 'a counting run'
like "$("$REGTRACE" report two)" '^No window opened: a counting run needs none' 'and no window is missed'
is "$(table two)" "0 0 1000000 25.0%
0 1 500000 12.5%
1 0 2500000 62.5%
all 3 4000000" 'instructions by rank and thread'
totals uncounted 1000+0
is "$(table uncounted)" "0 0 1000 100.0%
0 1 not counted -
all 2 1000
without 1 threads that were not counted: they were killed, did not end, or had no counter" 'a thread that was not counted is no thread of 0 instructions'
totals many "$(seq -s, 1001 1060)"
is "$(table many | head -n 5)" "59 1 1060 1.7%
58 1 1059 1.7%
57 1 1058 1.7%
56 1 1057 1.7%
55 1 1056 1.7%" 'many ranks: those with the most first'
is "$(table many | sed -n '6p;11p;12p')" "... 50 more ranks that lie between (-all shows them)
0 1 1001 1.6%
all 60 61830" 'and the least, and all together'
is "$(table many -all | wc -l)" 61 '-all shows each'
totals none count
unlike "$("$REGTRACE" report whole)" 'Instructions in user mode' 'no such table where nobody counted'
done_testing
