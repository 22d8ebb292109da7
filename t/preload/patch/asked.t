#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The cost of finding functions by name: regtrace-isa is asked once for each build of an image on
# a node, and only about images that can contain the name. A stand-in for it counts the questions.
. "$(dirname "$0")/../../lib.sh"
P=$T/called plugin=$T/plugin.so
export XDG_CACHE_HOME=$T/cache
needs probes
command -v c++ >/dev/null || skip_all "there is no C++ compiler here"
for i in $(seq 20000); do
    echo "void a_function_with_a_name_of_some_length_$i(void) {}"
done >"$T/many.c"
many=("-Wl,--no-as-needed" "$T/libmany.so" "-Wl,-rpath,$T")
cc -O0 -shared -fPIC -o "$T/libmany.so" "$T/many.c" || exit 99
c++ -O2 -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/called.cc" "${many[@]}" -ldl && cc -O2 -shared -fPIC -o "$plugin" "$REGTRACE_SOURCE/t/preload/patch/programs/called_library.c" || exit 99
mkdir "$T/lib"
cp -L "$LIBREGTRACE" "$T/lib/libregtrace.so"
ln -s "$REGTRACE_WRITER_PROGRAM" "$T/lib/regtrace-writer"
cat >"$T/lib/regtrace-isa" <<END
#!/bin/sh
echo "\$*" >>"$T/asked"
exec "$REGTRACE_BUILD/isa/regtrace-isa" "\$@"
END
chmod +x "$T/lib/regtrace-isa"

# asks N ALARM PART [ARGUMENT]: regtrace-isa is asked N times where a function is, and the alarm
# fires as often as the program prints. Of functions that are nowhere, images with debug information
# are asked once more: they may have inlined them.
asks() {
    local n=$1 alarm=$2
    shift 2
    rm -rf "$T/run" "$T/log"
    : >"$T/asked"
    run 60 env REGTRACE_DIR="$T/run" REGTRACE_CONTROL="precond:$alarm,repeat" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$T/lib/libregtrace.so" "$P" "$@"
    is "$status $(grep -c ' event precond ' "$T/log") $(grep -vc inlined: "$T/asked")" "0 $out $n" "$alarm, $*: fires as often as the program says, after $n questions" || diag "$err" "$(cat "$T/asked")"
}

