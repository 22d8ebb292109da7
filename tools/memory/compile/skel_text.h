/* SPDX-License-Identifier: BSD-3-Clause
 * A skeleton's C as text (isa/memory/source/source_file.c): where its functions are, and who calls whom directly. */
#ifndef REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_TEXT_H
#define REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of functions in recordings: more are not looked for, and replay says so. */
#define SKEL_FUNCTIONS_MOST (1u << 22)

struct skel_function {
    uint32_t number;
    size_t at, bytes; /* of the text */
    bool loops;
};

struct skel_text {
    char *text;
    size_t bytes;                    /* up to the end of the last function that is whole */
    bool cut;                        /* there is more */
    size_t head;                     /* bytes before the first function */
    struct skel_function *functions; /* as they come */
    size_t count, room;
    uint32_t (*calls)[2]; /* from, to */
    size_t call_count, call_room;
};

/* A file of a run's folder, to be read. -1, with errno: it cannot be, or is no file (EINVAL). */
int skel_open_regular(const char *path);
/* False, with errno: it cannot be read. To be freed in any case. */
bool skel_text_read(struct skel_text *t, const char *path);
void skel_text_free(struct skel_text *t);

#endif
