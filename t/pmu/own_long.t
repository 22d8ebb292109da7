#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# As own.t, with 100,000 traced calls.
T_CALLS=100000 exec bash "$(dirname "$0")/own.t"
