/* SPDX-License-Identifier: BSD-3-Clause
 * Which names are most like a misspelt one. */
#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 95 };

/* Levenshtein's distance, letters of either case being the same. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[LONGEST + 1];
    size_t n = strnlen(b, LONGEST);
    for (size_t j = 0; j <= n; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; a[i - 1] != '\0' && i <= LONGEST; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= n; j++) {
            bool same = toupper((unsigned char)a[i - 1]) == toupper((unsigned char)b[j - 1]);
            unsigned best = diagonal + !same;
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

void near_names_look(struct near_names *n, const char *name)
{
    const size_t last = sizeof n->best / sizeof *n->best - 1;
    unsigned d = distance(n->wanted, name);
    for (size_t i = 0; i <= last; i++)
        if (strncmp(n->best[i].name, name, sizeof n->best[i].name - 1) == 0)
            return; /* of C++ functions there are several with one name */
    for (size_t i = 0; i <= last; i++) {
        if (n->best[i].name[0] != '\0' && n->best[i].distance <= d)
            continue;
        memmove(&n->best[i + 1], &n->best[i], (last - i) * sizeof n->best[0]);
        n->best[i].distance = d;
        (void)snprintf(n->best[i].name, sizeof n->best[i].name, "%s", name);
        return;
    }
}

void near_names_text(const struct near_names *n, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof n->best / sizeof *n->best && used < room; i++)
        if (n->best[i].name[0] != '\0')
            used += (size_t)snprintf(out + used, room - used, "%s%s",
                                     used == 0 ? "; nearest are " : ", ", n->best[i].name);
}
