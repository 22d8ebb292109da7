#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares answers of regtrace-vprofiler with objdump's text.

operands.py questions|check|copies|plain OBJDUMP [ANSWERS [FILE]]
- questions: prints questions for t/isa/values/asking.
- check: compares lengths, control flow, targets, memory operands, use of vectors, and elements
  of gathers; prints differences and counts.
- copies: writes the copies of instructions to a file of code, and prints the text that objdump
  must show for it.
- plain: prints the text that objdump shows for it.

The rules here come from Intel's manual and the assembler's syntax, not from a decoder.
"""
import re
import sys

LINE = re.compile(r"^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\t(.*)$")
PREFIXES = {"lock", "rep", "repz", "repnz", "notrack", "bnd", "data16", "addr32", "cs", "ds", "es", "ss", "fs", "gs",
            "xacquire", "xrelease", "{evex}", "{vex}", "{vex3}", "{load}"}
REGISTERS = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"]
CONDITIONS = {"o": 0, "no": 1, "b": 2, "ae": 3, "e": 4, "ne": 5, "be": 6, "a": 7, "s": 8, "ns": 9, "p": 10, "np": 11, "l": 12,
              "ge": 13, "le": 14, "g": 15, "rcxz": 16, "ecxz": 17}
MEMORY = re.compile(r"(?:%([c-gs]s):)?(-?0x[0-9a-f]+|-?\d+)?\((%\w+)?(?:,(%\w+))?(?:,(\d))?\)")
ABSOLUTE = re.compile(r"(?:^|[ ,*])%([c-gs]s):(-?0x[0-9a-f]+)(?=,|$)|(?:^|,|\*)(0x[0-9a-f]+)(?=,|$)")
STOP = {"syscall", "sysenter", "sysret", "sysexit", "int3", "int1", "int", "iret", "iretq", "hlt", "ud0", "ud1", "ud2", "pushf", "popf",
        "xbegin", "xend", "xabort", "xtest", "lret", "ljmp", "lcall", "in", "out", "wrfsbase", "wrgsbase", "rdsspq", "rdsspd", "incsspq",
        "incsspd", "saveprevssp", "rstorssp", "lss", "lfs", "lgs", "cli", "sti", "insb", "insl", "outsb", "outsl", "insw", "outsw", "monitor", "mwait", "smsw"}
STEP = {"push", "pop", "leave", "enter", "cpuid", "xsave", "xsavec", "xsaveopt", "xrstor", "xsave64", "xsavec64", "xrstor64", "fxsave",
        "fxrstor", "fxsave64", "fxrstor64", "fnsave", "fsave", "frstor", "fnstenv", "fstenv", "fldenv", "rdpkru", "wrpkru", "umwait", "tpause",
        "umonitor", "monitorx", "mwaitx", "sgdt", "sidt", "sldt", "str", "lar", "lsl", "verr", "verw", "rdpmc"}
STRINGS = re.compile(r"^(movs|cmps|scas|lods|stos)[bwlq]?$")
# Instructions that use the vector state without a vector register in their text, or the other way
# round.
VECTORS = re.compile(r"^(f|xsave|xrstor|v?ldmxcsr|v?stmxcsr|emms|femms|vzero|wait)")
HINTS = re.compile(r"^(nop|prefetch|clflush|clwb|cldemote|lea[wlq]?$)")


def number(name):
    """Returns a general register's number and "d" for 32 bits, else "q"; or a vector register's
    number and x, y or z."""
    name = name.lstrip("%")
    m = re.fullmatch(r"([xyz])mm(\d+)", name)
    if m:
        return int(m.group(2)), name[0]
    m = re.fullmatch(r"r(\d+)(d?)", name)
    if m:
        return int(m.group(1)), "d" if m.group(2) else "q"
    return REGISTERS.index(name[-2:]), "d" if name[0] == "e" else "q"


def instructions(path):
    for line in open(path, errors="replace"):
        m = LINE.match(line)
        if not m or "(bad)" in m.group(3):
            continue
        code = bytes.fromhex(m.group(2))
        text = m.group(3).strip()
        # objdump joins fwait with the instruction after it; the processor does not.
        if code[0] == 0x9b and len(code) > 1:
            continue
        yield int(m.group(1), 16), code, text


def split(text):
    """Returns prefixes, mnemonic and operands, without text in <> or after #."""
    text = re.sub(r"\s+#.*$", "", text)
    text = re.sub(r"\s*<.*>", "", text)
    words = text.split()
    prefixes = []
    while words and (words[0] in PREFIXES or words[0].startswith("rex")):
        prefixes.append(words.pop(0))
    if not words:
        return prefixes, "", ""
    mnemonic = words[0].split(",")[0]
    return prefixes, mnemonic, " ".join(words[1:])


