#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long: killed.t with 200 rounds of each kind.
REGTRACE_ROUNDS=200 exec "${REGTRACE_BUILD:-.}/t/writer/killed.t"
