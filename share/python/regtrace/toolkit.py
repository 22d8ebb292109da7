# SPDX-License-Identifier: BSD-3-Clause
"""Runs the command `regtrace`, which matches what ranks do with each other."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile

from regtrace.errors import RegtraceError


def find(tool=None):
    """Returns the path of the command: `tool`, or the one that this package was installed with, or
    that of PATH.
    """
    if tool is not None:
        found = shutil.which(os.fspath(tool))
        if found is None:
            raise RegtraceError(
                f"{tool} is no program: tool= of regtrace.open() names the command regtrace"
            )
        return found
    package = os.path.dirname(os.path.abspath(__file__))
    prefix = os.path.normpath(os.path.join(package, "..", "..", "..", ".."))
    found = shutil.which(os.path.join(prefix, "bin", "regtrace")) or shutil.which("regtrace")
    if found is None:
        raise RegtraceError(
            "this needs the command regtrace, which is neither beside the package nor in PATH: add "
            "its folder to PATH, "
            "or name it: regtrace.open(path, tool='/opt/regtrace/bin/regtrace')"
        )
    return found


def _run(tool, arguments):
    """Returns the finished process, and the line that says which command it was."""
    command = [find(tool), *map(os.fspath, arguments)]
    # Under mpirun each process of Python works alone.
    environment = {**os.environ, "REGTRACE_PARTS": "0"}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env=environment,
            check=False,
        )
    except OSError as problem:
        raise RegtraceError(f"{command[0]} cannot be started: {problem.strerror}") from problem
    return done, " ".join(command)


def _failed(done, line):
    said = done.stderr.strip() or f"it ended with {done.returncode}"
    return RegtraceError(f"`{line}` failed: {said}")


def read_json(tool, *arguments):
    """Returns what the command prints as JSON."""
    done, line = _run(tool, arguments)
    try:
        return json.loads(done.stdout)
    except ValueError as problem:
        raise _failed(done, line) from problem


def ask(runs, *arguments):
    """Returns what the command says of `runs`, each a Run or a path, as JSON."""
    tool = next((run.tool for run in runs if getattr(run, "tool", None) is not None), None)
    return read_json(tool, *arguments, *(getattr(run, "path", run) for run in runs))


@contextlib.contextmanager
def matched(tool, path):
    """Yields the path of a file with the matches of the run at `path`, which is then removed.

    What could not be read is left out, as far as the rest of the run can be read.
    """
    with tempfile.TemporaryDirectory(prefix="regtrace-") as folder:
        made = os.path.join(folder, "channels.h5")
        done, line = _run(
            tool,
            ["emulate", "--matches", "--policy", "salvage", "--wait", "0", "--output", made, path],
        )
        if not os.path.exists(made):
            raise _failed(done, line)
        yield made
