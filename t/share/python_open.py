# SPDX-License-Identifier: BSD-3-Clause
"""Checks the Python package on files that are open: growing, or left by a writer that was killed at
any moment."""

import os
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import python_package as package  # noqa: E402  skips everything where h5py is missing
from python_package import (
    folder,
    hm,
    np,
    plain_events,
    plain_file,
    regtrace,
    same,
    test,
)  # noqa: E402

package.TESTS.clear()


@test
def live_file_and_its_tail():
    path = os.path.join(folder("live"), "rank-00000.h5")
    all_events = plain_events()
    tail = [hm.tail_row(i, e) for i, e in enumerate(all_events)]
    # Stale rows below the length of /events, and a row beyond a hole: neither may appear.
    f = plain_file(
        path,
        events=all_events[:6],
        tail=[*tail[4:16], hm.tail_row(40, all_events[0])],
        live=True,
        attributes={"state": "open", "end_reason": ""},
    )
    run = regtrace.open(path)
    same(run.ranks["state"], ["live"])
    same(run.ranks["events"], [16])
    assert len(run.events()) == 16
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(run.mpi_calls(window=0)["function"], ["MPI_Send", "MPI_Recv", "MPI_Barrier"])
    # The writer goes on while the package has the run open.
    f["events"].resize((18,))
    f["events"][6:] = hm.rows(all_events[6:], hm.EVENT)
    f["events"].flush()
    assert len(run.events()) == 18
    # A function that is called for the first time brings its name.
    new = [
        (hm.mpi(11, True), b"MPI_Bcast", b"enter", b"", b""),
        (hm.mpi(11, False), b"MPI_Bcast", b"leave", b"", b""),
    ]
    n = f["functions"].shape[0]
    f["functions"].resize((n + 2,))
    f["functions"][n:] = np.array(new, dtype=hm.FUNCTION)
    f["functions"].flush()
    f["events"].resize((20,))
    f["events"][18:] = hm.rows(
        [hm.event(9000, hm.mpi(11, True)), hm.event(9100, hm.mpi(11, False))], hm.EVENT
    )
    f["events"].flush()
    same(run.events(code="MPI_Bcast")["label"], ["enter", "leave"])
    same(run.mpi_calls()["function"].tail(1), ["MPI_Bcast"])
    f.close()
    assert len(run.events()) == 20


@test
def torn_tail():
    all_events = plain_events()
    tail = [hm.tail_row(i, e) for i, e in enumerate(all_events)]
    path = os.path.join(folder("torn"), "rank-00000.h5")
    # Row 12 ends with columns of row 3: neither row 12 nor any row after it is there.
    for column in range(1, len(hm.TAIL)):
        torn = (*tail[12][:column], *tail[3][column:])
        if torn == tail[12]:
            continue
        plain_file(
            path,
            events=all_events[:6],
            tail=[*tail[6:12], torn, *tail[13:16]],
            attributes={"state": "open"},
        )
        run = regtrace.open(path)
        same(run.ranks["events"], [12])
        assert len(run.events()) == 12, column
    # Rows that nobody wrote: the dataset was only made longer.
    plain_file(
        path,
        tail=[tuple([0] * len(hm.TAIL))] * 3,
        events=[],
        windows=[],
        attributes={"state": "open"},
    )
    assert len(regtrace.open(path).events()) == 0
    # A file from before there was a check.
    plain_file(
        path,
        events=all_events[:6],
        tail=[row[:-1] for row in tail[6:16]],
        tail_type=hm.OLD_TAIL,
        attributes={"state": "open"},
    )
    same(regtrace.open(path).ranks["events"], [16])


@test
def rows_ahead_of_events():
    """Rows ahead of their events: fired alarms, windows, and a window whose end is half written."""
    path = os.path.join(folder("ahead"), "rank-00000.h5")
    events = plain_events()
    windows = [
        hm.window(0, 0, 2000, 2300, 0, 6, reason=0, stop_alarm=1),
        # its end is ahead
        hm.window(1, 1, 2100, 2400, 3, 9, reason=0, stop_alarm=1, stop_late=7, stop_icount=99),
        # half written: cut off, without the mark that says so
        hm.window(2, 2, 2150, 2200, 4, hm.NO_ROW, reason=254),
        hm.window(3, 3, 2150, 2200, 5, hm.NO_ROW, reason=254, truncated=1),
        hm.window(4, 4, 2500, 0, 8, hm.NO_ROW, reason=255),  # all of it is ahead
    ]
    content = {
        "events": events[:7],
        "windows": windows,
        "comms": [(2, 1, 0, 1, 0), (7, 2, 0, 1, 0)],
        "fired": [
            (0, 1998, 0, 0, 0, 0, 0, -1, 4096, -1, -1, 0),
            (7, 2598, 0, 1, 0, 1, 0, 0, 4096, 50, 52, 1),
        ],
    }
    plain_file(path, **content, attributes={"state": "open"})
    run = regtrace.open(path)
    w = run.windows()
    same(w["ordinal"], [0, 1, 2, 3])
    same(w["stop_ns"].isna(), [False, True, True, False])
    same(w["closed_by"], ["alarm", "open", "open", "killed"])
    same(w["truncated"], [False, False, False, True])
    same(w["stop_icount"], [None, None, None, None])
    assert len(run.fired()) == 1
    assert len(run.comms()) == 1
    # The package takes the same rows in a closed file as they are.
    plain_file(path, **content)
    assert len(regtrace.open(path).windows()) == 5


@test
def abandoned_writer():
    path = os.path.join(folder("gone"), "rank-00000.h5")
    plain_file(path, attributes={"state": "open", "writer_pid": np.uint32(2**22 + 5)})
    same(regtrace.open(path).ranks["state"], ["abandoned"])
    # Another process has this pid now.
    plain_file(path, attributes={"state": "open", "writer_start_time": np.uint64(3)})
    same(regtrace.open(path).ranks["state"], ["abandoned"])


sys.exit(package.main())
