#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of loops that are left in the middle, by siglongjmp out of a handler or by
# cancellation. The replay has no access that did not happen, and ends; what follows is recorded.
# Also traces of libraries that are loaded while a window is open, and traces of a library alone.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
quick_replays
needs memory

window='start:enter_func:open_window:bcast,stop:enter_func:close_window:bcast'
# writes ADDRESS: prints how often the replay writes there.
writes() { awk -v a="$1" '($2 == "W" || $2 == "M") && $4 == a { n++ } END { print n + 0 }' replayed; }
# among FROM TO: prints how often the replay writes to addresses from FROM up to before TO.
among() { awk -v from=$((0x$1)) -v to=$((0x$2)) '$2 == "W" { n = 0; for (k = 1; k <= length($4); k++) n = n * 16 + index("0123456789abcdef", substr($4, k, 1)) - 1
    if (n >= from && n < to) seen++ } END { print seen + 0 }' replayed; }
for flags in gcc' -O1' gcc' -O2' clang' -O1'; do
    command -v "${flags% -O*}" >/dev/null || { skip "$flags" "it is not installed"; continue; }
    # shellcheck disable=SC2086
    $flags -w -o left "$here/programs/memory_left.c" -pthread || exit 99
    for how in fault alarm cancel call; do
        for plan in skeleton addresses; do
            # This would record every access of a loop that runs for 20 ms.
            [ "$plan $how" != 'addresses alarm' ] && [ "$plan $how" != 'addresses cancel' ] || continue
            name="$how, $plan, $flags"
            remove_run run
            "$REGTRACE" run -quiet -o run -memory . -memory-plan $plan -control "$window" -- ./left $how >out 2>err
            is "$? $(cat err) $(tail -n +2 out)" "0  1" "$name: runs as it does"
            read -r after first beyond <out
            timeout 20 "$REGTRACE" skel replay run >replayed 2>said
            is "$? $(cat said)" "0 " "$name: its replay ends"
            is "$(writes "$after")" 1 "$name: what follows is recorded, and nothing that was not done"
            is "$(among "$beyond" "$(printf %x $((0x$beyond + 8192)))")" "$([ "$how $plan" = 'fault addresses' ] && echo 1 || echo 0)" "$name: nothing beyond what it wrote to"
            written=$(among "$first" "$beyond")
            case "$how $plan" in
            call* | 'fault addresses') is "$written" 10 "$name: all that it wrote to" ;;
            *) ok_run "$name: no more than it wrote to" test "$written" -le 10 ;;
            esac
            case "$how" in
            call) like "$(grep '^#' replayed)" 'left by a jump' "$name: it is reported" ;;
            *) like "$(grep '^#' replayed)" 'cut off within a function, whose last accesses are missing' "$name: it is reported" ;;
            esac
        done
    done
done

# --- libraries ---
cat >plug.c <<'E2'
int table[100];
int plug(int k)
{
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += table[i] += k;
    return sum;
}
E2
cat >loads.c <<'E2'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) void open_window(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void close_window(void) { __asm__ volatile("" ::: "memory"); }
static int (*plug)(int);
static void *another(void *argument)
{
    static int sum;
    sum = plug(2);
    return argument;
}
int main(int argc, char **argv)
{
    pthread_t t;
    if (strcmp(argv[1], "within") == 0)
        open_window();
    plug = (int (*)(int))dlsym(dlopen("./libplug.so", RTLD_NOW), "plug");
    if (strcmp(argv[1], "before") == 0)
        open_window();
    int sum = plug(1);
    pthread_create(&t, NULL, another, NULL);
    pthread_join(t, NULL);
    close_window();
    printf("%d\n", sum);
}
E2
gcc -O1 -shared -fPIC -o libplug.so plug.c && gcc -O1 -o loads loads.c -pthread || exit 99
for which in '.;.@libplug.so' '.@libplug.so'; do
    for when in within before; do
        remove_run run
        "$REGTRACE" run -quiet -o run -memory "$which" -control "$window" -- ./loads $when >out 2>err
        is "$? $(cat out)" "0 100" "$which, loaded $when: runs as it does" || diag "$(cat err)"
        "$REGTRACE" skel replay run >replayed 2>said
        is "$? $(cat said)" "0 " "$which, loaded $when: its replay"
        count=$(grep -c ' [MW] 4 ' replayed)
        case "$which" in
        .@*) is "$count" 200 "$which, loaded $when: each element of both threads" ;;
        *) ok_run "$which, loaded $when: each element of both threads, and what the program writes" test "$count" -ge 200 -a "$count" -lt 210 ;;
        esac
    done
done
done_testing
