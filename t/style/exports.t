#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# libregtrace.so exports the functions that it interposes, the MPI entry points and the named calls,
# and nothing else. It needs only libc. Functions of libc that allocate or lock are called by listed
# files only.
. "$(dirname "$0")/../lib.sh"

[ -e "$LIBREGTRACE" ] || { ok 1 "there is a $LIBREGTRACE"; done_testing; }
{
    grep -v '^#' "$REGTRACE_SOURCE/preload/exports.list"
    cat "$REGTRACE_BUILD/mpi/exports.txt"
    sed -n 's/^extern [a-z]* \(regtrace_[a-z_]*\)(.*/\1/p' "$REGTRACE_SOURCE/share/include/regtrace.h"
} | grep -v '^$' | sort -u >"$T/listed"
nm -D --defined-only "$LIBREGTRACE" | awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u >"$T/exported"
isnt "$(wc -l <"$T/exported")" 0 "symbols are exported"
is "$(comm -13 "$T/listed" "$T/exported")" "" "every exported symbol is listed"
is "$(comm -23 "$T/listed" "$T/exported")" "" "every listed symbol is exported"
needed=$(readelf -d "$LIBREGTRACE" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
if grep -q '^S\["SANITIZE"\]="..*"' "$REGTRACE_BUILD/config.status"; then
    skip "libraries that libregtrace.so needs" "built with sanitizers"
else
    like "$needed" '^(ld-linux[-a-z0-9_]*\.so\.[0-9]+ )?libc\.so\.6 $' "it needs libc alone"
fi
is "$(readelf -d "$LIBREGTRACE" | grep -c 'TEXTREL')" 0 "no text relocations"
is "$(readelf -lW "$LIBREGTRACE" | grep 'GNU_STACK' | grep -c 'RWE')" 0 "no executable stack"
is "$(readelf -rW "$LIBREGTRACE" | grep -cE 'TLSDESC|DTPMOD')" 0 "thread-local storage is initial-exec"

# Files of the library alone: base/ and controller/ are in the tools as well.
unsafe='malloc|calloc|realloc|reallocarray|posix_memalign|aligned_alloc|free|strn?dup|v?asprintf|fopen|fdopen|fclose|v?[fd]?printf|fwrite|fputc|fputs|puts|perror|getline|getdelim'
unsafe+='|opendir|readdir|abort|__assert_fail|exit|qsort|getenv|setenv|popen|system|localtime|syslog|dlopen|dlsym'
unsafe+='|pthread_mutex_lock|pthread_rwlock_..lock|pthread_once|sem_wait|regcomp|atexit'
(cd "$REGTRACE_BUILD" && find preload mpi pmu controller/automaton base/format -path '*/.libs/*.o' | while read -r object; do
    ! nm -u "$object" | awk '{ sub(/@.*/, "", $2); if (sub(/_chk$/, "", $2)) sub(/^__/, "", $2); print $2 }' | grep -qxE "$unsafe" ||
        sed -E 's|/\.libs/[a-z]*_la-|/|; s|\.o$|.c|' <<<"$object"
done) | sort -u | while read -r file; do
    [ ! -e "$REGTRACE_SOURCE/$file" ] || echo "$file" # else the object of a file that is gone
done >"$T/allocating"
isnt "$(wc -l <"$T/allocating")" 0 "files that allocate are found"
sed -n 's/^\([a-z][^ ]*\) .*/\1/p' "$REGTRACE_SOURCE/t/style/allocating-files" | sort >"$T/may"
is "$(comm -23 "$T/allocating" "$T/may")" "" "each is in t/style/allocating-files, with the reason why no handler runs it"
if [ "$(uname -m)" = x86_64 ]; then
    is "$(comm -13 "$T/allocating" "$T/may")" "" "and the list has no others"
else
    skip "a list without others" "it is that of x86-64"
fi
done_testing
