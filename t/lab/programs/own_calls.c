/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: between two named regions, calls functions of MPI that are legal before MPI_Init
 * and do almost nothing. Argument 1: number of calls; argument 2: turns of a loop after each. */
#include "loop.h"
#include "share/include/regtrace.h"

#include <dlfcn.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 3 || dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL) == NULL)
        return 2;
    /* The preloaded library's functions, if it is preloaded. */
    int (*version)(int *, int *) = (int (*)(int *, int *))dlsym(RTLD_DEFAULT, "MPI_Get_version");
    int (*started)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    if (version == NULL || started == NULL)
        return 2;
    long n = atol(argv[1]), turns = atol(argv[2]);
    int a, b;
    (void)version(&a, &b);
    (void)started(&a);
    regtrace_region_begin("first");
    for (long i = 0; i < n; i++) {
        (void)version(&a, &b);
        (void)started(&a);
        if (turns != 0)
            loop_turns((uint64_t)turns);
    }
    regtrace_region_begin("last");
    return a != 0;
}
