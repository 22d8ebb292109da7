#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks the layout by clang-format, the sizes of files and functions, and white space.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tree.sh"

cd "$REGTRACE_SOURCE" || exit 1
list=t/style/large-files
mapfile -t code < <(tree_files | grep -E '\.(c|h|cc|S|py|f90|t|sh|am|def|list)$|^bootstrap$|^configure\.ac$')
mapfile -t c < <(printf '%s\n' "${code[@]}" | grep -E '\.(c|h|cc)$')

if command -v clang-format >/dev/null; then
    for folder in base controller pmu isa mpi writer preload tools share t; do
        mapfile -t some < <(printf '%s\n' "${c[@]}" | grep "^$folder/")
        [ ${#some[@]} -gt 0 ] || continue
        wrong=$(clang-format --dry-run -Werror "${some[@]}" 2>&1 | sed -n 's/^\([^:]*\):.*error:.*/\1/p' | sort | uniq -c)
        is "$wrong" "" "clang-format agrees with $folder/"
    done
    printf 'int  f( void ){return 0;}\n' >"$T/a.c"
    cp .clang-format "$T"
    clang-format --dry-run -Werror "$T/a.c" 2>/dev/null
    isnt $? 0 "and would find a fault"
else
    skip "layout of C" "no clang-format"
fi

# long_functions FILE...: prints FILE:NAME of functions of 60 lines or more, from brace to brace in
# the first column.
long_functions() {
    awk 'FNR == 1 { head = ""; start = 0 }
         /^[a-zA-Z_].*\(/ && !/;$/ { head = $0; sub(/\(.*/, "", head); sub(/.*[ *]/, "", head) }
         /^{/ { start = FNR }
         /^}/ { if (start && FNR - start >= 60) print FILENAME ":" head; start = 0 }' "$@"
}
# long_files FILE...: prints the files of more than 500 lines.
long_files() { awk 'FNR == 501 { print FILENAME }' "$@"; }
# wide_comments FILE...: prints FILE:LINE of lines of more than 100 columns that hold a comment.
# Strings of C are no comments. In scripts, only whole lines count.
wide_comments() {
    awk 'FNR == 1 { inside = 0; is_c = FILENAME ~ /\.(c|h|cc|S|def)$/ }
         { rest = $0; seen = inside }
         is_c {
             gsub(/"([^"\\]|\\.)*"/, "", rest)
             while (1) {
                 if (inside) {
                     at = index(rest, "*/")
                     if (at == 0) break
                     inside = 0
                 } else {
                     at = index(rest, "/*")
                     if (at == 0) { seen = seen || index(rest, "//") != 0; break }
                     inside = seen = 1
                 }
                 rest = substr(rest, at + 2)
             }
         }
         !is_c { seen = /^[ \t]*#([^a-z]|$)/ }
         seen && length($0) > 100 { print FILENAME ":" FNR }' "$@"
}
excused() { awk '!/^#/ && NF > 1 { print $1 }' "$list"; }

is "$( (long_files "${code[@]}"; long_functions "${c[@]}") | sort | comm -23 - <(excused | sort))" "" \
    "what is longer than 500 lines a file, 60 a function, is in $list with a reason"
is "$( (long_files "${code[@]}"; long_functions "${c[@]}") | sort | comm -13 - <(excused | sort))" "" \
    "and nothing else is in that list"
mapfile -t scripts < <(tree_files | grep -E '\.py$')
is "$(wide_comments "${code[@]}" "${scripts[@]}" | head -60)" "" "no comment is wider than 100 columns"
is "$(grep -nE '[[:blank:]]+$' "${code[@]}" | head -20)" "" "no white space at ends of lines"
is "$(for f in "${code[@]}"; do [ ! -s "$f" ] || [ -z "$(tail -c 1 "$f")" ] || echo "$f"; done)" "" "every file ends with a newline"

# Test the checks themselves.
{ printf 'static int much(int a)\n{\n' && yes '    a++;' | head -60 && printf '}\nint few(void)\n{\n}\n'; } >"$T/b.c"
is "$(long_functions "$T/b.c")" "$T/b.c:much" "finds a long function"
yes 'int a;' | head -501 >"$T/c.c"
yes 'int a;' | head -500 >"$T/d.c"
is "$(long_files "$T/d.c" "$T/c.c" "$T/d.c")" "$T/c.c" "finds a long file"
long=$(printf '%100s' x)
printf 'int a; /* %s */\nint b;\n/* x\n %s\n*/\nchar *c = "%s /* */ // ";\nint d; // %s\n' "$long" "$long" "$long" "$long" >"$T/e.c"
printf '# %s\necho "%s" # x\n' "$long" "$long" >"$T/f.sh"
is "$(wide_comments "$T/e.c" "$T/f.sh")" "$T/e.c:1
$T/e.c:4
$T/e.c:7
$T/f.sh:1" "finds wide comments"
done_testing
