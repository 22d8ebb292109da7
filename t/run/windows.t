#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Windows by MPI_Pcontrol on 4 ranks, under both MPIs: compares count, ordinals and contents with
# the program's own log.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/python.sh"
run_python windows.py
