# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# run_python SCRIPT [ARGUMENT]...: runs a test of whole runs that is written in Python. lib.sh makes
# the scratch folders and removes them; the script prints TAP.
run_python() {
    [ "$PYTHON" != no ] || skip_all "no python3 with h5py"
    export T PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$REGTRACE_SOURCE/t/run${PYTHONPATH:+:$PYTHONPATH}"
    "$PYTHON" "$REGTRACE_SOURCE/t/run/$1" "${@:2}"
    local rc=$?
    # shellcheck disable=SC2034  # read by lib.sh: the script has printed the plan
    rt_finished=1
    exit $rc
}
