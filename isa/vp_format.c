/* SPDX-License-Identifier: BSD-3-Clause
 * --format: values as text by the plug-in's preface and format, for `regtrace values`. Lines in, a line each out:
 *
 *   I HEXBYTES   an instruction; "+TEXT": its preface, "-": its values are not to be listed
 *   V HEXVALUE   one of its values; "+TEXT"
 *
 * What cannot be understood is answered by "!REASON". */
#include "isa/vp.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 256, TEXT_MOST = 4096 };

/* Between the lines. */
struct at_hand {
    trace_inst_t inst;
    bool has_inst;
    FILE *out;
};

/* One line, whatever the plug-in's text has; what does not come as printable ASCII or UTF-8 becomes a space. */
static void say(struct at_hand *h, const char *text)
{
    (void)putc('+', h->out);
    for (const char *end = text + strnlen(text, TEXT_MOST); text < end; text++)
        (void)putc((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text, h->out);
    (void)putc('\n', h->out);
}

static size_t read_hex(const char *text, uint8_t *bytes, size_t most)
{
    size_t n = 0;
    unsigned byte;
    int used;
    for (; isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]); text += 2) {
        if (n == most || sscanf(text, "%2x%n", &byte, &used) != 1)
            return 0;
        bytes[n++] = (uint8_t)byte;
    }
    return *text == '\0' ? n : 0;
}

static void instruction(const struct vp_apart *v, struct at_hand *h, const char *text)
{
    uint8_t code[sizeof h->inst.bytes];
    size_t n = read_hex(text, code, sizeof code);
    vp_decode_inst(code, n, &h->inst);
    h->has_inst = n != 0 && h->inst.length != 0;
    if (!h->has_inst) {
        (void)fputs("!these bytes are no instruction\n", h->out);
        return;
    }
    if (v->dispatch->preface == NULL) {
        say(h, "");
        return;
    }
    vp_enter(v, "preface");
    const char *preface = v->dispatch->preface(&h->inst);
    if (preface != NULL)
        say(h, preface);
    else
        (void)fputs("-\n", h->out);
    vp_leave(v);
}

static void value(const struct vp_apart *v, struct at_hand *h, const char *text)
{
    char *end, plain[32];
    errno = 0;
    unsigned long bits = strtoul(text, &end, 16);
    if (!isxdigit((unsigned char)*text) || *end != '\0' || errno != 0 || !h->has_inst) {
        (void)fputs(h->has_inst ? "!this is no value\n" : "!there is no instruction yet\n", h->out);
        return;
    }
    (void)snprintf(plain, sizeof plain, "0x%lx", bits);
    if (v->dispatch->format == NULL) {
        say(h, plain);
        return;
    }
    vp_enter(v, "format");
    const char *formatted = v->dispatch->format(&h->inst, bits);
    say(h, formatted != NULL ? formatted : plain);
    vp_leave(v);
}

int vp_run_format(struct vp_apart *v, struct rt_error *e)
{
    char line[LINE];
    struct at_hand h = {.out = fdopen(v->out, "w")};
    FILE *in = fdopen(v->in, "r");
    if (in == NULL || h.out == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    while (fgets(line, sizeof line, in) != NULL) {
        size_t n = strcspn(line, "\n");
        bool whole = line[n] == '\n';
        line[n] = '\0';
        if (whole && strncmp(line, "I ", 2) == 0)
            instruction(v, &h, line + 2);
        else if (whole && strncmp(line, "V ", 2) == 0)
            value(v, &h, line + 2);
        else
            (void)fputs("!a line is I HEXBYTES or V HEXVALUE\n", h.out);
        if (fflush(h.out) != 0)
            break;
    }
    bool failed = ferror(in) || ferror(h.out);
    if (failed)
        rt_error_set(e, "standard input or output fails");
    return failed ? -EIO : 0;
}