def explicit_memory(operands, at_next):
    """Returns (base, index, scale, displacement, segment, is_32, index kind) of the text's memory
    operand, of the second if there are two."""
    found = list(MEMORY.finditer(operands))
    if found:
        m = found[-1]
        segment = {"fs": 1, "gs": 2}.get(m.group(1), 0)
        displacement = int(m.group(2) or "0", 0)
        base = index = -1
        kind = width = ""
        if m.group(3) in ("%rip", "%eip"):
            return -1, -1, 1, at_next + displacement, segment, m.group(3) == "%eip", ""
        if m.group(3):
            base, width = number(m.group(3))
        if m.group(4) and m.group(4) not in ("%riz", "%eiz"):
            index, kind = number(m.group(4))
            if kind not in "xyz":
                width = kind
        elif m.group(4) == "%eiz":
            width = "d"
        scale = int(m.group(5) or 1) if index >= 0 else 1
        return base, index, scale, displacement, segment, width == "d", kind
    m = ABSOLUTE.search(operands)
    if m:
        return -1, -1, 1, int(m.group(2) or m.group(3), 0), {"fs": 1, "gs": 2}.get(m.group(1), 0), None, ""
    return None


def is_stack(mnemonic):
    return re.match(r"^(push|pop|call|ret)", mnemonic) and not mnemonic.startswith("popcnt")


def memory_of(at, code, prefixes, mnemonic, operands):
    direct = re.match(r"^(j|call|loop|xbegin)", mnemonic) and not operands.startswith("*")
    if mnemonic in ("in", "out"):
        return None
    if mnemonic.startswith(("outs", "ins")):
        return 7 if mnemonic.startswith("ins") else 6, -1, 1, 0, 0, False, ""
    if mnemonic.startswith(("lret", "iret")):
        return 4, -1, 1, 0, 0, False, ""
    explicit = None if direct else explicit_memory(operands, at + len(code))
    if mnemonic.startswith("xlat"):
        return None
    if STRINGS.match(mnemonic):
        two = [m.group(3) for m in MEMORY.finditer(operands)]
        where = two[-1] if mnemonic.startswith(("movs", "stos")) else two[0]
        if mnemonic.startswith("cmps"):
            where = "%rsi" if where.startswith("%r") else "%esi"
        base, width = number(where)
        segment = {"fs": 1, "gs": 2}.get(next((m.group(1) for m in MEMORY.finditer(operands) if m.group(3) == where), ""), 0)
        return base, -1, 1, 0, segment, width == "d", ""
    if explicit is not None:
        if mnemonic.startswith("pop") and explicit[0] == 4 and not mnemonic.startswith("popcnt"):
            explicit = explicit[:3] + (explicit[3] + 8,) + explicit[4:]
        return explicit
    if is_stack(mnemonic):
        if mnemonic.startswith("call") and operands.startswith("*%"):
            return None
        size = 2 if 0x66 in code[:1] and not mnemonic.startswith(("call", "ret")) else 8
        return 4, -1, 1, (-size if mnemonic.startswith(("push", "call")) else 0), 0, False, ""
    if mnemonic == "leave":
        return 5, -1, 1, 0, 0, False, ""
    if mnemonic == "enter":
        return 4, -1, 1, -8, 0, False, ""
    if mnemonic in ("maskmovdqu", "vmaskmovdqu", "maskmovq"):
        return 7, -1, 1, 0, 0, False, ""
    return None


def is_segment_written(mnemonic, operands):
    return re.search(r"%[c-gs]s$", operands) is not None and mnemonic.startswith(("mov", "pop"))


def names_rsp(operands):
    """Returns true if the operands name rsp other than as the base of an address."""
    return re.search(r"%(e|r)?spl?\b", MEMORY.sub("", operands)) is not None


