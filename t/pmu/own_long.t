#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Long test, some 25 minutes: own.t with 100,000 traced calls. Most of the time is the oracle's,
# which gets 10,000 regions.
T_CALLS=100000 T_PARTS="mpi regions" T_LESS=10 exec bash "$(dirname "$0")/own.t"
