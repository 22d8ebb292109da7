/* SPDX-License-Identifier: BSD-3-Clause
 * --format: formats values with the plug-in's preface() and format(), for `regtrace values`. Each
 * input line gets one output line:
 *
 *   I HEXBYTES              an instruction. Answer "+PREFACE", or "-": do not list its values
 *   V HEXVALUE              a value of that instruction. Answer "+TEXT"
 *   D HEXBYTES HEXADDRESS   Answer "+DISASSEMBLY" at that address; does not call the plug-in
 *
 * A line that is not understood gets "!REASON". */
#include "isa/values/vp.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 256, TEXT_MOST = 4096 };

/* State between lines. */
struct at_hand {
    trace_inst_t inst;
    bool has_inst;
    FILE *out;
};

/* Writes one answer line. Control characters become spaces, so that the plug-in's text cannot break
 * the line; bytes from 0x80 on stay, for UTF-8. */
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

static void disassembly(struct at_hand *h, char *text)
{
    char *end, said[LINE];
    uint8_t code[sizeof h->inst.bytes];
    size_t at = strcspn(text, " ");
    errno = 0;
    uint64_t address = text[at] == ' ' ? strtoull(text + at + 1, &end, 16) : 0;
    if (text[at] != ' ' || !isxdigit((unsigned char)text[at + 1]) || *end != '\0' || errno != 0) {
        (void)fputs("!after the bytes stands the address\n", h->out);
        return;
    }
    text[at] = '\0';
    size_t n = read_hex(text, code, sizeof code);
    if (n != 0 && vp_disassemble(code, n, address, said, sizeof said))
        say(h, said);
    else
        (void)fputs("!these bytes are no instruction\n", h->out);
}

static void line(const struct vp_apart *v, struct at_hand *h, char *text)
{
    if (strncmp(text, "I ", 2) == 0)
        instruction(v, h, text + 2);
    else if (strncmp(text, "V ", 2) == 0)
        value(v, h, text + 2);
    else if (strncmp(text, "D ", 2) == 0)
        disassembly(h, text + 2);
    else
        (void)fputs("!a line is I HEXBYTES, V HEXVALUE or D HEXBYTES HEXADDRESS\n", h->out);
}

/* Handles all complete lines in text[0..n) and moves the rest to the front; returns its length.
 * Drops the rest if it fills the buffer. */
static size_t lines(const struct vp_apart *v, struct at_hand *h, char *text, size_t n, size_t room)
{
    size_t at = 0;
    for (char *end; (end = memchr(text + at, '\n', n - at)) != NULL;) {
        *end = '\0';
        line(v, h, text + at);
        at = (size_t)(end - text) + 1;
    }
    if (at == 0 && n == room)
        at = n;
    memmove(text, text + at, n - at);
    return n - at;
}

/* Flushes the answers before each read that may wait for more lines. */
int vp_run_format(struct vp_apart *v, struct rt_error *e)
{
    static char text[8192];
    struct at_hand h = {.out = fdopen(v->out, "w")};
    size_t have = 0;
    ssize_t n;
    if (h.out == NULL) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    do {
        n = read(v->in, text + have, sizeof text - have);
        if (n > 0)
            have = lines(v, &h, text, have + (size_t)n, sizeof text);
    } while ((n > 0 || (n < 0 && errno == EINTR)) && fflush(h.out) == 0);
    bool failed = n < 0 || ferror(h.out);
    if (failed)
        rt_error_set(e, "standard input or output fails");
    return failed ? -EIO : 0;
}
