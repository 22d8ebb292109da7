/* SPDX-License-Identifier: BSD-3-Clause
 * A small program to trace in the lab: regions N enters and leaves a named region N times and
 * prints N. */
#include "share/include/regtrace.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < n; i++) {
        if (regtrace_region_begin == NULL || regtrace_region_end == NULL)
            break;
        regtrace_region_begin("turn");
        regtrace_region_end("turn");
    }
    printf("%d regions\n", n);
    return 0;
}
