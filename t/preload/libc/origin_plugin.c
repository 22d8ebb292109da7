/* SPDX-License-Identifier: BSD-3-Clause
 * A shared object whose constructor records a region and sets a value. */
#include "share/include/regtrace.h"

int plugin_answer(void);

static int answer = 1;

__attribute__((constructor)) static void starts(void)
{
    regtrace_region_begin("plugin's constructor");
    answer = 42;
    regtrace_region_end("plugin's constructor");
}

__attribute__((visibility("default"))) int plugin_answer(void)
{
    return answer;
}
