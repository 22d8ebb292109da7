/* SPDX-License-Identifier: BSD-3-Clause
 * The functions of the mini-application instrumented that enter_func and exit_func alarms name. */
#include <setjmp.h>

extern long instrumented_foo_count, instrumented_bar_count;
void instrumented_set_jump(int jump);
long foo(int depth);
long bar(int depth);

static jmp_buf back;
static int jumps;

void instrumented_set_jump(int jump)
{
    jumps = jump;
}

long bar(int depth)
{
    instrumented_bar_count++;
    if (depth == 0 && jumps)
        longjmp(back, 1);
    return depth == 0 ? 1 : depth + bar(depth - 1);
}

long foo(int depth)
{
    instrumented_foo_count++;
    if (jumps && setjmp(back) != 0)
        return 7;
    return 2 * bar(depth);
}
