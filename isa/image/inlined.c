/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the places where the compiler inlined a function that has no code of its own, from the
 * image's DWARF (version 5, 3.3.8). */
#include "isa/image/image.h"

#include "base/identity.h"
#include "base/names/name.h"
#include "base/toolkit/debug_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of debug information to search: every rank of a node waits for the answer, and reading more
 * than this takes too long. */
#define SEARCHED_MAX ((size_t)512 << 20)

/* As SEARCHED_MAX, of what is walked entry by entry. */
#define WALKED_MAX ((size_t)128 << 20)

struct inlined_search {
    const struct image *image;
    const char *wanted;
    char *out;
    size_t room, used;
    unsigned found;
    /* The function's own entries, to which inlined instances refer: where they lie in memory. */
    const void **functions;
    size_t function_count;
    uint64_t *places; /* first addresses of the instances found so far */
};

/* Returns "scope::scope::name" of a function, malloc'ed, by the entries that contain its
 * declaration. gcc writes no linkage name for functions that other units cannot call. */
static char *qualified_name(Dwarf_Die *function, const char *name)
{
    Dwarf_Attribute a;
    Dwarf_Die declared = *function, *scopes = NULL;
    char *text = NULL;
    size_t length;
    (void)dwarf_formref_die(dwarf_attr(function, DW_AT_specification, &a), &declared);
    int n = dwarf_getscopes_die(&declared, &scopes);
    FILE *out = open_memstream(&text, &length);
    for (int i = n; out != NULL && i-- > 1;) {
        int tag = dwarf_tag(&scopes[i]);
        const char *scope = dwarf_diename(&scopes[i]);
        if (tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
            tag == DW_TAG_union_type || tag == DW_TAG_subprogram)
            (void)fprintf(out, "%s%s::", scope != NULL ? scope : "(anonymous namespace)",
                          tag == DW_TAG_subprogram ? "()" : "");
    }
    free(scopes);
    if (out == NULL)
        return NULL;
    (void)fputs(name, out);
    return fclose(out) == 0 ? text : NULL;
}

static bool is_wanted(struct inlined_search *s, Dwarf_Die *function)
{
    Dwarf_Attribute a;
    const char *name = dwarf_diename(function), *word;
    const char *linkage = dwarf_formstring(
        dwarf_attr_integrate(function, DW_AT_linkage_name, &a) != NULL ? &a : NULL);
    struct image_symbol symbol = {.name = linkage != NULL ? linkage : name, .version = ""};
    if (symbol.name == NULL)
        return false;
    if (image_name_matches(&symbol, s->wanted) || (name != NULL && strcmp(name, s->wanted) == 0))
        return true;
    size_t length = name_last_word(s->wanted, &word);
    if (linkage != NULL || name == NULL || memmem(name, strlen(name), word, length) == NULL)
        return false;
    char *plain = qualified_name(function, name);
    bool yes = plain != NULL && image_name_plain_matches(plain, s->wanted);
    free(plain);
    return yes;
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
    return name != NULL ? identity_base_name(name) : "";
}

/* Sets *at to the first instruction of this inlined instance. */
static bool first_address(Dwarf_Die *instance, Dwarf_Addr *at)
{
    Dwarf_Addr base, end;
    return dwarf_entrypc(instance, at) == 0 || dwarf_ranges(instance, 0, &base, at, &end) > 0;
}

/* The search comes to some instances twice. */
static bool is_known(const struct inlined_search *s, uint64_t at)
{
    for (unsigned i = 0; i < s->found; i++)
        if (s->places[i] == at)
            return true;
    return false;
}

static int take_instance(Dwarf_Die *instance, void *context)
{
    struct inlined_search *s = context;
    Dwarf_Addr at;
    Dwarf_Word line;
    if (!first_address(instance, &at) || at < s->image->base || is_known(s, at))
        return DWARF_CB_OK;
    if (image_grow((void **)&s->places, s->found, sizeof *s->places) != 0)
        return DWARF_CB_ABORT;
    s->places[s->found] = at;
    const char *file = call_file(instance, &line);
    char text[256];
    int n = snprintf(text, sizeof text, "%s%.60s:%u address:@+0x%llx", s->found > 0 ? ", " : "",
                     file, (unsigned)line, (unsigned long long)(at - s->image->base));
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
    bool compiled = dwarf_hasattr(function, DW_AT_low_pc) || dwarf_hasattr(function, DW_AT_ranges);
    /* Link-time optimization does not say of functions that they were inlined. */
    if (compiled || dwarf_hasattr(function, DW_AT_declaration) || !is_wanted(s, function))
        return DWARF_CB_OK;
    (void)dwarf_func_inline_instances(function, take_instance, s);
    if (image_grow((void **)&s->functions, s->function_count, sizeof *s->functions) != 0)
        return DWARF_CB_ABORT;
    s->functions[s->function_count++] = function->addr;
    return DWARF_CB_OK;
}

