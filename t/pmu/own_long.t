#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# As own.t, with 100,000 traced calls: some 25 minutes, most of them the oracle's, which is asked about 10,000 regions.
T_CALLS=100000 T_PARTS="mpi regions" T_LESS=10 exec bash "$(dirname "$0")/own.t"
