#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Messages in exports of a whole run and of parts, read by an independent reader
# (exported_messages.py): they are those that the program itself has logged
# (t/tools/messages/exchange.c).
. "$(dirname "$0")/../../lib.sh"
export PYTHONDONTWRITEBYTECODE=1
[ -n "$PYTHON" ] && [ "$PYTHON" != no ] || skip_all 'no Python to read exports with'
cd "$T" || exit 99
formats=chrome
if ! grep -q 'DHAVE_OTF2' "$REGTRACE_BUILD/config.status"; then
    skip 'OTF2' 'built without libopen-trace-format2-dev'
elif ! command -v otf2-print >/dev/null; then
    skip 'OTF2' 'no otf2-print (otf2-tools)'
else
    formats='chrome otf2'
fi
messages() { "$PYTHON" "$REGTRACE_SOURCE/t/tools/export/exported_messages.py" "$@"; }
# right NAME FORMAT RUN LOGS [OPTION...]: each message is in the logs, once. Sets said to the
# messages of export and left to the lines of the logs that are missing; writes the messages to
# got.FORMAT.
right() {
    local name=$1 f=$2 run=$3 logs=$4 readable
    shift 4
    run 60 "$REGTRACE" export "--$f" "out.$f" -force "$@" "$run"
    is "$status" 0 "$name: exported as $f" || diag "$err"
    said=$err readable=out.$f
    if [ "$f" = otf2 ]; then
        { otf2-print -G out.otf2/traces.otf2 && otf2-print out.otf2/traces.otf2; } >readable 2>print.err
        is "$?$(cat print.err)" 0 "$name: otf2-print has nothing against it"
        readable=readable
    fi
    messages "$f" $readable $logs >"got.$f" 2>judged
    ok $? "$name: $f has none that the logs have not, in calls of their kind" || diag "$(cat judged)"
    left=$(tail -1 judged)
}

