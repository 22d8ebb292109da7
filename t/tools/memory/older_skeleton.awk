# SPDX-License-Identifier: BSD-3-Clause
# Gives a skeleton the form that older versions wrote: loops and accesses are tables in C, not
# comments. With -v texts=0 it is as still older versions wrote it: without counters and expressions.
function number(n) { return n == "-" ? -1 : "0x" n }
function empty() { loops = counters = places = accesses = "" }
BEGIN { empty() }
/^\/\* loop / {
    loops = loops (loops == "" ? "" : ", ") "{0x" $3 ", " number($4) ", " number($5) "}"
    counters = counters (counters == "" ? "" : ", ") "\"" $6 "\""
    next
}
/^\/\* place / {
    text = $0
    sub(/^\/\* place [^ ]* [^ ]* /, "", text)
    sub(/ \*\/$/, "", text)
    places = places (places == "" ? "" : ", ") "{0x" $3 ", " number($4) "}"
    accesses = accesses (accesses == "" ? "" : ", ") "\"" text "\""
    next
}
/^#if .*SKELETON_SOME/ && !begun {
    print "struct skeleton_loop { unsigned long long head; int parent; unsigned depth; };"
    print "struct skeleton_place { unsigned long long pc; int loop; };"
    begun = 1
}
/^ENTRY\(/ {
    n = $1
    gsub(/ENTRY\(|,/, "", n)
}
/^#endif/ && n != "" {
    print "static const struct skeleton_loop l_" n "[] = {" (loops == "" ? "{0}" : loops) "};"
    print "static const struct skeleton_place p_" n "[] = {" (places == "" ? "{0}" : places) "};"
    if (texts) {
        print "static const char *const c_" n "[] = {" (counters == "" ? "0" : counters) "};"
        print "static const char *const a_" n "[] = {" (accesses == "" ? "0" : accesses) "};"
    }
    empty()
    n = ""
}
{ print }
