# SPDX-License-Identifier: BSD-3-Clause
"""Decodes a profile of pprof (profile.proto) and prints a line for each of its samples:
"N calls, T ns: function:line function:line ...", the outermost function first."""
import sys


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2, key
            n, at = varint(data, at)
            value, at = data[at : at + n], at + n
        yield key >> 3, value


def main(path):
    with open(path, "rb") as f:
        profile = list(fields(f.read()))
    strings = [v.decode() for k, v in profile if k == 6]
    types = [strings[dict(fields(v))[1]] for k, v in profile if k == 1]
    assert strings[0] == "" and types == ["calls", "time", "waited", "bytes"], types
    functions = {f[1]: strings[f[2]] for f in (dict(fields(v)) for k, v in profile if k == 5)}
    places = {}
    for location in (dict(fields(v)) for k, v in profile if k == 4):
        line = dict(fields(location[4]))
        places[location[1]] = f"{functions[line[1]]}:{line.get(2, 0)}"
    for sample in (list(fields(v)) for k, v in profile if k == 2):
        stack, values = [places[v] for k, v in sample if k == 1], [v for k, v in sample if k == 2]
        start = max(
            [i for i, p in enumerate(stack) if p.startswith("main:")], default=len(stack) - 1
        )
        print(f"{values[0]} calls, {values[1]} ns:", *reversed(stack[: start + 1]))


main(sys.argv[1])
