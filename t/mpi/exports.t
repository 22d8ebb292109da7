#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every function that an installed MPI library exports is wrapped, in C and Fortran. Exceptions are
# named here.
. "$(dirname "$0")/../lib.sh"

exports=$REGTRACE_BUILD/mpi/exports.txt
LC_ALL=C sort "$exports" >"$T/wrapped"

# defined LIBRARY: prints the names of the functions that it exports.
defined() { nm -D --defined-only "$1" | awk '$2 ~ /[TWVi]/ {sub(/@.*/, "", $3); print $3}' | LC_ALL=C sort -u; }

# Not wrapped, on purpose: the tools interface, conversions of handles and statuses between
# languages, predefined callbacks, and the library's internal names. Extensions (MPIX_*) are wrapped
# like any other function.
exempt_c='^MPI_T_|_(c2f|f2c|c2f08|f082c|f2f08|f082f)$|_(FN|F90)$|^MPI_CONVERSION_FN_NULL$'
# libmpi_mpifh: C functions under weak names that no compiler generates. libmpichfort: constants,
# conversions, and stubs mpi_* for functions that MPICH's C library has only as MPIX_*.
# MPI_F_sync_reg does nothing at all.
exempt_fortran='_(f|f08|c2f|f2c)$|^(mpi_f_sync_reg|MPI_F_SYNC_REG)|^mpi_delete_error_(class|code|string)_f08_$|^mpi_(sizeof|status_c2f|status_f2c|status_f082f|status_f2f08|dup_fn|null_copy_fn|null_delete_fn|comm_dup_fn|comm_null_copy_fn|comm_null_delete_fn|type_dup_fn|type_null_copy_fn|type_null_delete_fn|win_dup_fn|win_null_copy_fn|win_null_delete_fn|conversion_fn_null)(_|$)|_(fn|FN|FN_NULL|fn_null)_*$|_(FROMINT|TOINT)_*$'

for mpi in openmpi mpich; do
    case $mpi in
    openmpi) c=libmpi.so.40 fortran='libmpi_mpifh.so.40 libmpi_usempif08.so.40' ;;
    mpich) c=libmpich.so.12 fortran=libmpichfort.so.12 ;;
    esac
    if ! have_mpi $mpi; then
        skip "$mpi's C functions" "no $mpi"
        skip "$mpi's Fortran functions" "no $mpi"
        continue
    fi
    folder=$(dirname "$(ldd "$APPS/stencil.$mpi" | awk -v l="$c" '$1 == l {print $3}')")
    defined "$folder/$c" | grep -E '^MPIX?_([A-Z][a-z]|GPU_)|^MPI_T_' | grep -vE "$exempt_c" >"$T/c"
    isnt "$(wc -l <"$T/c")" 0 "$mpi exports functions"
    isnt "$(grep -c ^MPIX_ "$T/c")" 0 'and extensions'
    is "$(LC_ALL=C comm -13 "$T/wrapped" "$T/c")" "" "all $(wc -l <"$T/c") C functions of $mpi are wrapped"
    for library in $fortran; do
        if [ ! -e "$folder/$library" ]; then
            skip "the Fortran functions of $library" "not installed"
            continue
        fi
        defined "$folder/$library" | grep -E '^(mpix?_[a-z0-9_]+|MPIX?_[A-Z0-9_]+)$' | grep -vE "$exempt_fortran" >"$T/f"
        isnt "$(wc -l <"$T/f")" 0 "$library exports entry points"
        is "$(LC_ALL=C comm -13 "$T/wrapped" "$T/f" | head -40)" "" "all $(wc -l <"$T/f") of $library are wrapped"
    done
done

# A program asks by a weak symbol, in its code and in its data, and by dlsym() which of these
# functions there are: the answers are those of its MPI library.
{
    printf '#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stdio.h>\n'
    grep -E '^MPIX?_.*[a-z]' "$exports" | sed 's/.*/extern char &[] __attribute__((weak)); static char *volatile in_data_& = &;/'
    printf 'int main(void)\n{\n'
    grep -E '^MPIX?_.*[a-z]' "$exports" | sed 's/.*/char *in_code_& = \&*&; __asm__("" : "+r"(in_code_&)); printf("& %d %d %d\\n", in_code_& != 0, in_data_& != 0, dlsym(RTLD_DEFAULT, "&") != 0);/'
    printf 'return 0;\n}\n'
} >"$T/asks.c"
for mpi in $(mpis); do
    for how in lazy now; do
        "mpicc.$mpi" -w -Wl,--no-as-needed -Wl,-z,$how -o "$T/asks" "$T/asks.c" -ldl || exit 99
        "$T/asks" >"$T/bare"
        run 60 env REGTRACE_DIR="$T/asked" LD_PRELOAD="$LIBREGTRACE" "$T/asks"
        is "$status $(grep -c ' 1 1 1$' "$T/bare") $(diff "$T/bare" <(echo "$out"))" "0 $(grep -c ' 1 1 1$' <<<"$out") " "$mpi, $how: a program finds the functions that its library has"
        isnt "$(grep -c ' 0 0 0$' "$T/bare")" 0 "and none of the $(grep -c ' 0 0 0$' "$T/bare") others"
    done
done

defined "$REGTRACE_BUILD/t/mpi/.libs/dumpshim.so" | LC_ALL=C sort >"$T/object"
is "$(LC_ALL=C comm -3 "$T/object" "$T/wrapped")" "" "the object exports these names and no other"
"$PYTHON" "$REGTRACE_SOURCE/mpi/generate.py" "$REGTRACE_SOURCE/mpi/functions.list" exports "$T/again"
ok $? "the generator runs"
printf 'Send(buf:thing)\n' >"$T/bad.list"
run 10 "$PYTHON" "$REGTRACE_SOURCE/mpi/generate.py" "$T/bad.list" header "$T/h"
isnt "$status" 0 "a list with an unknown kind is refused"
like "$err" 'bad.list:1: bad argument' "and the place is named"
done_testing
