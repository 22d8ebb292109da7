/* SPDX-License-Identifier: BSD-3-Clause
 * Completes the environment of programs that a traced program starts. Allocates nothing, because
 * exec may be called in signal handlers and in children of vfork. */
#include "preload/environment.h"

#include "preload/life.h"
#include "preload/process.h"

#include <string.h>

#define ENTRIES_MAX 8192 /* 64 KiB of stack, as execl() itself would take */
#define ADDED_MAX 8

bool environment_is(const char *entry, const char *name)
{
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static bool preloads_us(const char *entry)
{
    return environment_is(entry, "LD_PRELOAD") && strstr(entry, "libregtrace") != NULL;
}

size_t environment_room(char *const envp[])
{
    if (!process.traced || !process.follow || envp == NULL ||
        process_child_environment()[0] == NULL)
        return 0;
    size_t n = 0;
    bool preloads = false;
    for (; envp[n] != NULL; n++)
        preloads = preloads || preloads_us(envp[n]);
    return preloads && n <= ENTRIES_MAX ? n + ADDED_MAX + 1 : 0;
}

/* Does an added entry set the same variable? */
static bool is_replaced(const char *entry, const char *const *added)
{
    for (size_t i = 0; i < ADDED_MAX && added[i] != NULL; i++) {
        size_t n = strcspn(added[i], "=");
        if (strncmp(entry, added[i], n + 1) == 0)
            return true;
    }
    return false;
}

char *const *environment_complete(char *const envp[], char **list, size_t room)
{
    if (room == 0)
        return envp;
    const char *const *added = process_child_environment();
    size_t n = 0;
    for (size_t i = 0; envp[i] != NULL && n + ADDED_MAX + 1 < room; i++)
        if (!is_replaced(envp[i], added))
            list[n++] = envp[i];
    for (size_t i = 0; i < ADDED_MAX && added[i] != NULL; i++)
        list[n++] = (char *)(size_t)added[i]; /* exec does not write there */
    list[n] = NULL;
    return list;
}

static bool is_separator(char c)
{
    return c == ':' || c == ' ';
}

void environment_cut_library(char *entry)
{
    char *value = strchr(entry, '=');
    if (value == NULL)
        return;
    char *to = ++value, *at = value;
    while (*at != '\0') {
        while (is_separator(*at))
            at++;
        size_t n = strcspn(at, ": ");
        char *end = at + n;
        char *name = at;
        for (char *p = at; p < end; p++)
            if (*p == '/')
                name = p + 1;
        if (n != 0 && strncmp(name, "libregtrace", 11) != 0) {
            if (to != value)
                *to++ = ':';
            memmove(to, at, n);
            to += n;
        }
        at = end;
    }
    *to = '\0';
}
