#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long: kill_ranks.t with 40 jobs under each MPI.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../python.sh"
export ROUNDS="${ROUNDS:-40}"
run_python kill/kill_ranks.py
