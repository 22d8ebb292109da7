#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Threads by clone(), more than 1000 threads in turn, and namespaces of dlmopen.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/same.sh"

# marks TYPE: prints how many marks of that type the last trace holds.
marks() { "$REGTRACE" dump --json "$last_trace" | grep -cE "EV_MARK_SET.*\"type\": $1,"; }

same "threads by clone()" "$P/odd" clones
is "$(for n in 1 2 3 4 5 6 7 8 99; do marks $n; done | tr '\n' ' ')" "100 100 100 100 100 100 100 100 1 " \
    "what they record is there, and their creator records on"
run 60 "$REGTRACE" check "$last_trace"
is "$status" 0 "the file is sound" || diag "$out$err"

same "1200 threads one after the other" "$P/odd" crowd 1200
run 60 "$REGTRACE" report --json "$last_trace"
# Each thread's mark is in the file, or counted as lost: the table of a stream has room for 1024
# threads.
sums=$("$PYTHON_ANY" -c 'import json, sys; print(sum(r["lost"] for r in json.load(open(sys.argv[1]))["ranks"]))' "$T/.out")
got=$(marks 1)
rt_count=$((rt_count + 1))
[ "$((got + sums))" -ge 1200 ] || printf 'not '
echo "ok $rt_count - threads beyond the thousandth record, or are counted as lost"
diag "$got marks, $sums lost"

for how in '' REGTRACE_CONTROL='start:timeout:1ms,stop:timeout:1ms,repeat' REGTRACE_DEFAULT_START=0; do
    same "a library in name spaces of its own ${how%%=*}" ${how:+"$how"} "$P/odd" names libm.so.6 fegetround
    same "this very library ${how%%=*}" ${how:+"$how"} "$P/odd" names "$LIBREGTRACE" no_such_symbol
done
for mpi in openmpi mpich; do
    have_mpi $mpi || { skip "$mpi in a name space of its own" "no $mpi"; continue; }
    library=$(ldd "$APPS/stencil.$mpi" | awk '$1 ~ /^libmpi(ch)?\.so/ { print $3 }')
    same "$mpi" "$P/odd" names "$library" no_such_symbol
done
done_testing
