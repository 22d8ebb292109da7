/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the word of a function's name that its symbols contain. */
#include "base/names/name.h"

#include <ctype.h>
#include <string.h>

size_t name_last_word(const char *name, const char **word)
{
    size_t end = strcspn(name, "(<@"), begin = end;
    if (strstr(name, "operator") != NULL)
        return 0;
    while (begin > 0 && (isalnum((unsigned char)name[begin - 1]) || name[begin - 1] == '_'))
        begin--;
    *word = name + begin;
    return end - begin;
}
