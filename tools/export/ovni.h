/* SPDX-License-Identifier: BSD-3-Clause
 * The export to ovni: between ovni.c, which makes events, and ovni_files.c, which writes streams and their metadata. */
#ifndef REGTRACE_TOOLS_EXPORT_OVNI_H
#define REGTRACE_TOOLS_EXPORT_OVNI_H

#include "tools/export/export.h"

enum { OVNI_TYPES = 100 }; /* of marks, at most */

struct ovni_thread {
    unsigned char *buffer;
    size_t filled;
    bool begun, made;               /* has an event; its file is there */
    uint32_t depth[OVNI_TYPES + 1]; /* of each stack; MPI's is the last */
    int64_t last_ns;
};

/* The processes of one rank on one host. */
struct ovni_loom {
    char name[300];
    uint16_t *cpus; /* as the system numbers them, by index */
    uint32_t cpu_count;
    bool described; /* its processors stand in the metadata of a thread */
};

struct ovni_type {
    enum export_kind kind; /* EXPORT_KINDS: a counter */
    uint32_t number;       /* of a mark: the program's type */
    bool stack;
    char *title;
    struct names labels; /* the values that have one */
    char **label_texts;  /* by number - 1 */
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
    int16_t *mpi_rows; /* of mpi_events, by number of the name; -1 none, -2 not looked for */
    size_t mpi_room;
    uint64_t no_function, no_type, too_deep, zeros; /* left out */
};

void ovni_append(struct ovni *o, uint32_t stream, const void *bytes, size_t size);
/* A processor of the thread's loom. */
void ovni_cpu(struct ovni *o, uint32_t stream, uint16_t cpu);
/* A type of marks by what it is for, made where it is new; -1: there are 100 already. */
int32_t ovni_type(struct ovni *o, enum export_kind kind, uint32_t number, const char *title,
                  bool stack);
void ovni_label(struct ovni *o, int32_t type, int64_t value, const char *label);
void ovni_name_looms(struct ovni *o);
/* What is in buffers, and stream.json of each thread. */
void ovni_write_all(struct ovni *o);
void ovni_free(struct ovni *o);
bool ovni_is_ours(const char *folder);

#endif
