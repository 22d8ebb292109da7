#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The recording says where the process and its threads may run exactly as the program sees it, and
# has an event only where that changes.
. "$(dirname "$0")/../lib.sh"
[ -n "$PYTHON" ] && "$PYTHON" -c 'import h5py' 2>/dev/null || skip_all "no python3 with h5py"
P=$REGTRACE_BUILD/t/preload/affinity
cat >"$T/oracle.py" <<'END'
"""oracle.py OUTPUT FILE...: compares, by process, on which processors windows opened.

OUTPUT has the lines that the program printed; the FILEs are rank files.
"""
import sys
import h5py

def code(text):
    return int.from_bytes(text.encode(), "little")

AFFINITY, OPEN = code("RPa"), code("RW[")
said = {}
for words in (line.split() for line in open(sys.argv[1]) if line.startswith("window ")):
    said.setdefault(int(words[1]), []).append(tuple(int(w) for w in words[2:]))

def processors(text):
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)

windows, records, sums, wrong, extra = 0, 0, {}, [], 0
for path in sys.argv[2:]:
    with h5py.File(path, "r") as f:
        begun = processors(f.attrs["affinity"].decode().rstrip("\0"))
        rows, threads = f["events"][:], f["threads"][:]
    for t in threads:
        mine = rows[rows["thread"] == t["thread"]]
        found, changes, now = [], 0, (len(begun), begun[0])
        for e in mine:
            if e["code"] == AFFINITY:
                now, changes = (int(e["a"]) & 0xffffffff, int(e["a"]) >> 32), changes + 1
                sums.setdefault(now, set()).add(int(e["b"]))
                if found and e["window"] >= 0:  # after the opening that it belongs to
                    found[-1] = now
            elif e["code"] == OPEN:
                found.append(now)
        # The program prints nothing for the window in which it binds itself and undoes that. Its
        # mask is that of the window before.
        want = said.get(int(t["kernel_tid"]), [])
        reduced = [(len(m), m[0]) for m in want]
        if len(found) == len(reduced) + 1:
            extra += 1
            found.pop(-3)
        wanted_changes = sum(a != b for a, b in zip([begun] + want, want))
        if found != reduced or changes != wanted_changes:
            wrong.append((path, int(t["thread"]), found, reduced, changes, wanted_changes))
        windows += len(reduced)
        records += changes
print("windows", windows, "records", records, "extra", extra)
print("sums", "differ" if len(set().union(*sums.values())) == len(sums) and all(len(s) == 1 for s in sums.values()) else sums)
print("wrong", wrong)
END

# traced NAME VAR=VALUE... -- COMMAND...: runs the command and checks its files. Sets out to the
# program's output and found to the oracle's.
traced() {
    local name=$1 env=()
    shift
    while [ "$1" != -- ]; do env+=("$1"); shift; done
    shift
    run 60 env REGTRACE_DIR="$T/$name" REGTRACE_DEFAULT_START=0 "${env[@]}" LD_PRELOAD="$LIBREGTRACE" "$@"
    [ "$status" = 77 ] && skip_all "this process may use one processor alone"
    is "$status" 0 "$name: the program ends well" || diag "$err"
    printf '%s\n' "$out" >"$T/$name.out"
    ok_run "$name: what is recorded holds" "$REGTRACE" check "$T/$name"
    found=$("$PYTHON" "$T/oracle.py" "$T/$name.out" "$T/$name"/rank-*.h5 2>&1)
}
# attribute NAME: prints this attribute of rank-00000.h5, the parent's file.
attribute() { "$PYTHON" -c 'import h5py, sys; print(h5py.File(sys.argv[1]).attrs[sys.argv[2]].decode().rstrip("\0"))' "$T/all/rank-00000.h5" "$1"; }

traced all -- "$P"
# The 8 records:
# - main: {0}, {1}, all
# - threads: {1} by its attributes; {0} by itself, then {1} by main; none
# - child: {1}, all
is "$(sed -n 1p <<<"$found")" "windows 25 records 8 extra 1" "each window opens where the program says, and changes alone are reported"
is "$(sed -n 3p <<<"$found")" "wrong []" "in each thread"
is "$(sed -n 2p <<<"$found")" "sums differ" "other processors have another sum"
is "$(attribute affinity)" "$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)" "the process has what the kernel says of its parent"
is "$(attribute processors)" "$(find /sys/devices/system/cpu -maxdepth 1 -name 'cpu[0-9]*' | wc -l)" "and the machine as many as sysfs lists"
run 60 "$REGTRACE" dump "$T/all"
like "$out" 'where the thread may run.*processors=1 first=[0-9]+ sum=0x[0-9a-f]+' "dump shows it"

second=$(awk '/^window/ { print $3; exit }' "$T/all.out")
traced bound -- taskset -c "$second" "$P" x
like "$found" '^wrong \[\]' "a process that taskset has bound"
like "$found" 'records 0 ' "which nobody else binds tells nothing more"

run 60 env REGTRACE_DIR="$T/nothing" LD_PRELOAD="$LIBREGTRACE" "$P" x
is "$(find "$T/nothing" -name 'rank-*.h5' | wc -l)" 1 "with events there is a file"

# A program with no event but the tool's leaves no file, although it binds itself.
cat >"$T/idle.c" <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
static void *nothing(void *a) { return a; }
int main(void)
{
    cpu_set_t set;
    pthread_t t;
    sched_getaffinity(0, sizeof set, &set);
    for (int i = CPU_SETSIZE - 1, n = CPU_COUNT(&set); i >= 0 && n > 1; i--)
        if (CPU_ISSET(i, &set)) { CPU_CLR(i, &set); n--; }
    sched_setaffinity(0, sizeof set, &set);
    return pthread_create(&t, 0, nothing, 0) != 0 || pthread_join(t, 0) != 0;
}
END
# The program links a library that looks like MPI, so its recording begins early.
echo 'int PMPI_Init(void) { return 1; }' >"$T/mpi.c"
cc -shared -fPIC -o "$T/libmpi.so" "$T/mpi.c" && cc -pthread -o "$T/idle" "$T/idle.c" -Wl,--no-as-needed "$T/libmpi.so" || exit 99
run 60 env REGTRACE_DIR="$T/idle.run" LD_PRELOAD="$LIBREGTRACE" "$T/idle"
is "$status" 0 "a program that only binds itself"
[ -e "$T/idle.run" ]
is $? 1 "leaves no file" || diag "$("$REGTRACE" dump "$T/idle.run")"
done_testing
