#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares what the writer packs with numpy's transposition, Python's zlib and h5py: planes of bytes,
zlib streams, and files by each compressor, with chunks that are full, nearly full and just begun."""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import zlib

import h5py
import numpy

BUILD = os.environ.get("REGTRACE_BUILD", ".")
TOOL = os.path.join(BUILD, "t/writer/pack_tool")
CHUNK = 8192 # rows of a chunk of /events
EVENT = numpy.dtype([("clock", "<u8"), ("code", "<u4"), ("thread", "<i4"), ("window", "<i4"), ("cpu", "<u2"),
                     ("flags", "<u2"), ("a", "<u8"), ("b", "<u8")])
count = failed = 0
random.seed(29)
numbers = numpy.random.default_rng(29)


def ok(passed, name, detail=""):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'ok' if passed else 'not ok'} {count} - {name}")
    if not passed and detail != "":
        print(f"# {detail}")
    sys.stdout.flush()


def tool(*words, data=b"", library=None):
    """Returns what the tool makes of the bytes. library: a folder with another libisal.so.2."""
    variables = dict(os.environ, LD_LIBRARY_PATH=library) if library else None
    done = subprocess.run([TOOL, *map(str, words)], input=data, capture_output=True, env=variables, check=False)
    if done.returncode != 0:
        print(f"# {words} ended with {done.returncode}: {done.stderr.decode()[-200:]}")
    return done.stdout if done.returncode == 0 else b"failed"


def planes_of(rows, plane_bytes):
    """Returns the planes of rows (an array of bytes, a row a line), with zeros after them."""
    padded = numpy.zeros((plane_bytes, rows.shape[1]), dtype="u1")
    padded[:len(rows)] = rows
    return padded.T.tobytes()


def test_planes():
    sizes = [1, 3, 7, 8, 12, 16, 24, 36, 40, 41, 48, 52, 136]
    counts = [0, 1, 15, 16, 17, 63, 64, 65, 79, 80, 127, 128, 1000, CHUNK - 1, CHUNK]
    wrong, tried = [], 0
    for row_bytes in sizes:
        for rows_count in counts + [random.randrange(5000) for _ in range(5)]:
            rows = numbers.integers(0, 256, (rows_count, row_bytes), dtype="u1")
            plane_bytes = rows_count + random.choice([0, 0, 1, 50])
            expected = planes_of(rows, plane_bytes)
            made = tool("split", row_bytes, plane_bytes, data=rows.tobytes())
            back = tool("join", row_bytes, plane_bytes, rows_count, data=expected)
            tried += 1
            if made != expected:
                wrong.append(("split", row_bytes, rows_count, plane_bytes))
            if back != rows.tobytes():
                wrong.append(("join", row_bytes, rows_count, plane_bytes))
    ok(not wrong, f"planes are what numpy's transposition has, and rows again ({tried} shapes)", wrong[:9])


def events(number):
    """Makes events like those of a program, some with bytes that cannot be compressed."""
    e = numpy.zeros(number, dtype=EVENT)
    i = numpy.arange(number, dtype="u8")
    e["clock"] = 0x0102030405 + i * 37 + numbers.integers(0, 30, number, dtype="u8")
    e["code"] = 0x454d + (i % 2 * 0x700).astype("u4") + (i % 5 << 16).astype("u4")
    e["thread"] = (i // 1023 % 3).astype("i4") - 1
    e["window"] = -1
    e["cpu"] = (i // 4000 % 2).astype("u2")
    e["flags"] = (i % 97 == 0) * 32
    e["a"] = numpy.where(i // 5000 % 2 == 0, i % 6 | 7 << 32, numbers.integers(0, 1 << 63, number, dtype="u8"))
    e["b"] = 64 << (i // 12 % 8)
    return e


def test_streams(without):
    shapes = {"events": (40, CHUNK, events(CHUNK).tobytes()),
              "part of a chunk": (40, CHUNK, events(1234).tobytes()),
              "no row": (40, CHUNK, b""),
              "one byte": (1, 1, b"x"),
              "random bytes": (24, 32768, numbers.integers(0, 256, 24 * 32768, dtype="u1").tobytes()),
              "all ones": (24, 32768, b"\xff" * 24 * 32768)}
    for name, (row_bytes, rows_count, data) in shapes.items():
        rows = numpy.frombuffer(data, dtype="u1").reshape(-1, row_bytes)
        expected, wrong, sizes = planes_of(rows, rows_count), [], []
        for level in [1, 2, 5, 9]:
            for library in (None, without):
                packed = tool("pack", row_bytes, rows_count, level, data=data, library=library)
                sizes.append(len(packed))
                try:
                    same = zlib.decompress(packed) == expected
                except zlib.error as error:
                    same = print(f"# {error}")
                if not same:
                    wrong.append((level, library))
        ok(not wrong, f"{name}: a zlib stream of the planes at each level", wrong)
        ok(max(sizes) <= len(expected) * 9 / 8 + 64, f"{name}: and little more than the planes at worst", sizes)


def stored_in(path):
    """Returns the events that h5py reads, the bytes of their chunks and the filters."""
    with h5py.File(path, "r") as f:
        e = f["events"]
        chunks = [e.id.get_chunk_info(i) for i in range(e.id.get_num_chunks())]
        return (e[()], len(f["tail"]), [c.size for c in chunks], {c.filter_mask for c in chunks},
                (e.shuffle, e.compression, e.compression_opts))


def test_files(folder, without):
    path, sizes = os.path.join(folder, "rank.h5"), {}
    for number in [0, 1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1, 2 * CHUNK, 3 * CHUNK + 100]:
        rows, wrong = events(number), []
        for level, library in [(0, None), (1, None), (1, without), (2, None), (9, None)]:
            batch = random.choice([100, 5000, CHUNK, 20000])
            if tool("file", path, level, batch, data=rows.tobytes(), library=library) != b"":
                wrong.append((level, library, "was not written"))
                continue
            got, tail, chunks, masks, filters = stored_in(path)
            sizes[number, level, library] = sum(chunks)
            if got.dtype != EVENT or got.tobytes() != rows.tobytes() or tail != 0:
                wrong.append((level, library, batch, "other events"))
            if len(chunks) != -(-number // CHUNK) or masks - {0} or \
                    filters != ((True, "gzip", level) if level else (False, None, None)):
                wrong.append((level, library, chunks, masks, filters))
        ok(not wrong, f"{number} events: h5py reads the same by all compressors", wrong)
    most = 3 * CHUNK + 100
    raw, fast, slow = (sizes.get((most, level, None), 0) for level in (0, 1, 9))
    ok(raw == 4 * CHUNK * 40 and slow < fast < raw / 2, "a higher level takes less space", (raw, fast, slow))
    # The comparison itself finds a byte that differs.
    rows = events(CHUNK + 1)
    tool("file", path, 1, 5000, data=rows.tobytes())
    rows["b"][CHUNK] += 1
    ok(stored_in(path)[0].tobytes() != rows.tobytes(), "another byte in the last row would be seen")


def main():
    folder = tempfile.mkdtemp(prefix="regtrace-packed-")
    try:
        without = os.path.join(folder, "without")
        os.mkdir(without)
        with open(os.path.join(without, "libisal.so.2"), "w", encoding="ascii") as f:
            f.write("no library\n")
        names = [tool("name", level).decode().strip() for level in (0, 1, 2, 9)]
        print(f"# {names}")
        ok(names[0] == "nothing" and names[1] in ("ISA-L", "zlib") and names[2] in ("libdeflate", "zlib") and
           names[3] == names[2], "each level has its compressor", names)
        ok(tool("name", 1, library=without) == b"zlib\n", "level 1 is zlib's where ISA-L cannot be loaded")
        test_planes()
        test_streams(without)
        test_files(folder, without)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