/* Looks in one unit for the function and for its instances. */
static void search_unit(struct inlined_search *s, Dwarf_Die *unit)
{
    (void)dwarf_getfuncs(unit, take_function, s, 0);
}

static int compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (const void *const *)a, y = (uintptr_t) * (const void *const *)b;
    return (x > y) - (x < y);
}

static bool is_instance(const struct inlined_search *s, Dwarf_Die *entry)
{
    Dwarf_Die origin;
    Dwarf_Attribute a;
    const void *at = NULL;
    if (dwarf_tag(entry) == DW_TAG_inlined_subroutine &&
        dwarf_formref_die(dwarf_attr(entry, DW_AT_abstract_origin, &a), &origin) != NULL)
        at = origin.addr;
    return at != NULL && bsearch(&at, s->functions, s->function_count, sizeof at, compare) != NULL;
}

/* Takes the inlined instances below `parent` that refer to the function, in whichever unit. */
static void walk(struct inlined_search *s, Dwarf_Die *parent)
{
    Dwarf_Die child;
    for (int rc = dwarf_child(parent, &child); rc == 0; rc = dwarf_siblingof(&child, &child)) {
        if (is_instance(s, &child))
            (void)take_instance(&child, s);
        walk(s, &child);
    }
}

static const char *text_of(Dwarf_Die *unit, unsigned name)
{
    Dwarf_Attribute a;
    return dwarf_formstring(dwarf_attr(unit, name, &a));
}

/* Is something that is no file in one of the places where libdw looks for the unit's .dwo file: in
 * the image's folder and in the folder of the compilation? */
static bool has_special_dwo(Dwfl_Module *module, Dwarf_Die *unit)
{
    const char *name = text_of(unit, DW_AT_dwo_name), *compiled = text_of(unit, DW_AT_comp_dir);
    const char *image = NULL, *debug = NULL;
    char folder[PATH_MAX];
    name = name != NULL ? name : text_of(unit, DW_AT_GNU_dwo_name);
    if (name == NULL)
        return false;
    (void)dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &image, &debug);
    image = debug != NULL ? debug : image != NULL ? image : "";
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(identity_base_name(image) - image), image);
    if (name[0] == '/')
        return debug_file_is_special("", "", 0, "", name);
    return debug_file_is_special("", folder, (int)strlen(folder), "", name) ||
           (compiled != NULL && debug_file_is_special(compiled[0] == '/' ? "" : folder, compiled,
                                                      (int)strlen(compiled), "/", name));
}

/* Calls visit() for the units of a module, until `most` bytes of debug information have been seen.
 * For code compiled with -gsplit-dwarf the unit is that of the .dwo file, if it is there. */
static void each_unit(struct inlined_search *s, Dwfl_Module *module, size_t most,
                      void (*visit)(struct inlined_search *s, Dwarf_Die *unit))
{
    Dwarf_Addr bias;
    Dwarf_Die *unit = NULL, split;
    size_t seen = 0;
    Dwarf_Off last = 0;
    while (seen < most && (unit = dwfl_module_nextcu(module, unit, &bias)) != NULL) {
        uint8_t type = 0;
        bool known = !has_special_dwo(module, unit) &&
                     dwarf_cu_info(unit->cu, NULL, &type, NULL, &split, NULL, NULL, NULL) == 0;
        visit(s, known && type == DW_UT_skeleton && split.addr != NULL ? &split : unit);
        Dwarf_Off at = dwarf_dieoffset(unit);
        seen += at > last ? (size_t)(at - last) : 0;
        last = at;
    }
}

static int take_module(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr start,
                       void *context)
{
    struct inlined_search *s = context;
    (void)user;
    (void)name;
    (void)start;
    each_unit(s, module, SEARCHED_MAX, search_unit);
    /* Link-time optimization puts instances into other units than the function. */
    if (s->function_count == 0)
        return DWARF_CB_OK;
    qsort(s->functions, s->function_count, sizeof *s->functions, compare);
    each_unit(s, module, WALKED_MAX, walk);
    return DWARF_CB_OK;
}

unsigned image_name_inlined(const struct image *m, const char *wanted, char *out, size_t room)
{
    struct inlined_search s = {.image = m, .wanted = wanted, .out = out, .room = room};
    out[0] = '\0';
    if (m->dwfl != NULL)
        (void)dwfl_getmodules(m->dwfl, take_module, &s, 0);
    free(s.functions);
    free(s.places);
    return s.found;
}
