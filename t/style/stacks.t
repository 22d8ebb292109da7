#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks the preloaded library's use of each thread's stack: static TLS and frames.
. "$(dirname "$0")/../lib.sh"
S=$REGTRACE_SOURCE/t/style
if grep -q '^S\["SANITIZE"\]="..*"' "$REGTRACE_BUILD/config.status"; then
    skip_all "built with sanitizers: their frames are larger"
fi

tls=$(readelf -lW "$LIBREGTRACE" | awk '$1 == "TLS" { print $6 }')
like "$tls" '^0x[0-9a-f]+$' "the library has static TLS ($tls)"
ok_run "at most 512 bytes ($((tls)))" test $((tls)) -le 512

[ "$(uname -m)" = x86_64 ] || { skip "frames" "they are read from code of x86-64"; done_testing; }
# frames FILE: prints FUNCTION BYTES for each function that subtracts more than 1,024 from the stack
# pointer, in whatever form. Parts that compilers split off (.part.0, .constprop.0, .cold) count
# under the function's name.
frames() {
    objdump -d --no-show-raw-insn "$1" | awk '
        function number(text,  n, i, d) {
            n = 0
            for (i = 3; i <= length(text); i++) {
                d = index("0123456789abcdef", substr(text, i, 1))
                n = n * 16 + d - 1
            }
            return n
        }
        function say() { if (largest > 1024) print name, largest }
        /^[0-9a-f]+ <.*>:$/ { say(); name = substr($2, 2, length($2) - 3); sub(/\..*/, "", name); largest = 0 }
        match($0, /sub +\$0x[0-9a-f]+,%rsp/) || match($0, /lea +-0x[0-9a-f]+\(%rsp\),%(rsp|r11)/) {
            text = substr($0, RSTART, RLENGTH)
            match(text, /0x[0-9a-f]+/)
            n = number(substr(text, RSTART, RLENGTH))
            if (n < 16777216)
                largest += n # of a large one some compilers take a page at a time
        }
        END { say() }' | sort -u
}
frames "$LIBREGTRACE" >"$T/large"
isnt "$(wc -l <"$T/large")" 0 "it finds frames of more than 1 KiB"
awk '{ print $1 }' "$T/large" | sort -u >"$T/found"
sed -n 's/^\([a-z_0-9]*\) .*/\1/p' "$S/large-frames" | sort -u >"$T/known"
is "$(comm -23 "$T/found" "$T/known")" "" "each of them is in t/style/large-frames, with the reason why it runs on no small stack"
while read -r name; do
    nm "$LIBREGTRACE" | grep -qE " [tT] $name(\.|\$)" || echo "$name" >>"$T/gone"
done <"$T/known"
is "$(cat "$T/gone" 2>/dev/null | sort | while read -r n; do grep -rqE "\b$n\(" "$REGTRACE_SOURCE"/{base,controller,mpi,pmu,preload} || echo "$n"; done)" "" \
    "and the list names functions that there are"
done_testing
