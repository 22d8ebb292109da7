/* SPDX-License-Identifier: BSD-3-Clause
 * Matches the names of functions against the names that users give. */
#include "isa/image/image.h"

#include "base/name.h"
#include "base/nearest.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* From the C++ run-time library: Itanium C++ ABI 3.4, "Demangler API". */
char *__cxa_demangle(const char *mangled, char *buffer, size_t *n, int *status);

char *image_name_demangle(const char *name)
{
    int status = 0;
    char *plain = NULL;
    if (name[0] == '_' && name[1] == 'Z')
        plain = __cxa_demangle(name, NULL, NULL, &status);
    return plain != NULL ? plain : strdup(name);
}

/* Returns the end of "operator" and what belongs to it, before the parameters: operator(),
 * operator<<, operator new[], operator std::string. */
static char *operator_end(char *name)
{
    char *p = name + strlen("operator");
    while (*p == ' ')
        p++;
    if (strncmp(p, "()", 2) == 0)
        return p + 2;
    if (isalpha((unsigned char)*p) || *p == '_')
        return p + strcspn(p, "(");
    while (*p != '\0' && strchr("+-*/%^&|~!=<>,[]", *p) != NULL)
        p++;
    return p;
}

static bool begins_operator(const char *p, const char *begin)
{
    bool joined = p > begin && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
    return !joined && strncmp(p, "operator", 8) == 0 && !isalnum((unsigned char)p[8]) &&
           p[8] != '_';
}

/* Removes what stands in <> or () or [] or {}, in place. The first () ends the name unless it is
 * "(anonymous namespace)" or part of a scope. Returns the length. */
static size_t drop_arguments(char *text)
{
    size_t n = 0;
    for (char *p = text; *p != '\0';) {
        if (begins_operator(p, text)) {
            char *end = operator_end(p);
            memmove(text + n, p, (size_t)(end - p));
            n += (size_t)(end - p);
            p = end;
            continue;
        }
        if (*p == '<' || *p == '(' || *p == '[' || *p == '{') {
            char *open = p;
            unsigned depth = 0;
            do {
                depth += strchr("<([{", *p) != NULL;
                depth -= strchr(">)]}", *p) != NULL && !(*p == '>' && p[-1] == '-');
                p++;
            } while (*p != '\0' && depth > 0);
            /* These are the function's own parameters: only "const", "&" or a clone's mark
             * follows. */
            if (*open == '(' && strncmp(p, "::", 2) != 0 && n > 0 &&
                (n < 8 || strncmp(text + n - 8, "decltype", 8) != 0))
                break;
            continue;
        }
        if (strncmp(p, "::", 2) == 0 && (n == 0 || text[n - 1] == ':')) {
            p += 2; /* follows a scope without a name */
            continue;
        }
        text[n++] = *p++;
        if (text[n - 1] == ':' && *p == ':')
            text[n++] = *p++;
    }
    while (n > 0 && text[n - 1] == ' ')
        n--;
    text[n] = '\0';
    return n;
}

void image_name_strip(char *text, bool qualified)
{
    size_t n = drop_arguments(text), begin = 0;
    for (size_t i = 0; i < n; i++) {
        if (begins_operator(text + i, text))
            break;
        if (text[i] == ' ') /* ends the return type of a template */
            begin = i + 1;
        else if (!qualified && strncmp(text + i, "::", 2) == 0)
            begin = i + 2;
    }
    memmove(text, text + begin, n - begin + 1);
}

/* Returns the length of the proper name, or 0 for a part of a function: foo.constprop.0.isra.2 is
 * foo; foo.cold and foo.part.0 are parts of foo. */
static size_t clone_of(const char *name)
{
    static const char *const whole[] = {".constprop.", ".isra.", ".lto_priv.", ".localalias"};
    const char *dot = name[0] != '\0' ? strchr(name + 1, '.') : NULL;
    size_t n = dot != NULL ? (size_t)(dot - name) : strlen(name);
    /* Bodies of OpenMP parallel regions, tasks and reductions: clang's (.omp), gcc's
     * (._omp_fn.). */
    if (strncmp(name, ".omp", 4) == 0 || (dot != NULL && strncmp(dot, ".omp_", 5) == 0))
        return strlen(name);
    if (dot != NULL && strncmp(dot, "._omp_fn.", 9) == 0) {
        n = (size_t)(dot - name) + 9 + strspn(dot + 9, "0123456789");
        dot = name[n] != '\0' ? name + n : NULL;
    }
    while (dot != NULL) {
        bool known = false;
        for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
            known = known || strncmp(dot, whole[i], strlen(whole[i])) == 0;
        if (!known)
            return 0;
        dot = strchr(dot + 1, '.');
        while (dot != NULL && isdigit((unsigned char)dot[1])) /* the clone's number */
            dot = strchr(dot + 1, '.');
    }
    return n;
}

static bool is_name(const char *name, size_t n, const char *wanted)
{
    return strlen(wanted) == n && memcmp(name, wanted, n) == 0;
}

