#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The page of regtrace diff in a real browser: a click sorts a table, the switch and the text filter
# its rows.
. "$(dirname "$0")/../../lib.sh"
needs h5py
browser=$(command -v chromium || command -v chromium-browser) ||
    skip_all "no chromium (apt-get install chromium)"
cd "$T" || exit 99
"$PYTHON" "$here/synthetic.py" base base 1
"$PYTHON" "$here/synthetic.py" slower slower 3
"$REGTRACE" diff --html page.html base slower
ok $? 'a page'

# rows SCRIPT: prints the first column of the rows that are shown after the script, by table, how
# many headings are shown, and whether the page says that no row is left.
rows() {
    sed "s|</body>|<script>$1</script></body>|" page.html >clicked.html
    run 60 env HOME="$T" "$browser" --headless --no-sandbox --disable-gpu \
        --dump-dom "file://$T/clicked.html"
    "$PYTHON" -c 'import re, sys
text = sys.stdin.read()
shown = "(?! class=\"(?:any )?hidden)"
for name, rows in re.findall(
    f"<h2{shown}[^>]*>[^<]*</h2>\\s*<table id=\"(\\w+)\"{shown}.*?<tbody>(.*?)</tbody>", text, re.S
):
    print(name + ":", ", ".join(re.findall(f"<tr{shown}.*?><td>(.*?)</td>", rows)))
print(len(re.findall(f"<h2{shown}", text)), "headings")
if not re.search("<p id=\"none\" class=\"hidden", text):
    print("nothing is left")' <<<"$out"
}
got=$(rows '')
like "$got" '^totals: in windows, in MPI, outside MPI$' 'unsorted: the totals in their order'
like "$got" '^mpi: MPI_Barrier, MPI_Send$' 'unsorted: the significant one first'
got=$(rows "document.querySelector('#mpi th:nth-child(2)').click()")
like "$got" '^mpi: MPI_Send, MPI_Barrier$' 'a click: the longest first'
like "$got" '^totals: in windows, in MPI, outside MPI$' 'and no other table'
second="document.querySelector('#mpi th:nth-child(2)')"
got=$(rows "$second.click(); $second.click()")
like "$got" '^mpi: MPI_Barrier, MPI_Send$' 'two clicks: the shortest first'
got=$(rows "document.querySelector('#totals th').click()")
like "$got" '^totals: in MPI, in windows, outside MPI$' 'the first column: by name'
got=$(rows "document.getElementById('sure').click()")
like "$got" '^mpi: MPI_Barrier$' 'the switch: what is more than noise'
like "$got" '^totals: in windows, in MPI$' 'in all tables'
# find TEXT: the script that looks for a text.
find() { echo "find.value = '$1'; find.dispatchEvent(new Event('input'));"; }
got=$(rows "$(find sEnd)")
is "$got" "mpi: MPI_Send
1 headings" 'a text: tables without a row that has it are not shown, nor are their headings'
got=$(rows "$(find sEnd) document.getElementById('sure').click()")
is "$got" "0 headings
nothing is left" 'where no row is left, the page says so'
got=$(rows "$(find sEnd) document.getElementById('sure').click(); sure.click(); $(find '')")
like "$got" '^totals: in windows, in MPI, outside MPI$' 'without text and switch all tables are back'
is "$(tail -n 2 <<<"$got")" "$(rows '' | tail -n 2)" 'with their headings'
done_testing
