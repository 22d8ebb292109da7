#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks includes: only the edges of the architecture, only a folder's public header, hdf5.h only in
# writer/.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/tree.sh"

# The folders that each folder may include; t/ may include anything. base is open as a whole, the
# others have one public header.
allowed='controller:base pmu:base isa:base writer:base mpi:base
preload:base preload:controller preload:pmu preload:isa preload:mpi preload:share
tools:base tools:controller tools:pmu tools:writer'
public='controller/controller.h pmu/pmu.h isa/isa.h mpi/mpi.h writer/writer.h share/include/regtrace.h'

# The rooms (folder and sub-folders) that each room of the same folder may include. A sub-folder may
# include the folders that it lies in, except in isa/, and a folder the models below it. The rooms
# of preload/ are parts of one library that interrupt each other: many arrows, but no others than
# these.
rooms='base:base/format base:base/names
controller:controller/automaton controller/automaton:controller/language
controller/regions:controller/language controller/check:controller/language
isa/decode:isa/image isa/flow:isa/decode isa/plan:isa isa/plan:isa/image isa/plan:isa/decode isa/values:isa/decode
isa/memory:isa isa/memory:isa/decode isa/memory:isa/plan isa/memory:isa/memory/copy isa/memory:isa/memory/source isa/memory:isa/memory/replay
isa/memory/ir:isa/decode isa/memory/ir:isa/memory/copy
isa/memory/copy:isa/decode isa/memory/copy:isa/memory/ir isa/memory/copy:isa/memory/source isa/memory/copy:isa/memory/replay
isa/memory/source:isa/memory/ir
writer:writer/file writer:writer/read writer:writer/repair writer:writer/values
writer/file:writer/read writer/read:writer/file writer/values:writer/file
writer/repair:writer/file writer/repair:writer/read
preload:preload/count preload:preload/images preload:preload/libc preload:preload/memory
preload:preload/patch preload:preload/stack preload:preload/values preload:preload/window
preload/count:preload/images preload/count:preload/libc preload/count:preload/memory
preload/count:preload/patch preload/count:preload/stack preload/count:preload/values preload/count:preload/waits preload/count:preload/window
preload/images:preload/count preload/images:preload/libc
preload/libc:preload/count preload/libc:preload/images preload/libc:preload/memory
preload/libc:preload/patch preload/libc:preload/stack preload/libc:preload/values preload/libc:preload/waits preload/libc:preload/window
preload/memory:preload/libc preload/memory:preload/patch
preload/memory:preload/patch/calls preload/memory:preload/patch/code
preload/memory:preload/patch/plans preload/memory:preload/stack preload/memory:preload/window
preload/patch:preload/count preload/patch:preload/libc preload/patch:preload/memory
preload/patch:preload/stack preload/patch:preload/values preload/patch:preload/window preload/patch:preload/patch/calls
preload/patch:preload/patch/code preload/patch:preload/patch/plans
preload/patch/plans:preload/images preload/patch/plans:preload/libc preload/patch/plans:preload/memory
preload/patch/code:preload/count preload/patch/code:preload/libc preload/patch/code:preload/memory
preload/patch/code:preload/stack preload/patch/code:preload/window preload/patch/code:preload/patch/calls
preload/patch/code:preload/patch/plans preload/patch/calls:preload/libc
preload/patch/calls:preload/stack preload/patch/calls:preload/window preload/patch/calls:preload/patch/code
preload/patch/calls:preload/patch/plans
preload/stack:preload/count preload/stack:preload/images preload/stack:preload/libc preload/stack:preload/memory preload/stack:preload/values preload/stack:preload/window
preload/values:preload/count preload/values:preload/images preload/values:preload/libc preload/values:preload/patch
preload/values:preload/stack preload/values:preload/patch/code
preload/window:preload/count preload/window:preload/images preload/window:preload/libc preload/window:preload/memory
preload/window:preload/patch preload/window:preload/stack preload/window:preload/values preload/window:preload/waits
preload/waits:preload/count preload/waits:preload/libc preload/waits:preload/memory
preload/waits:preload/stack
tools:tools/streams tools/messages:tools/streams tools/causes:tools/messages tools/causes:tools/streams tools/causes:tools/waits
tools/waits:tools/messages tools/waits:tools/streams tools/channels:tools/waits
tools/report:tools/waits tools/report/calls:tools/waits tools/diff:tools/waits
tools/channels:tools/messages tools/channels:tools/streams tools/channels/mpi:tools/streams
tools/paraver:tools/channels tools/paraver:tools/messages tools/paraver:tools/streams
tools/export:tools/channels tools/export:tools/messages tools/export:tools/streams
tools/timeline:tools/channels tools/timeline:tools/messages tools/timeline:tools/streams
tools/timeline:tools/timeline/picture
tools/page:tools/report tools/page:tools/report/hot tools/page:tools/timeline tools/page:tools/channels
tools/report:tools/report/calls tools/report:tools/report/hot tools/report/calls:tools/messages tools/report/hot:tools/report/calls tools/report/hot:tools/streams
tools/report:tools/messages tools/report:tools/streams tools/report:tools/causes tools/report:tools/report/causes tools/report/causes:tools/causes tools/report/causes:tools/report/calls tools/values:tools/report
tools/diff:tools/messages tools/diff:tools/report
tools/doctor:tools/run tools/memory:tools/run
tools/memory:tools/memory/compile tools/memory:tools/memory/stats
tools/memory/stats:tools/memory/compile'

