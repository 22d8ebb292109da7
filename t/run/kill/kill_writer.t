#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Kills writers by SIGKILL at random moments, ROUNDS times (default 8).
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../python.sh"
run_python kill/kill_writer.py
