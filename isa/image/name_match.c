/* SPDX-License-Identifier: BSD-3-Clause
 * Matches the names of functions against the names that users give. */
#include "isa/image/image.h"

#include "base/names/name.h"
#include "base/names/nearest.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* Writes "module::procedure" for a procedure of a Fortran module, as gfortran, flang and ifx name
 * it: __module_MOD_procedure, _QMmodulePprocedure, module_mp_procedure_. Returns the procedure in
 * it, or NULL for other names. */
static const char *write_fortran(const char *name, char out[256])
{
    const char *module = name, *between = NULL, *procedure = NULL;
    if (strncmp(name, "__", 2) == 0 && (between = strstr(name + 2, "_MOD_")) != NULL) {
        module = name + 2;
        procedure = between + 5;
    } else if (strncmp(name, "_QM", 3) == 0) {
        module = name + 3;
        between = module + strspn(module, "abcdefghijklmnopqrstuvwxyz0123456789_");
        procedure = *between == 'P' ? between + 1 : NULL;
    } else if ((between = strstr(name, "_mp_")) != NULL && name[strlen(name) - 1] == '_') {
        procedure = between + 4;
    }
    if (procedure == NULL || between == module)
        return NULL;
    int length = (int)(between - module), rest = (int)strlen(procedure) - (module == name);
    int n = snprintf(out, 256, "%.*s::%.*s", length, module, rest, procedure);
    return n > 0 && n < 256 ? out + length + 2 : NULL;
}

/* Does the procedure of a module have that name, with or without the module? Fortran ignores
 * case. */
static bool matches_fortran(const char *name, const char *wanted)
{
    char plain[256];
    const char *procedure = write_fortran(name, plain);
    return procedure != NULL &&
           (strcasecmp(plain, wanted) == 0 || strcasecmp(procedure, wanted) == 0);
}

/* Returns the length of "operator" and what belongs to it, before the parameters: operator(),
 * operator<<, operator new[], operator std::string. */
static size_t operator_length(const char *name)
{
    const char *p = name + strlen("operator");
    while (*p == ' ')
        p++;
    if (strncmp(p, "()", 2) == 0)
        return (size_t)(p + 2 - name);
    if (isalpha((unsigned char)*p) || *p == '_')
        return (size_t)(p + strcspn(p, "(") - name);
    while (*p != '\0' && strchr("+-*/%^&|~!=<>,[]", *p) != NULL)
        p++;
    return (size_t)(p - name);
}

static bool begins_operator(const char *p, const char *begin)
{
    bool joined = p > begin && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
    return !joined && strncmp(p, "operator", 8) == 0 && !isalnum((unsigned char)p[8]) &&
           p[8] != '_';
}

static bool begins_group(char c)
{
    return c == '<' || c == '(' || c == '[' || c == '{';
}

/* Returns the length of what stands in <>, (), [] or {}, with the brackets. */
static size_t group_length(const char *text)
{
    unsigned depth = 0;
    size_t n = 0;
    do {
        depth += begins_group(text[n]);
        depth -= strchr(">)]}", text[n]) != NULL && !(text[n] == '>' && text[n - 1] == '-');
        n++;
    } while (text[n] != '\0' && depth > 0);
    return n;
}

/* Does a '(' at p begin the function's own parameters? Only "const", "&" or a clone's mark follows
 * them. Others belong to a scope: "(anonymous namespace)::", "f(int)::", "decltype (...)". */
static bool begins_parameters(const char *p, const char *name, size_t n)
{
    while (n > 0 && name[n - 1] == ' ')
        n--;
    return *p == '(' && strncmp(p + group_length(p), "::", 2) != 0 && n > 0 &&
           (n < 8 || strncmp(name + n - 8, "decltype", 8) != 0);
}

/* Of a function that returns a pointer to a function, "int (*f(char))(double)": returns the length
 * of "(*" if that begins at p, otherwise 0. */
static size_t pointer_length(const char *p, const char *begin)
{
    return p > begin && p[-1] == ' ' && p[0] == '('
               ? strspn(p + 1, "*&") + (p[1] == '*' || p[1] == '&')
               : 0;
}

/* Returns the length of the template arguments of an operator, " <int>", otherwise 0. */
static size_t operator_arguments_length(const char *p)
{
    return p[0] == ' ' && p[1] == '<' ? 1 + group_length(p + 1) : 0;
}

/* Removes what stands in <> or () or [] or {}, in place. The first () ends the name unless it is
 * "(anonymous namespace)" or part of a scope. Returns the length. */
