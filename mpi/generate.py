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
from function_list import HANDLE, WIDE, read_list  # noqa: E402


class Body:
    """The pieces of one function's recorded path, for C or Fortran arguments."""

    def __init__(self, function, fortran):
        self.f = function
        self.fortran = "true" if fortran else "false"
        self.descriptor = "descriptor" if fortran else "false"
        self.passed = {}
        self.before, self.begun, self.after = [], [], []

    def word(self, name):
        return f"a{self.f.index[name]}"

    def kind(self, name):
        return self.f.arguments[self.f.index[name]][1]

    def number(self, name):
        read = "mpi_wide_argument" if self.kind(name) in WIDE else "mpi_int_argument"
        return f"{read}({self.word(name)}, {self.fortran})"

    def count(self, name):
        value = self.number(name)
        return value if self.kind(name) in WIDE else f"(mpi_word)(int64_t)(int){value}"

    def handle(self, name):
        if name.startswith("*"):
            name = name[1:]
            kind = HANDLE[self.kind(name).rstrip("*")]
            return f"mpi_handle_element({kind}, {self.word(name)}, 0, {self.fortran})"
        return f"mpi_handle_argument({HANDLE[self.kind(name)]}, {self.word(name)}, {self.fortran})"

    def message(self, role):
        return f"mpi_message_at({self.word(self.f.roles[role].lstrip('*'))}, {self.fortran})"

    def array(self, name):
        wide = "true" if self.kind(name)[:-2] in WIDE else "false"
        return f"{self.word(name)}, {wide}"

    def product(self, text):
        """C expression for counts and type sizes multiplied."""
        m = re.fullmatch(r"sumw\((\w+),(\w+)\)", text)
        if m:
            return f"mpi_sum_types({self.array(m[1])}, {self.word(m[2])}, comm, {self.fortran})"
        factors, type_size = [], None
        for factor in re.findall(r"(?:\w+\(\w+\)|\w+)", text):
            m = re.fullmatch(r"(sum|own)\((\w+)\)", factor)
            if m:
                factors.append(f"mpi_{m[1]}({self.array(m[2])}, comm)")
            elif factor == "size":
                factors.append("mpi_known_size(comm)")
            elif factor.isdigit():
                factors.append(f"(mpi_word){factor}")
            elif self.kind(factor) == "type":
                type_size = self.handle(factor)
            else:
                factors.append(self.count(factor))
        return f"mpi_bytes({' * '.join(factors)}, {type_size})"

    def bytes(self):
        roles = self.f.roles
        if "bytes" not in roles:
            return "0"
        value = self.product(roles["bytes"])
        if "in_place" in roles:
            buffer = "recvbuf" if re.search("scatter", self.f.name, re.I) else "sendbuf"
            test = f"mpi_is_in_place({self.word(buffer)}, {self.fortran}, {self.descriptor})"
            value = f"{test} ? {self.product(roles['in_place'])} : {value}"
        if roles.get("peer") == "root":
            # between groups only the root's group and the root have arguments that mean anything
            means = "mpi_some_root" if re.search("bcast|reduce", self.f.name, re.I) else "mpi_some_rank"
            value = f"!{means}(peer) ? 0 : {value}"
        return value

    def prepare(self):
        roles = self.f.roles
        lines = self.before
        if "comm" in roles:
            lines.append(f"uint64_t comm = {self.handle(roles['comm'])};")
            lines.append("uint32_t comm_id = mpi_comm_id(t, comm);")
        if "peer" in roles:
            lines.append(f"uint32_t peer = mpi_peer({self.number(roles['peer'])});")
        if "tag" in roles:
            lines.append(f"uint32_t tag = mpi_tag({self.number(roles['tag'])});")
        if "uses" in roles:
            lines.append(f"uint64_t request = {self.handle(roles['uses'])};")
        if "complete" in roles:
            self.complete(*re.fullmatch(r"(\w+)\((.*)\)", roles["complete"]).groups())
        peer = "peer" if "peer" in roles else "MPI_NOBODY"
        tag = "tag" if "tag" in roles else "MPI_NOBODY"
        comm_id = "comm_id" if "comm" in roles else "0"
        self.enter = f"mpi_peer_tag({peer}, {tag}), mpi_bytes_comm({self.bytes()}, {comm_id})"
        self.leave = "0, 0"
        if "request" in roles:
            request = self.handle("*" + roles["request"])
            self.leave = f"result == 0 ? {request} : 0, 0"
            if "PERSISTENT" not in request_kind(self.f):
                self.after += ["if (result == 0)", f"    {self.request_made()}"]
        elif "uses" in roles:
            self.leave = "request, 0"
        if "message" in roles:
            found = f" && mpi_read_int({self.word('flag')}) != 0" if "flag" in self.f.index else ""
            self.leave = f"result == 0{found} ? {self.message('message')} : 0, 0"
        if "takes" in roles:
            lines.append(f"uint64_t message = {self.message('takes')};")
            self.after.insert(0, "mpi_message_taken(t, message);")
        if "source" in roles:
            source, rtag = self.number(roles["source"]), self.number(roles["rtag"])
            self.begun.append(f"mpi_receives(t, mpi_peer_tag(mpi_peer({source}), mpi_tag({rtag})), {self.product(roles['room'])});")
        if "newcomm" in roles:
            parent = "comm_id" if "comm" in roles else "0"
            self.after.append("if (result == 0)")
            self.after.append(f"    mpi_comm_created(t, {self.handle('*' + roles['newcomm'])}, {parent});")
        if "starts" in roles:
            which, names = re.fullmatch(r"(\w+)\((.*)\)", roles["starts"]).groups()
            names = names.split(",")
            count = "1" if which == "one" else self.number(names[0])
            self.after.append("if (result == 0)")
            self.after.append(f"    mpi_started(t, {count}, {self.word(names[-1])}, {self.fortran});")
        return self

    def request_made(self):
        request = self.handle("*" + self.f.roles["request"])
        return f"mpi_request_made(t, {request}, {request_kind(self.f)});"

    def complete(self, which, names):
        names = names.split(",")
        words = [self.word(n) for n in names]
        f = self.fortran
        if which in ("one", "receive"):
            request = words[0] if which == "one" else "0"
            status = self.f.index[names[1] if which == "one" else names[0]]
            self.before.append("struct mpi_one completion;")
            self.before.append(f"mpi_word status = mpi_one_begin(&completion, {request}, a{status}, {f});")
            self.passed[status] = "status"
            done = "result == 0"
            if len(words) == 3:
                done += f" && mpi_read_int({words[2]}) != 0"
            self.after.append(f"mpi_one_end(t, &completion, {done});")
            return
        self.before.append("struct mpi_many completion;")
        count = self.number(names[0])
        flag = ""
        if which == "any":
            status = self.f.index[names[2]]
            self.before.append("struct mpi_one one;")
            self.before.append(f"mpi_word status = mpi_any_begin(&completion, &one, {count}, {words[1]}, a{status}, {f});")
            if len(words) == 5:
                flag = f" && mpi_read_int({words[4]}) != 0"
            end = f"mpi_any_end(t, &completion, &one, {words[3]}, {f});"
        else:
            status = self.f.index[names[2]]
            self.before.append(f"mpi_word status = mpi_many_begin(&completion, {count}, {words[1]}, a{status}, {f});")
            if which == "all":
                if len(words) == 4:
                    flag = f" && mpi_read_int({words[3]}) != 0"
                end = "mpi_many_end(t, &completion, result);"
            else:
                end = f"mpi_some_end(t, &completion, result, {words[3]}, {words[4]}, {f});"
        self.passed[status] = "status"
        done = "result == 0" if which == "any" else "mpi_many_done(result)"
        self.after += [f"if ({done}{flag})", "    " + end]
        self.after.append("mpi_many_free(&completion);")

    def arguments(self, n, passed=True):
        return ", ".join(self.passed.get(i, f"a{i}") if passed else f"a{i}" for i in range(n))


