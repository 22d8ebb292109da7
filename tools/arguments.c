/* SPDX-License-Identifier: BSD-3-Clause
 * Parses the arguments of a subcommand: its own options and those of base/options.def, in any
 * spelling. */
#include "tools/tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* U+2013: word processors replace a typed dash by it. */
#define EN_DASH "\xe2\x80\x93"

/* Returns the length of the one or two dashes at the start; 0: not an option. */
static size_t dashes(const char *word)
{
    size_t n = 0;
    for (int i = 0; i < 2; i++) {
        if (word[n] == '-')
            n++;
        else if (strncmp(word + n, EN_DASH, 3) == 0)
            n += 3;
        else
            break;
    }
    return n;
}

static bool same_name(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i] && !(strchr("-_", a[i]) != NULL && a[i] != '\0' && b[i] != '\0' &&
                              strchr("-_", b[i]) != NULL))
            return false;
    return a[n] == '\0';
}

static const struct command_option *find_option(const struct command *c, const char *name, size_t n)
{
    for (const struct command_option *o = c->options; o != NULL && o->name != NULL; o++)
        if (same_name(o->name, name, n) || (n == 1 && o->letter == name[0]))
            return o;
    return NULL;
}

bool text_is_near(const char *name, const char *nearest)
{
    size_t length = strlen(name);
    unsigned distance = text_distance(name, nearest);
    return distance < length && (distance <= 2 || 2 * (size_t)distance <= length);
}

const char *command_nearest_option(const struct command *c, const char *name)
{
    const char *best = "help";
    unsigned least = text_distance(name, best);
    for (const struct command_option *o = c->options; o != NULL && o->name != NULL; o++) {
        unsigned d = text_distance(name, o->name);
        if (d < least) {
            least = d;
            best = o->name;
        }
    }
    if (c->run_options) {
        const char *row = option_nearest(name);
        if (text_distance(name, row) < least)
            best = row;
    }
    return best;
}

bool option_row_is_switch(const struct option_row *row)
{
    return row->kind == OPTION_FLAG && row->values[0] == '\0';
}

/* Prints all options of a subcommand that has no others: "-json, -rank". */
static void list_options(const struct command *c, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    for (const struct command_option *o = c->options; o != NULL && o->name != NULL && used < room;
         o++)
        used += (size_t)snprintf(out + used, room - used, "%s-%s", used > 0 ? ", " : "", o->name);
}

static enum argument_kind unknown_option(const struct arguments *a, const char *name, size_t n)
{
    char text[64], all[1024];
    (void)snprintf(text, sizeof text, "%.*s", (int)(n < 63 ? n : 63), name);
    list_options(a->command, all, sizeof all);
    const char *nearest = command_nearest_option(a->command, text);
    if (text_is_near(text, nearest))
        tool_error(
            a->command->name,
            "there is no option -%s; the nearest legal one is -%s (regtrace %s --help lists all)",
            text, nearest, a->command->name);
    else if (a->command->run_options || all[0] == '\0')
        tool_error(a->command->name, "there is no option -%s (regtrace %s --help lists all)", text,
                   a->command->name);
    else
        tool_error(a->command->name,
                   "there is no option -%s; there are %s (regtrace %s --help says what they do)",
                   text, all, a->command->name);
    return ARGUMENT_WRONG;
}

static enum argument_kind take_value(struct arguments *a, const char *name, const char *needs,
                                     const char *inline_value, enum argument_kind kind)
{
    if (needs == NULL) {
        if (inline_value == NULL)
            return kind;
        tool_error(a->command->name, "the option -%s takes no value, but was given \"%s\"", name,
                   inline_value);
        return ARGUMENT_WRONG;
    }
    if (inline_value != NULL) {
        a->value = inline_value;
        return kind;
    }
    if (a->next >= a->count) {
        tool_error(a->command->name, "the option -%s needs a value: -%s %s", name, name, needs);
        return ARGUMENT_WRONG;
    }
    if (strcmp(a->words[a->next], "--") == 0) {
        tool_error(a->command->name,
                   "the option -%s needs a value in front of \"--\", which ends the options: -%s "
                   "%s",
                   name, name, needs);
        return ARGUMENT_WRONG;
    }
    a->value = a->words[a->next++];
    return kind;
}

/* Parses a word that begins with dashes; `name` follows them. */
static enum argument_kind take_option(struct arguments *a, const char *name)
{
    const char *equals = strchr(name, '=');
    size_t n = equals != NULL ? (size_t)(equals - name) : strlen(name);
    const char *inline_value = equals != NULL ? equals + 1 : NULL;
    if (inline_value == NULL && (same_name("help", name, n) || (n == 1 && name[0] == 'h'))) {
        help_print(stdout, a->command);
        return ARGUMENT_DONE;
    }
    a->option = find_option(a->command, name, n);
    if (a->option != NULL)
        return take_value(a, a->option->name, a->option->value, inline_value, ARGUMENT_OPTION);
    char text[64];
    if (a->command->run_options && n < sizeof text) {
        memcpy(text, name, n);
        text[n] = '\0';
        a->row = option_find(text);
        if (a->row != NULL && option_row_is_switch(a->row) && inline_value != NULL) {
            a->value = inline_value; /* -exit-on-stop=0 is legal too */
            return ARGUMENT_ROW;
        }
        if (a->row != NULL)
            return take_value(a, a->row->option,
                              option_row_is_switch(a->row) ? NULL : a->row->values, inline_value,
                              ARGUMENT_ROW);
    }
    return unknown_option(a, name, n);
}

enum argument_kind arguments_next(struct arguments *a)
{
    a->option = NULL;
    a->row = NULL;
    a->value = NULL;
    if (a->next >= a->count)
        return ARGUMENT_END;
    const char *word = a->words[a->next++];
    size_t n = a->literal ? 0 : dashes(word);
    if (n > 0 && word[n] == '\0' && strcmp(word, "-") != 0) {
        a->literal = true;
        return arguments_next(a);
    }
    if (n > 0 && word[n] != '\0')
        return take_option(a, word + n);
    a->value = word;
    return ARGUMENT_WORD;
}

bool arguments_one_folder(struct arguments *a,
                          int (*take)(void *options, const struct arguments *a), void *options,
                          const char *usage, const char **path, int *code)
{
    const char *name = a->command->name;
    *path = NULL;
    *code = TOOL_USAGE;
    for (enum argument_kind kind; (kind = arguments_next(a)) != ARGUMENT_END;) {
        if (kind == ARGUMENT_DONE)
            *code = TOOL_OK;
        if (kind == ARGUMENT_DONE || kind == ARGUMENT_WRONG ||
            (kind == ARGUMENT_OPTION && take(options, a) != TOOL_OK))
            return false;
        if (kind != ARGUMENT_WORD)
            continue;
        if (*path != NULL) {
            tool_error(name, "one folder at a time; \"%s\" is a second one", a->value);
            return false;
        }
        *path = a->value;
    }
    if (*path == NULL)
        tool_error(name, "no folder is named: regtrace %s %s", name, usage);
    return *path != NULL;
}

int argument_number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    if (text[0] < '0' || text[0] > '9')
        return -EINVAL;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || v < least || v > most)
        return -EINVAL;
    *out = v;
    return 0;
}
