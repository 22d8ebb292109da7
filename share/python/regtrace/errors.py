# SPDX-License-Identifier: BSD-3-Clause
"""Defines the error and the warning of the package."""


class RegtraceError(Exception):
    """A run or a file cannot be read; the text names the remedy."""


class IncompleteWarning(UserWarning):
    """The frame is right, but lacks some of what happened."""
