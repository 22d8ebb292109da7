#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# t/isa/skeleton.t with all ways to compile, more executables and more damaged ones: some ten minutes.
SKELETON_LONG=1 exec bash "$(dirname "$0")/skeleton.t"