def parameters(n):
    return ", ".join(f"mpi_word a{i}" for i in range(n)) or "void"


def types(n):
    return ", ".join(["mpi_word"] * n) or "void"


def request_kind(f):
    """What the status of a completed request tells (enum mpi_request_kind)."""
    if f.name.startswith("Isendrecv"):
        return "mpi_request_of_both()"
    receives = re.match(r"(Irecv|Imrecv|Recv_init|Precv_init)", f.name)
    kind = "MPI_REQUEST_RECEIVE" if receives else "MPI_REQUEST_OTHER"
    return kind + (" | MPI_REQUEST_PERSISTENT" if "_init" in f.name else "")


# Of communicators whose making is no call of all ranks of another one (enum mpi_comm_making).
MAKING = {"Comm_create_group": "MPI_MADE_BY_SOME", "Intercomm_create": "MPI_MADE_OF_TWO"}


def follows(body):
    """(before, after) of what must be known outside windows as well: making and ends of communicators, persistent requests."""
    f = body.f
    if "newcomm" in f.roles:
        how = MAKING.get(f.name, "MPI_MADE_BY_ALL") if "comm" in f.roles else "MPI_MADE_SOMEHOW"
        before = [f"uint64_t made_of = {body.handle(f.roles['comm']) if 'comm' in f.roles else '0'};"]
        tag = f"(int){body.number('tag')}" if "tag" in f.roles else "0"
        made = body.handle("*" + f.roles["newcomm"])
        return before, ["if (result == 0)", f"    mpi_comm_made(made_of, {made}, {how}, {tag});"]
    if "frees" in f.roles:
        return ([f"uint64_t ending = {body.handle('*' + f.roles['frees'])};"],
                ["if (result == 0)", "    mpi_comm_freed(ending);"])
    if f.name == "Request_free":
        return ([f"uint64_t ending = {body.handle('*request')};", "uint64_t noted = mpi_request_noted(ending);"],
                ["if (result == 0)", "    mpi_request_freed(ending, noted);"])
    if "request" in f.roles and "PERSISTENT" in request_kind(f):
        return [], ["if (result == 0)", f"    {body.request_made()}"]
    return [], []


