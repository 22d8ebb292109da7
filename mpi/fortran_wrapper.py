# SPDX-License-Identifier: BSD-3-Clause
"""Fortran entry points of the wrappers, for generate.py."""
import re

from function_body import Body, indent
from function_follows import follows, jump_if_asleep
from wrapper_words import THREAD, outside, parameters, profile_add, types, window_of


def fortran_wrapper(f):
    """Returns the C code of a function's Fortran entry points, and of the functions they call."""
    return FortranWrapper(f).text()


class FortranWrapper:
    def __init__(self, f):
        self.f, self.n = f, f.fortran_arguments()
        self.ierror = self.n - 1 - sum(k.startswith("string") for _, k in f.arguments)
        self.body = body = Body(f, True)
        if f.roles.get("fortran"):
            body.enter, body.leave = "mpi_peer_tag(MPI_NOBODY, MPI_NOBODY), 0", "0, 0"
        else:
            body.prepare()
        self.before, self.after = follows(body)
        self.before, self.after = self.before + body.number_before, self.after + body.number_after
        self.number = f"MPI_NUMBER_{f.name}"
        self.opened = self.number + " | MPI_OPEN_FORTRAN"
        self.everything = body.arguments(self.n, False)
        self.has_descriptor = "in_place" in f.roles
        self.result = f"int result = mpi_fortran_result(a{self.ierror});"
        self.real = f"MPI_REAL_VOID(t->counted != 0, real({self.everything}));"
        self.real_followed = f"MPI_REAL_VOID(t->counted != 0, real({body.arguments(self.n)}));"

    def text(self):
        out = f"typedef void real_{self.f.name}({types(self.n)});\n\n"
        out += self.body.later_function() if self.body.lacks else ""
        freed, profile = self.profile()
        out += profile + self.call(freed)
        for row, name, aliases in self.f.fortran_names():
            out += self.entry(row, name)
            for alias in aliases:
                attribute = f'__attribute__((alias("{name}")))'
                out += f"MPI_EXPORT void {alias}({types(self.n)}) {attribute};\n"
            out += "\n" if aliases else ""
        return out

    def words(self):
        """The parameters, with the one that tells whether buffers are descriptors."""
        return "bool descriptor, " * self.has_descriptor + parameters(self.n)

    def profile(self):
        """C code that finds the communicator that a call frees, and the C function that adds a call
        to the profile."""
        before, after, kind, comm, amount = self.body.profile()
        is_off = "const uint64_t freed = profiled.begin == 0 ? 0 : "
        freed = [line.replace("const uint64_t freed = ", is_off) for line in before]
        words = "struct recorder_thread *t, struct mpi_profiled call, uint32_t depth, "
        words += "uint64_t freed, " * bool(before) + self.words()
        lines = ["const uint64_t end = clock_ticks();", "const " + self.result] + after
        lines += [profile_add(self.number, kind, comm, amount)]
        known = [f"a{i}" for i in range(self.n)] + ["descriptor"] * self.has_descriptor
        unused = [w for w in known if not re.search(rf"\b{w}\b", "\n".join(lines))]
        out = f"static MPI_RECORDED void profile_{self.f.name}({words})\n{{\n"
        return freed, out + indent([f"(void){w};" for w in unused] + lines) + "}\n\n"

    def not_recorded(self):
        """C code for a call outside windows."""
        body, lines = self.body, [self.real]
        if body.matters:
            followed = body.completing + [self.real_followed, self.result] + body.completed
            lines = [f"if (RT_UNLIKELY({body.matters})) {{"] + ["    " + x for x in followed]
            lines += ["} else {", "    " + self.real, "}"]
        lines = self.before + lines
        return lines + ([self.result] + outside(self.after) if self.after else [])

    def recorded(self):
        """C code for a call in a window."""
        body = self.body
        lines = window_of(self.after) + body.before + self.before + body.completing + body.tell
        lines += [f"mpi_enter(t, {self.opened}, {body.enter});"] + body.begun
        lines += ["mpi_count_begin(t);", self.real_followed]
        if self.after or body.after or "result" in body.leave:
            lines += [self.result]
        lines += self.after + body.after + ["mpi_count_end(t, depth);"]
        return lines + [f"mpi_close_recorded(t, depth, {self.opened}, {body.leave});"]

    def call(self, freed):
        """C function that makes a call of any of the Fortran interfaces."""
        name = self.f.name
        words = f"real_{name} *real, struct mpi_origin from, {self.words()}"
        lines = [THREAD, "const unsigned own = MPI_OWN_BEGIN(t);"]
        lines += [f"if (MPI_PASSES_FROM(t, {self.number}, from)) {{", "    " + self.real]
        lines += ["    MPI_OWN_END(own);", "    return;", "}", "uint32_t depth = t->open_depth;"]
        lines += [f"const bool open = mpi_open_at(t, depth, {self.opened}, from.return_at);"]
        lines += [
            "const struct mpi_profiled profiled = mpi_profile_begin_if(open, t, from.return_at);"
        ]
        lines += freed + ["if (!open || t->recording == 0) {"]
        lines += ["    " + line for line in self.not_recorded()]
        lines += [f"    mpi_close(t, depth, {self.opened});", "} else {"]
        lines += ["    " + line for line in self.recorded()]
        more = "freed, " * bool(freed) + "descriptor, " * self.has_descriptor
        lines += ["}", "if (RT_UNLIKELY(profiled.begin != 0))"]
        lines += [f"    profile_{name}(t, profiled, depth, {more}{self.everything});"]
        lines += ["MPI_OWN_END(own);"]
        return f"RECORDER_ENTRY static void call_{name}({words})\n{{\n" + indent(lines) + "}\n\n"

    def entry(self, row, name):
        """C function that the program calls."""
        f, descriptor = self.f, ""
        if self.has_descriptor:
            descriptor = "true, " if row == 3 else "false, "
        of = f"real_{f.name} *real = (real_{f.name} *)mpi_real_function"
        lines = [f'{of}({row}, {self.number}, "{name}");']
        lines += [f"call_{f.name}(real, MPI_ORIGIN(), {descriptor}{self.everything});"]
        out = f"MPI_ENTRY void {name}({parameters(self.n)})\n{{\n"
        return out + jump_if_asleep(f, row, self.everything) + indent(lines) + "}\n\n"
