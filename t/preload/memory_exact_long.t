#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# t/preload/memory_exact.t with all kernels, compilers, levels and plans: half an hour.
MEMORY_LONG=1 exec bash "$(dirname "$0")/memory_exact.t"
