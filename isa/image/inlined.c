/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the places where the compiler inlined a function that has no code of its own, from the
 * image's DWARF (version 5, 3.3.8). */
#include "isa/image/image.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of debug information to search: every rank of a node waits for the answer, and reading more
 * than this takes too long. */
#define SEARCHED_MAX ((size_t)512 << 20)

struct inlined_search {
    const struct image *image;
    const char *wanted;
    char *out;
    size_t room, used;
    unsigned found;
};

static bool is_wanted(struct inlined_search *s, Dwarf_Die *function)
{
    Dwarf_Attribute a;
    const char *name = dwarf_diename(function);
    const char *linkage = dwarf_formstring(
        dwarf_attr_integrate(function, DW_AT_linkage_name, &a) != NULL ? &a : NULL);
    struct image_symbol symbol = {.name = linkage != NULL ? linkage : name, .version = ""};
    return symbol.name != NULL && (image_name_match(&symbol, s->wanted) != NAME_NO ||
                                   (name != NULL && strcmp(name, s->wanted) == 0));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Returns the source file of the replaced call, "" if unknown, and sets its line. */
static const char *call_file(Dwarf_Die *instance, Dwarf_Word *line)
{
    Dwarf_Attribute a;
    Dwarf_Die unit;
    Dwarf_Files *files;
    Dwarf_Word file = 0;
    *line = 0;
    (void)dwarf_formudata(dwarf_attr(instance, DW_AT_call_line, &a), line);
    if (dwarf_formudata(dwarf_attr(instance, DW_AT_call_file, &a), &file) != 0 ||
        dwarf_diecu(instance, &unit, NULL, NULL) == NULL ||
        dwarf_getsrcfiles(&unit, &files, NULL) != 0)
        return "";
    const char *name = dwarf_filesrc(files, file, NULL, NULL);
    return name != NULL ? base_name(name) : "";
}

/* Sets *at to the first instruction of this inlined instance. */
static bool first_address(Dwarf_Die *instance, Dwarf_Addr *at)
{
    Dwarf_Addr base, end;
    return dwarf_entrypc(instance, at) == 0 || dwarf_ranges(instance, 0, &base, at, &end) > 0;
}

static int take_instance(Dwarf_Die *instance, void *context)
{
    struct inlined_search *s = context;
    Dwarf_Addr at;
    Dwarf_Word line;
    if (!first_address(instance, &at) || at < s->image->base)
        return DWARF_CB_OK;
    const char *file = call_file(instance, &line);
    char text[256];
    int n = snprintf(text, sizeof text, "%s%.60s:%u address:%.80s+0x%llx", s->found > 0 ? ", " : "",
                     file, (unsigned)line, base_name(s->image->path),
                     (unsigned long long)(at - s->image->base));
    s->found++;
    if (n > 0 && s->used + (size_t)n < s->room) {
        memcpy(s->out + s->used, text, (size_t)n + 1);
        s->used += (size_t)n;
    } else {
        s->room = s->used; /* full: a shorter place must not follow a missing one */
    }
    return DWARF_CB_OK;
}

static int take_function(Dwarf_Die *function, void *context)
{
    struct inlined_search *s = context;
    if (dwarf_func_inline(function) != 0 && is_wanted(s, function))
        (void)dwarf_func_inline_instances(function, take_instance, s);
    return DWARF_CB_OK;
}

static int take_module(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr start,
                       void *context)
{
    struct inlined_search *s = context;
    Dwarf_Addr bias;
    (void)user;
    (void)name;
    (void)start;
    Dwarf_Die *unit = NULL;
    size_t searched = 0;
    Dwarf_Off last = 0;
    while (searched < SEARCHED_MAX && (unit = dwfl_module_nextcu(module, unit, &bias)) != NULL) {
        (void)dwarf_getfuncs(unit, take_function, s, 0);
        Dwarf_Off at = dwarf_dieoffset(unit);
        searched += at > last ? (size_t)(at - last) : 0;
        last = at;
    }
    return DWARF_CB_OK;
}

unsigned image_name_inlined(const struct image *m, const char *wanted, char *out, size_t room)
{
    struct inlined_search s = {.image = m, .wanted = wanted, .out = out, .room = room};
    out[0] = '\0';
    if (m->dwfl != NULL)
        (void)dwfl_getmodules(m->dwfl, take_module, &s, 0);
    return s.found;
}
