/* SPDX-License-Identifier: BSD-3-Clause
 * Sites: the places of an image that a request names, and the plan for patching them. */
#ifndef REGTRACE_ISA_PLAN_SITE_H
#define REGTRACE_ISA_PLAN_SITE_H

#include "isa/decode/code_map.h"
#include "isa/isa.h"

#include <regex.h>

enum request_kind {
    REQUEST_ENTER, /* enter:NAME    first instruction of functions of that name */
    REQUEST_RETS,  /* rets:NAME     return instructions of these functions */
    /* returns:NAME  after calls of these functions in this image; returns: after every call */
    REQUEST_RETURNS,
    /* exits:NAME  the same, but only calls that are found without decoding everything */
    REQUEST_EXITS,
    REQUEST_SYMBOL,  /* symbol:NAME, symbol:NAME+OFFSET */
    REQUEST_ADDRESS, /* address:0x..  an address of the file */
    REQUEST_OFFSET,  /* offset:0x..   from the image's lowest address */
    REQUEST_SSC,     /* ssc:HEX       mov $0xHEX,%ebx; fs addr32 nop */
    REQUEST_INT3,
    REQUEST_MAGIC, /* xchg %bx,%bx and xchg %ebx,%ebx */
    REQUEST_CPUID,
    REQUEST_ITEXT,     /* itext:HEX     instructions of exactly these bytes */
    REQUEST_EXTENSION, /* isa_extension:NAME, named as in the decoder and XED */
    REQUEST_CATEGORY,  /* isa_category:NAME */
    REQUEST_FUNCTIONS, /* functions:REGEX  first instructions of all functions that fit */
    REQUEST_STARTS,    /* starts:REGEX     also functions without a name, matched as 0xADDRESS */
    REQUEST_CALLERS,   /* callers:REGEX    after this image's direct calls of these functions */
    REQUEST_STUBS,     /* stubs:REGEX      after its calls of such functions in other images */
    REQUEST_INLINED,   /* inlined:NAME     no sites: says where the function was inlined */
};

struct request {
    enum request_kind kind;
    const char *text; /* the whole request */
    char name[1024];
    uint64_t number;
    uint8_t bytes[15];
    unsigned byte_count;
    bool has_regex;
    regex_t regex; /* POSIX extended (1003.1, 9.4) */
};

/* Parses a request. Returns 0, or -EINVAL with the reason in *e. *q must be zeroed before the first
 * use, and request_free() frees it after the last. `text` must live as long as *q. */
int request_read(struct request *q, const char *text, struct rt_error *e) RT_MUST_CHECK;
void request_free(struct request *q);

/* Returns whether the answer needs no decoding: the request names a function that the image's
 * symbols lack, or asks for what debug information tells. main is an exception, because it is found
 * without a symbol. */
bool request_is_elsewhere(const struct request *q, const struct image *m);

/* Adds the places whose functions must be decoded to answer the request. Returns false if the
 * answer needs all code. */
bool request_places(const struct request *q, const struct image *m, struct address_list *places);

/* For REQUEST_EXITS: adds the operands of calls of the requested functions. Returns false without
 * memory. */
bool request_callees(const struct request *q, const struct image *m, struct callees *callees);
void callees_free(struct callees *callees);
/* Returns whether the dynamic linker stores the address of a requested function in a slot. */
bool request_has_slot(const struct request *q, const struct image *m);

/* A plan that is being made. */
struct plan {
    const struct code *code;
    struct isa_site *sites;
    struct isa_fixup *fixups;
    struct isa_step *steps;
    uint8_t *bytes;
    size_t site_count, fixup_count, step_count, byte_count;
    uint64_t unsure, refused;
    struct address_list callees;
    /* The request, then remarks and reasons; each ends with a NUL. */
    char text[8192];
    size_t text_bytes;
    bool no_memory;
};

/* Makes the plan of a request, with its sites sorted by address. Returns 0, -ENAMETOOLONG for a
 * request that is too long, or -ENOMEM. */
int plan_make(struct plan *p, const struct code *c, const struct request *q) RT_MUST_CHECK;
/* Makes a plan of one site, for an int3: the instruction at `address` that `bytes` begin with. It
 * may belong to any image; the image of `c` may be empty. Returns NULL, or the reason why there is
 * no plan. */
const char *plan_make_instruction(struct plan *p, const struct code *c, uint64_t address,
                                  const uint8_t *bytes, size_t n) RT_MUST_CHECK;
void plan_free(struct plan *p);
/* Returns the plan as the bytes of a file, which the caller frees, and sets *n to their number.
 * Returns NULL without memory. */
uint8_t *plan_bytes(const struct plan *p, size_t *n) RT_MUST_CHECK;
/* Returns whether these bytes are a complete plan of this image and request. Does not trust the
 * content of a cached file. */
bool plan_is_whole(const uint8_t *bytes, size_t n, const struct image *m, const char *request);

/* --- parts -------------------------------------------------------------------------------- */

/* Adds a site, which may be a refused one. flags: ISA_SITE_INDIRECT or 0. */
void plan_add_site(struct plan *p, uint64_t address, uint8_t flags);
/* Adds a text to the plan unless it is there already. Returns its offset in the text. */
uint16_t plan_say(struct plan *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Find the sites of a request. plan_find_named() leaves requests that select instructions by their
 * properties to plan_scan(). */
void plan_find_named(struct plan *p, const struct request *q);
void plan_scan(struct plan *p, const struct request *q);
/* Adds a site after each call that `wants` selects. */
typedef bool plan_wants_call(const struct plan *p, const struct request *q,
                             const struct instruction *i, const void *context);
void plan_add_after_calls(struct plan *p, const struct request *q, plan_wants_call *wants,
                          const void *context);
/* Find the sites of requests with a regular expression on names (pattern.c). */
void pattern_starts(struct plan *p, const struct request *q);
void pattern_enters(struct plan *p, const struct request *q);
void pattern_returns(struct plan *p, const struct request *q);

#endif
