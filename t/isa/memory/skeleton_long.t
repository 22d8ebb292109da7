#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs t/isa/memory/skeleton.t with all compiler options, more executables and more damaged ones;
# takes some ten minutes.
SKELETON_LONG=1 exec bash "$(dirname "$0")/skeleton.t"
