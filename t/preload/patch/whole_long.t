#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long test: with probes at every function of whole libraries at once, and at every call, return and
# conditional branch of whole applications, the program computes the same. callgrind, which shares
# no code with the tool, counts the entries as well.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../../run/hpcc.sh"
P=$T/whole
export XDG_CACHE_HOME=$T/cache
cd "$T" || exit 99
needs probes
read -r -a hdf5 <<<"$(pkg-config --cflags --libs hdf5-serial 2>/dev/null || pkg-config --cflags --libs hdf5)"
cc -O1 -fno-builtin -DWITH_HDF5 -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/whole.c" "${hdf5[@]}" -lm || exit 99

library_of() { ldd "$P" | awk -v n="$1" 'index($1, n) == 1 {print $3}'; }

# functions FILE PATTERN: prints the names of FILE's dynamic symbols that match.
functions() { nm -D --defined-only "$1" | awk -v p="$2" '$2 ~ /[TWi]/ { sub(/@.*/, "", $3); if ($3 ~ p) print $3 }' | sort -u; }

# by_callgrind COMMAND...: prints "COUNT NAME" of each function that callgrind saw called.
by_callgrind() {
    valgrind --tool=callgrind --callgrind-out-file="$T/callgrind" --compress-strings=no --compress-pos=no "$@" >"$T/grind.out" 2>"$T/grind.err" || return 1
    awk '/^cfn=/ { name = substr($0, 5); sub(/\047[0-9]+$/, "", name) } /^calls=/ { split(substr($0, 7), c, " "); n[name] += c[1] }
         END { for (f in n) print n[f], f }' "$T/callgrind" | sort -k 2
}

# library NAME PATTERN ARGUMENT...: probes all functions of the library. Those that callgrind names
# must be entered as often as it says.
library() {
    local name=$1 pattern=$2 file compared
    shift 2
    file=$(library_of "$name")
    functions "$file" "$pattern" >names
    [ "$(wc -l <names)" -gt 100 ]
    ok $? "$name: $(wc -l <names) functions"
    "$P" "$@" >bare || return
    rm -rf run log
    sed 's/^/precond:enter_func:/; s/$/:count1000000000/' names >chains
    run 300 "$REGTRACE" run -quiet -o "$T/run" -control-file chains -- "$P" "$@"
    is "$status $out" "0 $(cat bare)" "$name: all its functions counted at once: it computes the same" || diag "$err"
    rm -rf run
    sed 's/^/precond:enter_func:/; s/$/,repeat/' names >chains
    run 300 "$REGTRACE" run -quiet -o "$T/run" -controller-log "$T/log" -control-file chains -- "$P" "$@"
    is "$status $out" "0 $(cat bare)" "$name: and firing each time" || diag "$err"
    grep -oE 'enter_func:[A-Za-z0-9_]+' log | cut -d: -f2 | sort | uniq -c | awk '{ print $1, $2 }' | sort -k 2 >ours
    if ! command -v valgrind >/dev/null || ! by_callgrind "$P" "$@" >theirs; then
        skip "callgrind's counts" "no valgrind, or it does not run this"
        return
    fi
    # One place can have many names, of which callgrind has one. For an indirect function that is
    # the name of its resolver.
    nm -D --defined-only "$file" | awk '$2 == "i" { print $3; sub(/@.*/, "", $3); print $3 }' | sort -u >chosen
    join -1 2 -2 2 -o 0,1.1,2.1 ours theirs | join -v 1 - chosen >both
    compared=$(wc -l <both)
    [ "$compared" -gt 20 ]
    ok $? "$name: $compared functions that callgrind has as well" || diag "$(head -5 theirs)"
    is "$(awk '$2 != $3' both)" "" "$name: each is entered as often as callgrind says"
    rm -rf run
    run 300 "$REGTRACE" run -quiet -o "$T/run" -functions ".@$name*" -- "$P" "$@"
    is "$status $out" "0 $(cat bare)" "$name: all of them recorded: it computes the same" || diag "$err"
    ok_run "$name: what is recorded holds" "$REGTRACE" check "$T/run"
    "$REGTRACE" dump "$T/run" | sed -nE 's/.* EV_FUNCTION_ENTER .* address_name="([^"]*)".*/\1/p' | sort | uniq -c | awk '{ print $1, $2 }' | sort -k 2 >ours
    is "$("$REGTRACE" dump "$T/run" | grep -c ' EV_FUNCTION_LEAVE ')" "$(awk '{ n += $1 } END { print n }' ours)" "$name: as many leaves as enters"
    join -1 2 -2 2 -o 0,1.1,2.1 ours theirs | join -v 1 - chosen >both
    [ "$(wc -l <both)" -gt "$compared" ]
    ok $? "$name: static functions are among them: $(wc -l <both)"
    is "$(awk '$2 != $3' both)" "" "$name: each is recorded as often as callgrind says"
}
library libm.so '^[a-z]' libm
library libhdf5 '^H5[A-Z]' hdf5 "$T/file.h5"

