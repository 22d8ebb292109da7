#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# partitioned_messages.t with 50 runs of each kind.
REGTRACE_SEEDS=${REGTRACE_SEEDS:-50} exec "$(dirname "$0")/partitioned_messages.t"
