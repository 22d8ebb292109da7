#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the recordings of this folder anew: record.sh INSTALLED SOURCE BUILD FOLDER. INSTALLED is an
# installed regtrace, BUILD a build folder with the mini-applications. FOLDER must not exist and
# gets one archive per recording.
#
# Programs and libraries are copied below /opt/recorded and run without the user's environment, so
# that a recording names no path that exists where it is read: tools look up names in images, and
# would find other images there.
set -eu
installed=$1 source=$2 build=$3 folder=$4
place=/opt/recorded
rm -rf "$place"
mkdir -p "$place/lib" "$folder"
cd "$place"

copy_libraries() {
    ldd "$1" | awk '$2 == "=>" { print $3 }' | xargs cp -L -t lib
}
for app in comm hybrid emit; do
    cp "$build/t/apps/$app.openmpi" "$app"
    copy_libraries "$app"
done
cc -O2 -g -I"$source/t/kernels" -o sparse "$source/t/kernels/sparse.c" "$source/t/kernels/window.c" -lm
copy_libraries sparse

cp -r "$(ompi_info --path pkglibdir --parsable | sed 's/.*pkglibdir://')" plugins

# record NAME OPTION... -- PROGRAM...: makes the recording NAME and its archive.
record() {
    env -i PATH=/usr/bin:/bin OMP_NUM_THREADS=2 LD_LIBRARY_PATH="$place/lib" \
        OMPI_MCA_mca_base_component_path="$place/plugins" OMPI_ALLOW_RUN_AS_ROOT=1 \
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$installed/bin/regtrace" run -quiet -o "$@" >/dev/null
    rm -rf "$1/.regtrace"
    tar -c --sort=name --owner=0 --group=0 --numeric-owner --mtime='2026-01-01 00:00Z' "$1" |
        xz -9 >"$folder/$1.tar.xz"
}
mpirun=(mpirun --oversubscribe --mca btl "self,vader" --mca mpi_yield_when_idle 1 -np 2)

record calls -- "${mpirun[@]}" ./comm
record marks -events page-faults -- "${mpirun[@]}" ./emit 500 2
record threads -control 'start:enter_func:compute._omp_fn.0:count200,stop:exit_func:compute._omp_fn.0:count50,repeat' -sample cpu:500us -sample-depth 8 \
    -events page-faults,task-clock -functions . -- "${mpirun[@]}" ./hybrid 2000
record memory -memory . -control 'start:enter_func:open_window,stop:enter_func:close_window' -- ./sparse 20 2
record values -values vp-addr -values-sample cpu:200us -values-follow 8 -- ./sparse 3000 400
