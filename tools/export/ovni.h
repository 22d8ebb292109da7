/* SPDX-License-Identifier: BSD-3-Clause
 * Declares what the parts of the ovni export share: ovni.c makes events, ovni_files.c writes
 * streams and their metadata. */
#ifndef REGTRACE_TOOLS_EXPORT_OVNI_H
#define REGTRACE_TOOLS_EXPORT_OVNI_H

#include "tools/export/export.h"

enum { OVNI_TYPES = 100 }; /* types of marks, at most */

struct ovni_thread {
    unsigned char *buffer;
    size_t filled;
    bool begun, made;               /* has an event; its file exists */
    uint32_t depth[OVNI_TYPES + 1]; /* of each stack; MPI's is the last */
    int64_t last_ns;
};

/* The processes of one rank on one host. */
struct ovni_loom {
    char name[300];
    uint16_t *cpus; /* the system's processor numbers, by index */
    uint32_t cpu_count;
    bool described; /* the metadata of one of its threads lists its processors */
};

struct ovni_type {
    enum export_kind kind; /* EXPORT_KINDS: a counter */
    uint32_t number;       /* of a mark: the program's type */
    bool stack;
    char *title;
    struct names labels; /* values that have a label */
    char **label_texts;  /* by number in `labels` - 1 */
    size_t label_room;
};

struct ovni {
    struct export *x;
    const char *path;
    struct ovni_thread *threads;
    struct ovni_loom *looms;
    uint32_t loom_count;
    uint32_t *loom_of; /* by process */
    struct ovni_type types[OVNI_TYPES];
    int32_t type_count;
    /* Rows of mpi_events, by number of the name; -1: none, -2: not looked up yet. */
    int16_t *mpi_rows;
    size_t mpi_room;
    uint64_t no_function, no_type, too_deep, zeros; /* what is left out, by reason */
};

void ovni_append(struct ovni *o, uint32_t stream, const void *bytes, size_t size);
/* Adds a processor to those of the thread's loom. */
void ovni_cpu(struct ovni *o, uint32_t stream, uint16_t cpu);
/* Returns the type of the marks of this kind and number, and makes it if it is new. Returns -1 if
 * there are 100 already. */
int32_t ovni_type(struct ovni *o, enum export_kind kind, uint32_t number, const char *title,
                  bool stack);
void ovni_label(struct ovni *o, int32_t type, int64_t value, const char *label);
void ovni_name_looms(struct ovni *o);
/* Writes the buffers and each thread's stream.json. */
void ovni_write_all(struct ovni *o);
void ovni_free(struct ovni *o);
bool ovni_is_ours(const char *folder);

#endif
