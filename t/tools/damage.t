#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Damaged, cut and foreign HDF5 files: the tools say what is wrong, and never crash or hang.
. "$(dirname "$0")/../lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$T" || exit 99
[ "$PYTHON" != no ] || skip_all 'no python3 with h5py'
mpi=$(mpis | tail -1)
[ -n "$mpi" ] || skip_all 'no MPI here'
mpirun_for "$mpi" 2 LD_PRELOAD="$LIBREGTRACE" REGTRACE_CONTROL=start:pcontrol:solve,stop:pcontrol:solved,repeat \
    REGTRACE_DIR="$T/good" "$APPS/stencil.$mpi" >/dev/null 2>&1
ok_run 'a good run to damage' "$REGTRACE" check "$T/good"
"$PYTHON" "$here/damage_rounds.py" "$REGTRACE" "$T/good" "$T/bad" "${REGTRACE_TEST_ROUNDS:-40}" >"$T/damage.out" 2>&1
ok $? 'no damage brings the tools down'
sed 's/^/# /' "$T/damage.out"
done_testing
