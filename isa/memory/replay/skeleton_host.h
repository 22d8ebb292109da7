/* SPDX-License-Identifier: BSD-3-Clause
 * Runs a compiled skeleton over a recorded stream (isa/memory/replay/recording_format.h): yields
 * all accesses, in the order of execution. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_SKELETON_HOST_H
#define REGTRACE_ISA_MEMORY_REPLAY_SKELETON_HOST_H

#include "base/format/accesses.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* An access as compiled skeletons have it: struct skeleton_access in
 * isa/memory/source/prelude.c. */
typedef struct accesses_record replay_access;

struct skeleton {
    const uint8_t *in, *in_end;
    replay_access *out, *out_end;
    unsigned long long image, fs,
        gs; /* load address of the entered function's image; the thread's segment bases */
    int (*call)(struct skeleton *s); /* runs what is called; not 0: the recording ends there */
    /* gets input if fewer than `bytes` are left; does not return if they never come */
    void (*more)(struct skeleton *s, unsigned bytes);
    int (*turn)(struct skeleton *s); /* gets input if all is used up; not 0: none comes any more */
    /* empties the buffer if there is no room for another access */
    void (*flush)(struct skeleton *s);
    unsigned long long values, outcomes; /* numbers read so far, if compiled with SKELETON_COUNTS */
    void *host;
    /* number of direct calls and jumps; stack pointer at the last jump, which leads to `left` */
    unsigned long long entered, stack;
    int (*left)(struct skeleton *s, unsigned long long stack);
    unsigned long long lowest;        /* the stack must not grow below */
    void (*deep)(struct skeleton *s); /* is called if it does; does not return */
    unsigned long long passed[16];    /* registers that such a jump passes */
    /* is called if the jump at `pc` leads to no block; does not return */
    void (*lost)(struct skeleton *s, unsigned long long pc);
};

struct skeleton_function {
    unsigned long long address;
    int (*run)(struct skeleton *s);
    const char *name;
    unsigned number, image;
};

/* A function that a recording enters by its number; `run` is NULL if it was not compiled. */
struct replay_function {
    int (*run)(struct skeleton *s);
    uint64_t image;
};

/* Takes the next accesses of a replay. Returns 0, or an errno value, which ends the replay. */
typedef int (*replay_sink)(void *context, const replay_access *list, uint64_t count);
/* Reads the next bytes of the stream: at least one, at most `room`. Sets *got to their number; 0:
 * there are none, ever. Returns 0, or -errno with the text. */
typedef int (*replay_source)(void *context, uint8_t *to, size_t room, size_t *got,
                             struct rt_error *e);

struct replay {
    /* by number; replay_load() allocates it, the caller frees it */
    struct replay_function *functions;
    uint32_t function_count;
    uint64_t fs, gs;
    bool cut; /* the stream may end anywhere, even within a value; read when it has ended */
    replay_source source;
    replay_sink sink;
    void *source_context, *sink_context;
    /* Loads a function that was not compiled when it is entered. Returns 0, or -errno with the
     * text. NULL: entering one is an error. */
    int (*missing)(void *context, struct replay *r, uint32_t number, struct rt_error *e);
    uint64_t accesses, entered;            /* so far */
    uint64_t missing_count, missing_first; /* number of TOKEN_MISSING; place of the first */
    uint64_t values, outcomes;             /* numbers read, if skeletons count them */
};

/* Runs the stream. Returns 0, or -errno with the text: -EINVAL if the stream is damaged, or the
 * error of the sink or the source. Runs on the thread's stack; calls may be nested as deeply as the
 * program's were. */
RT_MUST_CHECK int replay_run(struct replay *r, struct rt_error *e);
/* Loads a skeleton that was compiled to a shared object. It stays loaded; the number of its first
 * function is `first`. images[n] is the load address of its image n, of `image_count` images.
 * Returns 0, or -errno with the text. */
RT_MUST_CHECK int replay_load(struct replay *r, const char *path, uint32_t first,
                              const uint64_t *images, uint32_t image_count, struct rt_error *e);

#endif
