#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the MPI wrappers, their names and their documentation from functions.list.

usage: generate.py functions.list KIND OUTPUT
KIND: header | prototypes | names | wrappers=K/N | fortran=K/N | exports | doc
"""
import os
import re
import sys

sys.dont_write_bytecode = True  # the source folder stays as it is
from c_wrapper import c_wrapper  # noqa: E402
from fortran_wrapper import fortran_wrapper  # noqa: E402
from function_list import read_list  # noqa: E402
from wrapper_words import types  # noqa: E402

TOP = """/* SPDX-License-Identifier: BSD-3-Clause
 * {what}; made by mpi/generate.py from mpi/functions.list. */
"""


def chunk(functions, part):
    k, n = (int(x) for x in part.split("/"))
    return [f for i, f in enumerate(functions) if i * n // len(functions) == k - 1]


def make_wrappers(functions, part):
    out = (
        TOP.format(what="C entry points")
        + '#include "mpi/wrapper.h"\n\n#include "mpi/prototypes.h"\n\n'
    )
    for f in chunk(functions, part):
        if not f.special:
            out += c_wrapper(f)
    return out


def make_fortran(functions, part):
    out = (
        TOP.format(what="Fortran entry points")
        + '#include "mpi/wrapper.h"\n\n#include "mpi/prototypes.h"\n\n'
    )
    for f in chunk(functions, part):
        if not f.special and f.fortran_names():
            out += fortran_wrapper(f)
    return out


def make_prototypes(functions, _):
    out = TOP.format(what="Prototypes of the generated entry points") + "#include <stdint.h>\n"
    for f in functions:
        if f.special:
            continue
        words = types(len(f.arguments)).replace("mpi_word", "uint64_t")
        out += f"int {f.c_name}({words});\n"
        words = types(f.fortran_arguments()).replace("mpi_word", "uint64_t")
        for _, name, _ in f.fortran_names():
            out += f"void {name}({words});\n"
    return out


def make_header(functions, _):
    out = TOP.format(what="Numbers of the MPI functions") + "#ifndef REGTRACE_MPI_FUNCTIONS_H\n"
    out += "#define REGTRACE_MPI_FUNCTIONS_H\n\nenum {\n"
    out += "".join(f"    MPI_NUMBER_{f.name} = {f.number},\n" for f in functions)
    return out + f"}};\n#define MPI_FUNCTIONS {len(functions)}\n\n#endif\n"


def make_names(functions, _):
    out = (
        TOP.format(what="Names of the MPI functions")
        + '#include "base/format/event.h"\n\n#include <stddef.h>\n\n'
    )
    out += "static const char *const names[] = {\n"
    out += "".join(f'    "{f.c_name}",\n' for f in functions)
    out += f"}};\n\nconst uint32_t event_mpi_functions = {len(functions)};\n\n"
    roles = [f.roles for f in functions]
    out += f"static const uint8_t waits[{len(functions)}] = {{\n"
    out += "".join(
        f"    [{i}] = EVENT_MPI_WAITS_{r['waits'].upper()},\n"
        for i, r in enumerate(roles)
        if "waits" in r
    )
    initialize = " || ".join(f"function == {i}" for i, r in enumerate(roles) if "initializes" in r)
    return out + (
        "};\n\nconst char *event_mpi_name(uint32_t function)\n{\n"
        f"    return function < {len(functions)} ? names[function] : NULL;\n}}\n\n"
        "enum event_mpi_waits event_mpi_waits(uint32_t function)\n{\n"
        f"    return function < {len(functions)} ? (enum event_mpi_waits)waits[function] : "
        "EVENT_MPI_WAITS_NOT;\n}\n\n"
        f"bool event_mpi_initializes(uint32_t function)\n{{\n    return {initialize};\n}}\n"
    )


def exports(functions):
    names = []
    for f in functions:
        names.append(f.c_name)
        if (
            f.name
            in (
                "Wtime",
                "Wtick",
                "Aint_add",
                "Aint_diff",
                "Pcontrol",
                "Init",
                "Init_thread",
                "Finalize",
                "Abort",
                "Session_init",
            )
            or not f.special
        ):
            for row, name, aliases in f.fortran_names():
                if not (f.special and row == 3):
                    names += [name] + aliases
    return sorted(names)


def make_exports(functions, _):
    return "".join(name + "\n" for name in exports(functions))


def make_doc(functions, _):
    out = "# MPI functions and what is recorded of them\n\n"
    out += (
        "Made from `mpi/functions.list`. Every function but MPI_Pcontrol (a mark), MPI_Aint_add "
        "and MPI_Aint_diff is recorded with its begin and end, in C and Fortran (`mpif.h`, "
        "`use mpi`, `mpi_f08`); the columns say which arguments give the event's fields.\n"
        "Bytes are those that the call's own rank puts in (the room offered, for receives and "
        "reads).\n\n"
    )
    out += "| number | function | peer | tag | communicator | bytes | request | completes |\n"
    out += "| ---: | --- | --- | --- | --- | --- | --- | --- |\n"
    for f in functions:
        r = f.roles
        request = (
            r.get("request")
            or r.get("uses")
            or r.get("message")
            or r.get("takes")
            or ("started ones" if "starts" in r else "")
        )
        amount = r.get("bytes", "") + (f"; in place {r['in_place']}" if "in_place" in r else "")
        cells = [
            str(f.number),
            f.c_name,
            r.get("peer", ""),
            r.get("tag", ""),
            r.get("comm", "")
            or ("of " + r.get("win", r.get("file", "")) if "win" in r or "file" in r else ""),
            amount,
            request,
            r.get("complete", ""),
        ]
        out += "| " + " | ".join(c.replace("*", "\\*") for c in cells) + " |\n"
    return out


MAKE = {
    "header": make_header,
    "prototypes": make_prototypes,
    "names": make_names,
    "wrappers": make_wrappers,
    "fortran": make_fortran,
    "exports": make_exports,
    "doc": make_doc,
}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    kind, _, part = sys.argv[2].partition("=")
    if kind not in MAKE:
        sys.exit(f"generate.py: no such kind: {kind}")
    text = MAKE[kind](read_list(sys.argv[1]), part)
    unfinished = sys.argv[3] + ".tmp"
    with open(unfinished, "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(unfinished, sys.argv[3])


if __name__ == "__main__":
    main()
