/* SPDX-License-Identifier: BSD-3-Clause
 * Prints manual pages (man(7) source) from the same tables as --help. */
#include "tools/tools.h"

#include <ctype.h>
#include <string.h>

/* Writes text with troff's special characters escaped, so that no line begins with a control
 * character. */
static void put(FILE *out, const char *text)
{
    bool start = true;
    for (; *text != '\0'; text++) {
        if (start && (*text == '.' || *text == '\''))
            (void)fputs("\\&", out);
        if (*text == '\\')
            (void)fputs("\\e", out);
        else if (*text == '-')
            (void)fputs("\\-", out);
        else
            (void)fputc(*text, out);
        start = *text == '\n';
    }
}

static void put_paragraphs(FILE *out, const char *text)
{
    for (const char *end; (end = strstr(text, "\n\n")) != NULL; text = end + 2) {
        char piece[2048];
        (void)snprintf(piece, sizeof piece, "%.*s", (int)(end - text), text);
        put(out, piece);
        (void)fputs("\n.PP\n", out);
    }
    put(out, text);
    (void)fputc('\n', out);
}

static void put_option(FILE *out, const char *letter, const char *name, const char *value,
                       const char *help, const char *tail)
{
    (void)fputs(".TP\n.B ", out);
    put(out, letter);
    put(out, "-");
    put(out, name);
    if (value != NULL && value[0] != '\0') {
        (void)fputs(" \\fI", out);
        put(out, value);
        (void)fputs("\\fR", out);
    }
    (void)fputc('\n', out);
    put(out, help);
    put(out, tail);
    (void)fputs(".\n", out);
}

static void put_head(FILE *out, const char *name, const char *summary)
{
    char upper[64];
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < sizeof upper; i++)
        upper[i] = (char)toupper((unsigned char)name[i]);
    upper[i] = '\0';
    (void)fprintf(out, ".\\\" SPDX-License-Identifier: BSD-3-Clause\n.\\\" Made by `regtrace help "
                       "--man`; do not edit.\n");
    (void)fprintf(out, ".TH %s 1 \"\" \"regtrace %s\" \"User Commands\"\n.SH NAME\n", upper,
                  tool_version());
    put(out, name);
    (void)fputs(" \\- ", out);
    put(out, summary);
    (void)fputc('\n', out);
}

static void put_examples(FILE *out, const char *examples)
{
    if (examples[0] == '\0')
        return;
    (void)fputs(".SH EXAMPLES\n.nf\n", out);
    put(out, examples);
    (void)fputs("\n.fi\n", out);
}

static void put_own_page(FILE *out)
{
    put_head(out, "regtrace", "trace windows of MPI programs by preloading, into HDF5");
    (void)fputs(
        ".SH SYNOPSIS\n.B regtrace\n.I subcommand\n[\\fIoptions\\fR] ...\n.SH DESCRIPTION\n", out);
    put_paragraphs(
        out,
        "Records what an MPI program does inside windows that chains of alarms open and close, "
        "without "
        "recompiling it: libregtrace.so is loaded by LD_PRELOAD, one writer process per rank "
        "puts the records into HDF5 files of one folder, and the subcommands below show them.");
    (void)fputs(".SH SUBCOMMANDS\n", out);
    for (const struct command *const *c = command_table; *c != NULL; c++) {
        (void)fprintf(out, ".TP\n.BR regtrace\\-%s (1)\n", (*c)->name);
        put(out, (*c)->summary);
        (void)fputs(".\n", out);
    }
    (void)fputs(".SH EXIT STATUS\n0 fine, 1 findings or failure, 2 wrong usage; see\n.BR "
                "regtrace\\-run (1)\n"
                "for its own.\n.SH ENVIRONMENT\nEvery option of\n.B regtrace run\nhas a variable; "
                "with mpirun \\-x "
                "and LD_PRELOAD they work without the command:\n",
                out);
    for (const struct option_row *r = option_table; r->field != NULL; r++) {
        (void)fputs(".TP\n.B ", out);
        put(out, r->variable);
        (void)fputc('\n', out);
        put(out, "option -");
        put(out, r->option);
        (void)fputs(": ", out);
        put(out, r->help);
        (void)fputs(".\n", out);
    }
    (void)fputs(".TP\n.B REGTRACE_LIBRARY\nthe libregtrace.so that\n.B regtrace run\npreloads "
                "(default: found relative "
                "to the command).\n"
                ".TP\n.B REGTRACE_PARTS\n0: of several processes that mpirun or srun has started, "
                "each converts a run on its own (prv, emulate, export, timeline), not all one "
                "together.\n"
                ".TP\n.B REGTRACE_PARTS_WAIT\nhow many seconds these wait for each other to come "
                "(default 120).\n",
                out);
    put_examples(
        out, "regtrace run -control start:pcontrol:solve,stop:pcontrol:solved,repeat -- mpirun -np "
             "4 ./app\n"
             "mpirun -x LD_PRELOAD=libregtrace.so -np 64 ./app\nregtrace report regtrace-app-*");
    (void)fputs(".SH SEE ALSO\n.BR mpirun (1),\n.BR ld.so (8)\n", out);
}

void help_print_man(FILE *out, const struct command *c)
{
    if (c == NULL) {
        put_own_page(out);
        return;
    }
    char name[64];
    (void)snprintf(name, sizeof name, "regtrace-%s", c->name);
    put_head(out, name, c->summary);
    (void)fprintf(out, ".SH SYNOPSIS\n.B regtrace %s\n", c->name);
    put(out, c->synopsis);
    (void)fputs("\n.SH DESCRIPTION\n", out);
    put_paragraphs(out, c->description);
    (void)fputs(".SH OPTIONS\n", out);
    for (const struct command_option *o = c->options; o->name != NULL; o++) {
        char letter[8] = "";
        if (o->letter != 0)
            (void)snprintf(letter, sizeof letter, "-%c, ", o->letter);
        put_option(out, letter, o->name, o->value, o->help, "");
    }
    for (const struct option_row *r = option_table; c->run_options && r->field != NULL; r++) {
        char tail[160];
        bool shown = r->default_value[0] != '\0' && !option_row_is_switch(r);
        (void)snprintf(tail, sizeof tail, " (variable %s%s%s)", r->variable,
                       shown ? ", default " : "", shown ? r->default_value : "");
        if (strcmp(r->option, "output") != 0)
            put_option(out, "", r->option, option_row_is_switch(r) ? NULL : r->values, r->help,
                       tail);
    }
    put_option(out, "-h, ", "help", NULL, "the help text", "");
    (void)fputs(".SH EXIT STATUS\n", out);
    put_paragraphs(out, c->exits[0] != '\0' ? c->exits
                                            : "0 fine, 1 findings or failure, 2 wrong usage.");
    put_examples(out, c->examples);
    (void)fputs(".SH SEE ALSO\n.BR regtrace (1)\n", out);
}
