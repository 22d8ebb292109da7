#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long test: record.t, with more compiler options.
REGTRACE_RECORD_ALL=1 exec bash "$(dirname "$0")/record.t"
