# SPDX-License-Identifier: BSD-3-Clause
"""C entry points of the wrappers, for generate.py."""
from function_body import Body, indent
from function_follows import follows, jump_if_asleep
from wrapper_words import THREAD, outside, parameters, profile_add, types, window_of


def c_wrapper(f):
    """Returns the C code of a function's entry point, and of the functions that it calls."""
    return CWrapper(f).text()


class CWrapper:
    def __init__(self, f):
        self.f, self.n = f, len(f.arguments)
        self.body = body = Body(f, False).prepare()
        self.before, self.after = follows(body)
        self.before, self.after = self.before + body.number_before, self.after + body.number_after
        self.number = "MPI_NUMBER_" + f.name
        self.rest = body.arguments(self.n, False)
        self.everything = self.rest + (", " if self.n else "")
        self.with_counted = (parameters(self.n) + ", " if self.n else "") + "const bool counted"

    def text(self):
        f = self.f
        out = f"typedef int real_{f.name}({types(self.n)});\n\n" + self.body.later_function()
        out += self.record() + self.followed() + self.profiled() + self.rare() + self.entry()
        # By a name that no other library's MPI_X can stand before: mpi/own_cost.c calls it.
        alias = f'__attribute__((alias("{f.c_name}")))'
        out += f"static int entry_{f.name}({types(self.n)}) {alias};\n"
        return out + f"MPI_MEASURED(entry_{f.name}, {self.number});\n\n"

    def function(self, kind, name, words, lines):
        """C code of a function with these parameters and lines."""
        return f"{kind} {name}_{self.f.name}({words})\n{{\n" + indent(lines) + "}\n\n"

    def real(self, call):
        """C expression for the call of MPI, outside windows."""
        if not self.body.matters:
            return call
        followed = f"followed_{self.f.name}(real, {self.follower_words()}{self.rest})"
        return f"RT_UNLIKELY({self.body.matters}) ? {followed} : {call}"

    # --- inside windows ---------------------------------------------------------------------------

    def record(self):
        """C functions that record a call: of a thread whose instructions are counted, or not."""
        f, body, number = self.f, self.body, self.number
        lines = [THREAD, f"real_{f.name} *real = (real_{f.name} *)mpi_real[0][{number}];"]
        lines += ["const uint32_t depth = t->open_depth - 1;"] + window_of(self.after)
        lines += body.before + self.before + body.completing + body.tell
        lines += [f"mpi_enter(t, {number}, {body.enter});"] + body.begun
        lines += ["if (counted)", "    mpi_count_begin(t);"]
        lines += [f"int result = MPI_REAL(counted, real({body.arguments(self.n)}));"]
        lines += self.after + body.after
        lines += ["if (counted)", "    mpi_count_end(t, depth);"]
        lines += [f"mpi_close_recorded(t, depth, {number}, {body.leave});", "return result;"]
        out = self.function("MPI_INLINE int", "record", self.with_counted, lines)
        for name, counted in ("recorded", "false"), ("recorded_counted", "true"):
            call = [f"return record_{f.name}({self.everything}{counted});"]
            out += self.function("static MPI_RECORDED int", name, parameters(self.n), call)
        return out

    # --- outside windows --------------------------------------------------------------------------

    def follower_words(self):
        """The number of the call's receive, for code that takes its completion."""
        return "number, " if "(number &" in self.body.matters else ""

    def followed(self):
        """C function that makes a call outside windows and takes what it completes."""
        f, body = self.f, self.body
        if not body.matters:
            return ""
        words = f"real_{f.name} *real, " + "mpi_number number, " * bool(self.follower_words())
        call = f"int result = MPI_REAL(t->counted != 0, real({body.arguments(self.n)}));"
        lines = [THREAD] + body.completing + [call] + body.completed + ["return result;"]
        return self.function(
            "static MPI_RECORDED int", "followed", words + parameters(self.n), lines
        )

    def profiled(self):
        """C function that makes a call and adds it to the profile."""
        f, rest, number = self.f, self.rest, self.number
        before, after, kind, comm, amount = self.body.profile()
        recorded = f"recorded_counted_{f.name}({rest}) : recorded_{f.name}({rest})"
        lines = [THREAD, "const uint32_t depth = t->open_depth - 1;"] + before
        lines += ["const struct mpi_profiled call = mpi_profile_begin(mpi_return_at(t, depth));"]
        lines += ["uint64_t end;", "int result;", "if (t->recording != 0) {"]
        lines += [f"    result = t->counted != 0 ? {recorded};", "    end = clock_ticks();"]
        lines += ["} else {", f"    real_{f.name} *real = (real_{f.name} *)mpi_real[0][{number}];"]
        real = self.real(f"MPI_REAL(t->counted != 0, real({rest}))")
        made = self.before + [f"result = {real};", "end = clock_ticks();"] + outside(self.after)
        lines += ["    " + line for line in made] + [f"    mpi_close(t, depth, {number});", "}"]
        lines += after + [profile_add(number, kind, comm, amount), "return result;"]
        return self.function("static MPI_RECORDED int", "profiled", parameters(self.n), lines)

    def call(self, depth, return_at, real, recorded):
        """C code that makes a call: recorded, profiled or as it is."""
        profiled = f"profiled_{self.f.name}({self.rest})"
        lines = [f"const uint32_t depth = {depth};"]
        lines += [f"if (mpi_open_at(t, depth, {self.number}, {return_at}))"]
        lines += [f"    return RT_UNLIKELY(t->profile != NULL) ? {profiled}"]
        lines += [f"                                          : {recorded};"] + self.before
        lines += [f"int result = {self.real(real)};"] + outside(self.after)
        return lines + [f"mpi_close(t, depth, {self.number});", "return result;"]

    # --- entry points -----------------------------------------------------------------------------

    def find(self):
        of = f"real_{self.f.name} *real = (real_{self.f.name} *)mpi_real_function"
        return f'{of}(0, {self.number}, "{self.f.c_name}");'

    def rare(self):
        """C functions for nested calls, and calls of threads whose instructions are counted. The
        path of outermost calls, which are many, has its depth as a constant."""
        name, real = self.f.name, f"MPI_REAL(counted, real({self.rest}))"
        recorded = f"recorded_counted_{name}({self.rest}) : recorded_{name}({self.rest})"
        lines = [THREAD, self.find(), f"if (mpi_passes_nested(t, {self.number}, from))"]
        lines += [f"    return {real};"]
        lines += self.call("t->open_depth", "from.return_at", real, f"(counted ? {recorded})")
        origin = "struct mpi_origin from" + (", " + parameters(self.n) if self.n else "")
        words = f"struct mpi_origin from, {self.with_counted}"
        out = self.function("MPI_INLINE int", "other", words, lines)
        nested = [f"return other_{name}(from, {self.everything}false);"]
        out += self.function("RT_COLD static int", "nested", origin, nested)
        counted = [f"const unsigned own = mpi_hooks.own_begin({self.number});"]
        counted += [f"int result = other_{name}(from, {self.everything}true);"]
        counted += ["MPI_OWN_END(own);", "return result;"]
        return out + self.function("RT_COLD RECORDER_ENTRY static int", "counted", origin, counted)

    def entry(self):
        """C function that the program calls."""
        f, rest = self.f, self.rest
        words = "MPI_ORIGIN()" + (", " + rest if self.n else "")
        lines = [THREAD, "if (MPI_IS_NESTED(t))"]
        lines += [f"    return t->counted != 0 ? counted_{f.name}({words})"]
        lines += [f"                           : nested_{f.name}({words});", self.find()]
        lines += self.call("0", "MPI_RETURN_AT()", f"real({rest})", f"recorded_{f.name}({rest})")
        asleep = jump_if_asleep(f, 0, rest)
        entry = f"MPI_ENTRY int {f.c_name}({parameters(self.n)})\n{{\n"
        if not asleep:
            return entry + indent(lines) + "}\n\n"
        out = self.function("MPI_AWAKE int", "awake", parameters(self.n), lines)
        return out + f"{entry}{asleep}    return awake_{f.name}({rest});\n}}\n\n"
