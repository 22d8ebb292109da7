#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The documents are true: the tutorial's commands run as printed, the Python in the pages runs, and
# links lead to files.
# shellcheck source=t/lib.sh disable=SC2317  # functions are called through ok_run
. "$(dirname "$0")/../lib.sh"
doc=$REGTRACE_SOURCE/share/doc
export PYTHONDONTWRITEBYTECODE=1 MPLCONFIGDIR=$T/matplotlib PATH=$REGTRACE_BUILD:$PATH

# blocks PAGE LANGUAGE: prints the fenced blocks of that language, one after the other.
blocks() {
    awk -v start="^\`\`\`$2\$" '$0 ~ start { inside = 1; next } /^```/ { inside = 0 } inside' "$doc/$1"
}

# Links between pages. Pages that the build makes are in the build folder.
broken=$(cd "$doc" && grep -o ']([^)#]*)' ./*.md dev/*.md "$REGTRACE_SOURCE"/*.md 2>/dev/null | while IFS= read -r line; do
    page=${line%%:*} link=${line#*:](}
    link=${link%)}
    case $link in http*) continue ;; esac
    from=$(dirname "$page")
    [ -e "$from/$link" ] || [ -e "$REGTRACE_BUILD/share/doc/$(basename "$link")" ] || echo "$page -> $link"
done)
is "$broken" "" "links lead to files"

# The tutorial as printed, with the build's paths in place of the installed ones.
mpi=$(mpis | head -n 1)
have_python=0
[ -n "$PYTHON" ] && [ "$PYTHON" != no ] && have_python=1
if [ -n "$mpi" ]; then
    mkdir "$T/bin" "$T/tutorial"
    ln -s "$(command -v mpirun.openmpi)" "$T/bin/mpirun"
    ln -s "$(command -v mpicc.openmpi)" "$T/bin/mpicc"
    ln -s "$REGTRACE" "$T/bin/regtrace"
    # Skips the first block, which installs; skips plots if Python lacks what they need.
    blocks tutorial.md sh | sed -e '1,/^mpicc/d' -e "s#/usr/local/lib/libregtrace.so#$LIBREGTRACE#" \
        -e "s#/usr/local/share/regtrace/examples#$PYTHON $REGTRACE_SOURCE/share/examples#" \
        -e "s#share/examples/late_rank.c#$REGTRACE_SOURCE/&#" >"$T/tutorial.sh"
    [ $have_python = 1 ] || sed -i '/examples/d' "$T/tutorial.sh"
    if have_mpi openmpi; then
        cp "$APPS/stencil.openmpi" "$T/tutorial/stencil"
        follow() { (cd "$T/tutorial" && PATH=$T/bin:$PATH run_with_limit 120 bash -eux "$T/tutorial.sh"); }
        ok_run "the tutorial's commands run as printed" follow
        is "$(find "$T/tutorial/whole" -name 'rank-0000?.h5' | wc -l)" 4 "the tutorial recorded 4 ranks"
        activity=$(sed -n 's/^ *2 .*  \(from MPI_Barrier in main, late_rank.c.*\)$/\1/p' "$doc/tutorial.md")
        run 60 "$REGTRACE" report -top 0 "$T/tutorial/late"
        like "$out" "^ +2 .*  ${activity:-no such row}\$" "the tutorial's late rank is reported as printed"
        is "$("$REGTRACE" report --json "$T/tutorial/some" | grep -c '"ordinal": .*"opened_by": "alarm"')" 4 "a chain with counts opened one window a rank"
        [ $have_python = 0 ] || ok_run "the tutorial made its plots" test -s "$T/tutorial/profile.png" -a -s "$T/tutorial/timeline.pdf"
    else
        skip "the tutorial's commands run as printed" "they are those of Open MPI"
    fi
else
    skip "the tutorial's commands run as printed" "no MPI, or no mini-applications"
fi

if [ $have_python = 1 ]; then
    # A run to read, if the tutorial left none.
    [ -d "$T/tutorial/phases" ] || "$PYTHON" "$REGTRACE_SOURCE/t/share/synthetic.py" "$T/tutorial/phases" 4
    for page in tutorial.md python.md; do
        blocks $page python >"$T/$page.py"
        ok_run "$page holds Python" test -s "$T/$page.py"
        read_it() { (cd "$T/tutorial" && PYTHONPATH=$REGTRACE_SOURCE/share/python "$PYTHON" -W error::SyntaxWarning "$T/$page.py"); }
        ok_run "the Python of $page runs" read_it
    done
    # python.md lists the columns that exist.
    ok_run "python.md lists the columns" env PYTHONPATH="$REGTRACE_SOURCE/share/python" "$PYTHON" - "$doc/python.md" "$T/tutorial/phases" <<'COLUMNS'
import re, sys, regtrace
run = regtrace.open(sys.argv[2])
wrong = []
for line in open(sys.argv[1], encoding="utf-8"):
    row = re.match(r"\| `(\w+)(?:\([^`]*\))?` \| [^|]* \| (.*) \|$", line)
    if not row or row[1] == "method":
        continue
    frame = getattr(run, row[1])
    frame = frame(*re.findall(r'^\| `\w+\("([^"]*)"', line)) if callable(frame) else frame
    text = row[2].replace("start/stop `_icount`, `_requested`",
                          "start_icount, stop_icount, start_requested, stop_requested")
    words = set(re.findall(r"\b[a-z_][a-z_0-9]*\b", re.sub(r";.*", "", text)))
    columns = set(frame.columns) - {"rank", "process", "thread", "window"}
    missing = columns - words - {"start_routine"}
    extra = words - set(frame.columns) - {"and"}
    if missing or extra:
        wrong.append(f"{row[1]}: not listed {sorted(missing)}, not there {sorted(extra)}")
assert not wrong, "\n".join(wrong)
COLUMNS
else
    skip "the Python of the pages" "no Python with h5py, pandas and matplotlib"
fi

# The C and the Fortran of the tutorial.
{ echo '#include <regtrace.h>'; echo 'int main(void) {'; blocks tutorial.md c; echo 'return 0; }'; } >"$T/calls.c"
ok_run "the tutorial's C compiles" gcc -Wall -Werror -I"$REGTRACE_SOURCE/share/include" -o "$T/calls" "$T/calls.c"
if command -v gfortran >/dev/null; then
    { echo 'program p'; echo 'use regtrace'; blocks tutorial.md fortran; echo 'end program'; } >"$T/calls.f90"
    ok_run "the tutorial's Fortran compiles" gfortran -J "$T" -o "$T/calls" "$REGTRACE_SOURCE/share/fortran/regtrace.f90" "$T/calls.f90"
else
    skip "the tutorial's Fortran compiles" "no gfortran"
fi

if command -v man >/dev/null && command -v groff >/dev/null; then
    run 20 man --warnings=w -E UTF-8 -l "$REGTRACE_SOURCE/share/man/man5/regtrace-file.5"
    is "$status|$err" "0|" "regtrace-file(5) formats without a warning"
    tables=$(sed -n 's/^ *\[SCHEMA_[A-Z_]*\] = {\(TABLE(\)\?"\([a-z_]*\)".*/\2/p' "$REGTRACE_SOURCE/writer/file/schema.c")
    for table in $tables; do
        grep -q "/$table" "$REGTRACE_SOURCE/share/man/man5/regtrace-file.5" || echo "$table"
    done >"$T/unnamed"
    is "$(cat "$T/unnamed")" "" "regtrace-file(5) names every dataset"
    isnt "$tables" "" "datasets were found in the schema"
else
    skip "regtrace-file(5) formats" "no man or groff"
fi
done_testing
