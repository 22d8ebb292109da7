# SPDX-License-Identifier: BSD-3-Clause
"""What ranks do with each other: the part of a run's frames that joins all ranks."""

import os
import warnings

from regtrace import analysis, causes, comparison, toolkit
from regtrace.channels import Channels
from regtrace.errors import IncompleteWarning
from regtrace.frames import only
from regtrace.places import Places


class Together:
    """The methods of Run that need all ranks."""

    def messages(self):
        """Returns a row per message from rank to rank of which both ends are in windows.

        - send_ns, sent_ns: the sending call begins and ends, in send_window
        - receive_ns, received_ns: the receive is posted and, in receive_window, complete

        `regtrace emulate` has matched them; see waits(). unmatched() has the other ends.
        """
        self._warn_of_profile(3)
        found = self._matches()
        found.warn(2)
        return self._shifted(found.message_frame())

    def unmatched(self):
        """Returns a row per send or receive without a partner, and why it has none (reason).

        end: "send" or "receive". sender, receiver, tag: NA if unknown. bytes: 0 if unknown.
        """
        self._warn_of_profile(3)
        return self._shifted(self._matches().unmatched_frame())

    def mpi_matrix(self, what="bytes"):
        """Returns a square frame of bytes from rank (row) to rank (column).

        what: "bytes", or "messages" for numbers of messages. Sums messages(), and the sends of
        unmatched() whose receiver is known. attrs["source"]: "messages", "sends", or "messages and
        sends" if there are both.
        """
        self._warn_of_profile(3)
        found, size = self._matches(), max(max(f.size, f.rank + 1) for f in self.files)
        return analysis.matrix(found.messages, found.unmatched, size, what)

    def imbalance(self, by="window", window=None):
        """Returns how uneven ranks are: mean, min and max in ns, the ranks of both, and max / mean.

        by="window" or "run": time outside MPI of the threads that call MPI. by="function": time in
        each MPI function, including ranks that did not call it.
        """
        return analysis.imbalance(self.windows(window=window), self._outermost(window), by)

    def window_statistics(self, window=None):
        """Returns a row per window (ordinal) and quantity: mean, min and max over ranks, and who.

        The quantities are duration_ns, mpi_share, calls, bytes and instructions of the threads that
        call MPI.
        """
        return analysis.window_statistics(self.windows(window=window), self._outermost(window))

    def waits(self, window=None, places=False):
        """Returns a row per wait of a rank for another (for_rank), ordered by begin. kind:

        - "late sender": in a receive or wait, before the message was sent
        - "late receiver": in MPI_Ssend, before the receive was posted
        - "collective": in a collective call, before the last rank of its communicator entered it

        The wait begins with the call (begin_ns). A small wait_ns is error of the clocks and time of
        the call itself: see clock_error_ns of `ranks`, and compare with a call without waiting.
        for_thread, for_function: of the call that came late. path, for_path: where the two calls
        were made, numbers of paths() of their ranks; 0 unknown.

        places: adds site_function, file, line and stack of both calls, as mpi_calls() does; those
        of the call that came late begin with "for_".

        `regtrace emulate` finds them, by the same rule as `regtrace report`. If the run's folder
        has no channels.h5 with all events, this starts the command for itself.
        """
        self._warn_of_profile(3)
        found, known = self._matches(), Places() if places else None
        found.warn(2)
        if found.collectives_left:
            text = (
                f"{found.collectives_left} collective calls are left out: not all ranks of their "
                "communicator have recorded them"
            )
            warnings.warn(text, IncompleteWarning, stacklevel=2)
        frame = found.wait_frame(self.event_names(), self.files, known)
        if places:
            known.warn(2)
        return self._shifted(frame if window is None else only(frame, window=window))

    def efficiency(self):
        """Returns POP's efficiencies, as `regtrace report --efficiency` has them: first a row for
        all windows together (window NA), then one for each window.

        parallel_efficiency = load_balance * communication_efficiency; communication_efficiency =
        serialisation * transfer. NaN if unknown, with a warning that says why. useful_ns: time
        outside MPI, of all processes together. A process counts in a window in which it calls no
        MPI, too. most_useful_ns and most_useful_rank: of the process that has most.
        """
        frame = comparison.efficiency_rows([self], 2)
        return frame[[c for c in frame if c != "run" and not c.endswith("_scaling")]]

    def delays(self, window=None):
        """Returns a row per rank and activity that made ranks wait, the most expensive first.

        cost_ns = direct_ns + propagated_ns: how long all ranks that waited were kept, added up, so
        that it can exceed the length of the run. direct: waits for this rank; propagated: waits for
        ranks that were late because they had waited for this one. share: of all waiting. waits: in
        how many this rank was waited for.

        activity: what the rank did, in one line. kind: "MPI" (a call), "between" (the time between
        two calls), "function" or "region" (of the program). function: of that call, or of the call
        that ends the activity, or the program's function or region. site_function, file, line,
        stack: where that call was made, as in mpi_calls(places=True). from_function, from_file and
        so on: of the call after which the activity "between" begins. NA if unknown.

        The rows are those of `regtrace report`, which this starts. attrs["unknown_ns"]: waiting
        whose cause is not known.
        """
        self._warn_of_profile(3)
        return causes.delays(self, window, 2)

    def critical_path(self, by="activity", window=None):
        """Returns the critical path of the main threads in windows, the longest part first.

        It has no waiting: only what is on it makes the run faster if it gets faster. It goes from
        the end of MPI_Init to the begin of MPI_Finalize at most. attrs["length_ns"] is its length,
        share a part of it.

        - by="activity": path_ns on the path, mean_ns over all ranks, imbalance_ns (how much longer
          on the path), and what the activity is, as in delays()
        - by="rank": path_ns of each rank
        - by="window": window, start_ns, stop_ns, length_ns, crossings from rank to rank, broken
          (waits at which the path could not cross), the rank with most of it, its rank_ns, and
          whether events were dropped

        The rows are those of `regtrace report --critical-path`, which this starts.
        """
        self._warn_of_profile(3)
        return self._shifted(causes.critical_path(self, window, by, 2))

    def _outermost(self, window=None):
        return analysis.outermost(self.mpi_calls(window=window))

    def _channels(self):
        first = self.files[0].path
        return Channels(os.path.join(os.path.dirname(first), "channels.h5"))

    def _matches(self):
        """Returns the Matches of the run as it is now, of its channels.h5 or by the command."""
        counts = dict.fromkeys(((f.rank, f.pid) for f in self.files), 0)
        for f in self.files:  # exec leaves several files of one pid
            counts[f.rank, f.pid] += f.event_count()
        if self._kept is None or self._kept[0] != counts:
            file = self._channels()
            if file.has_matches(counts):
                self._kept = counts, file.matches()
            else:
                with toolkit.matched(self.tool, self.path) as path:
                    self._kept = counts, Channels(path).matches()
        return self._kept[1]
