/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the names that are most similar to a misspelt one. */
#include "base/names/nearest.h"

#include "base/names/distance.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A name shorter than PREFIX_LEAST that starts the wanted one is probably a coincidence. */
enum { PREFIX_LEAST = 4, CLASS = 1000 };

static void fold(const char *text, char out[TEXT_DISTANCE_MAX + 1])
{
    size_t n = 0;
    for (; n < TEXT_DISTANCE_MAX && text[n] != '\0'; n++)
        out[n] = (char)tolower((unsigned char)text[n]);
    out[n] = '\0';
}

/* Ranks names in three classes: names that begin with the wanted one, or that the wanted one begins
 * with; names that contain it; all others. Edit distance ranks the names of a class. Ignores
 * case. */
static unsigned distance(const char *wanted, const char *name)
{
    char w[TEXT_DISTANCE_MAX + 1], n[TEXT_DISTANCE_MAX + 1];
    fold(wanted, w);
    fold(name, n);
    unsigned d = text_distance(w, n);
    size_t wanted_length = strlen(w), length = strlen(n);
    if (wanted_length != 0 && strncmp(n, w, wanted_length) == 0)
        return d;
    if (length >= PREFIX_LEAST && strncmp(n, w, length) == 0)
        return d;
    return d + (wanted_length != 0 && strstr(n, w) != NULL ? CLASS : 2 * CLASS);
}

void near_names_look(struct near_names *n, const char *name)
{
    const size_t last = sizeof n->best / sizeof *n->best - 1;
    unsigned d = distance(n->wanted, name);
    for (size_t i = 0; i <= last; i++)
        if (strncmp(n->best[i].name, name, sizeof n->best[i].name - 1) == 0)
            return; /* C++ functions may share one name */
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
