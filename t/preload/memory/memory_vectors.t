#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory traces of instructions that access only some elements of an operand: gathers, scatters,
# masks, string comparisons. Scalar code beside each says which elements these are.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
gcc -O1 -o vectors "$here/programs/memory_vectors.c" || exit 99
./vectors 500 >bare 2>has
MEMORY_LOG=log "$REGTRACE" run -quiet -o run -memory '^run_' -control 'start:enter_func:open_window,stop:enter_func:close_window' -- ./vectors 500 >out 2>err
is "$? $(cat out)" "0 $(cat bare)" "the same output" || diag "$(cat err)"
"$REGTRACE" skel replay run >replayed 2>said
is "$? $(cat said)" "0 " "the replay"
said=$("$PYTHON_ANY" "$here/memory_vectors.py" log replayed 2>&1)
is "$?" 0 "every element, and no other, in order" || diag "$said"
while IFS=: read -r name on; do
    # shellcheck disable=SC2254 # they are patterns
    case $(cat has) in
    $on) like "$said" "^$name [1-9]" "$name was compared" ;;
    *) skip "$name" "the processor does not have it" ;;
    esac
done <<'END'
maskmovdqu:*
bts:*
cmpsb:*
scasb:*
vpgatherdd:avx*
vpmaskmovd:avx*
vpscatterdd zmm:avx512
vmovdqu8:avx512
vpcompressd:avx512
END
sed 5000d log >fewer
"$PYTHON_ANY" "$here/memory_vectors.py" fewer replayed >said 2>&1
is "$?" 1 "one access too many is seen"
done_testing