def flow_of(code, prefixes, mnemonic, operands):
    plain = re.sub(r"[wlq]$", "", mnemonic)
    narrow = 0x66 in code[:-1][:4] and ("data16" in prefixes or mnemonic.endswith("w") or operands == "*%ax")
    if mnemonic in STOP or plain in STOP or re.search(r"%(cr|db|dr)\d", operands) or is_segment_written(mnemonic, operands):
        return "stop"
    if mnemonic.startswith("jmp"):
        return "step" if narrow else "jump"
    if mnemonic.startswith("call"):
        return "step" if narrow else "call"
    if re.match(r"^ret[wlq]?$", mnemonic):
        return "step" if narrow else "return"
    if mnemonic.startswith(("j", "loop")):
        if narrow or ("addr32" in prefixes and mnemonic.startswith("loop")) or mnemonic in ("loopl", "loopel", "loopnel"):
            return "step"
        return "condition"
    if STRINGS.match(mnemonic) and {"rep", "repz", "repnz"} & set(prefixes):
        return "step"
    if mnemonic in STEP or plain in STEP or is_stack(mnemonic) or names_rsp(operands) or {"xacquire", "xrelease"} & set(prefixes):
        return "step"
    # A written bit string lies elsewhere than its operand says.
    if re.match(r"^bt[crs][wlq]?$", mnemonic) and operands.startswith("%") and "(" in operands:
        return "step"
    return "straight"


def condition_of(mnemonic):
    name = mnemonic.split(",")[0]
    return {"loop": 18, "loope": 19, "loopne": 20}.get(name, CONDITIONS.get(name[1:]))


def read_answers(path):
    for line in open(path):
        words = line.split()
        if words[0] == "status":
            continue
        fields = dict(w.split("=", 1) for w in words[1:] if "=" in w)
        yield int(words[0], 16), fields, {w for w in words[1:] if "=" not in w}


