#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long test: poke.t, for an hour.
REGTRACE_POKE_SECONDS=1800 exec bash "$(dirname "$0")/poke.t"
