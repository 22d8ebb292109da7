#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Analyses the tree: scripts by shellcheck, C by cppcheck, texts by codespell, Python by its own
# compiler.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tree.sh"

cd "$REGTRACE_SOURCE" || exit 1
mapfile -t scripts < <(tree_scripts)
if command -v shellcheck >/dev/null; then
    # SC2154, SC2034: variables that t/lib.sh sets for tests, and reads from them.
    for f in "${scripts[@]}"; do
        is "$(shellcheck -S warning -s bash -e SC2154,SC2034 -f gcc "$f" 2>&1)" "" "shellcheck of $f"
    done
    printf '#!/bin/bash\ncd $1\nrm $2\n' >"$T/a.sh"
    isnt "$(shellcheck -S warning "$T/a.sh")" "" "shellcheck would find a fault"
else
    skip "scripts" "no shellcheck"
fi
for f in "${scripts[@]}"; do
    bash -n "$f" 2>"$T/err" || ok 1 "bash reads $f"
done

if command -v codespell >/dev/null; then
    mapfile -t texts < <(tree_files | grep -vE '^t/controller/corpus/|^t/style/words$|\.(png|h5|stream|data|xz)$')
    is "$(codespell -I t/style/words "${texts[@]}" 2>&1)" "" "spelling of ${#texts[@]} files"
else
    skip "spelling" "no codespell"
fi

if command -v cppcheck >/dev/null; then
    is "$(cppcheck -q --enable=warning,portability --std=c17 -I. --suppressions-list=t/style/cppcheck.suppress \
        --template='{file}:{line}: {id}: {message}' -j2 base controller pmu isa mpi writer preload tools 2>&1)" "" "cppcheck"
    printf 'int main(void)\n{\n    int a[2];\n    return a[2];\n}\n' >"$T/b.c"
    isnt "$(cppcheck -q "$T/b.c" 2>&1)" "" "cppcheck would find a fault"
else
    skip "analysis of C" "no cppcheck"
fi

python=$(command -v python3)
mapfile -t programs < <(tree_files | grep '\.py$')
for f in "${programs[@]}"; do
    ok_run "Python compiles $f" "$python" -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$f"
done
done_testing
