#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Kills processes by SIGKILL at random moments, ROUNDS times (default 20): nothing that was logged
# is lost.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../python.sh"
run_python kill/kill.py
