/* SPDX-License-Identifier: BSD-3-Clause
 * Sites: the places of an image that a request names, and the plan that is made of them. */
#ifndef REGTRACE_ISA_PLAN_SITE_H
#define REGTRACE_ISA_PLAN_SITE_H

#include "isa/decode/decode.h"
#include "isa/isa.h"

#include <regex.h>

enum request_kind {
    REQUEST_ENTER, /* enter:NAME    first instruction of functions of that name */
    REQUEST_RETS,  /* rets:NAME     their return instructions */
    REQUEST_RETURNS, /* returns:NAME  behind calls of them in this image; returns: behind every call */
    REQUEST_EXITS, /* exits:NAME    the same, as far as the callers are found without decoding all */
    REQUEST_SYMBOL,  /* symbol:NAME, symbol:NAME+OFFSET */
    REQUEST_ADDRESS, /* address:0x..  as in the file */
    REQUEST_OFFSET,  /* offset:0x..   from the image's lowest address */
    REQUEST_SSC,     /* ssc:HEX       mov $0xHEX,%ebx; fs addr32 nop */
    REQUEST_INT3,
    REQUEST_MAGIC, /* xchg %bx,%bx and xchg %ebx,%ebx */
    REQUEST_CPUID,
    REQUEST_ITEXT,     /* itext:HEX     instructions of exactly these bytes */
    REQUEST_EXTENSION, /* isa_extension:NAME, as the decoder and XED name it */
    REQUEST_CATEGORY,  /* isa_category:NAME */
    REQUEST_FUNCTIONS, /* functions:REGEX  first instructions of all functions that fit */
    REQUEST_STARTS,    /* starts:REGEX     those without a name too, called 0xADDRESS */
    REQUEST_CALLERS,   /* callers:REGEX    behind this image's direct calls of them */
    REQUEST_STUBS,     /* stubs:REGEX      behind its calls of such functions of other images */
};

struct request {
    enum request_kind kind;
    const char *text; /* whole */
    char name[1024];
    uint64_t number;
    uint8_t bytes[15];
    unsigned byte_count;
    bool has_regex;
    regex_t regex; /* extended (POSIX 1003.1, 9.4) */
};

/* 0, or -EINVAL with what is wrong with it. The text must live as long. Zeroed before the first use; request_free() after the last. */
int request_read(struct request *q, const char *text, struct rt_error *e) RT_MUST_CHECK;
void request_free(struct request *q);

/* It is by a name that the image's symbols do not have: the answer needs no instruction of it. (main is found without.) */
bool request_is_elsewhere(const struct request *q, const struct image *m);

/* The request is answered where some places' functions are decoded: these are added to the list. False: it asks about all code. */
bool request_places(const struct request *q, const struct image *m, struct addresses *places);

/* Of REQUEST_EXITS: what such calls name is added. False: no memory. */
bool request_callees(const struct request *q, const struct image *m, struct callees *callees);
void callees_free(struct callees *callees);
/* The dynamic linker stores the address of such a function somewhere. */
bool request_has_slot(const struct request *q, const struct image *m);

/* A plan in the making. */
struct plan {
    const struct code *code;
    struct isa_site *sites;
    struct isa_fixup *fixups;
    struct isa_step *steps;
    uint8_t *bytes;
    size_t site_count, fixup_count, step_count, byte_count;
    uint64_t unsure, refused;
    struct addresses callees;
    char text[8192]; /* what is to be said: begins with the request, ends with a NUL each */
    size_t text_bytes;
    bool no_memory;
};

/* The sites of a request, by address. */
int plan_make(struct plan *p, const struct code *c, const struct request *q) RT_MUST_CHECK;
/* One site, for an int3: these bytes at that address, whatever image they are of (c: of an empty one). NULL, or why not. */
const char *plan_make_instruction(struct plan *p, const struct code *c, uint64_t address,
                                  const uint8_t *bytes, size_t n) RT_MUST_CHECK;
void plan_free(struct plan *p);
/* As a file's bytes, to be freed; NULL: no memory. */
uint8_t *plan_bytes(const struct plan *p, size_t *n) RT_MUST_CHECK;
/* These bytes are a whole plan of that image and request; what a cache gives is not trusted. */
bool plan_is_whole(const uint8_t *bytes, size_t n, const struct image *m, const char *request);

/* --- parts ---------------------------------------------------------------------------------------------------------------- */

/* One site. flags: ISA_SITE_INDIRECT or 0. */
void plan_add_site(struct plan *p, uint64_t address, uint8_t flags);
/* Something to be said; returns its offset in the text. */
uint16_t plan_say(struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sites by name, and by what instructions are. */
void plan_find_named(struct plan *p, const struct request *q);
void plan_scan(struct plan *p, const struct request *q);
/* Behind each call that is wanted. */
typedef bool plan_wants_call(const struct plan *p, const struct request *q,
                             const struct instruction *i, const void *context);
void plan_add_behind_calls(struct plan *p, const struct request *q, plan_wants_call *wants,
                           const void *context);
/* By a regular expression on names: pattern.c. */
void pattern_starts(struct plan *p, const struct request *q);
void pattern_enters(struct plan *p, const struct request *q);
void pattern_returns(struct plan *p, const struct request *q);

#endif
