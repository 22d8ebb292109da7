#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Without pidfd_open, files are closed all the same.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/python.sh"
"$REGTRACE_BUILD/t/run/without.plain" 434 true || skip_all "no seccomp filters here"
run_python no_pidfd.py
