#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# placements.t with 20 placements of each program's windows, and those of hpcc: 220 in all.
REGTRACE_HPCC=1 REGTRACE_SEEDS=${REGTRACE_SEEDS:-20} exec "$(dirname "$0")/placements.t"