static size_t drop_arguments(char *text)
{
    size_t n = 0;
    for (char *p = text; *p != '\0';) {
        if (begins_operator(p, text)) {
            size_t length = operator_length(p);
            memmove(text + n, p, length);
            n += length;
            p += length + operator_arguments_length(p + length);
            continue;
        }
        size_t pointer = pointer_length(p, text);
        if (pointer != 0) {
            p += pointer;
            n = 0;
            continue;
        }
        if (begins_parameters(p, text, n))
            break;
        if (begins_group(*p)) {
            p += group_length(p);
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

/* Do template arguments begin at p, and not an operator's own '<'? */
static bool begins_arguments(const char *p, const char *begin)
{
    return *p == '<' && !(p - begin >= 8 && memcmp(p - 8, "operator", 8) == 0);
}

/* Are the first n characters of `text` the whole of `wanted`, apart from spaces and from template
 * arguments that `wanted` leaves out? */
static bool is_spelled(const char *text, size_t n, const char *wanted)
{
    const char *begin = text, *end = text + n;
    for (;; text++, wanted++) {
        while (*wanted == ' ')
            wanted++;
        while (text < end && (*text == ' ' || (*wanted != '<' && begins_arguments(text, begin))))
            text += *text == ' ' ? 1 : group_length(text);
        if (text >= end || *text != *wanted)
            return text == end && *wanted == '\0';
    }
}

/* Finds the name within a demangled text, between the type that a template returns and the
 * parameters. Sets the length of the name, and returns where it begins. */
static const char *find_name(const char *plain, size_t *length)
{
    const char *begin = plain, *p = plain;
    while (*p != '\0' && !begins_parameters(p, begin, (size_t)(p - begin))) {
        size_t pointer = pointer_length(p, plain);
        if (*p == ' ' || pointer != 0)
            begin = p + (pointer != 0 ? pointer : 1);
        if (pointer != 0)
            p += pointer;
        else if (begins_operator(p, plain))
            p += operator_length(p) + operator_arguments_length(p + operator_length(p));
        else
            p += begins_group(*p) ? group_length(p) : 1;
    }
    *length = (size_t)(p - begin);
    return begin;
}

/* Does a demangled text match the wanted name with its template arguments or its parameters? */
static bool matches_whole(const char *plain, const char *wanted)
{
    size_t n;
    const char *name = find_name(plain, &n);
    return is_spelled(plain, strlen(plain), wanted) || is_spelled(name, strlen(name), wanted) ||
           is_spelled(name, n, wanted);
}

bool image_name_plain_matches(char *plain, const char *wanted)
{
    bool yes = matches_whole(plain, wanted);
    for (int bare = 0; !yes && bare < 2; bare++) {
        image_name_strip(plain, bare == 0);
        yes = strcmp(plain, wanted) == 0;
    }
    return yes;
}

static bool matches_plain(const char *mangled, const char *wanted)
{
    char *plain = image_name_demangle(mangled);
    bool yes = plain != NULL && image_name_plain_matches(plain, wanted);
    free(plain);
    return yes;
}

bool image_name_matches(const struct image_symbol *s, const char *wanted)
{
    if (strcmp(s->name, wanted) == 0)
        return true;
    const char *at = strchr(wanted, '@');
    if (at != NULL)
        return version_matches(s, wanted, at);
    size_t n = clone_of(s->name);
    if (n == 0)
        return false;
    if (is_name(s->name, n, wanted))
        return true;
    if (strncmp(s->name, "_Z", 2) != 0)
        return matches_fortran(s->name, wanted);
    if (!may_match(s->name, wanted))
        return false;
    char *proper = strndup(s->name, n);
    bool yes = proper != NULL && matches_plain(proper, wanted);
    free(proper);
    return yes;
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
        char fortran[256];
        bool mangled = plain != NULL && strncmp(proper, "_Z", 2) == 0;
        if (mangled)
            image_name_strip(plain, strstr(near->wanted, "::") != NULL);
        if (plain != NULL)
            near_names_look(near, !mangled && write_fortran(proper, fortran) ? fortran : plain);
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

static bool fortran_fits(const regex_t *regex, const char *name)
{
    char plain[256];
    const char *procedure = write_fortran(name, plain);
    return procedure != NULL &&
           (regexec(regex, plain, 0, NULL, 0) == 0 || regexec(regex, procedure, 0, NULL, 0) == 0);
}

static bool proper_fits(const regex_t *regex, const char *name, size_t n)
{
    char *proper = strndup(name, n);
    bool yes =
        proper != NULL &&
        (regexec(regex, proper, 0, NULL, 0) == 0 ||
         (strncmp(proper, "_Z", 2) == 0 ? plain_fits(regex, proper) : fortran_fits(regex, proper)));
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
