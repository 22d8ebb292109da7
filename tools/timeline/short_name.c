/* SPDX-License-Identifier: BSD-3-Clause
 * Shortens names of functions. */
#include "tools/timeline/short_name.h"

#include <stdbool.h>
#include <string.h>

#define ELLIPSIS "\342\200\246"

enum { ARGUMENT = 12 };

struct short_text {
    char *out;
    /* Offsets at which the last components begin, the last one first. */
    size_t n, parts[3];
};

static void put(struct short_text *t, const char *from, size_t n)
{
    n = n > SHORTER - 1 - t->n ? SHORTER - 1 - t->n : n;
    memcpy(t->out + t->n, from, n);
    t->n += n;
}

/* Ends the text; removes an incomplete UTF-8 character at its end. */
static void end_text(struct short_text *t)
{
    size_t i = t->n;
    while (i > 0 && ((unsigned char)t->out[i - 1] & 0xc0) == 0x80)
        i--;
    unsigned char first = i > 0 ? (unsigned char)t->out[i - 1] : 0;
    size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    if (i > 0 && t->n - (i - 1) < bytes)
        t->n = i - 1;
    t->out[t->n] = '\0';
}

/* Returns the place after the bracket that closes the one at p, or NULL if there is none. */
static const char *behind(const char *p)
{
    int depth = 0;
    for (; *p != '\0'; p++) {
        depth += *p == '<' || *p == '(';
        depth -= (*p == '>' && p[-1] != '-') || *p == ')';
        if (depth == 0)
            return p + 1;
    }
    return NULL;
}

static const char *put_arguments(struct short_text *t, const char *p)
{
    const char *end = behind(p);
    if (end == NULL)
        return NULL;
    size_t n = strcspn(p + 1, ",<("), all = (size_t)(end - p) - 2;
    n = n > all ? all : n;
    bool cut = n > ARGUMENT;
    for (n = cut ? ARGUMENT : n; n > 0 && ((unsigned char)p[1 + n] & 0xc0) == 0x80; n--)
        ;
    put(t, p, 1 + n);
    if (cut || n < all)
        put(t, ELLIPSIS, sizeof ELLIPSIS - 1);
    put(t, ">", 1);
    return end;
}

static const char *put_letter(struct short_text *t, const char *p)
{
    if (p[0] == ':' && p[1] == ':') {
        put(t, p, 2);
        memmove(t->parts + 1, t->parts, 2 * sizeof *t->parts);
        t->parts[0] = t->n;
        return p + 2;
    }
    if (*p == ' ') { /* the text so far was the return type */
        t->n = 0;
        memset(t->parts, 0, sizeof t->parts);
        return p + 1;
    }
    put(t, p, 1);
    return p + 1;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns whether the name contains operator<, operator() or similar, whose brackets do not
 * pair. */
static bool has_operator(const char *name)
{
    for (const char *p = name; (p = strstr(p, "operator")) != NULL; p += 8)
        if ((p == name || !is_letter(p[-1])) && !is_letter(p[8]))
            return true;
    return false;
}

void shorter_name(const char *name, char out[SHORTER])
{
    struct short_text t = {.out = out};
    const char *p = name;
    bool plain = strpbrk(name, "<(") == NULL && strstr(name, "::") == NULL;
    if (plain || has_operator(name) || strchr(name, '{') != NULL) {
        put(&t, name, strlen(name));
        end_text(&t);
        return;
    }
    while (p != NULL && *p != '\0') {
        if (*p == '<')
            p = put_arguments(&t, p);
        else if (*p == '(' && strncmp(p, "(anonymous namespace)", 21) != 0)
            break;
        else if (*p == '(') {
            put(&t, "(anon)", 6);
            p += 21;
        } else if (strncmp(p, " [", 2) == 0)
            break; /* a suffix of the compiler, such as " [clone .cold]" */
        else
            p = put_letter(&t, p);
    }
    end_text(&t);
    if (p != NULL && t.n != 0) {
        memmove(out, out + t.parts[1], t.n - t.parts[1] + 1);
        return;
    }
    t.n = 0;
    put(&t, name, strlen(name));
    end_text(&t);
}