# Applications under both MPIs.
for mpi in $(mpis); do
    for app in stencil particles heat hybrid; do
        program=$REGTRACE_BUILD/t/apps/$app.$mpi
        [ -x "$program" ] || continue
        rt_limit=100 mpirun_for "$mpi" 2 "$program" 2>/dev/null | sort >bare
        rm -rf run
        rt_limit=500 mpirun_for "$mpi" 2 REGTRACE_DIR="$T/run" REGTRACE_FUNCTIONS='.@*' REGTRACE_FUNCTIONS_DEPTH=20 LD_PRELOAD="$LIBREGTRACE" "$program" 2>err | sort >out
        is "$(cat out)" "$(cat bare)" "$app, $mpi: every function of all images recorded" || diag "$(head -5 err)"
        ok_run "$app, $mpi: what is recorded holds" "$REGTRACE" check "$T/run"
        for kind in CALL RET COND_BR; do
            rm -rf run
            rt_limit=500 mpirun_for "$mpi" 2 REGTRACE_DIR="$T/run" REGTRACE_CONTROL=start:isa_category:$kind:count1000000000000 \
                LD_PRELOAD="$LIBREGTRACE" "$program" 2>err | sort >out
            is "$(cat out)" "$(cat bare)" "$app, $mpi: every $kind of all images" || diag "$(head -5 err)"
        done
    done
done

# HPC Challenge, which is stripped and linked with Open MPI: probes at kinds of instructions, and
# all functions of its libraries.
whole_hpcc() {
    local name=$1
    shift
    rm -rf run hpccoutf.txt
    rt_limit=500 mpirun_for openmpi 1 REGTRACE_DIR="$T/run" LD_PRELOAD="$LIBREGTRACE" "$@" hpcc 2>err >/dev/null
    hpcc_facts hpccoutf.txt >out
    is "$(cat out)" "$(cat bare)" "hpcc: $name: the same facts" || diag "$(head -5 err)"
}
if command -v hpcc >/dev/null && [ -e "$hpcc_example" ] && command -v mpirun.openmpi >/dev/null; then
    hpcc_input 1 100 >hpccinf.txt
    rt_limit=200 mpirun_for openmpi 1 hpcc 2>/dev/null >&2
    hpcc_facts hpccoutf.txt >bare
    like "$(cat bare)" 'Success=1' "hpcc runs"
    for kind in CALL RET COND_BR; do
        whole_hpcc "every $kind of all images" REGTRACE_CONTROL=start:isa_category:$kind:count1000000000000
    done
    whole_hpcc "every function of its libraries recorded" REGTRACE_FUNCTIONS='.@*' REGTRACE_FUNCTIONS_DEPTH=4 REGTRACE_MAX_SIZE=50M
else
    skip "hpcc" "it is not installed"
fi
done_testing
