#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long: every call of t/tools/failing.t fails in turn.
FAILING_MOST=1000000 exec bash "$(dirname "$0")/failing.t"
