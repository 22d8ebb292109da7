#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long: conversions.t with 200 damaged copies.
REGTRACE_TEST_ROUNDS=${REGTRACE_TEST_ROUNDS:-200} exec bash "$(dirname "$0")/conversions.t"
