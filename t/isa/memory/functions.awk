# SPDX-License-Identifier: BSD-3-Clause
# Reads a skeleton's source. Prints the addresses of its functions; for those that are called
# directly also, as bits, the registers that callers know.
/^\/\* [0-9]+ calls / { for (i = 4; i < NF; i++) called[$i] = 1 }
/^INNER int d_0x.*\)$/ {
    name = substr($3, 5); sub(/\(.*/, "", name); bits = 0
    for (i = 9; i <= NF; i += 2) { r = $i; gsub(/[^0-9]/, "", r); bits += 2 ^ r }
    passed[name] = bits
}
/^ENTRY\(/ { split($0, w, /[(, ]+/); sub("0x", "", w[3]); at[++n] = w[3]; number[n] = w[2] }
END { for (i = 1; i <= n; i++) print at[i] (number[i] in called || passed[at[i]] > 0 ? " " passed[at[i]] + 0 : "") }