def jump_if_asleep(f, row, arguments):
    """Of a wrapper that has nothing to follow while nothing can be recorded."""
    if any(follows(Body(f, False))):
        return ""
    passed = ", " + arguments if arguments else ""
    return f"    MPI_JUMP_IF_ASLEEP({row}, MPI_NUMBER_{f.name}, real_{f.name}{passed});\n"


def indent(lines, by="    "):
    return "".join(by + line + "\n" for line in lines)


def c_wrapper(f):
    n = len(f.arguments)
    body = Body(f, False).prepare()
    before_free, after_free = follows(body)
    number = "MPI_NUMBER_" + f.name
    out = f"typedef int real_{f.name}({types(n)});\n\n"
    with_counted = (parameters(n) + ", " if n else "") + "const bool counted"
    out += f"MPI_INLINE int record_{f.name}({with_counted})\n{{\n"
    out += indent(["struct recorder_thread *t = &recorder_self;",
                   f"real_{f.name} *real = (real_{f.name} *)mpi_real[0][{number}];"])
    out += indent(["const uint32_t depth = t->open_depth - 1;"] + body.before + before_free)
    out += indent([f"mpi_enter(t, {number}, {body.enter});"] + body.begun + ["if (counted)", "    mpi_count_begin(t);",
                   f"int result = MPI_REAL(counted, real({body.arguments(n)}));"])
    out += indent(after_free + body.after)
    out += indent(["if (counted)", "    mpi_count_end(t, depth);", f"mpi_close_recorded(t, depth, {number}, {body.leave});",
                   "return result;"])
    out += "}\n\n"
    rest = body.arguments(n, False)
    everything = rest + (", " if n else "")
    out += f"static MPI_RECORDED int recorded_{f.name}({parameters(n)})\n{{\n    return record_{f.name}({everything}false);\n}}\n\n"
    real_of = f"real_{f.name} *real = (real_{f.name} *)mpi_real"
    find = f'{real_of}_function(0, {number}, "{f.c_name}");'

    def call(depth, frame, real, recorded):
        return indent([f"const uint32_t depth = {depth};",
                       f"if (mpi_open_at(t, depth, {number}, {frame}))",
                       f"    return {recorded};"] +
                      before_free + [f"int result = {real};"] + after_free +
                      [f"mpi_close(t, depth, {number});", "return result;"]) + "}\n\n"

    # Nested calls, and those of threads whose instructions are counted, are rare: the way of the outermost ones has its depth as
    # a constant.
    origin, origin_here = "struct mpi_origin from", "MPI_ORIGIN()"
    if n:
        origin, origin_here = origin + ", ", origin_here + ", "
    out += f"MPI_INLINE int other_{f.name}({origin}{with_counted})\n{{\n"
    out += indent(["struct recorder_thread *t = &recorder_self;", find,
                   f"if (mpi_passes_nested(t, {number}, from.caller, from.frame))",
                   f"    return MPI_REAL(counted, real({rest}));"])
    out += call("t->open_depth", "from.frame", f"MPI_REAL(counted, real({rest}))",
                f"counted ? record_{f.name}({everything}true) : recorded_{f.name}({rest})")
    out += f"RT_COLD static int nested_{f.name}({origin}{parameters(n) if n else ''})\n{{\n"
    out += f"    return other_{f.name}(from, {everything}false);\n}}\n\n"
    out += f"RT_COLD RECORDER_ENTRY static int counted_{f.name}({origin}{parameters(n) if n else ''})\n{{\n"
    out += indent([f"const unsigned own = mpi_hooks.own_begin({number});", f"int result = other_{f.name}(from, {everything}true);",
                   "MPI_OWN_END(own);", "return result;"]) + "}\n\n"
    asleep = jump_if_asleep(f, 0, rest)
    out += f"MPI_AWAKE int awake_{f.name}" if asleep else f"MPI_ENTRY int {f.c_name}"
    out += f"({parameters(n)})\n{{\n" + indent(["struct recorder_thread *t = &recorder_self;"])
    out += indent(["if (MPI_IS_NESTED(t))", f"    return t->counted != 0 ? counted_{f.name}({origin_here}{rest})",
                   f"                           : nested_{f.name}({origin_here}{rest});", find])
    out += call("0", "MPI_FRAME()", f"real({rest})", f"recorded_{f.name}({rest})")
    if asleep:
        out += f"MPI_ENTRY int {f.c_name}({parameters(n)})\n{{\n{asleep}    return awake_{f.name}({rest});\n}}\n\n"
    # By a name that no other library's MPI_X can stand before: mpi/own_cost.c calls it.
    out += f'static int entry_{f.name}({types(n)}) __attribute__((alias("{f.c_name}")));\n'
    return out + f"MPI_MEASURED(entry_{f.name}, {number});\n\n"


