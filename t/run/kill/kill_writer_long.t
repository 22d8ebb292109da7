#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long: kill_writer.t with 60 writers.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../python.sh"
export ROUNDS="${ROUNDS:-60}"
run_python kill/kill_writer.py
