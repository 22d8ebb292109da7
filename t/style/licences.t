#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every file names its licence in its first lines, and no file names the place where it was written.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tree.sh"

# Data files that programs read as a whole and that cannot hold a comment.
exempt='^t/controller/corpus/|^preload/exports\.list$|^t/style/words$|\.(png|h5|json|data|stream|xz)$|(^|/)PKG-INFO$'

# unlicensed FILE...: prints the files without the line among their first five.
unlicensed() {
    awk 'FNR == 1 { if (NR > 1 && !found) print name; found = 0; name = FILENAME }
         FNR <= 5 && /SPDX-License-Identifier: BSD-3-Clause/ { found = 1 }
         END { if (NR && !found) print name }' "$@"
}

# placed FILE...: prints lines that hold a path of a home folder, of a work folder, or a machine's
# name.
places='/(home|Users)/[a-z]|/(root|work|mnt|workspace)/|[a-z0-9]@[a-z0-9-]+:[~/]'
placed() { grep -InE "$places" "$@" /dev/null; }

cd "$REGTRACE_SOURCE" || exit 1
mapfile -t files < <(tree_files | grep -vE "$exempt")
isnt "${#files[@]}" 0 "there are files to look at"
is "$(unlicensed "${files[@]}")" "" "${#files[@]} files name the licence"
mapfile -t files < <(tree_files | grep -vE '^t/style/licences.t$')
is "$(placed "${files[@]}")" "" "${#files[@]} files name no place"
is "$(tree_files | grep -vE '^[A-Za-z0-9._/-]+$')" "" "names of files have no odd characters"

# Test the checks themselves.
printf 'no licence\n' >"$T/a"
printf '# SPDX-License-Identifier: BSD-3-Clause\n' >"$T/b"
printf 'cp /%s/me/x .\n' home >"$T/c"
is "$(unlicensed "$T/b" "$T/a" "$T/b")" "$T/a" "finds the file without"
like "$(placed "$T/b" "$T/c")" "^$T/c:1:" "finds the path"
done_testing
