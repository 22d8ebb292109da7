# SPDX-License-Identifier: BSD-3-Clause
"""Names functions, files and lines of addresses and call paths, from the images on this machine."""

import warnings

import numpy as np
import pandas as pd

from regtrace.errors import IncompleteWarning
from regtrace.symbols import Symbols, lines


class Places:
    """What is known of the images of a run; all its files share it."""

    def __init__(self):
        self._symbols, self._lines, self.changed = {}, {}, set()

    def names(self, images, offsets):
        """Returns the function at each place; None if unknown.

        images: (path, build id) of each, None for none. offsets: addresses in the images.
        """
        found = []
        for image, offset in zip(images, offsets):
            if image is not None and image not in self._symbols:
                self._symbols[image] = Symbols(*image)
                if self._symbols[image].changed:
                    self.changed.add(image[0])
            found.append(None if image is None else self._symbols[image].name(int(offset)))
        return found

    def lines(self, images, offsets):
        """Returns FILE:LINE of each place, as names() takes them; None if unknown."""
        places = [
            None if image is None else (image[0], int(offset))
            for image, offset in zip(images, offsets)
        ]
        asked = [
            place
            for place in dict.fromkeys(places)
            if place is not None and place not in self._lines
        ]
        told = lines([path for path, _ in asked], [offset for _, offset in asked], self.changed)
        self._lines.update(zip(asked, told))
        return [None if place is None else self._lines[place] for place in places]

    def warn(self, stacklevel):
        """Warns of images that have changed since the run."""
        if self.changed:
            text = (
                f"no names of functions in {', '.join(sorted(self.changed))}: changed since the run"
            )
            warnings.warn(text, IncompleteWarning, stacklevel=stacklevel + 1)


def split(texts):
    """Returns columns (file, line) of texts FILE:LINE."""
    pairs = [text.rpartition(":")[::2] if isinstance(text, str) else (None, None) for text in texts]
    line = pd.array(
        [pd.NA if number is None else int(number) for _, number in pairs], dtype="Int64"
    )
    return pd.array([file for file, _ in pairs], dtype="string"), line


def stacks(paths):
    """Returns the call stack of each path of a file, by path.

    paths: the frame of program.paths(). A stack is the functions from main on, joined by ";"; "?"
    is a function whose name is not known.
    """
    parent = dict(zip(paths["path"].tolist(), paths["parent"].tolist()))
    name = dict(zip(paths["path"].tolist(), paths["function"].fillna("?").tolist()))
    known = {0: ""}
    for path in parent:
        above = []
        while path not in known and path in parent:
            above.append(path)
            path = parent[path]
        for at in reversed(above):
            around = known.get(parent[at], "")
            known[at] = f"{around};{name[at]}" if around else name[at]
    return known


def of_paths(paths, numbers, prefix=""):
    """Returns columns of the call sites that have these numbers in the frame `paths` of their file.

    They are `prefix` + site_function, file, line, stack; NA where the path is not known (0).
    """
    rows = paths.set_index("path").reindex(np.asarray(numbers, dtype=np.int64))
    file, line = split(rows["line"])
    by_number = stacks(paths)
    stack = [by_number.get(int(number)) or None for number in numbers]
    return {
        f"{prefix}site_function": pd.array(rows["function"], dtype="string"),
        f"{prefix}file": file,
        f"{prefix}line": line,
        f"{prefix}stack": pd.array(stack, dtype="string"),
    }
