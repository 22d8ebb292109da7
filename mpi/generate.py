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
from function_body import Body, follows, indent, jump_if_asleep  # noqa: E402
from function_list import read_list  # noqa: E402


def parameters(n):
    return ", ".join(f"mpi_word a{i}" for i in range(n)) or "void"


def types(n):
    return ", ".join(["mpi_word"] * n) or "void"


def c_wrapper(f):
    n = len(f.arguments)
    body = Body(f, False).prepare()
    before_free, after_free = follows(body)
    asleep = jump_if_asleep(f, 0, body.arguments(n, False))
    before_free, after_free = before_free + body.number_before, after_free + body.number_after
    number = "MPI_NUMBER_" + f.name
    out = f"typedef int real_{f.name}({types(n)});\n\n" + body.later_function()
    with_counted = (parameters(n) + ", " if n else "") + "const bool counted"
    out += f"MPI_INLINE int record_{f.name}({with_counted})\n{{\n"
    out += indent(["struct recorder_thread *t = &recorder_self;",
                   f"real_{f.name} *real = (real_{f.name} *)mpi_real[0][{number}];"])
    out += indent(["const uint32_t depth = t->open_depth - 1;"] + window_of(after_free) + body.before + before_free + body.completing + body.tell)
    out += indent([f"mpi_enter(t, {number}, {body.enter});"] + body.begun + ["if (counted)", "    mpi_count_begin(t);",
                   f"int result = MPI_REAL(counted, real({body.arguments(n)}));"])
    out += indent(after_free + body.after)
    out += indent(["if (counted)", "    mpi_count_end(t, depth);", f"mpi_close_recorded(t, depth, {number}, {body.leave});",
                   "return result;"])
    out += "}\n\n"
    rest = body.arguments(n, False)
    everything = rest + (", " if n else "")
    out += f"static MPI_RECORDED int recorded_{f.name}({parameters(n)})\n{{\n    return record_{f.name}({everything}false);\n}}\n\n"
    out += f"static MPI_RECORDED int recorded_counted_{f.name}({parameters(n)})\n{{\n    return record_{f.name}({everything}true);\n}}\n\n"
    out += followed(f, body)
    profile_before, profile_after, kind, comm, amount = body.profile()
    real = f"MPI_REAL(t->counted != 0, real({rest}))"
    if body.matters:
        real = f"RT_UNLIKELY({body.matters}) ? followed_{f.name}(real, {follower_words(f, body)}{rest}) : {real}"
    out += f"static MPI_RECORDED int profiled_{f.name}({parameters(n)})\n{{\n"
    out += indent(["struct recorder_thread *t = &recorder_self;", "const uint32_t depth = t->open_depth - 1;"] + profile_before +
                  ["const struct mpi_profiled call = mpi_profile_begin(mpi_return_at(t, depth));", "uint64_t end;", "int result;",
                   "if (t->recording != 0) {",
                   f"    result = t->counted != 0 ? recorded_counted_{f.name}({rest}) : recorded_{f.name}({rest});",
                   "    end = clock_ticks();", "} else {",
                   f"    real_{f.name} *real = (real_{f.name} *)mpi_real[0][{number}];"])
    out += indent(before_free + [f"result = {real};", "end = clock_ticks();"] + outside(after_free), " " * 8)
    out += indent([f"    mpi_close(t, depth, {number});", "}"] + profile_after +
                  [f"mpi_profile_add(t, call.return_at, end - call.begin, mpi_profile_what({number}, depth, {kind}, result == 0), {comm}, {amount});",
                   "return result;"]) + "}\n\n"
    real_of = f"real_{f.name} *real = (real_{f.name} *)mpi_real"
    find = f'{real_of}_function(0, {number}, "{f.c_name}");'

    def call(depth, return_at, real, recorded):
        if body.matters:
            real = f"RT_UNLIKELY({body.matters}) ? followed_{f.name}(real, {follower_words(f, body)}{rest}) : {real}"
        return indent([f"const uint32_t depth = {depth};",
                       f"if (mpi_open_at(t, depth, {number}, {return_at}))",
                       f"    return RT_UNLIKELY(t->profile != NULL) ? profiled_{f.name}({rest})",
                       f"                                          : {recorded};"] +
                      before_free + [f"int result = {real};"] + outside(after_free) +
                      [f"mpi_close(t, depth, {number});", "return result;"]) + "}\n\n"

    # Nested calls, and calls of threads whose instructions are counted, are rare. So the path of
    # outermost calls has its depth as a constant.
    origin, origin_here = "struct mpi_origin from", "MPI_ORIGIN()"
    if n:
        origin, origin_here = origin + ", ", origin_here + ", "
    out += f"MPI_INLINE int other_{f.name}(struct mpi_origin from, {with_counted})\n{{\n"
    out += indent(["struct recorder_thread *t = &recorder_self;", find,
                   f"if (mpi_passes_nested(t, {number}, from))",
                   f"    return MPI_REAL(counted, real({rest}));"])
    out += call("t->open_depth", "from.return_at", f"MPI_REAL(counted, real({rest}))",
                f"(counted ? recorded_counted_{f.name}({rest}) : recorded_{f.name}({rest}))")
    out += f"RT_COLD static int nested_{f.name}({origin}{parameters(n) if n else ''})\n{{\n"
    out += f"    return other_{f.name}(from, {everything}false);\n}}\n\n"
    out += f"RT_COLD RECORDER_ENTRY static int counted_{f.name}({origin}{parameters(n) if n else ''})\n{{\n"
    out += indent([f"const unsigned own = mpi_hooks.own_begin({number});", f"int result = other_{f.name}(from, {everything}true);",
                   "MPI_OWN_END(own);", "return result;"]) + "}\n\n"
    out += f"MPI_AWAKE int awake_{f.name}" if asleep else f"MPI_ENTRY int {f.c_name}"
    out += f"({parameters(n)})\n{{\n" + indent(["struct recorder_thread *t = &recorder_self;"])
    out += indent(["if (MPI_IS_NESTED(t))", f"    return t->counted != 0 ? counted_{f.name}({origin_here}{rest})",
                   f"                           : nested_{f.name}({origin_here}{rest});", find])
    out += call("0", "MPI_RETURN_AT()", f"real({rest})", f"recorded_{f.name}({rest})")
    if asleep:
        out += f"MPI_ENTRY int {f.c_name}({parameters(n)})\n{{\n{asleep}    return awake_{f.name}({rest});\n}}\n\n"
    # By a name that no other library's MPI_X can stand before: mpi/own_cost.c calls it.
    out += f'static int entry_{f.name}({types(n)}) __attribute__((alias("{f.c_name}")));\n'
    return out + f"MPI_MEASURED(entry_{f.name}, {number});\n\n"


