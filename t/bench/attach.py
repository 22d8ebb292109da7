# SPDX-License-Identifier: BSD-3-Clause
"""Rows about start-up: how much later a program of 50 MB of code starts if alarms name places in
it."""
import os
import shutil
import time

from measure import *

# Functions of 256 bytes, with names and unwind information: 52 MB.
TEXT = """
    .text
    .altmacro
    .macro one number
    .globl f\\number
    .type f\\number,@function
f\\number:
    .cfi_startproc
    push %rbx
    .cfi_adjust_cfa_offset 8
    mov %rdi,%rbx
    test %rbx,%rbx
    je 1f
    .rept 34
    lea 1(%rbx,%rdi),%rax
    mov %rax,%rbx
    .endr
1:  mov %rbx,%rax
    pop %rbx
    .cfi_adjust_cfa_offset -8
    ret
    .p2align 4
    .cfi_endproc
    .size f\\number,.-f\\number
    .endm
    .set n,0
    .rept 200000
    one %n
    .set n,n+1
    .endr
"""


def large_program():
    source = os.path.join(SCRATCH, "large.S")
    with open(source, "w") as f:
        f.write(TEXT + ".globl main\n.type main,@function\nmain: .cfi_startproc\n xor %eax,%eax\n ret\n"
                       ".cfi_endproc\n.size main,.-main\n")
    return compile_program("large", sources=[source])


def attach():
    program = large_program()
    cache = os.path.join(SCRATCH, "plans")
    found = []

    def once(control, cold):
        if cold:
            shutil.rmtree(cache, ignore_errors=True)
        variables = traced(control=control) if control else traced(default_start=0)
        variables["XDG_CACHE_HOME"] = cache
        began = time.monotonic()
        run([program], variables)
        return time.monotonic() - began

    def row(name, goal, control, cold):
        once(control, False)
        pairs = Pairs(lambda: once(None, False), lambda: once(control, cold), count=7)
        found.append(Row(name, "<= %g s" % goal, "%.2f s" % pairs.added(), pairs.added() <= goal, "%d x 3" % pairs.count,
                         "%.3f s" % pairs.spread_absolute(), "without such an alarm %.3f s" % median(pairs.bare)))
    row("attach to 52 MB of code, by the name of a function", 0.3, "start:enter_func:f100000", True)
    row("attach to it, by the exit of a function", 0.3, "start:exit_func:f100000", True)
    row("attach to it, by an instruction's bytes", 1, "start:ssc:4711", True)
    row("attach to it, by what instructions are, for the first time", 1, "start:isa_extension:AES", True)
    row("attach to it, by what instructions are, again", 0.3, "start:isa_extension:AES", False)
    return found
