# SPDX-License-Identifier: BSD-3-Clause
"""Judges profiles of t/tools/values/kernels.c.

Computes here, from the source of the loops, what they compute and which addresses they access.

kernels.py least|judge CLASS LISTING DISASSEMBLY SYMBOLS NAME...
    CLASS: classic, addr or lanes; NAME: the loops that ran
kernels.py stepped LISTING DISASSEMBLY STEPS NAME...
    STEPS: the output of the single-stepper
LISTING: the output of `regtrace values -json -cut 0 -most 0`
DISASSEMBLY: the output of objdump -d; SYMBOLS: the output of nm"""
import json
import math
import re
import struct
import sys

WHOLE = [7, 7, 7, 9]
QUADS = [[7, 1, 2, 3]] * 3 + [[9, 4, 5, 6]]
REGISTERS = "rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()


def real(number):
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def shares(values):
    """Returns the share of each of these equally likely values, and 1: a sample has one value."""
    return {v: values.count(v) / len(values) for v in values}, 1


def of_k(function):
    return shares([function(k) for k in range(4)])


def classic():
    """Returns the first 64 bits of the destination register, by loop and number of the instruction.
    """
    number, whole = of_k(lambda k: k), lambda factor: of_k(lambda k: WHOLE[k] * factor)
    floats = lambda factor: of_k(lambda k: real(WHOLE[k] * factor))
    mask = of_k(lambda k: 0xff if WHOLE[k] == 7 else 0)
    wanted = {
        "seven": {4: whole(1), 5: of_k(lambda k: WHOLE[k] + 1), 6: whole(2)},
        "strided": {4: shares(list(range(0, 64, 2))), 6: shares(list(range(2, 66, 2))), 7: shares(list(range(0, 64, 2)))},
        "stacked": {5: whole(1), 7: whole(2)},
        "x87": {4: floats(1), 5: floats(2)},
        "sse": {4: floats(1), 5: of_k(lambda k: real(WHOLE[k] ** 2))},
        "avx": {4: of_k(lambda k: 32 * k), 5: floats(1), 6: floats(2)},
        "gather": {4: number, 5: number, 6: number, 7: shares([2 ** 64 - 1]), 8: number},
        "avx512": {4: floats(1), 5: floats(2), 6: mask, 7: mask},
    }
    for loop in wanted.values():
        loop[3] = number
    return wanted


def addr(at):
    table = lambda name, size=8: of_k(lambda k: at[name] + size * k)
    stride = lambda first: shares([at["cells"] + first + 16 * i for i in range(32)])
    # An instruction has one address: for a push with a memory operand, the address of that operand.
    top = at["own_stack"] + 262144
    below = of_k(lambda k: top - 64 + 8 * k)
    gathered = {at["cells"] + 8 * (k + 4 * lane): 0.25 for k in range(4) for lane in range(4)}
    return {
        "seven": {4: table("whole")}, "strided": {4: stride(0), 5: stride(8)},
        "stacked": {4: table("whole"), 5: shares([top - 8]), 6: below, 7: below},
        "x87": {4: table("real")}, "sse": {4: table("real")}, "avx": {5: table("quads", 32)},
        "gather": {8: (gathered, 4)}, "avx512": {4: table("real")},
    }


def lanes():
    return {"avx": {6: of_k(lambda k: real(2 * QUADS[k][3]))}, "avx512": {5: of_k(lambda k: real(2 * WHOLE[k]))}}


def loops(path):
    """Returns the instructions of each function's loop in order, as (address, text)."""
    found, name = {}, None
    for line in open(path):
        head = re.match(r"[0-9a-f]+ <(\w+)>:", line)
        code = re.match(r" +([0-9a-f]+):\t[0-9a-f ]+\t(.*)", line)
        if head:
            name = head.group(1)
            found[name] = []
        elif code:
            found[name].append((int(code.group(1), 16), code.group(2).strip()))
    for name, lines in found.items():
        texts = [text.split()[0] for _, text in lines]
        if "imul" in texts:
            found[name] = lines[texts.index("imul"):texts.index("imul") + 12]
    return found


def listed(path):
    with open(path) as f:
        return {int(i["offset"], 16) if isinstance(i["offset"], str) else i["offset"]: i
                for i in json.load(f)["instructions"] if i["image"].endswith("kernels")}


class Judge:
    def __init__(self):
        self.wrong, self.all = [], []

    def instruction(self, where, found, wanted):
        """Records by how many standard errors each value's share is off.

        Each sample has an instruction once, so samples are independent."""
        share, each = wanted
        n = found["values"] / each
        counts = {int(h["value"], 16): h["times"] for h in found["hot"]}
        if found["estimated"] or found["values"] % each != 0 or sum(counts.values()) != found["values"]:
            self.wrong.append("%s: %d values, %d listed" % (where, found["values"], sum(counts.values())))
        for v in counts:
            if v not in share:
                self.wrong.append("%s: %#x never occurs" % (where, v))
        for v, p in share.items():
            count = counts.get(v, 0)
            if p == 1:
                if count != n:
                    self.wrong.append("%s: %#x %d times of %d" % (where, v, count, n))
                continue
            self.all.append(((count - n * p) / math.sqrt(n * p * (1 - p)), where, v, n))


