# SPDX-License-Identifier: BSD-3-Clause
"""What wrappers do outside recording windows as well, for generate.py."""
from function_body import Body, request_kind

# How functions make a communicator that are no call of all ranks of its parent, or that are not
# complete when they return (enum mpi_comm_making).
MAKING = {
    "Comm_accept": "MPI_MADE_OF_TWO",
    "Comm_connect": "MPI_MADE_OF_TWO",
    "Comm_create_group": "MPI_MADE_BY_SOME",
    "Comm_idup": "MPI_MADE_ALIKE",
    "Comm_idup_with_info": "MPI_MADE_ALIKE",
    "Intercomm_create": "MPI_MADE_OF_TWO",
}


def follows(body):
    """(before, after): code that must run outside recording windows as well.

    It follows how communicators, types, files and windows of one-sided communication are made
    and freed, the ends of sessions, and persistent requests."""
    f = body.f
    idup = f.name.startswith("Comm_idup")
    if "newcomm" in f.roles or idup:
        how = MAKING.get(f.name, "MPI_MADE_BY_ALL") if "comm" in f.roles else "MPI_MADE_SOMEHOW"
        before = [
            f"uint64_t made_of = {body.handle(f.roles['comm']) if 'comm' in f.roles else '0'};"
        ]
        # MPI_Intercomm_create's tags are not below 0
        tag = f"(int){body.number('tag')}" if "tag" in f.roles else "-1"
        made = body.handle("*newcomm" if idup else "*" + f.roles["newcomm"])
        return before, ["if (result == 0)", f"    mpi_comm_made(made_of, {made}, {how}, {tag});"]
    if body.holder("new") is not None:
        made, of = body.holder("new"), body.handle(f.roles["comm"])
        return [], ["if (result == 0)", f"    mpi_holder_made({made}, {of});"]
    if f.name in ("Win_free", "File_close"):
        return (
            [f"uint64_t ending = {body.holder()};"],
            ["if (result == 0)", "    mpi_holder_freed(ending);"],
        )
    if f.name == "Type_free":
        return (
            [
                f"uint64_t ending = {body.handle('*datatype')};",
                "const bool known = mpi_type_ends(ending);",
            ],
            ["if (result != 0 && known)", "    mpi_type_made(ending);"],
        )
    types = [name for name, kind in f.arguments if kind == "type*"]
    if types:
        return [], ["if (result == 0) {"] + [
            f"    mpi_type_made({body.handle('*' + name)});" for name in types
        ] + ["}"]
    if f.name == "Session_finalize":
        return [], ["if (result == 0)", "    mpi_session_ended();"]
    if "frees" in f.roles:
        return (
            [
                f"uint64_t ending = {body.handle('*' + f.roles['frees'])};",
                "const uint32_t made = mpi_comm_times_made(ending);",
            ],
            ["if (result == 0)", "    mpi_comm_freed(ending, made);"],
        )
    if f.name == "Request_free":
        return (
            [
                f"uint64_t ending = {body.handle('*request')};",
                "const struct mpi_noted noted = mpi_request_noted(ending);",
            ],
            ["if (result == 0)", "    mpi_request_freed(ending, noted);"],
        )
    if "partitioned" in f.roles:
        sends = "true" if f.roles["partitioned"] == "sends" else "false"
        address = body.address(f.roles["peer"], f.roles["tag"])
        return (
            [f"struct mpi_partitioned partitioned = mpi_partitioned_begin({address}, {sends});"],
            [
                "mpi_partitioned_made(&partitioned, result == 0);",
                "if (result == 0)",
                f"    {body.request_made()}",
            ],
        )
    if "request" in f.roles and "PERSISTENT" in request_kind(f):
        return [], ["if (result == 0)", f"    {body.request_made()}"]
    return [], []


def jump_if_asleep(f, row, arguments):
    """C code that skips a wrapper while nothing can be recorded, unless it must follow calls."""
    if any(follows(Body(f, False))):
        return ""
    passed = ", " + arguments if arguments else ""
    return f"    MPI_JUMP_IF_ASLEEP({row}, MPI_NUMBER_{f.name}, real_{f.name}{passed});\n"
