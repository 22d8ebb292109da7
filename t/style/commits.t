#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The hook commit-msg accepts messages as CONTRIBUTING.md wants them, and refuses others with the
# reason.
. "$(dirname "$0")/../lib.sh"
hook=$(cd "$(dirname "$0")" && pwd)/commit-msg

# check STATUS REASON MESSAGE
check() {
    printf '%s\n' "$3" >"$T/message"
    run 10 "$hook" "$T/message"
    is "$status" "$1" "${3%%$'\n'*}: exit code $1"
    like "$err" "$2" "${3%%$'\n'*}: says '$2'"
}
long=$(printf '%70s' x | tr ' ' x)
check 0 '^$' 'writer: recover finds streams of moved folders'
check 0 '^$' $'t/style, tools/run: names\n\nWhy it is so.\n# a comment of git'
check 0 '^$' 'Merge branch x'
check 1 'begins with the folder' 'Recover finds streams'
check 1 'begins with the folder' 'writer:recover'
check 1 'has 73 columns' "w: $long"
check 1 'joins two things' 'writer: this; that'
check 1 'an empty line' $'writer: this\nthat'
done_testing
