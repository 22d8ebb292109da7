# SPDX-License-Identifier: BSD-3-Clause
"""Finds the names of functions in the symbol tables of ELF files on this machine.

A file counts only if it is still that of the run.
"""

import ctypes
import mmap
import os
import re
import subprocess

import numpy as np

_HEADER = np.dtype(
    [
        ("ident", "V16"),
        ("type", "u2"),
        ("machine", "u2"),
        ("version", "u4"),
        ("entry", "u8"),
        ("phoff", "u8"),
        ("shoff", "u8"),
        ("flags", "u4"),
        ("ehsize", "u2"),
        ("phentsize", "u2"),
        ("phnum", "u2"),
        ("shentsize", "u2"),
        ("shnum", "u2"),
        ("shstrndx", "u2"),
    ]
)
_SECTION = np.dtype(
    [
        ("name", "u4"),
        ("type", "u4"),
        ("flags", "u8"),
        ("addr", "u8"),
        ("offset", "u8"),
        ("size", "u8"),
        ("link", "u4"),
        ("info", "u4"),
        ("addralign", "u8"),
        ("entsize", "u8"),
    ]
)
_SYMBOL = np.dtype(
    [
        ("name", "u4"),
        ("info", "u1"),
        ("other", "u1"),
        ("shndx", "u2"),
        ("value", "u8"),
        ("size", "u8"),
    ]
)
_SYMTAB, _NOTE, _DYNSYM = 2, 7, 11
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_DEBUG = "/usr/lib/debug/.build-id"


def _sections(data):
    """Returns the section headers of a 64-bit little-endian ELF file; else raises ValueError."""
    if len(data) < _HEADER.itemsize or data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no 64-bit ELF file")
    header = np.frombuffer(data, _HEADER, 1)[0]
    return np.frombuffer(data, _SECTION, int(header["shnum"]), int(header["shoff"]))


def _build_id(data, sections):
    for section in sections[sections["type"] == _NOTE]:
        at, end = int(section["offset"]), int(section["offset"]) + int(section["size"])
        while end - at >= 12:
            name, value, kind = np.frombuffer(data, "<u4", 3, at).tolist()
            content = at + 12 + (name + 3 & ~3)
            if kind == 3 and data[at + 12 : at + 12 + name] == b"GNU\0":
                return data[content : content + value].hex()
            at = content + (value + 3 & ~3)
    return ""


def _functions(data, sections):
    """Returns (start, end, name) arrays of the functions, ordered by start, or None.

    name: offset in the file. Takes the symbol table, or that of dynamic symbols if there is none.
    """
    for kind in (_SYMTAB, _DYNSYM):
        for section in sections[sections["type"] == kind]:
            symbols = np.frombuffer(
                data, _SYMBOL, int(section["size"]) // _SYMBOL.itemsize, int(section["offset"])
            )
            symbols = symbols[np.isin(symbols["info"] & 15, _FUNCTIONS) & (symbols["shndx"] != 0)]
            if len(symbols) == 0:
                continue
            # name() takes the last of several names of one place: a global one, else a weak one.
            rank = np.choose(np.minimum(symbols["info"] >> 4, 2), (0, 2, 1))
            symbols = symbols[np.lexsort((rank, symbols["value"]))]
            texts = int(sections[int(section["link"])]["offset"])
            return (
                symbols["value"],
                symbols["value"] + symbols["size"],
                symbols["name"].astype(np.int64) + texts,
            )
    return None


