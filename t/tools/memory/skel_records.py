#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Converts records of `regtrace skel replay -format binary` on standard input to the text of
-format text.

share/doc/memory.md describes both. Exits with 1 if the records are malformed."""
import struct
import sys

data = sys.stdin.buffer.read()
assert len(data) % 24 == 0, "%d bytes are no records" % len(data)
ends = {0: "", 1: "left", 2: "no room", 3: "amid", 255: "open"}
out, heads = [], 0
inside, whose = {}, None  # accesses of each open segment; the segment that records belong to now
for at in range(0, len(data), 24):
    pc, address, size, kind, zero = struct.unpack_from("<QQIc3s", data, at)
    assert zero == bytes(3), "padding is not zero"
    if kind == b"H":
        assert struct.pack("<Q", pc) == b"RTACCESS" and address == 1 and size == 24, "a head of another kind"
        assert at == 0, "a head amid"
        heads += 1
    elif kind in b"SC":
        whose = struct.unpack_from("<iIIiI", data, at)
        assert (kind == b"S") == (whose not in inside), "a segment in itself, or none that goes on"
        inside.setdefault(whose, 0)
        out.append("# rank %d, pid %d, thread %d, window %d" % whose[:4] + (", in a handler of signal %d" % whose[4] if whose[4] else "") +
                   (", continued" if kind == b"C" else ""))
    elif kind == b"E":
        assert whose in inside and size in ends, "an end that is none"
        assert pc == inside[whose], "%d accesses, %d said" % (inside[whose], pc)
        out.append("# %d accesses, %d functions entered" % (pc, address))
        del inside[whose]
    else:
        assert whose in inside and kind in b"RWM", "what is no kind: %r" % kind
        out.append("%x %s %d %x" % (pc, kind.decode(), size, address))
        inside[whose] += 1
assert heads == 1 and not inside, "no head, or no end"
print("\n".join(out))
