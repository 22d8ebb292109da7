#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the events that dumpshim recorded with the program's log of its own calls.

usage: compare.py RECORDED LOGGED [fortran]

Exits with 0 if every call is recorded once, in order, with the right peer, tag and bytes, every
enter has its leave, and completions match. Prints the differences.
"""
import re
import sys

CUT, NESTED, FORTRAN = 4, 16, 32
NONE = 0x80000000


def signed(n):
    return "-" if n == NONE else str(n - (1 << 32) if n & NONE else n)


def recorded(path, fortran):
    lines, stack, faults, comms, numbers = [], [], [], {}, []
    pending = None
    for line in open(path, encoding="utf-8"):
        words = line.split()
        if words[0] == "hook":
            continue
        clock, tid, name = int(words[0]), words[1], words[2]
        flags, a, b = (int(w) for w in words[3:6])
        if tid != "0":
            continue
        numbers.append(clock)
        if name[0] == "+":
            stack.append(name[1:])
            # In Open MPI, mpi_f08 binds MPI_Wtime to the C function itself.
            if bool(flags & FORTRAN) != fortran and not flags & NESTED and name != "+MPI_Wtime":
                faults.append(f"{name}: fortran flag is {flags & FORTRAN}")
            if bool(flags & NESTED) != (len(stack) > 1):
                faults.append(f"{name}: nested flag is {flags & NESTED} at depth {len(stack)}")
            if flags & NESTED:
                lines.append(f"N {name[1:]}")
                continue
            if b >> 48 not in comms and b >> 48 != 0:
                faults.append(f"{name}: communicator {b >> 48} was never described")
            lines.append(f"E {name[1:]} {signed(a & 0xffffffff)} {signed(a >> 32)} {b & ((1 << 48) - 1)}")
        elif name[0] == "-":
            if not stack or stack.pop() != name[1:]:
                faults.append(f"{name}: no enter before it")
        elif name == "EV_MPI_COMPLETE":
            pending = (a, f"C {signed(b & 0xffffffff)} {signed(b >> 32)}")
            if flags & CUT:
                faults.append(f"request {a:#x} is of unknown origin")
        elif name == "EV_MPI_BYTES":
            if pending is None or pending[0] != a:
                faults.append("bytes without their completion")
            else:  # only receives: the program logs no other
                lines.append(f"{pending[1]} {b}")
        elif name == "EV_MPI_COMM":
            made = stack and re.search(r"Comm_(dup|split|create)|Cart_(create|sub)|Graph_create|_merge|Intercomm_create", stack[-1])
            if made and b >> 32 not in comms:
                faults.append(f"{stack[-1]} made communicator {a & 0xffffffff} of {b >> 32}, which is not known")
            comms[a & 0xffffffff] = (a >> 32, b & 0xffffffff)
    if stack:
        faults.append(f"open at the end: {stack}")
    if numbers != sorted(numbers):
        faults.append("not in the order of time")
    return lines, faults, comms


def main():
    got, faults, comms = recorded(sys.argv[1], len(sys.argv) > 3)
    want = [line.strip() for line in open(sys.argv[2], encoding="utf-8")]
    if not want[0].startswith("E MPI_Init"):  # these cannot log yet when they call it
        got = [line for line in got if not line.startswith("E MPI_Init")]
    # MPI may repeat the calls that an operator or a deletion makes. The log has them in order.
    for i, (g, w) in enumerate(zip(got, want)):
        if g != w:
            faults.append(f"line {i}: recorded '{g}', the program did '{w}'")
            break
    if len(got) != len(want):
        faults.append(f"{len(got)} recorded, {len(want)} logged")
    if comms.get(1, (None, None))[1] is None:
        faults.append("the world was not described")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


sys.exit(main())
