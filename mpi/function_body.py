# SPDX-License-Identifier: BSD-3-Clause
"""Derives the pieces of a wrapper from the arguments and roles of its function, for generate.py."""
import re

from function_list import HANDLE, WIDE


class Body:
    """The pieces of one function's recording path, for C or Fortran arguments."""

    def __init__(self, function, fortran):
        self.f = function
        self.fortran = "true" if fortran else "false"
        self.descriptor = "descriptor" if fortran else "false"
        self.passed = {}
        self.before, self.begun, self.after = [], [], []
        # of these, what takes completions; the C condition under which it is needed outside
        # windows
        self.completing, self.completed, self.matters = [], [], ""
        # code outside windows too that numbers messages and collective calls, unless nothing can be
        # recorded
        self.number_before, self.number_after = [], []
        self.tell = []  # records numbers, before the enter event
        # C condition: the enter event lacks a fact that MPI may be asked about only after the call
        self.lacks = ""

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

    def holder(self, new=""):
        """C expression for the window or file of a call that names no communicator, or with "new"
        for the one that it makes; None: there is none."""
        roles, star = self.f.roles, "*" if new else ""
        if new + "win" in roles:
            return self.handle(star + roles[new + "win"])
        if new + "file" in roles:
            return f"mpi_file_holder({self.handle(star + roles[new + 'file'])})"
        return None

    def message(self, role):
        return f"mpi_message_at({self.word(self.f.roles[role].lstrip('*'))}, {self.fortran})"

    def array(self, name):
        wide = "true" if self.kind(name)[:-2] in WIDE else "false"
        return f"{self.word(name)}, {wide}"

    def product(self, text):
        """C expression for the product of counts and type sizes."""
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
            # intercommunicator: of the root's group only the root passes meaningful arguments
            means = (
                "mpi_some_root" if re.search("bcast|reduce", self.f.name, re.I) else "mpi_some_rank"
            )
            value = f"!{means}(peer) ? 0 : {value}"
        return value

    def prepare(self):
        roles = self.f.roles
        lines = self.before
        if "comm" in roles:
            lines.append(f"uint64_t comm = {self.handle(roles['comm'])};")
            lines.append("uint32_t comm_id = mpi_comm_id(t, comm);")
        if self.holder():
            lines.append(f"uint32_t comm_id = mpi_holder_comm_id(t, {self.holder()});")
        if "peer" in roles:
            lines.append(f"uint32_t peer = mpi_peer({self.number(roles['peer'])});")
        if "tag" in roles:
            lines.append(f"uint32_t tag = mpi_tag({self.number(roles['tag'])});")
        if "uses" in roles:
            lines.append(f"uint64_t request = {self.handle(roles['uses'])};")
        if "complete" in roles:
            self.complete(*re.fullmatch(r"(\w+)\((.*)\)", roles["complete"]).groups())
            self.after += self.completed
        self.numbers()
        peer = "peer" if "peer" in roles else "MPI_NOBODY"
        tag = "tag" if "tag" in roles else "MPI_NOBODY"
        comm_id = "comm_id" if "comm" in roles or self.holder() else "0"
        self.later("bytes" in roles, comm_id)
        self.enter = f"mpi_peer_tag({peer}, {tag}), " + (
            "facts" if self.lacks else f"mpi_bytes_comm(0, {comm_id})"
        )
        self.leave = "0, 0"
        if "request" in roles:
            request = self.handle("*" + roles["request"])
            self.leave = f"result == 0 ? {request} : 0, 0"
        elif "uses" in roles:
            self.leave = "request, 0"
        if "message" in roles:
            found = f" && mpi_read_int({self.word('flag')}) != 0" if "flag" in self.f.index else ""
            self.leave = f"result == 0{found} ? {self.message('message')} : 0, 0"
        if "takes" in roles:
            lines.append(f"uint64_t message = {self.message('takes')};")
            self.after.insert(0, "mpi_message_taken(t, message);")
        if self.lacks:
            self.leave = self.leave[:-1] + "facts_later"
        if "source" in roles:
            source, rtag = self.number(roles["source"]), self.number(roles["rtag"])
            self.begun.append(
                f"mpi_receives(t, mpi_peer_tag(mpi_peer({source}), mpi_tag({rtag})), "
                f"{self.product(roles['room'])});"
            )
        if "newcomm" in roles:
            parent = "comm_id" if "comm" in roles else "0"
            self.after.append("if (result == 0)")
            self.after.append(
                f"    mpi_comm_created(t, {self.handle('*' + roles['newcomm'])}, {parent});"
            )
        return self

    def later(self, has_bytes, comm_id):
        """After a successful call, puts what the enter event lacks into the leave event."""
        has_comm = "comm" in self.f.roles
        if "frees" in self.f.roles or not (has_bytes or has_comm):
            return
        tests = ["mpi_lacks_comm(facts)"] * has_comm + ["mpi_lacks_bytes(facts)"] * has_bytes
        self.lacks = " || ".join(tests)
        self.before.append(f"const uint64_t facts = mpi_bytes_comm({self.bytes()}, {comm_id});")
        self.before.append("uint64_t facts_later = 0;")
        call = f"{self.later_name()}({', '.join(self.later_words())})"
        self.after += [f"if (({self.lacks}) && result == 0) {{", f"    facts_later = {call};"]
        if has_comm:
            self.after.append("    comm_id = (uint32_t)EV_MPI_ENTER_comm(0, facts_later);")
        self.after += ["    if (facts_later == facts)", "        facts_later = 0;", "}"]

    def profile(self):
        """C code for the profile: (code before the call, code after it, kind and word of the
        communicator, bytes).

        Code runs after the call, whose success (`proved`) proves its handles valid; of a
        communicator, window or file that the call frees, before it.
        """
        roles = self.f.roles
        if roles.get("fortran") and self.fortran == "true":
            return [], [], "MPI_PROFILE_NO_COMM", "0", "0"
        if "frees" in roles:
            return (
                [f"const uint64_t freed = mpi_comm_id(t, {self.handle(roles['comm'])});"],
                [],
                "MPI_PROFILE_ID",
                "freed",
                "0",
            )
        if self.f.name in ("Win_free", "File_close"):
            return (
                [f"const uint64_t freed = mpi_holder_comm_id(t, {self.holder()});"],
                [],
                "MPI_PROFILE_ID",
                "freed",
                "0",
            )
        kind, word, lines = "MPI_PROFILE_NO_COMM", "0", []
        if "comm" in roles:
            kind, word = "MPI_PROFILE_COMM", "comm"
            lines.append(f"const uint64_t comm = {self.handle(roles['comm'])};")
        elif self.holder():
            kind, word = "MPI_PROFILE_HOLDER", self.holder()
        if "bytes" not in roles:
            return [], lines, kind, word, "0"
        value = self.bytes()
        if re.search(r"\bcomm\b", value):  # asks for its size, or the own rank
            lines.append("(void)mpi_comm_of_call(t, comm, result == 0);")
        if "peer" in roles:
            lines.append(f"const uint32_t peer = mpi_peer({self.number(roles['peer'])});")
            value = f"(int)peer == -2 ? 0 : ({value})"
        lines += [
            "t->proved += result == 0;",
            f"const uint64_t bytes = {value};",
            "t->proved -= result == 0;",
        ]
        return [], lines, kind, word, "bytes"

    def later_name(self):
        if "bytes" not in self.f.roles:
            return "mpi_comm_later"
        return ("fortran_" if self.fortran == "true" else "c_") + f"later_{self.f.name}"

    def later_words(self, declare=False):
        words = [("struct recorder_thread *", "t")] + [("uint64_t ", "comm")] * (
            "comm" in self.f.roles
        )
        if "bytes" in self.f.roles:
            words += [("bool ", "descriptor")] * (
                "in_place" in self.f.roles and self.fortran == "true"
            )
            n = self.f.fortran_arguments() if self.fortran == "true" else len(self.f.arguments)
            words += [("mpi_word ", f"a{i}") for i in range(n)]
        return [(kind if declare else "") + name for kind, name in words]

    def later_function(self):
        """C function that asks MPI again after a call whose success proved the handles valid."""
        roles = self.f.roles
        if "bytes" not in roles:
            return ""
        declared = ", ".join(self.later_words(True))
        out = f"RT_COLD static uint64_t {self.later_name()}({declared})\n{{\n"
        lines = ["t->proved++;"]
        comm_id = "0"
        if "comm" in roles:
            lines.append("const uint32_t comm_id = mpi_comm_proved(t, comm);")
            comm_id = "comm_id"
        if roles.get("peer") == "root":
            lines.append(f"const uint32_t peer = mpi_peer({self.number('root')});")
        if "source" in roles:
            lines.append(f"(void)({self.product(roles['room'])});")
        lines += [
            f"const uint64_t facts = mpi_bytes_comm({self.bytes()}, {comm_id});",
            "t->proved--;",
            "return facts;",
        ]
        unused = [w for w in self.later_words() if not re.search(rf"\b{w}\b", "\n".join(lines))]
        return out + indent([f"(void){w};" for w in unused] + lines) + "}\n\n"

    def address(self, peer, tag):
        """Communicator, peer and tag of a message, as C arguments."""
        comm = self.handle(self.f.roles["comm"])
        return f"{comm}, (int){self.number(peer)}, (int){self.number(tag)}"

    def request_made(self, number="NO_NUMBER"):
        request = self.handle("*" + self.f.roles["request"])
        kinds = request_kind(self.f)
        if "PERSISTENT" not in kinds:
            return f"mpi_request_made(t, window, {request}, {kinds}, {number});"
        roles = self.f.roles
        if "partitioned" in roles:
            return f"mpi_request_made_partitioned(t, window, {request}, {kinds}, &partitioned);"
        known = "peer" in roles and "tag" in roles
        address = self.address(roles["peer"], roles["tag"]) if known else "0, 0, 0"
        return f"mpi_request_made_persistent(t, window, {request}, {kinds}, {address});"

    def numbers(self):
        """Numbers the messages that the call sends and receives."""
        roles, before, after = self.f.roles, self.number_before, self.number_after
        waits = roles.get("waits")
        if waits in ("ranks", "all_ranks", "ranks_later") and ("comm" in roles or self.holder()):
            comm = (
                self.handle(roles["comm"])
                if "comm" in roles
                else f"mpi_holder_comm({self.holder()})"
            )
            before += [
                f"const uint64_t meeting = {comm};",
                "if (RT_LIKELY(mpi_numbering != 0))",
                "    mpi_number_collective(t, meeting);",
            ]
            after += ["if (result != 0)", "    mpi_collective_failed(meeting, result);"]
        if waits in ("ranks", "all_ranks"):
            return
        if "PERSISTENT" in request_kind(self.f) and "request" in roles:
            return
        if "starts" in roles:
            which, names = re.fullmatch(r"(\w+)\((.*)\)", roles["starts"]).groups()
            names = names.split(",")
            count = "1" if which == "one" else self.number(names[0])
            after += [
                "if (result == 0)",
                f"    mpi_started(t, {count}, {self.word(names[-1])}, {self.fortran});",
            ]
        if self.f.name == "Cancel":
            before.append(f"mpi_request_cancelling({self.handle('*request')});")
        failed = []
        if "sends" in roles:
            before.append(
                "const mpi_number sent = RT_UNLIKELY(mpi_numbering == 0) ? NO_NUMBER : "
                f"mpi_number_send({self.address(roles['peer'], roles['tag'])});"
            )
            self.tell.append("mpi_tell_send(t, sent, false);")
            failed.append("mpi_number_unsent(sent);")
        number = "sent" if "sends" in roles else "NO_NUMBER"
        if "receives" in roles or "source" in roles:
            now = "_now" if "request" not in roles else ""
            # a call that also sends has these beside the role's arguments
            source = "source" if "source" in self.f.index else roles["peer"]
            address = self.address(source, "recvtag" if "recvtag" in self.f.index else roles["tag"])
            before.append(
                "const mpi_number number = RT_UNLIKELY(mpi_numbering == 0) ? NO_NUMBER : "
                f"mpi_number_receive{now}({address});"
            )
            number = "number"
            failed.append(
                "mpi_number_unposted(number);"
                if "request" in roles
                else "mpi_receive_failed(number, result);"
            )
        if "takes" in roles:
            before.append(f"const mpi_number number = mpi_message_number({self.message('takes')});")
            number = "number"
        if "message" in roles:
            self.probes()
        if len(failed) == 2 and "request" not in roles:
            failed = ["mpi_sendrecv_failed(sent, number, result);"]
        if "request" in roles:
            made = [self.request_made(number)]
            if "takes" in roles:
                made.append(f"mpi_request_of_probe({self.handle('*' + roles['request'])});")
            after += ["if (result == 0) {"] + ["    " + line for line in made] + ["}"]
        if failed:
            after += ["if (result != 0) {"] + ["    " + line for line in failed] + ["}"]

    def probes(self):
        """A matched probe takes its message: its status tells which one."""
        status = self.f.index["status"]
        self.completing += [
            "struct mpi_one probed;",
            f"mpi_word status = mpi_one_begin(&probed, 0, a{status}, {self.fortran});",
        ]
        self.passed[status] = "status"
        done = "result == 0" + (
            f" && mpi_read_int({self.word('flag')}) != 0" if "flag" in self.f.index else ""
        )
        self.completed += [
            f"if ({done})",
            f"    mpi_probed(t, &probed, {self.handle(self.f.roles['comm'])}, "
            f"{self.message('message')});",
        ]
        self.after += self.completed
        self.matters = "mpi_numbering != 0"

    def complete(self, which, names):
        names = names.split(",")
        words = [self.word(n) for n in names]
        f, before, after = self.fortran, self.completing, self.completed
        if which in ("one", "receive"):
            request = words[0] if which == "one" else "0"
            status = self.f.index[names[1] if which == "one" else names[0]]
            before.append("struct mpi_one completion;")
            before.append(
                f"mpi_word status = mpi_one_begin(&completion, {request}, a{status}, {f});"
            )
            self.passed[status] = "status"
            if which == "receive":
                comm = self.handle(self.f.roles["comm"]) if "comm" in self.f.roles else "0"
                before.append(f"mpi_receive_begin(&completion, number, {comm});")
                after.append("mpi_receive_end(t, &completion, result);")
                self.matters = "(number & NUMBER_UNDECIDED) != 0"
                return
            done = "result == 0"
            if len(words) == 3:
                done += f" && mpi_read_int({words[2]}) != 0"
            after.append(f"mpi_one_end(t, &completion, {done});")
            self.matters = f"mpi_completions_matter(1, {words[0]}, {f})"
            return
        before.append("struct mpi_many completion;")
        count = self.number(names[0])
        self.matters = f"mpi_completions_matter({count}, {words[1]}, {f})"
        flag = ""
        if which == "any":
            status = self.f.index[names[2]]
            before.append("struct mpi_one one;")
            before.append(
                "mpi_word status = "
                f"mpi_any_begin(&completion, &one, {count}, {words[1]}, a{status}, {f});"
            )
            if len(words) == 5:
                flag = f" && mpi_read_int({words[4]}) != 0"
            end = f"mpi_any_end(t, &completion, &one, {words[3]}, {f});"
        else:
            status = self.f.index[names[2]]
            before.append(
                "mpi_word status = "
                f"mpi_many_begin(&completion, {count}, {words[1]}, a{status}, {f});"
            )
            if which == "all":
                if len(words) == 4:
                    flag = f" && mpi_read_int({words[3]}) != 0"
                end = "mpi_many_end(t, &completion, result);"
            else:
                end = f"mpi_some_end(t, &completion, result, {words[3]}, {words[4]}, {f});"
        self.passed[status] = "status"
        done = "result == 0" if which == "any" else "mpi_many_done(result)"
        after += [f"if ({done}{flag})", "    " + end]
        after.append("mpi_many_free(&completion);")

    def arguments(self, n, passed=True):
        return ", ".join(self.passed.get(i, f"a{i}") if passed else f"a{i}" for i in range(n))


def request_kind(f):
    """What the status of a completed request describes (enum mpi_request_kind)."""
    if f.name.startswith("Isendrecv"):
        return "mpi_request_of_both()"
    receives = re.match(r"(Irecv|Imrecv|Recv_init|Precv_init)", f.name)
    kind = "MPI_REQUEST_RECEIVE" if receives else "MPI_REQUEST_OTHER"
    return kind + (" | MPI_REQUEST_PERSISTENT" if "_init" in f.name else "")


def indent(lines, by="    "):
    return "".join(by + line + "\n" for line in lines)
