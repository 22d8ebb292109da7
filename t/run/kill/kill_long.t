#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long: kill.t with 200 processes.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../python.sh"
export ROUNDS="${ROUNDS:-200}"
run_python kill/kill.py
