#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# As record.t, with more compilers' options.
REGTRACE_RECORD_ALL=1 exec bash "$(dirname "$0")/record.t"
