# SPDX-License-Identifier: BSD-3-Clause
"""Makes the frames of captured values of one rank file: instructions, and their frequent values."""

import numpy as np
import pandas as pd

INSTRUCTIONS = [
    ("number", "u4"),
    ("image", "u4"),
    ("build_id", "u4"),
    ("address", "u8"),
    ("offset", "u8"),
    ("samples", "u8"),
    ("periods", "u8"),
    ("values", "u8"),
    ("threshold", "f8"),
    ("code", "S32"),
]
HOT = [("number", "u4"), ("context0", "u8"), ("context1", "u8"), ("value", "u8"), ("count", "u8")]


def _rows(file, name, columns):
    """Returns a table, without rows if the run had no REGTRACE_VALUES and the file lacks it."""
    with file.opened() as f:
        return f[name][()] if name in f else np.empty(0, dtype=columns)


def instructions(file):
    """Returns a row per captured instruction, with its place in its image."""
    rows = _rows(file, "value_instructions", INSTRUCTIONS)
    texts = file.strings()
    known = [int(i) for i in rows["image"]]
    return pd.DataFrame(
        {
            "number": rows["number"],
            "address": rows["address"],
            "image": pd.array([texts.get(i, "?") if i else pd.NA for i in known], dtype="string"),
            "build_id": pd.array(
                [texts.get(int(i), "?") if i else "" for i in rows["build_id"]], dtype="string"
            ),
            "offset": rows["offset"],
            "code": pd.array([c.decode("ascii", "replace") for c in rows["code"]], dtype="string"),
            "samples": rows["samples"],
            "periods": rows["periods"],
            "values": rows["values"],
            "threshold": rows["threshold"],
        }
    )


def hot(file):
    """Returns a row per value in the lists of the instructions.

    times is exact if the list holds every value (threshold 1), otherwise estimated.
    """
    rows = _rows(file, "value_hot", HOT)
    of = pd.DataFrame(
        _rows(file, "value_instructions", INSTRUCTIONS)[["number", "values", "threshold"]]
    ).set_index("number")
    threshold = of["threshold"].reindex(rows["number"]).to_numpy(dtype=float)
    values = of["values"].reindex(rows["number"]).to_numpy(dtype=float)
    return pd.DataFrame(
        {
            "number": rows["number"],
            "context0": rows["context0"],
            "context1": rows["context1"],
            "value": rows["value"],
            "times": rows["count"] * threshold,
            "percent": 100 * rows["count"] * threshold / values,
            "estimated": threshold > 1,
        }
    )
