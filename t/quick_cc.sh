#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A C compiler that does not optimize skeletons: cc with -O0 instead of -O2, and with the macros for
# functions that are hardly ever entered. See quick_replays in t/lib.sh.
for argument do
    shift
    [ "$argument" != -O2 ] || argument=-O0
    set -- "$@" "$argument"
done
exec cc -DSKELETON_LIGHT "$@"
