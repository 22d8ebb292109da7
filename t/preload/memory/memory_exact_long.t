#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long test, half an hour: t/preload/memory/memory_exact.t with all kernels, compilers, levels and
# plans.
MEMORY_LONG=1 exec bash "$(dirname "$0")/memory_exact.t"