def outside(lines):
    """The same lines where the call's enter event is not recorded."""
    return [line.replace("(t, window, ", "(t, STREAM_NO_WINDOW, ") for line in lines]


def window_of(lines):
    """C code that keeps the window of the call's enter event, if the lines need it."""
    return ["const int32_t window = t->window;"] if any("(t, window, " in line for line in lines) else []


def follower_words(f, body):
    """The number of the call's receive, for code that takes its completion."""
    return "number, " if "(number &" in body.matters else ""


def followed(f, body):
    """C function that makes a call outside windows and takes what it completes."""
    if not body.matters:
        return ""
    n = len(f.arguments)
    numbered = "mpi_number number, " if follower_words(f, body) else ""
    out = f"static MPI_RECORDED int followed_{f.name}(real_{f.name} *real, {numbered}{parameters(n)})\n{{\n"
    out += indent(["struct recorder_thread *t = &recorder_self;"] + body.completing +
                  [f"int result = MPI_REAL(t->counted != 0, real({body.arguments(n)}));"] + body.completed + ["return result;"])
    return out + "}\n\n"


def fortran_profile(f, body, n, ierror, descriptor):
    """C code that finds the communicator that a call frees, and the C function that adds a call to
    the profile."""
    before, after, kind, comm, amount = body.profile()
    freed = [line.replace("const uint64_t freed = ", "const uint64_t freed = profiled.begin == 0 ? 0 : ") for line in before]
    words = "uint64_t freed, " if before else ""
    out = f"static MPI_RECORDED void profile_{f.name}(struct recorder_thread *t, struct mpi_profiled call, uint32_t depth, {words}{descriptor}{parameters(n)})\n{{\n"
    lines = ["const uint64_t end = clock_ticks();", f"const int result = mpi_fortran_result(a{ierror});"] + after
    lines += [f"mpi_profile_add(t, call.return_at, end - call.begin, mpi_profile_what(MPI_NUMBER_{f.name}, depth, {kind}, result == 0), {comm}, {amount});"]
    known = [f"a{i}" for i in range(n)] + (["descriptor"] if descriptor else [])
    unused = [w for w in known if not re.search(rf"\b{w}\b", "\n".join(lines))]
    return freed, out + indent([f"(void){w};" for w in unused] + lines) + "}\n\n"


