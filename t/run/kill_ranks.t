#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks of MPI jobs killed with SIGKILL at random moments, ROUNDS under each MPI (default 4).
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/python.sh"
run_python kill_ranks.py
