#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs t/isa/memory/copies.t with all compiler options; takes some five minutes.
SKELETON_LONG=1 exec bash "$(dirname "$0")/copies.t"
