#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A stream that is full: drop and count, or wait; a writer that is stopped stands for a slow one.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/python.sh"
run_python full.py
