#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long test: builds.t with all compilers, levels and ways of linking, and four programs.
REGTRACE_BUILDS=all exec bash "$(dirname "$0")/builds.t"
