#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The wrappers over a (feigned) library of the standard binary interface, linked and loaded
# RTLD_GLOBAL.
. "$(dirname "$0")/../lib.sh"

shim=$REGTRACE_BUILD/t/mpi/.libs/dumpshim.so
program=$REGTRACE_BUILD/t/mpi/standard_calls
run 20 "$program"
is "$status" 0 "runs bare"
bare=$out
run 20 env LD_PRELOAD="$shim" DUMPSHIM_OUT="$T/rec" "$program"
is "$status" 0 "runs under the wrappers" || diag "$err"
is "$out" "$bare" "and prints the same"
recorded=$(cat "$T"/rec.*)
like "$recorded" '^hook level_abi 0 3$' "the interface is recognized"
like "$recorded" '^hook init_done 0 1$' "rank and size come from the world"
like "$recorded" ' \+MPI_Send 0 21474836478 281474976710676$' "a send to MPI_PROC_NULL (-2), tag 4, 20 bytes, in the world"
like "$recorded" ' \+MPI_Recv 0 18446744073709551615 281474976710688$' "a receive from any, of any tag, room for 32 bytes"
is "$(grep -c ' EV_MPI_COMPLETE ' <<<"$recorded")" 2 "two completions: the receive and the wait, not the wait for nothing"
like "$recorded" ' EV_MPI_COMPLETE 0 0 73014444032$' "the receive's source 0 and tag 17, though the program ignored them"
like "$recorded" ' EV_MPI_COMPLETE 0 74565 73014444032$' "the wait's, with its request"
is "$(awk '$3 == "EV_MPI_BYTES" {print $6}' <<<"$recorded" | xargs)" "12 12" "bytes received"
done_testing
