#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The page of regtrace diff in a real browser: a click sorts a table, the switch and the text filter
# its rows.
. "$(dirname "$0")/../../lib.sh"
needs h5py
browser=$(command -v chromium || command -v chromium-browser) || skip_all "no chromium (apt-get install chromium)"
cd "$T" || exit 99
"$PYTHON" "$here/synthetic.py" base base 1
"$PYTHON" "$here/synthetic.py" slower slower 3
"$REGTRACE" diff --html page.html base slower
ok $? 'a page'

# rows SCRIPT: prints the first column of the rows that are shown after the script, by table.
rows() {
    sed "s|</body>|<script>$1</script></body>|" page.html >clicked.html
    run 60 env HOME="$T" "$browser" --headless --no-sandbox --disable-gpu --dump-dom "file://$T/clicked.html"
    "$PYTHON" -c 'import re, sys
for table in re.findall("<table id=\"(.*?)\">.*?<tbody>(.*?)</tbody>", sys.stdin.read(), re.S):
    print(table[0] + ":", ", ".join(re.findall("<tr(?! class=\"(?:any )?hidden).*?><td>(.*?)</td>", table[1])))' <<<"$out"
}
got=$(rows '')
like "$got" '^totals: in windows, in MPI, outside MPI$' 'unsorted: the totals in their order'
like "$got" '^mpi: MPI_Barrier, MPI_Send$' 'unsorted: the significant one first'
got=$(rows "document.querySelector('#mpi th:nth-child(2)').click()")
like "$got" '^mpi: MPI_Send, MPI_Barrier$' 'a click: the longest first'
like "$got" '^totals: in windows, in MPI, outside MPI$' 'and no other table'
got=$(rows "document.querySelector('#mpi th:nth-child(2)').click(); document.querySelector('#mpi th:nth-child(2)').click()")
like "$got" '^mpi: MPI_Barrier, MPI_Send$' 'two clicks: the shortest first'
got=$(rows "document.querySelector('#totals th').click()")
like "$got" '^totals: in MPI, in windows, outside MPI$' 'the first column: by name'
got=$(rows "document.getElementById('sure').click()")
like "$got" '^mpi: MPI_Barrier$' 'the switch: what is more than noise'
like "$got" '^totals: in windows, in MPI$' 'in all tables'
got=$(rows "document.getElementById('find').value = 'sEnd'; document.getElementById('find').dispatchEvent(new Event('input'))")
like "$got" '^mpi: MPI_Send$' 'a text'
done_testing
