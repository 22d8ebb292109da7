# SPDX-License-Identifier: BSD-3-Clause
"""What tests of pages in a browser have in common: lines "ok|what" or "no|what|why", and texts of a
page as figures."""

import json
import re

READY = "window.regtracePage && document.readyState === 'complete' && (regtracePage.lines.ready || !regtracePage.lines.frame)"
UNITS = {"ns": 1, "\u00b5s": 1e3, "ms": 1e6, "s": 1e9}


def ok(good, what, why=""):
    print(f"{'ok' if good else 'no'}|{what}|{why}".replace("\n", " "), flush=True)


def same(got, want, what):
    ok(got == want, what, f"got {str(got)[:300]}, want {str(want)[:300]}")


def text(b, selector):
    return b.run(
        f"(document.querySelector({json.dumps(selector)}) || {{ innerText: '' }}).innerText"
    )


def go(b, fragment):
    b.run(f"location.hash = {json.dumps(fragment)}")
    b.frame()


def ns(words):
    """Returns the first duration in a text, in ns."""
    number, unit = re.search(r"([\d.]+) (ns|\u00b5s|ms|s)\b", words).groups()
    return float(number) * UNITS[unit]


def bytes_of(words):
    """Returns an amount such as "12.5 KiB" in bytes."""
    number, unit = words.replace(",", "").split()
    return float(number) * 1024 ** ["B", "KiB", "MiB"].index(unit)
