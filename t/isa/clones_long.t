#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# t/isa/clones.t with all ways to compile: some five minutes.
SKELETON_LONG=1 exec bash "$(dirname "$0")/clones.t"
