#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Long test: memory_every.t, with a window that closes and opens again at every instruction.
EVERY_AGAIN=1 exec bash "$(dirname "$0")/memory_every.t"