asks 1 enter_func:recursive deep
is "$(grep -c inlined: "$T/asked")" 0 "debug information is not read for a function that is there"
asks 0 enter_func:recursive deep
asks 2 enter_func:plugged plugin "$plugin"
is "$(grep -v inlined: "$T/asked" | awk '{print $2}' | xargs -n1 basename | xargs) $(grep -c libmany "$T/asked")" "called plugin.so 0" "about the program and the image that has the name, not about a library that has not" || diag "$(cat "$T/asked")"
asks 0 enter_func:plugged plugin "$plugin"
asks 1 address:recursive deep
asks 0 address:recursive deep
for f in "$T"/cache/regtrace/*.sites; do
    truncate -s 100 "$f"
done
asks 1 enter_func:recursive deep
asks 0 enter_func:recursive deep
cp "$P" "$T/before"
c++ -O1 -Wl,--build-id=none -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/called.cc" -ldl || exit 99
asks 1 enter_func:recursive deep
asks 0 enter_func:recursive deep
c++ -O2 -Wl,--build-id=none -o "$P" "$REGTRACE_SOURCE/t/preload/patch/programs/called.cc" -ldl || exit 99
asks 1 enter_func:recursive deep
cp "$T/before" "$P"

# Of several processes that start at once on a node, one asks and the others find the answer.
rm -rf "$T/cache"
: >"$T/asked"
for i in 1 2 3 4 5 6 7 8; do
    REGTRACE_DIR="$T/all$i" REGTRACE_CONTROL="precond:enter_func:recursive,repeat" REGTRACE_CONTROLLER_LOG="$T/log$i" LD_PRELOAD="$T/lib/libregtrace.so" "$P" deep >"$T/out$i" 2>&1 &
done
wait
is "$(cat "$T"/out? | sort | uniq -c | xargs)" "8 10" "eight at once run"
is "$(cat "$T"/log? | grep -c ' event precond ')" 80 "each has its probes"
is "$(grep -c . "$T/asked")" 1 "one of them asks"

# Where the home folder cannot be written, the cache is among the node's temporary files.
mkdir "$T/tmp" "$T/others"
export TMPDIR=$T/tmp XDG_CACHE_HOME=/proc/nowhere
asks 1 enter_func:recursive deep
asks 0 enter_func:recursive deep
is "$(stat -c %a "$T/tmp/regtrace-$(id -u)")" 700 "only the user may read it"
chmod 777 "$T/tmp/regtrace-$(id -u)"
asks 1 enter_func:recursive deep
rm -r "$T/tmp/regtrace-$(id -u)"
ln -s "$T/others" "$T/tmp/regtrace-$(id -u)"
asks 1 enter_func:recursive deep
is "$(ls "$T/others")" "" "a folder that others may write, and a link, are not used"
export XDG_CACHE_HOME=$T/cache
unset TMPDIR

# Images compiled with -finstrument-functions are recognized by their imports. No symbols of other
# images are read for them.
cat >"$T/own.c" <<'END'
__attribute__((noinline)) int own(int n) { __asm__ volatile("" : "+r"(n)); return n; }
int main(void) { return own(1) + own(2) - 3; }
END
cc -O1 -finstrument-functions -o "$T/own" "$T/own.c" || exit 99
rm -f "$T/log"
run 60 env REGTRACE_DIR="$T/own-run" REGTRACE_CONTROL="precond:enter_func:own,repeat" REGTRACE_CONTROLLER_LOG="$T/log" LD_PRELOAD="$T/lib/libregtrace.so" "$T/own"
is "$status $(grep -c ' event precond ' "$T/log")" "0 2" "a program without a symbol of its own in its table that reports its functions: each entry counts once" || diag "$err"

# A function that is inlined wherever it is called has an entry that nothing reaches.
cat >"$T/inline.c" <<'END'
int solve(int n);
int solve(int n) { return n + 1; }
__attribute__((noinline)) void begin(void) { __asm__ volatile(""); }
int main(int argc, char **argv) { (void)argv; begin(); return solve(argc) - argc - 1; }
END
cc -O2 -o "$T/inline" "$T/inline.c" || exit 99
run 60 "$REGTRACE" run -o "$T/inline-run" -control 'start:enter_func:begin,stop:enter_func:solve' -- "$T/inline"
is "$status" 0 "a function that is inlined wherever it is called" || diag "$err"
like "$("$REGTRACE" report "$T/inline-run")" 'stop:enter_func:solve: the function is there, but nothing called it while the alarm was armed; calls may have been inlined' \
    "the report says so"
like "$("$REGTRACE" report "$T/inline-run")" 'together +[0-9.]*%  of the time of the threads' "with our overhead as a part of the threads' time"
if command -v valgrind >/dev/null; then
    echo 'int main(void) { return 0; }' >"$T/small.c" && cc -o "$T/small" "$T/small.c" "${many[@]}" || exit 99
    # counted CHAIN: prints how many thousand instructions the process executes with that chain.
    counted() {
        REGTRACE_DIR=$T/counted REGTRACE_CONTROL=$1 LD_PRELOAD=$LIBREGTRACE \
            valgrind --tool=callgrind --trace-children=no --callgrind-out-file=/dev/null "$T/small" 2>&1 | sed -n 's/.*Collected : \([0-9]*\)[0-9][0-9][0-9]$/\1/p'
    }
    few=$(counted start:pcontrol:1) more=$(counted start:enter_func:nowhere)
    diag "thousands of instructions: $few with pcontrol, $more with enter_func"
    [ -n "$few" ] && [ "$((more - few))" -lt 1000 ]
    ok $? "enter_func costs less than a million instructions more than pcontrol, whatever the libraries export"
else
    skip "enter_func costs less than a million instructions more than pcontrol" "there is no valgrind here"
fi
done_testing
