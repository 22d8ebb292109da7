/* SPDX-License-Identifier: BSD-3-Clause
 * Places that probes stand at: found by regtrace-sites, patched, looked up by address. Of preload/probe*.c alone. */
#ifndef REGTRACE_PRELOAD_PROBE_SITES_H
#define REGTRACE_PRELOAD_PROBE_SITES_H

#include "isa/isa.h"
#include "preload/internal.h"

/* One place. Those of one address stand together, by alarm. */
struct probe_site {
    uintptr_t at; /* of the byte that is patched */
    const uint8_t *
        copy; /* the instruction, made to run there; NULL: the program's own int3, which is not executed */
    uint16_t alarm;
    uint8_t displaced; /* bytes of the instruction */
    uint8_t flags;     /* ISA_SITE_* */
    uint8_t byte;      /* what stood there */
    uint8_t behind;    /* `at` lies so far behind the instruction that was asked for */
};

struct probe_sites {
    struct probe_site *rows; /* by address */
    size_t count;
};

/* The table that is in force: never changed, and never freed; NULL before there is one. */
const struct probe_sites *probe_sites_now(void);

/* An image of this process. */
struct probe_image {
    uintptr_t bias, from,
        to; /* what the file's addresses are off by; its lowest and highest address here */
    bool is_program;
    bool no_int3; /* runs with SIGTRAP blocked at times: the C library, the dynamic linker */
    bool
        instrumented; /* -finstrument-functions: enters of its functions are known without probes */
    char path[PATH_MAX];
};

/* Those that can have probes and have not been handed out yet, the program first. Their number; *images (NULL for none) is the
 * caller's to free. -ENOMEM: nothing was handed out. One at a time. */
long probe_images(struct probe_image **images);
/* Images that are gone are forgotten: another may come to lie there. False: nothing has gone since the last call. One at a time. */
bool probe_images_forget(void);

/* What regtrace-sites said of one request. */
struct probe_answer {
    const struct isa_plan *plan; /* NULL: it cannot be had */
    size_t bytes;
    char reason[512]; /* of that; or what there is to say: nearest names, places left alone */
};

/* What is asked of an image; those of one image stand together. */
struct probe_question {
    const struct probe_image *image;
    char *request;
};

/* An answer for each question, of 1000 at most. kept: plans are kept in the user's cache. 0, or -errno with the text where nothing
 * could be asked. */
RT_MUST_CHECK int probe_ask(bool kept, const struct probe_question *questions, unsigned count,
                            struct probe_answer *answers, struct rt_error *e);
/* Is regtrace-sites there? Never where the processor is not an x86-64. */
bool probe_can_ask(char path[PATH_MAX]);
void probe_answer_free(struct probe_answer *a);

/* The sites of a plan, made ready to be patched for these alarms: their copies are placed near the image. Adds to *to a row for
 * each site and alarm. Refused sites are counted. 0 or -errno with the text. */
RT_MUST_CHECK int probe_place(const struct probe_image *image, const struct isa_plan *plan,
                              const uint16_t *alarms, unsigned alarm_count, struct probe_sites *to,
                              uint64_t *refused, struct rt_error *e);
/* Writes int3 to the first byte of each of these; sites whose bytes are not what the file has are left alone, and counted.
 * 0 or -errno. */
int probe_patch(const struct probe_site *rows, size_t count, uint64_t *changed);

#endif