def fortran_wrapper(f):
    n = f.fortran_arguments()
    ierror = n - 1 - sum(k.startswith("string") for _, k in f.arguments)
    if f.roles.get("fortran"):
        body = Body(f, True)
        body.enter, body.leave = "mpi_peer_tag(MPI_NOBODY, MPI_NOBODY), 0", "0, 0"
    else:
        body = Body(f, True).prepare()
    before_free, after_free = follows(body)
    number = f"MPI_NUMBER_{f.name}"
    entry = number + " | MPI_OPEN_FORTRAN"
    everything = body.arguments(n, False)
    out = f"typedef void real_{f.name}({types(n)});\n\n"
    descriptor = "bool descriptor, " if "in_place" in f.roles else ""
    out += f"RECORDER_ENTRY static void call_{f.name}(real_{f.name} *real, struct mpi_origin from, {descriptor}{parameters(n)})\n{{\n"
    out += indent(["struct recorder_thread *t = &recorder_self;",
                   "const unsigned own = MPI_OWN_BEGIN(t);",
                   f"if (MPI_PASSES_FROM(t, {number}, from)) {{",
                   f"    MPI_REAL_VOID(t->counted != 0, real({everything}));",
                   "    MPI_OWN_END(own);",
                   "    return;",
                   "}",
                   "uint32_t depth = t->open_depth;",
                   f"if (!mpi_open_at(t, depth, {entry}, from.frame)) {{"])
    out += indent(before_free + [f"MPI_REAL_VOID(t->counted != 0, real({everything}));"], " " * 8)
    if after_free:
        out += indent([f"int result = mpi_fortran_result(a{ierror});"] + after_free, " " * 8)
    out += indent([f"    mpi_close(t, depth, {entry});", "    MPI_OWN_END(own);", "    return;", "}"])
    out += indent(body.before + before_free)
    out += indent([f"mpi_enter(t, {entry}, {body.enter});"] + body.begun + ["mpi_count_begin(t);",
                   f"MPI_REAL_VOID(t->counted != 0, real({body.arguments(n)}));"])
    if after_free or body.after or "result" in body.leave:
        out += indent([f"int result = mpi_fortran_result(a{ierror});"])
    out += indent(after_free + body.after)
    out += indent(["mpi_count_end(t, depth);", f"mpi_close_recorded(t, depth, {entry}, {body.leave});", "MPI_OWN_END(own);"])
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
        if not f.special:
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
    out = TOP.format(what="Names of the MPI functions") + '#include "base/event.h"\n\n#include <stddef.h>\n\n'
    out += "static const char *const names[] = {\n"
    out += "".join(f'    "{f.c_name}",\n' for f in functions)
    out += f"}};\n\nconst uint32_t event_mpi_functions = {len(functions)};\n\n"
    return out + ("const char *event_mpi_name(uint32_t function)\n{\n"
                  f"    return function < {len(functions)} ? names[function] : NULL;\n}}\n")


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
        cells = [str(f.number), f.c_name, r.get("peer", ""), r.get("tag", ""), r.get("comm", ""), amount, request,
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
