/* SPDX-License-Identifier: BSD-3-Clause
 * One place for the names, types and chunk sizes of a rank file; share/doc/schema.md says it in words. */
#ifndef REGTRACE_WRITER_FILE_SCHEMA_H
#define REGTRACE_WRITER_FILE_SCHEMA_H

#include "writer/writer.h"

#include <hdf5.h>

/* Rows of one HDF5 chunk of /events: what is compressed and appended at once (320 KiB). */
#define SCHEMA_EVENT_CHUNK 8192u
/* Rows of a chunk of /tail, which holds at most SCHEMA_EVENT_CHUNK rows. */
#define SCHEMA_TAIL_CHUNK 1024u

/* /tail: rows that do not fill a chunk of /events yet. `row` is the number the row will have in /events; one that
 * is below the length of /events is stale. The tail is overwritten in place: a writer that is killed in the act leaves a row whose
 * beginning is of one and whose end is of another, where a page ended. `check` does not fit then. */
struct rt_tail_row {
    uint64_t row;
    struct rt_event event;
    uint32_t check; /* schema_tail_check() */
};

/* /string_index: where the text of an id stands in /strings. */
struct rt_string_row {
    uint32_t id;
    uint32_t length;
    uint64_t offset;
};

enum schema_table {
    SCHEMA_EVENTS,
    SCHEMA_TAIL,
    SCHEMA_FIRED,
    SCHEMA_WINDOWS,
    SCHEMA_THREADS,
    SCHEMA_STRINGS,
    SCHEMA_STRING_INDEX,
    SCHEMA_COMMS,
    SCHEMA_CALIBRATION,
    SCHEMA_ALARMS,
    SCHEMA_LOSSES,
    SCHEMA_MAPS,
    SCHEMA_FUNCTIONS,
    SCHEMA_METADATA,
    SCHEMA_PIECES,
    /* Of runs that profile values alone: */
    SCHEMA_VALUE_INSTRUCTIONS,
    SCHEMA_VALUE_HOT,
    SCHEMA_VALUE_THREADS,
    SCHEMA_TABLES
};

/* Kinds of a field; text kinds have a width. */
enum schema_kind { KIND_U8, KIND_U16, KIND_U32, KIND_U64, KIND_I32, KIND_I64, KIND_F64, KIND_TEXT };

struct schema_field {
    const char *name;
    size_t offset;
    enum schema_kind kind;
    size_t width; /* of KIND_TEXT, in bytes */
};

struct schema_table_info {
    const char *name;                  /* "events" */
    size_t row_bytes;                  /* of the C struct; 1 for byte heaps */
    hsize_t chunk;                     /* rows */
    const struct schema_field *fields; /* NULL: bytes (u8) */
    size_t field_count;
    size_t
        row_offset; /* of the u64 "row" that ties a derived row to /events; SIZE_MAX if there is none */
};

extern const struct schema_table_info schema_tables[SCHEMA_TABLES];

/* The sum of words that `check` columns hold: share/doc/schema.md. */
uint32_t schema_sum(const uint64_t *words, size_t count);

/* What `check` of a row of /tail is to be; share/doc/schema.md has the rule, for other readers. */
uint32_t schema_tail_check(const struct rt_tail_row *row);

/* The compound type in memory layout (H5Tclose it); negative on failure. */
hid_t schema_memory_type(enum schema_table table);

/* A compound of such fields for a C struct of `bytes`. */
hid_t schema_compound(size_t bytes, const struct schema_field *fields, size_t count);

/* Create an empty, unlimited dataset. `deflate` 0 to 9 applies to /events and /value_hot alone: only those are appended
 * in whole chunks, and a compressed chunk that is written again leaks its old place under SWMR. */
hid_t schema_create_dataset(hid_t file, enum schema_table table, unsigned deflate);

/* Root attributes that change while the file is open have a fixed width. */
#define SCHEMA_STATE_WIDTH 16
#define SCHEMA_REASON_WIDTH 128

/* Create or overwrite an attribute of `object`; negative on failure. Creating is not possible under SWMR. */
int schema_put_text(hid_t object, const char *name, const char *text, size_t width);
int schema_put_number(hid_t object, const char *name, hid_t type, const void *value);

/* Read one: text is cut to the room and always terminated. Negative if it is not there or not of that class. */
int schema_get_text(hid_t object, const char *name, char *text, size_t room);
int schema_get_number(hid_t object, const char *name, hid_t type, void *value);

/* No HDF5 message on stderr, no file locking errors on file systems without locks. Once per process. */
void schema_quiet_hdf5(void);

/* File access for a SWMR writer: newest format, small caches. */
hid_t schema_file_access(void);

#endif
