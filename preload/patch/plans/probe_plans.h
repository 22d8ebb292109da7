/* SPDX-License-Identifier: BSD-3-Clause
 * Plans of sites: the images that can have probes, the questions to regtrace-isa about them, and
 * its answers. Used within preload/ only. */
#ifndef REGTRACE_PRELOAD_PATCH_PLANS_PROBE_PLANS_H
#define REGTRACE_PRELOAD_PATCH_PLANS_PROBE_PLANS_H

#include "base/error.h"
#include "isa/isa.h"
#include "preload/images/loaded_images.h"

#include <limits.h>

/* An image of this process. */
struct probe_image {
    /* added to the file's addresses; lowest and highest address in memory */
    uintptr_t bias, from, to;
    bool is_program;
    bool no_int3; /* runs with SIGTRAP blocked at times, as the C library does */
    /* -finstrument-functions: its functions report their entries without probes */
    bool instrumented;
    char id[IMAGE_ID_TEXT]; /* build id, else from cache_id_of(); "": no file */
    uint64_t bytes;         /* size of its file */
    char path[PATH_MAX];
};

/* Lists the images that can have probes and that no earlier call has listed, the program first.
 * Returns their number and sets *images (NULL for none), which the caller frees. Returns -ENOMEM
 * without having listed any. One call at a time. */
long probe_images(struct probe_image **images);
/* Forgets images that are not loaded any more, because another image may be loaded at their
 * addresses. Returns false if no image was unloaded since the last call. One call at a time. */
bool probe_images_forget(void);

/* A string table in an image's file. */
struct probe_strings {
    const char *text;
    size_t bytes;
};

struct probe_names {
    const char *file;
    size_t bytes, searched;
    struct probe_strings tables[4];
    unsigned count;
    bool elsewhere;             /* the tables may lack names: unreadable, or in a debug file */
    struct probe_strings debug; /* .debug_str; bytes 0: none */
    bool packed;                /* it is compressed */
};

/* Maps the file; probe_names_close() unmaps it. */
void probe_names_open(struct probe_names *n, const struct probe_image *m);
/* Returns false if the image neither has nor calls a function with this name, by any of the rules
 * of isa/image/image.h. */
bool probe_names_may_have(struct probe_names *n, const char *name);
/* Returns false if the debug information in the file cannot have a function with this name. */
bool probe_names_may_inline(const struct probe_names *n, const char *name);
void probe_names_close(struct probe_names *n);

/* The answer of regtrace-isa to one question. */
struct probe_answer {
    const struct isa_plan *plan; /* NULL: there is none */
    size_t bytes;
    /* why there is no plan; or remarks: nearest names, sites left alone */
    char reason[512];
};

/* A question about an image. Questions about the same image are consecutive. */
struct probe_question {
    const struct probe_image *image;
    char *request;
};

/* Opens the user's cache, in the constructor. */
void probe_kept_prepare(void);
/* Takes an answer from the cache. Returns false if the cache does not have it. */
bool probe_kept_find(const struct probe_question *q, struct probe_answer *a);
/* Waits until no other process asks the same question (base/toolkit/cache.h). The caller always
 * calls probe_kept_release() afterwards. */
void probe_kept_claim(const struct probe_question *q);
void probe_kept_release(void);

/* Answers `count` questions, 1000 at most; the caller frees each answer with probe_answer_free().
 * kept: plans are cached for the user. Returns 0, or -errno with the text if regtrace-isa could
 * not be asked. */
RT_MUST_CHECK int probe_ask(bool kept, const struct probe_question *questions, unsigned count,
                            struct probe_answer *answers, struct rt_error *e);
/* Finds regtrace-isa and writes its path. Returns false if it is missing; always on processors
 * other than x86-64. */
bool probe_can_ask(char path[PATH_MAX]);
void probe_answer_free(struct probe_answer *a);
/* Asks for the plan of one instruction, by its address and its `n` bytes. Called in handlers, after
 * probe_ask_prepare(), by one thread at a time, with signals and cancellation off. The caller frees
 * the answer. Returns 0 or -errno. */
RT_MUST_CHECK int probe_ask_instruction(uintptr_t at, const uint8_t *bytes, unsigned n,
                                        struct probe_answer *answer, struct rt_error *e);
/* Stores for handlers the path of regtrace-isa and LD_LIBRARY_PATH. Called before main. */
void probe_ask_prepare(void);

#endif