static bool version_matches(const struct image_symbol *s, const char *wanted, const char *at)
{
    bool only_default = at[1] == '@';
    return s->version[0] != '\0' && strncmp(s->name, wanted, (size_t)(at - wanted)) == 0 &&
           s->name[at - wanted] == '\0' && strcmp(s->version, at + (only_default ? 2 : 1)) == 0 &&
           !(only_default && s->hidden_version);
}

/* Tests without demangling: a mangled name contains the last word of the wanted name verbatim,
 * unless that word is an operator. */
static bool may_match(const char *mangled, const char *wanted)
{
    const char *last;
    char word[128];
    size_t n = name_last_word(wanted, &last);
    if (n == 0 || n >= sizeof word)
        return true;
    memcpy(word, last, n);
    word[n] = '\0';
    return strstr(mangled, word) != NULL;
}

static enum name_match match_plain(const char *mangled, const char *wanted)
{
    enum name_match match = NAME_NO;
    char *plain = image_name_demangle(mangled);
    if (plain == NULL)
        return NAME_NO;
    if (strcmp(plain, wanted) == 0)
        match = NAME_FULL;
    image_name_strip(plain, true);
    if (match == NAME_NO && strcmp(plain, wanted) == 0)
        match = NAME_QUALIFIED;
    image_name_strip(plain, false);
    if (match != NAME_FULL && strcmp(plain, wanted) == 0)
        match = NAME_BARE;
    free(plain);
    return match;
}

enum name_match image_name_match(const struct image_symbol *s, const char *wanted)
{
    if (strcmp(s->name, wanted) == 0)
        return NAME_RAW;
    const char *at = strchr(wanted, '@');
    if (at != NULL)
        return version_matches(s, wanted, at) ? NAME_RAW : NAME_NO;
    size_t n = clone_of(s->name);
    if (n == 0)
        return NAME_NO;
    if (is_name(s->name, n, wanted))
        return NAME_RAW;
    if (strncmp(s->name, "_Z", 2) != 0 || !may_match(s->name, wanted))
        return NAME_NO;
    char *proper = strndup(s->name, n);
    enum name_match match = proper != NULL ? match_plain(proper, wanted) : NAME_NO;
    free(proper);
    return match;
}

static bool is_label(const struct image *m, const struct image_symbol *s)
{
    const struct image_segment *in = s->type == STT_NOTYPE ? image_segment_of(m, s->address) : NULL;
    return in != NULL && in->code;
}

void image_name_nearest(const struct image *m, bool labels, struct near_names *near)
{
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct image_symbol *s = &m->symbols[i];
        size_t n = clone_of(s->name);
        if ((!image_is_function(s) && !(labels && is_label(m, s))) || s->origin == IMAGE_PLT ||
            n == 0)
            continue;
        char *proper = strndup(s->name, n), *plain = NULL;
        if (proper != NULL)
            plain = image_name_demangle(proper);
        if (plain != NULL) {
            if (strncmp(proper, "_Z", 2) == 0)
                image_name_strip(plain, strstr(near->wanted, "::") != NULL);
            near_names_look(near, plain);
        }
        free(plain);
        free(proper);
    }
}

/* Matches the whole demangled name, ns::f<int>(int), the qualified name, ns::f, and the bare name,
 * f. */
static bool plain_fits(const regex_t *regex, const char *mangled)
{
    char *plain = image_name_demangle(mangled);
    bool yes = plain != NULL && regexec(regex, plain, 0, NULL, 0) == 0;
    for (int bare = 0; plain != NULL && !yes && bare < 2; bare++) {
        image_name_strip(plain, bare == 0);
        yes = regexec(regex, plain, 0, NULL, 0) == 0;
    }
    free(plain);
    return yes;
}

static bool proper_fits(const regex_t *regex, const char *name, size_t n)
{
    char *proper = strndup(name, n);
    bool yes = proper != NULL && (regexec(regex, proper, 0, NULL, 0) == 0 ||
                                  (strncmp(proper, "_Z", 2) == 0 && plain_fits(regex, proper)));
    free(proper);
    return yes;
}

/* foo.part.0, foo.7 (a function within another one) and foo.avx2 are called like any function: they
 * match by these names and as foo. */
bool image_name_fits(const regex_t *regex, const char *name)
{
    if (name[0] == '\0' || strstr(name, ".cold") != NULL)
        return false;
    size_t n = clone_of(name);
    return proper_fits(regex, name, n != 0 ? n : 1 + strcspn(name + 1, ".")) ||
           proper_fits(regex, name, strlen(name));
}

size_t image_symbols_from(const struct image *m, uint64_t address)
{
    return image_search(m->symbols, m->symbol_count, sizeof *m->symbols,
                        offsetof(struct image_symbol, address), address);
}

bool image_has_name(const struct image *m, uint64_t address)
{
    for (size_t k = image_symbols_from(m, address);
         k < m->symbol_count && m->symbols[k].address == address; k++)
        if (image_is_function(&m->symbols[k]))
            return true;
    return false;
}

bool image_has_stubs(const struct image *m, uint64_t from, uint64_t to)
{
    size_t k = image_symbols_from(m, from);
    return k < m->symbol_count && m->symbols[k].address < to && m->symbols[k].origin == IMAGE_PLT;
}
