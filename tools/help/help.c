/* SPDX-License-Identifier: BSD-3-Clause
 * Prints --help texts and completion words from the tables. */
#include "controller/controller.h"
#include "tools/tools.h"

#include <string.h>

#define TEXT_COLUMN 34
#define TEXT_WIDTH 100

/* Prints `text` wrapped at TEXT_WIDTH. The cursor is at column `at`; continuation lines begin at
 * column `indent`. */
static void print_wrapped(FILE *out, const char *text, size_t at, size_t indent)
{
    while (*text != '\0') {
        size_t n = strcspn(text, " \n");
        if (at + n > TEXT_WIDTH && at > indent) {
            (void)fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        }
        (void)fprintf(out, "%.*s", (int)n, text);
        at += n;
        text += n;
        if (text[0] == '\n' && text[1] == '\n') {
            (void)fprintf(out, "\n\n%*s", (int)indent, "");
            at = indent;
            text += 2;
        } else if (*text != '\0') {
            if (at < TEXT_WIDTH) {
                (void)fputc(' ', out);
                at++;
            }
            text++;
        }
    }
    (void)fputc('\n', out);
}

static void print_entry(FILE *out, const char *head, const char *text)
{
    int n = fprintf(out, "  %s", head);
    size_t at = n > 0 ? (size_t)n : 0;
    if (at + 2 > TEXT_COLUMN) {
        (void)fputc('\n', out);
        at = 0;
    }
    (void)fprintf(out, "%*s", (int)(TEXT_COLUMN - at), "");
    print_wrapped(out, text, TEXT_COLUMN, TEXT_COLUMN);
}

static void print_row(FILE *out, const struct option_row *r)
{
    char head[128], text[512];
    const char *value = option_row_is_switch(r) ? "" : r->values;
    (void)snprintf(head, sizeof head, "-%s%s%s", r->option, value[0] != '\0' ? " " : "", value);
    bool shown = r->default_value[0] != '\0' && !option_row_is_switch(r);
    (void)snprintf(text, sizeof text, "%s [%s%s%s]", r->help, r->variable,
                   shown ? "; default " : "", shown ? r->default_value : "");
    print_entry(out, head, text);
}

void help_print_all(FILE *out)
{
    (void)fputs("usage: regtrace SUBCOMMAND [options] ...\n\n", out);
    for (const struct command *const *c = command_table; *c != NULL; c++)
        (void)fprintf(out, "  %-10s %s\n", (*c)->name, (*c)->summary);
    (void)fputs("\nregtrace SUBCOMMAND --help says more; exit codes: 0 fine, 1 findings or "
                "failure, 2 wrong usage.\n",
                out);
}

void help_print(FILE *out, const struct command *c)
{
    (void)fprintf(out, "usage: regtrace %s %s\n\n%s.\n\n", c->name, c->synopsis, c->summary);
    print_wrapped(out, c->description, 0, 0);
    (void)fputs("\noptions:\n", out);
    for (const struct command_option *o = c->options; o->name != NULL; o++) {
        char head[128];
        char letter[8] = "";
        if (o->letter != 0)
            (void)snprintf(letter, sizeof letter, "-%c, ", o->letter);
        (void)snprintf(head, sizeof head, "%s-%s%s%s", letter, o->name, o->value != NULL ? " " : "",
                       o->value != NULL ? o->value : "");
        print_entry(out, head, o->help);
    }
    for (const struct option_row *r = option_table; c->run_options && r->field != NULL; r++)
        if (strcmp(r->option, "output") != 0)
            print_row(out, r);
    print_entry(out, "-h, -help", "this text");
    if (c->examples[0] != '\0') {
        (void)fputs("\nexamples:\n", out);
        for (const char *p = c->examples; *p != '\0';
             p += p[strcspn(p, "\n")] == '\n' ? strcspn(p, "\n") + 1 : strcspn(p, "\n"))
            (void)fprintf(out, "  %.*s\n", (int)strcspn(p, "\n"), p);
    }
    (void)fputs("\nexit code: ", out);
    print_wrapped(out,
                  c->exits[0] != '\0' ? c->exits : "0 fine, 1 findings or failure, 2 wrong usage.",
                  11, 11);
}

/* Prints the words of "a|b|CAPITALS|0-9", one per line. Omits capitals, which stand for an open
 * set; spells out digits. */
static void print_values(FILE *out, const char *values)
{
    bool closed = strchr(values, '|') != NULL ||
                  (strlen(values) == 3 && values[1] == '-' && values[0] <= values[2]);
    for (const char *p = values; closed && *p != '\0'; p += *p == '|') {
        size_t n = strcspn(p, "|");
        if (n == 3 && p[1] == '-')
            for (char c = p[0]; c <= p[2]; c++)
                (void)fprintf(out, "%c\n", c);
        else if (*p < 'A' || *p > 'Z')
            (void)fprintf(out, "%.*s\n", (int)n, p);
        p += n;
    }
}

/* Prints how the parts of a chain begin, and ":type" for what follows an event. Omits the types
 * that this build has no trigger for. */
static void print_chain_words(FILE *out)
{
    const struct ctl_capabilities built = ctl_capabilities_of_build();
    for (int i = 0; i < CTL_EVENT_COUNT; i++)
        (void)fprintf(out, "%s:\n", ctl_event_name((enum ctl_event)i));
    (void)fputs("uniform:\nname:\nwaitfor:\nrepeat\n", out);
    for (int i = 0; i < CTL_UNIFORM; i++)
        if (built.unavailable_reason[i] == NULL)
            (void)fprintf(out, ":%s\n", ctl_type_name((enum ctl_type)i));
}

bool help_print_takes(FILE *out, const struct command *c, const char *option)
{
    option += strspn(option, "-");
    const struct option_row *r = c->run_options ? option_find(option) : NULL;
    const char *value = r != NULL && !option_row_is_switch(r) ? r->values : "";
    bool found = r != NULL;
    for (const struct command_option *o = c->options; o->name != NULL; o++)
        if (strcmp(o->name, option) == 0 || (option[0] == o->letter && option[1] == '\0')) {
            value = o->value != NULL ? o->value : "";
            found = true;
        }
    if (value[0] != '\0')
        (void)fprintf(out, "%s\n", value);
    return found;
}

bool help_print_values(FILE *out, const struct command *c, const char *option)
{
    option += strspn(option, "-");
    for (const struct command_option *o = c->options; o->name != NULL; o++)
        if (strcmp(o->name, option) == 0) {
            print_values(out, o->value != NULL ? o->value : "");
            return true;
        }
    const struct option_row *r = c->run_options ? option_find(option) : NULL;
    if (r != NULL && strcmp(r->values, "CHAIN") == 0)
        print_chain_words(out);
    else if (r != NULL)
        print_values(out, r->values);
    return r != NULL;
}

void help_print_words(FILE *out, const struct command *c)
{
    if (c == NULL) {
        for (const struct command *const *p = command_table; *p != NULL; p++)
            (void)fprintf(out, "%s\n", (*p)->name);
        return;
    }
    for (const struct command_option *o = c->options; o->name != NULL; o++)
        (void)fprintf(out, "-%s\n", o->name);
    for (const struct option_row *r = option_table; c->run_options && r->field != NULL; r++)
        if (strcmp(r->option, "output") != 0)
            (void)fprintf(out, "-%s\n", r->option);
    (void)fputs("-help\n", out);
}
