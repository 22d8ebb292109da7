#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Damaged, cut and foreign HDF5 files: the tools say what is wrong, and never crash or hang.
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 99
needs h5py
mpi=$(mpis | tail -1)
[ -n "$mpi" ] || skip_all 'no MPI here'
mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=start:pcontrol:solve,stop:pcontrol:solved,repeat \
    REGTRACE_DIR="$T/good" "$APPS/stencil.$mpi" >/dev/null 2>&1
ok_run 'a good run to damage' "$REGTRACE" check "$T/good"
"$PYTHON" "$here/damage_rounds.py" "$REGTRACE" "$T/good" "$T/bad" "${REGTRACE_TEST_ROUNDS:-40}" >"$T/damage.out" 2>&1
ok $? 'no damage brings the tools down'
sed 's/^/# /' "$T/damage.out"

# FIFOs in place of a run's own files.
cp -a good fifo
echo line >>fifo/regtrace.log
for file in fifo/regtrace.log fifo/.regtrace/*; do
    cp -a fifo with
    rm "with${file#fifo}"
    mkfifo "with${file#fifo}"
    hung=
    for words in dump report 'report --json' check recover 'prv -o with.prv' 'timeline -o with.html'; do
        # shellcheck disable=SC2086  # words
        run 10 "$REGTRACE" $words with
        [ "$status" != 124 ] || hung+=" $words"
    done
    is "$hung" '' "a FIFO as ${file#fifo/}: no tool waits"
    rm -r with with.*
done

# A FIFO in place of an image: a blocking open() would wait forever.
# Work, not time: a virtual machine that is held makes processor time leap without any work.
cat >named.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) void spins(void)
{
    for (volatile int i = 0; i < 1000000; i++)
        ;
}
int main(int argc, char **argv)
{
    for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 80); i++)
        spins();
    return 0;
}
C
cc -g -o named named.c || exit 99
ok_run 'a run with samples' "$REGTRACE" run -quiet -sample cpu:1ms -sample-depth 8 -o named.run -- ./named
like "$("$REGTRACE" report --hot named.run)" 'named +spins' 'whose functions have names' ||
    diag "$("$REGTRACE" report named.run)"
rm named
mkfifo named
for words in 'report --hot' 'export --csv named.csv' 'timeline -o named.html' 'prv -o named.prv'; do
    # shellcheck disable=SC2086  # words
    run 60 "$REGTRACE" $words named.run
    is "$status" 0 "a FIFO in place of the program: regtrace $words" || diag "$err"
done
like "$("$REGTRACE" report --hot named.run)" 'No names in .*/named: no ELF file' 'with the reason'
if [ -x "$REGTRACE_BUILD/isa/regtrace-isa" ]; then
    for words in analyze source; do
        run 60 "$REGTRACE" skel "$words" ./named
        is "$status" 1 "a FIFO in place of the program: regtrace skel $words"
        like "$err" 'named: is no ELF file' 'with the reason'
    done
fi
run 60 env PYTHONPATH="$REGTRACE_SOURCE/share/python" PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -c 'from regtrace import symbols; import sys
print(symbols.Symbols(sys.argv[1], "").name(0))' "$T/named"
is "$status $out" '0 None' 'and regtrace.symbols' || diag "$err"

# A FIFO in place of the debug file of a stripped program.
if command -v objcopy >/dev/null; then
    cc -g -o bare named.c && objcopy --only-keep-debug bare bare.debug && strip bare && objcopy --add-gnu-debuglink=bare.debug bare || exit 99
    "$REGTRACE" run -quiet -sample cpu:1ms -o bare.run -- ./bare
    like "$("$REGTRACE" report --hot bare.run)" 'bare +spins' 'a stripped program has the names of its debug file'
    rm bare.debug
    mkfifo bare.debug
    run 60 "$REGTRACE" report --hot bare.run
    is "$status" 0 'a FIFO in its place: regtrace report --hot' || diag "$err"
    like "$out" 'bare +\(no symbol\)' 'which has no names'
    if [ -x "$REGTRACE_BUILD/isa/regtrace-isa" ]; then
        run 60 "$REGTRACE" run -quiet -control start:enter_func:spins -o bare.again -- ./bare
        like "$status $err" "^0 .*no function 'spins'" 'and an alarm at a function'
    fi
else
    skip 'a FIFO in place of a debug file' 'no objcopy'
fi

# A program whose name has control characters: none of them reaches the terminal.
cc -g -o named.new named.c || exit 99
odd=$'odd\033[31m\nname\377'
mv named.new "$odd"
values=()
[ ! -x "$REGTRACE_BUILD/isa/regtrace-vprofiler" ] || values=(-values vp-addr)
# It takes some hundred samples: on a busy machine the first ones come before the plug-in's process
# answers.
ok_run 'a program with control characters in its name' \
    "$REGTRACE" run -quiet -sample cpu:1ms "${values[@]}" -o odd.run -- "./$odd" 1000
for words in 'report --hot' ${values[0]:+values}; do
    # shellcheck disable=SC2086  # words
    run 60 "$REGTRACE" $words odd.run
    is "$status" 0 "regtrace $words" || diag "$err"
    like "$out" 'odd\\x1b\[31m\\nname' 'names it'
    unlike "$out" $'\033' 'without control characters'
done
rm "$odd"
unlike "$("$REGTRACE" report --hot odd.run)" $'\033' 'nor where it says that the program is gone'
done_testing
