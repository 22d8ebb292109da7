#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Files that are made from others say what these say: a Python module and a page from
# base/format/*.def, the page of all files from their first comments. mpi/functions.list is checked
# when something is made from it. The page of the parts names those of the table.
. "$(dirname "$0")/../lib.sh"

python=$(command -v python3) || skip_all "no Python"
mkdir -p "$T/base" "$T/share/python/regtrace" "$T/share/doc"
cp -r "$REGTRACE_SOURCE/base/format" "$T/base/format"
cp "$REGTRACE_SOURCE/share/python/regtrace/format.py" "$T/share/python/regtrace/"
cp "$REGTRACE_SOURCE/share/doc/schema.md" "$T/share/doc/"
ok_run "format.py and schema.md are made from base/format/*.def" "$python" "$T/base/format/translate.py" check
sed -i 's/^FIELD(EV_FIRED, a, tid, 24, 32,/FIELD(EV_FIRED, a, tid, 25, 31,/' "$T/base/format/event_fields.def"
run 20 "$python" "$T/base/format/translate.py" check
is "$status" 1 "a field that has moved is seen"
like "$err" 'schema\.md.*format\.py' "in both"

made="$T/mpi-functions.md"
ok_run "generate.py makes the page of MPI functions" "$python" "$REGTRACE_SOURCE/mpi/generate.py" "$REGTRACE_SOURCE/mpi/functions.list" doc "$made"
sed 's/ waits=receiver/ waits=sender/' "$REGTRACE_SOURCE/mpi/functions.list" >"$T/functions.list"
run 20 "$python" "$REGTRACE_SOURCE/mpi/generate.py" "$T/functions.list" doc "$made"
is "$status" 1 "a role with a value that nobody knows is refused"
like "$err" 'waits is one of all_ranks, first_message' "with those that there are"

table=$(grep -o '\.name = "[a-z]*"' "$REGTRACE_SOURCE/preload/window/parts.c" | cut -d'"' -f2)
page=$(sed -n '/^## Parts/,/^## /s/^| \([a-z]*\) |.*/\1/p' "$REGTRACE_SOURCE/share/doc/dev/windows.md" | sed 1d)
isnt "$table" "" "the table of parts is found"
is "$page" "$table" "dev/windows.md has the parts of preload/window/parts.c in their order"

ok_run "dev/files.md and tests.md are made from the first comments of all files" "$python" "$REGTRACE_SOURCE/share/doc/list_files.py" check
cp "$REGTRACE_SOURCE/share/doc/architecture.md" "$REGTRACE_SOURCE/share/doc/list_files.py" "$T/share/doc/"
mkdir "$T/share/doc/dev"
cp "$REGTRACE_SOURCE/share/doc/dev/files.md" "$REGTRACE_SOURCE/share/doc/dev/tests.md" "$T/share/doc/dev/"
for folder in base controller pmu isa mpi preload writer tools share/timeline share/page share/python t; do
    mkdir -p "$T/$(dirname "$folder")" && cp -r "$REGTRACE_SOURCE/$folder" "$T/$(dirname "$folder")"
done
cp "$REGTRACE_SOURCE/base/format/event_fields.def" "$T/base/format/"
ok_run "so it is of a copy" "$python" "$T/share/doc/list_files.py" check
echo '/* A new file. */' >"$T/base/new.c"
run 20 "$python" "$T/share/doc/list_files.py" check
is "$status" 1 "a new file is seen"
like "$err" 'list_files.py write' "and the remedy is named"
rm "$T/base/new.c"
printf '#!/bin/bash\n# Shows nothing.\n' >"$T/t/base/new.t"
run 20 "$python" "$T/share/doc/list_files.py" check
is "$status" 1 "a new test is seen"
like "$err" 'tests.md is stale' "in the other page"
done_testing
