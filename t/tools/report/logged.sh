# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For tests with programs whose MPI calls are logged (logged.h).

# build_logged MPI SOURCE PROGRAM [FLAG...]: compiles a program, and beside it the library that logs
# when MPI is called. Each call of the program's functions has a frame.
build_logged() {
    local mpi=$1 source=$2 program=$3 folder
    shift 3
    folder=$(cd "$(dirname "$program")" && pwd) || return
    "mpicc.$mpi" -O2 -g -w -shared -fPIC -o "$folder/liblogged.so" "$REGTRACE_SOURCE/t/tools/report/logged.c" &&
        "mpicc.$mpi" -O2 -g -w -fno-optimize-sibling-calls "$@" -o "$program" "$source" -L"$folder" -llogged -Wl,-rpath,"$folder"
}
