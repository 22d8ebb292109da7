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

# A constructor in dlopen() waits for threads that make threads.
mkdir -p "$T/waits"
cat >"$T/waits/lib.c" <<'END'
void begins(void);
__attribute__((constructor)) static void begin(void) { begins(); }
END
cat >"$T/waits/main.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void *inner(void *a) { return a; }
static void *outer(void *a)
{
    pthread_attr_t attributes;
    pthread_t t;
    pthread_attr_init(&attributes);
    if (pthread_create(&t, &attributes, inner, NULL) == 0)
        pthread_join(t, NULL);
    return a;
}
void begins(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, outer, NULL) == 0)
        pthread_join(t, NULL);
    puts("constructor ends");
}
int main(int argc, char **argv) { return argc < 2 || dlopen(argv[1], RTLD_NOW) == NULL; }
END
cc -shared -fPIC -o "$T/waits/lib.so" "$T/waits/lib.c" && cc -rdynamic -o "$T/waits/main" "$T/waits/main.c" -pthread || exit 99
run 20 env LD_PRELOAD="$LIBREGTRACE" REGTRACE_DIR="$T/waits/run" "$T/waits/main" "$T/waits/lib.so"
is "$status $out" '0 constructor ends' 'threads that a constructor in dlopen() waits for make threads'
done_testing
