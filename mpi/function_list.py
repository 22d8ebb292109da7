# SPDX-License-Identifier: BSD-3-Clause
"""functions.list as generate.py reads it."""
import re
import sys

HANDLE = {
    "comm": "MPI_HANDLE_COMM",
    "type": "MPI_HANDLE_TYPE",
    "request": "MPI_HANDLE_REQUEST",
    "win": "MPI_HANDLE_WIN",
    "file": "MPI_HANDLE_FILE",
}
WIDE = {"count64", "aint", "offset"}
KINDS = set(HANDLE) | WIDE
KINDS |= set(
    "int buf string status pointer function group info op errhandler message session".split()
)
# Roles that name an argument, and the others.
NAMING = (
    "peer tag comm request uses newcomm frees message takes source rtag win newwin file newfile"
)
NAMING = NAMING.split()
ROLES = set(NAMING) | set("bytes in_place complete starts room special fortran c_only".split())
ROLES |= set("sends receives waits initializes partitioned".split())
# A large-count function has these roles of the small one.
OF_SMALL = ("sends", "receives", "waits", "file", "initializes")
VALUES = {
    "receives": {"in_call", "later"},
    "partitioned": {"sends", "receives"},
    "waits": set(
        "messages first_message found_message receiver ranks all_ranks ranks_later members".split()
    ),
}
# What "use mpi" has a second time, for arguments of type(c_ptr) (MPI-3.1, 8.2 and 11.2).
CPTR = {"Alloc_mem", "Win_allocate", "Win_allocate_shared", "Win_shared_query"}


MOST = 768  # EVENT_MPI_FUNCTIONS_MOST of base/format/event.h


class Function:
    def __init__(self, number, line, where):
        m = re.fullmatch(r"(\w+)\(([^)]*)\)(?: -> (\w+))?(?: ; (.*))?", line)
        if not m:
            sys.exit(f"{where}: cannot read: {line}")
        self.number = number
        self.extension = m.group(1).startswith("MPIX_")
        self.name = m.group(1).removeprefix("MPI")  # MPIX_Comm_agree becomes X_Comm_agree
        self.result = m.group(3) or "int"
        self.arguments = [tuple(a.split(":")) for a in m.group(2).split(", ")] if m.group(2) else []
        self.roles = {}
        for role in (m.group(4) or "").split():
            key, _, value = role.partition("=")
            if key not in ROLES or key in self.roles:
                sys.exit(f"{where}: bad or double role {key}")
            self.roles[key] = value
        for argument in self.arguments:
            if len(argument) != 2 or re.sub(r"[*]$|\[\]$", "", argument[1]) not in KINDS:
                sys.exit(f"{where}: bad argument {argument}")
        self.index = {name: i for i, (name, _) in enumerate(self.arguments)}
        for role in NAMING:
            if role in self.roles and self.roles[role].lstrip("*") not in self.index:
                sys.exit(f"{where}: {role} names no argument")
        for role, values in VALUES.items():
            if role in self.roles and self.roles[role] not in values:
                sys.exit(f"{where}: {role} is one of {', '.join(sorted(values))}")
        self.large = self.name.endswith("_c")

    @property
    def c_name(self):
        return ("MPI" if self.extension else "MPI_") + self.name

    @property
    def special(self):
        return "special" in self.roles

    def fortran_arguments(self):
        """Number of words: arguments, ierror, hidden lengths of strings."""
        arguments = self.arguments
        if self.roles.get("fortran"):
            wanted = self.roles["fortran"].split(",")
            arguments = [a for a in arguments if a[0] in wanted]
        return len(arguments) + 1 + sum(kind.startswith("string") for _, kind in arguments)

    def fortran_names(self):
        """(row, entry point, further names of the same) of the Fortran bindings."""
        low = self.c_name.lower()
        if "c_only" in self.roles:
            return []
        if self.extension:
            return [(1, low + "_", [low, low + "__", low.upper()]), (2, low + "_f08_", [])]
        if self.large:
            low = low[:-2]
            return [(2, low + "_f08_large_", []), (3, low + "_f08ts_large_", [])]
        names = [
            (1, low + "_", [low, low + "__", low.upper()]),
            (2, low + "_f08_", []),
            (3, low + "_f08ts_", []),
        ]
        if self.name in CPTR:
            low += "_cptr"
            names.append((4, low + "_", [low, low + "__", low.upper()]))
        return names


def read_list(path):
    functions = []
    with open(path, encoding="utf-8") as lines:
        for n, line in enumerate(lines, 1):
            line = line.strip()
            if line and not line.startswith("#"):
                functions.append(Function(len(functions), line, f"{path}:{n}"))
    names = [f.name for f in functions]
    if len(set(names)) != len(names):
        sys.exit(f"{path}: a function stands twice")
    if len(functions) > MOST:
        sys.exit(
            f"{path}: numbers end at {MOST - 1} (EVENT_MPI_FUNCTIONS_MOST in base/format/event.h)"
        )
    small = {f.name: f.roles for f in functions}
    for f in functions:
        if f.large:
            also = small[f.name.removesuffix("_c")]
            f.roles.update({role: also[role] for role in OF_SMALL if role in also})
    return functions
