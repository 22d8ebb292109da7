#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# As builds.t: all compilers, levels and ways, four programs.
REGTRACE_BUILDS=all exec bash "$(dirname "$0")/builds.t"
