#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What regtrace leaves after runs, and what the program can see of regtrace.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/python.sh"
run_python leftovers.py