def fortran_wrapper(f):
    n = f.fortran_arguments()
    ierror = n - 1 - sum(k.startswith("string") for _, k in f.arguments)
    if f.roles.get("fortran"):
        body = Body(f, True)
        body.enter, body.leave = "mpi_peer_tag(MPI_NOBODY, MPI_NOBODY), 0", "0, 0"
    else:
        body = Body(f, True).prepare()
    before_free, after_free = follows(body)
    before_free, after_free = before_free + body.number_before, after_free + body.number_after
    number = f"MPI_NUMBER_{f.name}"
    entry = number + " | MPI_OPEN_FORTRAN"
    everything = body.arguments(n, False)
    out = f"typedef void real_{f.name}({types(n)});\n\n" + (body.later_function() if body.lacks else "")
    descriptor = "bool descriptor, " if "in_place" in f.roles else ""
    freed, profile = fortran_profile(f, body, n, ierror, descriptor)
    out += profile
    out += f"RECORDER_ENTRY static void call_{f.name}(real_{f.name} *real, struct mpi_origin from, {descriptor}{parameters(n)})\n{{\n"
    out += indent(["struct recorder_thread *t = &recorder_self;",
                   "const unsigned own = MPI_OWN_BEGIN(t);",
                   f"if (MPI_PASSES_FROM(t, {number}, from)) {{",
                   f"    MPI_REAL_VOID(t->counted != 0, real({everything}));",
                   "    MPI_OWN_END(own);",
                   "    return;",
                   "}",
                   "uint32_t depth = t->open_depth;",
                   f"const bool open = mpi_open_at(t, depth, {entry}, from.return_at);"])
    out += indent(["const struct mpi_profiled profiled = mpi_profile_begin_if(open, t, from.return_at);"] + freed +
                  ["if (!open || t->recording == 0) {"])
    out += indent(before_free, " " * 8)
    if body.matters:
        out += indent([f"if (RT_UNLIKELY({body.matters})) {{"] +
                      ["    " + line for line in body.completing +
                       [f"MPI_REAL_VOID(t->counted != 0, real({body.arguments(n)}));",
                        f"int result = mpi_fortran_result(a{ierror});"] + body.completed] +
                      ["} else {", f"    MPI_REAL_VOID(t->counted != 0, real({everything}));", "}"], " " * 8)
    else:
        out += indent([f"MPI_REAL_VOID(t->counted != 0, real({everything}));"], " " * 8)
    if after_free:
        out += indent([f"int result = mpi_fortran_result(a{ierror});"] + outside(after_free), " " * 8)
    out += indent([f"    mpi_close(t, depth, {entry});", "} else {"])
    recorded = window_of(after_free) + body.before + before_free + body.completing + body.tell
    recorded += [f"mpi_enter(t, {entry}, {body.enter});"] + body.begun
    recorded += ["mpi_count_begin(t);", f"MPI_REAL_VOID(t->counted != 0, real({body.arguments(n)}));"]
    if after_free or body.after or "result" in body.leave:
        recorded += [f"int result = mpi_fortran_result(a{ierror});"]
    recorded += after_free + body.after
    recorded += ["mpi_count_end(t, depth);", f"mpi_close_recorded(t, depth, {entry}, {body.leave});"]
    out += indent(recorded, " " * 8)
    out += indent(["}", "if (RT_UNLIKELY(profiled.begin != 0))",
                   f"    profile_{f.name}(t, profiled, depth, {'freed, ' if freed else ''}{'descriptor, ' if descriptor else ''}{everything});",
                   "MPI_OWN_END(own);"])
    out += "}\n\n"
    for row, name, aliases in f.fortran_names():
        out += f"MPI_ENTRY void {name}({parameters(n)})\n{{\n" + jump_if_asleep(f, row, everything)
        row_descriptor = ("true, " if row == 3 else "false, ") if descriptor else ""
        out += indent([f'real_{f.name} *real = (real_{f.name} *)mpi_real_function({row}, {number}, "{name}");',
                       f"call_{f.name}(real, MPI_ORIGIN(), {row_descriptor}{everything});"])
        out += "}\n\n"
        for alias in aliases:
            out += f'MPI_EXPORT void {alias}({types(n)}) __attribute__((alias("{name}")));\n'
        out += "\n" if aliases else ""
    return out