def gather_elements(mnemonic, operands, code):
    """Returns the number of a gather's values, by the widths of its registers, and the bytes of an
    index and of a value."""
    m = re.match(r"^vp?(?:gather|scatter)([dq])(pd|ps|d|q)$", mnemonic)
    if not m:
        return None
    index = 8 if m.group(1) == "q" else 4
    data = 8 if m.group(2) in ("pd", "q") else 4
    bits = {"x": 16, "y": 32, "z": 64}
    of_index = bits[re.search(r"\([^)]*%([xyz])mm", operands).group(1)]
    of_data = bits[re.search(r"%([xyz])mm", MEMORY.sub("", operands)).group(1)]
    return min(of_index // index, of_data // data), index, data


def check_one(at, code, text, fields, flags):
    prefixes, mnemonic, operands = split(text)
    if not mnemonic or mnemonic == ".byte":
        return
    if int(fields["length"]) != len(code):
        yield f"length {fields['length']}"
        return
    flow = flow_of(code, prefixes, mnemonic, operands)
    if flow == "straight" and fields["flow"] == "step" and re.search(r"\(%eip", operands):
        flow = "step"
    if fields["flow"] != flow:
        yield f"flow {fields['flow']}, not {flow}"
    if flow == "condition" and int(fields["condition"]) != condition_of(mnemonic):
        yield f"condition {fields['condition']}"
    if flow in ("jump", "call", "condition") and not operands.startswith("*"):
        if int(fields.get("target", "0"), 16) != int(operands.split()[0], 16):
            yield f"target {fields.get('target')}"
    if flow in ("jump", "call") and operands.startswith("*%r") and "(" not in operands and ":" not in operands:
        if int(fields.get("register", "-1")) != number(operands[1:])[0]:
            yield f"register {fields.get('register')}"
    expected = memory_of(at, code, prefixes, mnemonic, operands)
    if (expected is not None) != ("where" in fields):
        yield f"where {fields.get('where')}, not {expected}"
    elif expected is not None:
        base, index, scale, displacement, segment, is_32, kind = expected
        w = fields["where"].split(",")
        got = (int(w[0]), int(w[1]), int(w[2]), int(w[3], 16), int(w[4]))
        if is_32 is None:
            is_32 = w[7] == "1"
        want = (base, index, scale, displacement & (1 << 64) - 1, segment)
        if got[3] != want[3] and is_32 and (got[3] ^ want[3]) & 0xffffffff == 0:
            got = want
        if got != want or w[7] != str(int(is_32)):
            yield f"where {fields['where']}, not {want} {is_32}"
        gather = gather_elements(mnemonic, operands, code)
        if (kind in ("x", "y", "z")) != (w[5] != "0"):
            yield f"elements {w[5]}"
        if gather is not None and (int(w[5]), int(w[6])) != gather[1:]:
            yield f"index and data of {w[5]} and {w[6]} bytes, not {gather[1:]}"
        accessed = int(w[6]) != 0
        if accessed != (HINTS.match(mnemonic) is None):
            yield f"{w[6]} bytes"
    vectors = re.search(r"%([xyz]?mm\d|k[0-7]|st)", operands) is not None or VECTORS.match(mnemonic) is not None
    if vectors != ("vectors" in flags):
        yield f"vectors {'vectors' in flags}"


def check(objdump, answers):
    count = wrong = 0
    seen = {}
    for (at, code, text), (address, fields, flags) in zip(instructions(objdump), read_answers(answers), strict=True):
        if at != address:
            print(f"another instruction: {at:x} {address:x}")
            return
        count += 1
        for fault in check_one(at, code, text, fields, flags):
            wrong += 1
            kind = split(text)[1] + fault.split(" ", maxsplit=1)[0]
            seen[kind] = seen.get(kind, 0) + 1
            if seen[kind] <= 3:
                print(f"{at:x} {code.hex()} {text}: {fault}")
    print(f"{count} instructions, {wrong} differ")


def copies(objdump, answers, out):
    """Checks that a copy with another register, or with an empty distance, reads as the instruction
    does except for that."""
    with open(out, "wb") as code_file:
        for (_, code, text), (_, fields, _) in zip(instructions(objdump), read_answers(answers), strict=True):
            if "copy" not in fields:
                continue
            copy = bytes.fromhex(fields["copy"])
            prefixes, mnemonic, operands = split(text)
            wanted = operands
            if "stack_as" in fields:
                other = REGISTERS[int(fields["stack_as"])]
                wanted = re.sub(r"\(%(r|e)sp", lambda m: f"(%{m.group(1)}{other}", operands)
                rest = MEMORY.sub("", operands) + "".join(m.group(4) or "" for m in MEMORY.finditer(operands))
                name = f"%[er]?({other}|{other[0]}[lh])\\b"
                hidden = {"cx": r"^(sh|sa|ro|rc)[lr]|^(mul|imul|div|idiv|cmpxchg)", "dx": r"^(mul|imul|i?div|cmpxchg)", "bx": r"^cmpxchg"}
                if re.search(name, rest) or (other in ("dx", "bx") and re.match(hidden[other], mnemonic) and "," not in operands):
                    print(f"used: {other}: {text}")
                if "%rsp" not in operands and "%esp" not in operands:
                    print(f"no stack: {text}")
            else:
                wanted = re.sub(r"-?0x[0-9a-f]+\(%rip\)", "0x0(%rip)", operands)
                if int(fields["fixup"].split(",")[2], 16) != int(fields["where"].split(",")[3], 16) or \
                        int(fields["fixup"].split(",")[1]) != len(copy):
                    print(f"fixup {fields['fixup']}: {text}")
            if len(copy) != len(code):
                print(f"{len(copy)} bytes: {text}")
            code_file.write(copy)
            print("want", " ".join([*prefixes, mnemonic, wanted]).strip())


def main():
    if sys.argv[1] == "questions":
        for at, code, _ in instructions(sys.argv[2]):
            print(f"{at:x} {code.hex()}")
    elif sys.argv[1] == "check":
        check(sys.argv[2], sys.argv[3])
    elif sys.argv[1] == "plain":
        for _, _, text in instructions(sys.argv[2]):
            prefixes, mnemonic, operands = split(text)
            # objdump shows an absent index if the base is not rsp.
            print("want", re.sub(r",%[re]iz,1", "", " ".join([*prefixes, mnemonic, operands])).strip())
    else:
        copies(sys.argv[2], sys.argv[3], sys.argv[4])


main()
