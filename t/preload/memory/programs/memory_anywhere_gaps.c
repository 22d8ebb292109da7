/* SPDX-License-Identifier: BSD-3-Clause
 * Checks that each window of a replay writes only consecutive elements of the array of
 * memory_anywhere.c.
 *
 *   memory_anywhere_gaps REPLAY ADDRESS [N]
 *
 * REPLAY is what regtrace skel replay printed, ADDRESS (hexadecimal) where the array is. Prints how
 * many windows, elements and gaps there are, and where the first gap is. N leaves out the N-th
 * write of an element, to see whether the check finds that. In C because replays have millions of
 * lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4096, WINDOWS = 1 << 20 };

static unsigned char seen[WINDOWS]; /* windows that the replay names */
static long windows, elements, gaps, left_out;
static long thread = -1, window = -1;
static long last = -1; /* the element that the window wrote last, or -1 */
static char first_gap[160];

/* Returns the number after " WHAT " in a comment of the replay, -1 if there is none. */
static long number_of(const char *line, const char *what)
{
    const char *at = strstr(line, what);
    return at != NULL ? strtol(at + strlen(what), NULL, 10) : -1;
}

static void comment(const char *line)
{
    long in_thread = number_of(line, " thread "), in_window = number_of(line, " window ");
    if (in_window < 0)
        return;
    if (in_window >= WINDOWS) {
        fprintf(stderr, "window %ld: more windows than the check can count\n", in_window);
        exit(2);
    }
    if (in_thread != thread || in_window != window)
        last = -1;
    thread = in_thread;
    window = in_window;
    windows += !seen[window];
    seen[window] = 1;
}

/* line: the instruction, R, W or M, the access's size, its address. */
static void access_line(char *line, unsigned long base)
{
    char *rest = NULL;
    unsigned long pc = strtoul(line, &rest, 16);
    char kind = rest[0] != '\0' ? rest[1] : '\0';
    if (kind != 'R' && kind != 'W' && kind != 'M') {
        fprintf(stderr, "not a line of a replay: %s", line);
        exit(2);
    }
    long count = strtol(rest + 2, &rest, 10) / 8; /* a vector has several elements */
    unsigned long offset = strtoul(rest, NULL, 16) - base;
    if (offset >= 8 * SIZE || kind == 'R' || --left_out == 0)
        return;
    long n = (long)(offset / 8);
    if (last >= 0 && n != (last + 1) % SIZE && gaps++ == 0)
        snprintf(first_gap, sizeof first_gap, ", the first from %ld to %ld in window %ld at %lx",
                 last, n, window, pc);
    last = (n + count - 1) % SIZE;
    elements += count;
}

int main(int argc, char **argv)
{
    FILE *replay = argc > 2 ? fopen(argv[1], "r") : NULL;
    if (replay == NULL) {
        fprintf(stderr, "memory_anywhere_gaps REPLAY ADDRESS [N]\n");
        return 2;
    }
    unsigned long base = strtoul(argv[2], NULL, 16);
    left_out = argc > 3 ? atol(argv[3]) : 0;
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, replay) > 0) {
        if (line[0] == '#')
            comment(line);
        else
            access_line(line, base);
    }
    printf("%ld windows, %ld elements, %ld gaps%s\n", windows, elements, gaps, first_gap);
    return 0;
}
