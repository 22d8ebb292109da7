#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""skel_records.py: records of `regtrace skel replay -format binary` on standard input as the text that -format text writes, as share/doc/memory.md
has both. Ends with 1 where they are not as they should be."""
import struct
import sys

data = sys.stdin.buffer.read()
assert len(data) % 24 == 0, "%d bytes are no records" % len(data)
ends = {0: "", 1: "left", 2: "no room", 3: "amid", 255: "open"}
out, inside, heads, accesses = [], False, 0, 0
for at in range(0, len(data), 24):
    pc, address, size, kind, zero = struct.unpack_from("<QQIc3s", data, at)
    assert zero == bytes(3), "padding is not zero"
    if kind == b"H":
        assert struct.pack("<Q", pc) == b"RTACCESS" and address == 1 and size == 24, "a head of another kind"
        assert at == 0, "a head amid"
        heads += 1
    elif kind in b"SC":
        rank, pid, thread, window, signal = struct.unpack_from("<iIIiI", data, at)
        assert not (kind == b"S" and inside), "a stretch in a stretch"
        out.append("# rank %d, pid %d, thread %d, window %d%s%s" % (rank, pid, thread, window, ", in a handler of signal %d" % signal if signal else "", ", continued" if kind == b"C" else ""))
        if kind == b"S":
            inside, accesses = True, 0
    elif kind == b"E":
        assert inside and size in ends, "an end that is none"
        assert pc == accesses, "%d accesses, %d said" % (accesses, pc)
        out.append("# %d accesses, %d functions entered" % (pc, address))
        inside = False
    else:
        assert inside and kind in b"RWM", "what is no kind: %r" % kind
        out.append("%x %s %d %x" % (pc, kind.decode(), size, address))
        accesses += 1
assert heads == 1 and not inside, "no head, or no end"
print("\n".join(out))
