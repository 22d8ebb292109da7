/* SPDX-License-Identifier: BSD-3-Clause
 * Example of a simulator that reads memory accesses from a pipe: counts the misses of a
 * direct-mapped cache of 32 KiB in each window of each thread.
 *
 *     cc -O2 -o skel_cache skel_cache.c
 *     regtrace skel replay -format binary RUN | ./skel_cache */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct record {
    uint64_t pc, address;
    uint32_t bytes;
    uint8_t kind; /* R, W, M: access; H: header; S, C, E: segment begins, continues, ends */
    uint8_t zero[3];
};

enum { LINES = 512, LINE = 64 };

int main(void)
{
    static struct record list[4096];
    static uint64_t cache[LINES];
    uint64_t accesses = 0, misses = 0;
    int32_t whose[4] = {0}; /* rank, pid, thread, window */
    for (size_t n; (n = fread(list, sizeof *list, 4096, stdin)) > 0;)
        for (const struct record *r = list; r < list + n; r++) {
            uint64_t line = r->address / LINE + 1; /* 0: an empty line */
            if (r->kind == 'H' && (memcmp(&r->pc, "RTACCESS", 8) != 0 || r->address != 1))
                return fprintf(stderr, "another version of the format\n"), 1;
            if (r->kind == 'S' || r->kind == 'C')
                memcpy(whose, r, sizeof whose);
            if (r->kind == 'E') {
                printf("rank %d, thread %d, window %d: %llu accesses, %llu misses\n", whose[0],
                       whose[2], whose[3], (unsigned long long)accesses,
                       (unsigned long long)misses);
                accesses = misses = 0;
            }
            if (r->kind == 'R' || r->kind == 'W' || r->kind == 'M') {
                accesses++;
                misses += cache[line % LINES] != line;
                cache[line % LINES] = line;
            }
        }
    return 0;
}
