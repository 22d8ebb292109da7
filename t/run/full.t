#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A full stream: the process drops and counts events, or waits. A stopped writer stands for a slow
# one.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/python.sh"
run_python full.py
