#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# 40 ranks of jobs under each MPI killed with SIGKILL at random moments.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/python.sh"
export ROUNDS="${ROUNDS:-40}"
run_python kill_ranks.py
