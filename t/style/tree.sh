# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Shared by the checks of the tree: the list of its files. Source it after t/lib.sh.

# tree_files: prints the files of the project, one a line. In a git clone these are git's;
# otherwise, in an unpacked release, all files except those that autoreconf made and those of a
# build in this folder.
tree_files() {
    if [ "$(git -C "$REGTRACE_SOURCE" rev-parse --show-toplevel 2>/dev/null)" = "$(realpath "$REGTRACE_SOURCE")" ]; then
        git -C "$REGTRACE_SOURCE" ls-files --cached | while read -r f; do
            [ -e "$REGTRACE_SOURCE/$f" ] && echo "$f"
        done
    else
        (cd "$REGTRACE_SOURCE" && find COPYING bootstrap ./*.md configure.ac Makefile.am base controller isa mpi pmu writer preload tools share t \
            -type f ! -name '*.o' ! -name '*.lo' ! -path '*/__pycache__/*' ! -path '*/.libs/*' ! -path '*/.deps/*' \
            ! -name '*.log' ! -name '*.trs' ! -name .dirstamp | sed 's|^\./||')
    fi
}

# tree_scripts: prints the scripts that bash runs.
tree_scripts() {
    tree_files | while read -r f; do
        case $f in
        *.sh) echo "$f" ;;
        *) head -1 "$REGTRACE_SOURCE/$f" | grep -qE '^#!.*\<(ba)?sh\>' && echo "$f" ;;
        esac
    done
}
