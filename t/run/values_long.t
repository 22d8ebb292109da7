#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long: values.t with all built-in plug-ins, and a larger HPC Challenge.
REGTRACE_TEST_ALL=1 exec bash "$(dirname "$0")/values.t"
