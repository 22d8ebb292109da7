#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# dlopen searches its caller's RUNPATH and $ORIGIN as it does without the tracer. The tracer notices
# an image before its constructors run.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../same.sh"

for how in '' REGTRACE_CONTROL='start:image_load:libplugin.so' REGTRACE_DEFAULT_START=0; do
    same "dlopen ${how%%=*}" ${how:+"$how"} "$P/libc/images"
done

ok_run "a program with a later image, chain on it" \
    env REGTRACE_DIR="$T/trace" REGTRACE_CONTROL='start:image_load:libplugin.so' LD_PRELOAD="$LIBREGTRACE" "$P/libc/images" record
run 60 "$REGTRACE" dump "$T/trace"
is "$status" 0 "its events can be read"
is "$(grep -c 'window opens' <<<"$out")" 1 "one window"
like "$out" "region begins.*plugin's constructor" "the image's own constructor runs in it"
like "$out" "image loaded.*libplugin.so" "the image is an event"
done_testing
