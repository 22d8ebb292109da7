#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long: kernels.t with 100,000 samples of each instruction. Their shares are within 3 standard
# errors, except for what chance permits.
REGTRACE_TEST_SAMPLES=${REGTRACE_TEST_SAMPLES:-100000} REGTRACE_TEST_LIMIT=1200 exec bash "$(dirname "$0")/kernels.t"
