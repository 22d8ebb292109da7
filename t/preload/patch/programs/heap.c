/* SPDX-License-Identifier: BSD-3-Clause
 * Lets the heap grow by a gibibyte in steps of 16 MiB. Prints the MiB that brk(2) gave. */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define STEP ((intptr_t)16 << 20)

__attribute__((noinline)) int grows(int n)
{
    static volatile int sink;
    for (int i = 0; i < 500000; i++)
        sink += n;
    return sbrk(STEP) != (void *)-1 ? n + 1 : n;
}

int main(void)
{
    int n = 0;
    for (int i = 0; i < 64; i++)
        n = grows(n);
    (void)printf("%d\n", n * 16);
    return 0;
}
