# SPDX-License-Identifier: BSD-3-Clause
"""Compares the call paths of samples with gdb's own backtraces of the code that they interrupt.

Runs the program of gdb, which samples by CPU time, and stops where libregtrace has found the path.
Environment: MOMENTS, how many samples. Prints those that differ, then "N moments, M frames,
K depths, D differ"."""
import collections
import os

import gdb

MOST = 64  # callers of the sampled function: one less than REGTRACE_CALLPATH


def theirs():
    """Returns the return addresses from the interrupted code on, innermost first.

    Those of interrupted frames are one more, as in the table of paths."""
    found, frame, interrupted = [], gdb.newest_frame(), None
    while frame is not None and len(found) < MOST:
        kind = frame.type()
        if kind == gdb.SIGTRAMP_FRAME and interrupted is None:
            interrupted = True
        elif kind not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME) and interrupted is not None:
            found.append(frame.pc() + (1 if interrupted else 0))
            interrupted = kind == gdb.SIGTRAMP_FRAME
        frame = frame.older()
    return found


def ours(number, paths):
    found = []
    while number != 0:
        entry = bytes(gdb.selected_inferior().read_memory(paths + 32 * number, 16))
        found.append(int.from_bytes(entry[8:16], "little"))
        number = int.from_bytes(entry[4:8], "little")
    return found


class Found(gdb.Breakpoint):
    """Where call_path_from_context() returns; its result is in rax."""

    moments, frames, differ, depths, texts = 0, 0, 0, collections.Counter(), []

    def stop(self):
        cls = Found
        base = int(gdb.parse_and_eval("(unsigned long)recorder_stream.base"))
        paths = base + int(gdb.parse_and_eval("recorder_stream.header->paths_offset"))
        want, got = theirs()[1:], ours(int(gdb.parse_and_eval("(unsigned)$rax")), paths)
        cls.moments += 1
        cls.frames += len(want)
        cls.depths[len(want)] += 1
        if want != got:
            cls.differ += 1
            if cls.differ <= 5:
                cls.texts += ["gdb:  " + " ".join(map(hex, want)), "ours: " + " ".join(map(hex, got)),
                              gdb.execute("backtrace", to_string=True)]
        return cls.moments >= int(os.environ["MOMENTS"])


def main():
    for line in ("set pagination off", "set confirm off", "set print thread-events off", "set backtrace past-main on",
                 "set backtrace past-entry on", "set breakpoint pending on", "handle all nostop noprint pass",
                 "handle SIGTRAP stop nopass", "tbreak call_path_from_context", "run"):
        gdb.execute(line, to_string=True)
    Found(f"*{gdb.newest_frame().older().pc():#x}", internal=True)
    gdb.execute("continue", to_string=True)
    print(*Found.texts, sep="\n")
    print(f"{Found.moments} moments, {Found.frames} frames, {len(Found.depths)} depths, {Found.differ} differ")
    gdb.execute("kill", to_string=True)


main()