# faults FILE...: prints each include that is not allowed, one a line.
faults() {
    awk -v allowed=" ${allowed//$'\n'/ } " -v public=" $public " -v rooms=" ${rooms//$'\n'/ } " '
        # Is the header of that room for this file?
        function is_near(room, to) {
            return room == to || index(rooms, " " room ":" to " ") != 0 ||
                   (room !~ "^isa/[a-z]*$" && index(room, to "/") == 1) ||
                   (room == "tools/channels" && index(to, room "/") == 1)
        }
        FNR == 1 { from = room = FILENAME; sub("/.*", "", from); sub("/[^/]*$", "", room) }
        /^[ \t]*#[ \t]*include[ \t]*"/ {
            split($0, quoted, "\"")
            to = quoted[2]; header = to
            if (!sub("/.*", "", to)) { print FILENAME ":" FNR ": \"" header "\" does not name its folder"; next }
            place = header; sub("/[^/]*$", "", place)
            if (from == to && !is_near(room, place)) print FILENAME ":" FNR ": " room " may not include " header
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
cd "$T" && mkdir -p base controller mpi writer preload/values tools/report tools/values tools/channels/mpi isa/image isa/decode
printf '#include "tools/values/value_profiles.h"\n' >tools/report/a.c
printf '#include "preload/window/parts.h"\n' >preload/values/a.c
printf '#include "isa/decode/code_map.h"\n' >isa/image/a.c
printf '#include "isa/isa.h"\n' >isa/image/b.c
printf '#include "tools/report/report.h"\n' >tools/b.c
printf '#include "tools/channels/models.h"\n#include "tools/tools.h"\n#include "tools/streams/streams.h"\n' >tools/channels/mpi/right.c
printf '#include "isa/image/image.h"\n' >isa/decode/right.c
printf '#include "mpi/mpi.h"\n' >base/a.c
printf '#include "preload/process.h"\n' >mpi/a.c
printf '#include "mpi/mpi.h"\n' >writer/a.c
printf '#include "controller/automaton/state.h"\n' >preload/a.c
printf '#include <hdf5.h>\n' >tools/a.c
printf '#  include <mpi.h>\n' >mpi/b.c
printf '#include "nofolder.h"\n' >mpi/c.c
printf '#include "base/any.h"\n#include "mpi/private.h"\n' >mpi/right.c
for f in base/a.c mpi/a.c writer/a.c preload/a.c tools/a.c mpi/b.c mpi/c.c tools/report/a.c isa/image/a.c isa/image/b.c preload/values/a.c tools/b.c; do
    like "$(faults $f)" "^$f:1: " "finds the wrong include in $f"
done
is "$(faults mpi/right.c tools/channels/mpi/right.c isa/decode/right.c)" "" "accepts right ones"
done_testing
