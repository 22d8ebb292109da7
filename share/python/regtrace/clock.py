# SPDX-License-Identifier: BSD-3-Clause
"""Converts raw ticks of a rank to nanoseconds of CLOCK_MONOTONIC on rank 0's node."""

import numpy as np

CLOSEST = 1_000_000  # ns; calibration points closer than this say nothing about the rate


class Clock:
    """A line through the first and the last calibration point, plus the node's offset and drift.

    The tools convert ticks in the same way.
    """

    def __init__(self, calibration, nominal_ns_per_tick, offset_ns, drift):
        self.known = len(calibration) > 0
        first, last = (calibration[0], calibration[-1]) if self.known else (None, None)
        self.ticks0 = int(first["ticks"]) if self.known else 0
        self.ns0 = int(first["monotonic_ns"]) if self.known else 0
        self.realtime_minus_monotonic = int(first["realtime_ns"]) - self.ns0 if self.known else None
        self.rate = nominal_ns_per_tick if nominal_ns_per_tick > 0 else 1.0
        if (
            self.known
            and int(last["monotonic_ns"]) > self.ns0 + CLOSEST
            and int(last["ticks"]) > self.ticks0
        ):
            self.rate = (int(last["monotonic_ns"]) - self.ns0) / (int(last["ticks"]) - self.ticks0)
        self.offset = offset_ns
        self.drift = drift

    def ns(self, ticks):
        """Converts ticks, an array or one number, to int64 ns."""
        away = (np.asarray(ticks, dtype=np.uint64) - np.uint64(self.ticks0)).astype(np.int64)
        since = (away.astype(np.float64) * self.rate).astype(np.int64)
        ns = since + (self.ns0 + self.offset)
        if self.drift != 0.0:
            ns = ns + (since.astype(np.float64) * self.drift).astype(np.int64)
        return ns

    def span_ns(self, ticks):
        """Converts a duration in ticks to int64 ns."""
        return np.rint(np.asarray(ticks, dtype=np.float64) * self.rate * (1.0 + self.drift)).astype(
            np.int64
        )