class Symbols:
    """The functions of one image.

    `changed`: the file at the image's path now has another build id.
    """

    def __init__(self, path, build_id):
        self.changed, self._table, self._data = False, None, b""
        names = [path] + ([f"{_DEBUG}/{build_id[:2]}/{build_id[2:]}.debug"] if build_id else [])
        for name in names if path.startswith("/") else []:
            try:
                if not os.path.isfile(name):  # open() of a FIFO would wait for its other end
                    continue
                with open(name, "rb") as f:
                    data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
                sections = _sections(data)
                own = _build_id(data, sections)
                if build_id and own[:40] != build_id:
                    self.changed |= name == path
                    continue
                table = _functions(data, sections)
            except (OSError, ValueError, IndexError):
                continue
            # The file of debugging information has the larger table if the image has only dynamic
            # symbols.
            if table is not None and (self._table is None or len(table[0]) > len(self._table[0])):
                self._table, self._data = table, data

    def name(self, offset):
        """Returns the readable name of the function at this address of the file, or None."""
        if self._table is None:
            return None
        start, end, text = self._table
        at = int(np.searchsorted(start, np.uint64(offset), side="right")) - 1
        # The nearest symbol below does not name an address past its end.
        if at < 0 or (end[at] != start[at] and offset >= int(end[at])):
            return None
        low = int(text[at])
        return readable(self._data[low : self._data.find(b"\0", low)].decode("utf-8", "replace"))


class Generated:
    """The functions that a process has compiled at run time, by its perf map in the run's folder.

    folder: of the run. host, pid: of the process.
    """

    def __init__(self, folder, host, pid):
        self._rows = []
        try:
            with open(
                os.path.join(folder, f"perf-{host}-{pid}.map"), encoding="utf-8", errors="replace"
            ) as f:
                for line in f:
                    found = re.fullmatch(r"([0-9a-fA-F]+) ([0-9a-fA-F]+) (.+)\n?", line)
                    if found:
                        start = int(found[1], 16)
                        self._rows.append((start, start + int(found[2], 16), found[3]))
        except OSError:  # most processes have none
            pass

    def name(self, address):
        """Returns the name of the function at this address, the latest of several, or None."""
        for start, end, name in reversed(self._rows):
            if start <= address < end:
                return name
        return None


def _library(name):
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


_cxx, _libc = None, None


def readable(name):
    """Returns a C++ name demangled if this machine has the C++ library, other names unchanged."""
    global _cxx, _libc
    if not name.startswith("_Z"):
        return name
    if _libc is None:
        _cxx, _libc = _library("libstdc++.so.6"), ctypes.CDLL(None)
        _libc.free.argtypes = [ctypes.c_void_p]
        if _cxx is not None:
            _cxx.__cxa_demangle.restype = ctypes.c_void_p
            _cxx.__cxa_demangle.argtypes = [
                ctypes.c_char_p,
                ctypes.c_void_p,
                ctypes.c_void_p,
                ctypes.POINTER(ctypes.c_int),
            ]
    if _cxx is None:
        return name
    status = ctypes.c_int()
    plain = _cxx.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    if not plain:
        return name
    text = ctypes.string_at(plain).decode("utf-8", "replace")
    _libc.free(plain)
    return text


def _own_line(frames):
    """Returns the line of the innermost inlined function that is not one of regtrace.h's."""
    for function, line in zip(frames[::2], frames[1::2]):
        if not function.startswith("regtrace_guard_"):
            return line
    return "??:0"


def lines(images, offsets, changed):
    """Returns FILE:LINE of these offsets in images, by addr2line(1); None: unknown.

    images: paths, None for none. changed: paths of files that are not those of the run any more.
    """
    found = [None] * len(images)
    for image in {i for i in images if i is not None and i not in changed and os.path.isfile(i)}:
        at = [k for k, i in enumerate(images) if i == image]
        asked = "".join(f"{int(offsets[k]):#x}\n" for k in at)
        try:
            done = subprocess.run(
                ["addr2line", "-aif", "-e", image],
                input=asked,
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError:  # not installed
            return found
        answers = re.split(r"^0x[0-9a-f]+\n", done.stdout, flags=re.MULTILINE)[1:]
        for k, answer in zip(at, answers):
            line = _own_line(answer.splitlines())
            if not line.startswith("??") and not line.endswith((":?", ":0")):
                found[k] = line.split(" (discriminator")[0]
    return found