def chance(n, p, least):
    """Returns the probability that at least `least` of n events happen, each with probability p."""
    return sum(math.comb(n, i) * p ** i * (1 - p) ** (n - i) for i in range(least, n + 1))


def judge(wanted, listing, code, names, shift):
    """Judges the listing. A nonzero shift makes the expected shares wrong by that much, which the
    judge must detect."""
    j = Judge()
    for name in names:
        for index, one in wanted.get(name, {}).items():
            address, text = code[name][index]
            where = "%s, %s" % (name, " ".join(text.split()))
            if shift and len(one[0]) == 2:
                a, b = one[0]
                one = ({a: one[0][a] + shift, b: one[0][b] - shift}, one[1])
            if address in listing:
                j.instruction(where, listing[address], one)
            else:
                j.wrong.append(where + ": is not listed")
    return j


def captured(wanted, listing, code, names):
    return min((listing[code[name][i][0]]["values"] // one[1] if code[name][i][0] in listing else 0
                for name in names for i, one in wanted.get(name, {}).items()), default=0)


def effective(text, r):
    """Returns the addresses that an instruction in objdump's notation accesses with these
    registers."""
    words = text.split(None, 1)
    found = []
    match = re.search(r"(-?0x[0-9a-f]+)?\((%\w+)?(?:,(%\w+),(\d))?\)", text)
    if words[0] == "vpgatherqq":  # the index is rdx; the lanes add 0, 4, 8 and 12
        return [r["rsi"] + 8 * (r["rdx"] + lane) for lane in (0, 4, 8, 12)]
    if match and not words[0].startswith(("lea", "nop")):
        offset, base, index, scale = match.groups()
        found.append(int(offset or "0", 16) + r[base[1:]] + (r[index[1:]] * int(scale) if index else 0))
    if words[0].startswith("push"):
        found.append(r["rsp"] - 8)
    if words[0].startswith("pop"):
        found.append(r["rsp"])
    return [a % 2 ** 64 for a in found]


def stepped(listing, code, steps, names):
    texts = {address: text for name in names for address, text in code[name]}
    seen = {}
    for line in open(steps):
        words = line.split()
        if words[0] == "regs" and int(words[1], 16) in texts:
            address = int(words[1], 16)
            r = dict(zip(REGISTERS, (int(w, 16) for w in words[2:])))
            seen.setdefault(address, set()).update(effective(texts[address], r))
    wrong, right = [], 0
    for address, text in texts.items():
        for h in listing.get(address, {"hot": []})["hot"]:
            if int(h["value"], 16) in seen.get(address, ()):
                right += 1
            else:
                wrong.append("%s at %#x: %s" % (text, address, h["value"]))
    missed = [texts[a] for a in seen if seen[a] and a not in listing]
    print("# %d instructions with addresses; %d listed addresses were seen by the stepper, %d were not"
          % (sum(1 for a in seen if seen[a]), right, len(wrong)))
    print("\n".join("# " + w for w in wrong + missed))
    return 1 if wrong or missed or right == 0 else 0


def main():
    if sys.argv[1] == "stepped":
        return stepped(listed(sys.argv[2]), loops(sys.argv[3]), sys.argv[4], sys.argv[5:])
    what, kind, listing, code, symbols, names = sys.argv[1], sys.argv[2], listed(sys.argv[3]), loops(sys.argv[4]), sys.argv[5], sys.argv[6:]
    at = {w[2]: int(w[0], 16) for w in (line.split() for line in open(symbols)) if len(w) == 3}
    wanted = {"classic": classic, "addr": lambda: addr(at), "lanes": lanes}[kind]()
    if what == "least":
        print(captured(wanted, listing, code, names))
        return 0
    j = judge(wanted, listing, code, names, 0.1 if what == "wrongly" else 0)
    far = sorted((abs(z), where, v, z, n) for z, where, v, n in j.all)
    beyond = [f for f in far if f[0] > 3]
    least = captured(wanted, listing, code, names)
    print("# %s: %d shares, of %d samples at least each; %d beyond 3 standard errors, of which %.2f are expected; farthest: %s"
          % (kind, len(far), least, len(beyond), 0.0027 * len(far), ", ".join("%+.2f (%s %#x)" % (f[3], f[1], f[2]) for f in far[:-4:-1])))
    print("\n".join("# " + w for w in j.wrong))
    # For many samples. Shares of one list depend on each other, and so do shares of instructions
    # with the same values: four of them count as one.
    many = least >= 100000
    too_many = many and len(beyond) > 0 and chance(-(-len(far) // 4), 0.0027, -(-len(beyond) // 4)) < 1e-7
    # A few hundred samples of rare values are not normally distributed yet: the limit is 9 instead
    # of 5.5, for a chance below 1 in 10^6.
    return 1 if j.wrong or not far or too_many or far[-1][0] > (5.5 if many else 9) else 0


sys.exit(main())