TOP = """/* SPDX-License-Identifier: BSD-3-Clause
 * {what}; made by mpi/generate.py from mpi/functions.list. */
"""


def chunk(functions, part):
    k, n = (int(x) for x in part.split("/"))
    return [f for i, f in enumerate(functions) if i * n // len(functions) == k - 1]


def make_wrappers(functions, part):
    out = TOP.format(what="C entry points") + '#include "mpi/wrapper.h"\n\n#include "mpi/prototypes.h"\n\n'
    for f in chunk(functions, part):
        if not f.special:
            out += c_wrapper(f)
    return out


def make_fortran(functions, part):
    out = TOP.format(what="Fortran entry points") + '#include "mpi/wrapper.h"\n\n#include "mpi/prototypes.h"\n\n'
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
    out = TOP.format(what="Names of the MPI functions") + '#include "base/format/event.h"\n\n#include <stddef.h>\n\n'
    out += "static const char *const names[] = {\n"
    out += "".join(f'    "{f.c_name}",\n' for f in functions)
    out += f"}};\n\nconst uint32_t event_mpi_functions = {len(functions)};\n\n"
    roles = [f.roles for f in functions]
    out += f"static const uint8_t waits[{len(functions)}] = {{\n"
    out += "".join(f"    [{i}] = EVENT_MPI_WAITS_{r['waits'].upper()},\n" for i, r in enumerate(roles) if "waits" in r)
    initialize = " || ".join(f"function == {i}" for i, r in enumerate(roles) if "initializes" in r)
    return out + ("};\n\nconst char *event_mpi_name(uint32_t function)\n{\n"
                  f"    return function < {len(functions)} ? names[function] : NULL;\n}}\n\n"
                  "enum event_mpi_waits event_mpi_waits(uint32_t function)\n{\n"
                  f"    return function < {len(functions)} ? (enum event_mpi_waits)waits[function] : EVENT_MPI_WAITS_NOT;\n}}\n\n"
                  f"bool event_mpi_initializes(uint32_t function)\n{{\n    return {initialize};\n}}\n")


def exports(functions):
    names = []
    for f in functions:
        names.append(f.c_name)
        if f.name in ("Wtime", "Wtick", "Aint_add", "Aint_diff", "Pcontrol", "Init", "Init_thread", "Finalize", "Abort",
                      "Session_init") or not f.special:
            for row, name, aliases in f.fortran_names():
                if not (f.special and row == 3):
                    names += [name] + aliases
    return sorted(names)


def make_exports(functions, _):
    return "".join(name + "\n" for name in exports(functions))


def make_doc(functions, _):
    out = "# MPI functions and what is recorded of them\n\n"
    out += ("Made from `mpi/functions.list`. Every function but MPI_Pcontrol (a mark), MPI_Aint_add and MPI_Aint_diff is recorded "
            "with its begin and end, in C and Fortran (`mpif.h`, `use mpi`, `mpi_f08`); the columns say which arguments give the event's fields.\n"
            "Bytes are those that the call's own rank puts in (the room offered, for receives and reads).\n\n")
    out += "| number | function | peer | tag | communicator | bytes | request | completes |\n"
    out += "| ---: | --- | --- | --- | --- | --- | --- | --- |\n"
    for f in functions:
        r = f.roles
        request = r.get("request") or r.get("uses") or r.get("message") or r.get("takes") or ("started ones" if "starts" in r else "")
        amount = r.get("bytes", "") + (f"; in place {r['in_place']}" if "in_place" in r else "")
        cells = [str(f.number), f.c_name, r.get("peer", ""), r.get("tag", ""), r.get("comm", "") or ("of " + r.get("win", r.get("file", "")) if "win" in r or "file" in r else ""), amount, request,
                 r.get("complete", "")]
        out += "| " + " | ".join(c.replace("*", "\\*") for c in cells) + " |\n"
    return out


MAKE = {"header": make_header, "prototypes": make_prototypes, "names": make_names, "wrappers": make_wrappers,
        "fortran": make_fortran, "exports": make_exports, "doc": make_doc}


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
