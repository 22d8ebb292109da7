#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The Python module and the page that are made from base/format/*.def say what these say.
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
done_testing
