/* SPDX-License-Identifier: BSD-3-Clause
 * Fails in every way that t/tap.h knows. Only t/harness/tap runs it. */
#include "t/tap.h"

int main(void)
{
    plan(8);
    ok(false, "false");
    is_str("a", "b", "texts");
    is_str(NULL, "b", "nothing");
    is_int(-1, 1, "numbers");
    is_u64(UINT64_MAX, 0, "large");
    skip("left out", "because");
    is_str(NULL, NULL, "both NULL");
    return done_testing();
}