for mpi in openmpi mpich; do
    if ! have_mpi $mpi || ! "mpicc.$mpi" -O2 -D_GNU_SOURCE -I"$REGTRACE_SOURCE/share/include" -o exchange \
        "$REGTRACE_SOURCE/t/tools/messages/exchange.c" -pthread 2>cc; then
        skip "messages with $mpi" "no $mpi, or no compiler for it"
        continue
    fi
    rm -rf run out.* log.*
    run 100 "$REGTRACE" run -quiet -o run -- "mpirun.$mpi" -np 4 ./exchange "$T"
    is "$status" 0 "$mpi: a run of four ranks" || diag "$err"
    for f in $formats; do
        right "$mpi" $f run 'log.0 log.1 log.2 log.3'
        like "$left" ' 0 of one thread' "$mpi, $f: all of one thread are there"
        # The recorder may not be able to tell apart requests that threads make at once: the missing
        # messages are counted.
        missing=$(cut -d' ' -f1 <<<"$left")
        is "$(sed -n 's/.*warning: \([0-9]*\) sends and \([0-9]*\) receives .* have no partner: [1-9].*/\1 \2/p' <<<"$said")" \
            "$([ "$missing" = 0 ] || echo "$missing $missing")" "$mpi, $f: what has no partner is counted"
        [ "$(wc -l <"got.$f")" -gt 1000 ]
        ok $? "$mpi, $f: and they are many"
        mv "out.$f" once
        "$REGTRACE" export "--$f" "out.$f" run 2>/dev/null
        diff -r once "out.$f" >diff.out
        ok $? "$mpi, $f: the same bytes another time" || diag "$(head -3 diff.out)"
        rm -rf once
    done
    cp got.chrome whole
    awk '$3 >= 1 && $3 <= 2 && $5 >= 1 && $5 <= 2 && $8 < 100' whole | cut -d' ' -f3,5,7- | sort >want
    for f in $formats; do
        right "$mpi, two ranks" $f run 'log.1 log.2' -rank 1-2
        if [ $f = chrome ]; then cut -d' ' -f3,5,7- got.chrome; else awk '{ print $2, $3, $1, $4, $5 }' got.otf2; fi | awk '$4 < 100' | sort >got
        is "$(wc -l <want) $(diff want got | head -3)" "$(wc -l <got) " "$mpi, two ranks: $f has those between them"
        like "$said" 'the partner is outside windows or not in the recording' "$mpi, two ranks, $f: the others are counted"
    done
    # A selection from the middle of the run, with ends of messages at its edges: a receive, a send.
    from=$(sort -n whole | sed -n 300p | cut -d' ' -f1) to=$(sort -k2n whole | sed -n 900p | cut -d' ' -f2)
    awk -v from="$from" -v to="$to" '$1 >= from && $2 <= to' whole | sort >want
    alone=$(awk -v from="$from" -v to="$to" '($1 >= from && $1 <= to) != ($2 >= from && $2 <= to)' whole | wc -l)
    seconds() { printf '%d.%09d' $(($1 / 1000000000)) $(($1 % 1000000000)); }
    for f in $formats; do
        run 60 "$REGTRACE" export "--$f" "out.$f" -force -from "$(seconds "$from")" -to "$(seconds "$to")" run
        is "$(sed -n 's/.*warning: \([0-9]*\) messages are left out: one end alone.*/\1/p' <<<"$err")" "$(grep -v '^0$' <<<"$alone")" \
            "$mpi, from and to: $f counts those with one end"
    done
    messages chrome out.chrome log.* 2>/dev/null | cut -d' ' -f1-6,8- | sort >got
    is "$(wc -l <want) $(cut -d' ' -f1-6,8- want | sort | diff - got | head -3)" "$(wc -l <got) " "$mpi, from and to: those between"
    if [ "$formats" != chrome ]; then
        otf2-print out.otf2/traces.otf2 >readable
        is "$(grep -c '^MPI_SEND' readable) $(grep -c '^MPI_RECV' readable)" "$(wc -l <want) $(wc -l <want)" "$mpi, from and to: as many in OTF2"
    fi
    rm -rf run out.* log.*
    run 100 "$REGTRACE" run -quiet -pcontrol std -o run -- "mpirun.$mpi" -np 4 ./exchange "$T" windows
    for f in $formats; do
        right "$mpi, windows" $f run 'log.0 log.1 log.2 log.3'
        like "$said" 'the partner is outside windows' "$mpi, windows, $f: what has no partner is counted"
        cp "got.$f" whole
        # Each rank has windows of its own, so few messages have both ends in windows of one number.
        for window in 0 1 2; do
            right "$mpi, window $window" $f run 'log.0 log.1 log.2 log.3' -window $window
            is "$(sort whole | comm -13 - <(sort "got.$f") | head -3)" "" "$mpi, window $window: $f has none that is not in the whole"
        done
        [ "$(wc -l <whole)" -gt 100 ]
        ok $? "$mpi, windows, $f: and they are many"
    done
    # Ranks that record nothing of MPI_COMM_WORLD itself: it has its number all the same.
    [ "$formats" != chrome ] || continue
    "mpicc.$mpi" -o self -x c - <<'END' || exit 99
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(1);
    MPI_Barrier(MPI_COMM_SELF);
    MPI_Pcontrol(0);
    MPI_Finalize();
    return 0;
}
END
    rm -rf run
    run 60 "$REGTRACE" run -quiet -pcontrol std -o run -- "mpirun.$mpi" -np 3 ./self
    for ranks in 1 0,2; do
        run 60 "$REGTRACE" export -otf2 out.otf2 -force -rank $ranks run
        otf2-print -G out.otf2/traces.otf2 >readable 2>print.err
        is "$?$(cat print.err; grep -i 'out of order' readable)" 0 "$mpi, ranks $ranks, no MPI_COMM_WORLD: otf2-print has nothing against it"
        is "$(sed -n 's/^COMM  *\([0-9]*\) .*/\1/p' readable | head -2 | tr '\n' ' ')" '0 1 ' "$mpi, ranks $ranks: communicators are numbered without a gap"
        like "$(grep 'GROUP.*"MPI_COMM_WORLD"' readable)" " $(wc -w <<<"${ranks/,/ }") Members?:" "$mpi, ranks $ranks: it has those that are exported"
    done
done
done_testing
