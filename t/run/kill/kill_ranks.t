#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Kills ranks of MPI jobs by SIGKILL at random moments, ROUNDS times under each MPI (default 4).
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../python.sh"
run_python kill/kill_ranks.py
