#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# call_paths.t with 10,000 random moments in all.
MOMENTS=2500 exec bash "$(dirname "$0")/call_paths.t"
