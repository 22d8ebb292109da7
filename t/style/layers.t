#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks includes: only the edges of the architecture, only a folder's public header, hdf5.h only in
# writer/.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tree.sh"

# The folders that each folder may include; t/ may include anything. base is open as a whole, the
# others have one public header.
allowed='controller:base pmu:base isa:base writer:base mpi:base mpi:controller
preload:base preload:controller preload:pmu preload:isa preload:mpi preload:share
tools:base tools:controller tools:pmu tools:isa tools:writer'
public='controller/controller.h pmu/pmu.h isa/isa.h mpi/mpi.h writer/writer.h share/include/regtrace.h'

# faults FILE...: prints each include that is not allowed, one a line.
faults() {
    awk -v allowed=" ${allowed//$'\n'/ } " -v public=" $public " '
        FNR == 1 { from = FILENAME; sub("/.*", "", from) }
        /^[ \t]*#[ \t]*include[ \t]*"/ {
            split($0, quoted, "\"")
            to = quoted[2]; header = to
            if (!sub("/.*", "", to)) { print FILENAME ":" FNR ": \"" header "\" does not name its folder"; next }
            if (from == "t" || from == to) next
            if (index(allowed, " " from ":" to " ") == 0)
                # Headers that the build generates from a folder lie in that folder too.
                print FILENAME ":" FNR ": " from " may not include " header
            else if (to != "base" && index(public, " " header " ") == 0)
                print FILENAME ":" FNR ": " header " is private to " to
        }
        /^[ \t]*#[ \t]*include[ \t]*<hdf5/ && from != "writer" && from != "t" { print FILENAME ":" FNR ": hdf5.h is for writer/ alone" }
        /^[ \t]*#[ \t]*include[ \t]*<mpi\.h>/ && from != "t" && from != "share" { print FILENAME ":" FNR ": built against no MPI" }
    ' "$@"
}

cd "$REGTRACE_SOURCE" || exit 1
mapfile -t sources < <(tree_files | grep -E '\.(c|h|S|def)$' | grep -v '^t/')
isnt "${#sources[@]}" 0 "there are sources to look at"
is "$(faults "${sources[@]}")" "" "${#sources[@]} sources include what their folder may"

# Test the check itself: it must find each wrong edge and accept right ones.
cd "$T" && mkdir -p base controller mpi writer preload tools
printf '#include "mpi/mpi.h"\n' >base/a.c
printf '#include "preload/preload.h"\n' >mpi/a.c
printf '#include "mpi/mpi.h"\n' >writer/a.c
printf '#include "controller/state.h"\n' >preload/a.c
printf '#include <hdf5.h>\n' >tools/a.c
printf '#  include <mpi.h>\n' >mpi/b.c
printf '#include "nofolder.h"\n' >mpi/c.c
printf '#include "controller/controller.h"\n#include "base/any.h"\n#include "mpi/private.h"\n' >mpi/right.c
for f in base/a.c mpi/a.c writer/a.c preload/a.c tools/a.c mpi/b.c mpi/c.c; do
    like "$(faults $f)" "^$f:1: " "finds the wrong include in $f"
done
is "$(faults mpi/right.c)" "" "accepts right ones"
done_testing
