# SPDX-License-Identifier: BSD-3-Clause
"""The errors and warnings of the package."""


class RegtraceError(Exception):
    """A run or a file cannot be read; the text says what to do."""


class IncompleteWarning(UserWarning):
    """The frame is right but not everything that happened is in it."""
