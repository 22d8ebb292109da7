/* SPDX-License-Identifier: BSD-3-Clause
 * Names, types and chunk sizes of a rank file in one place; share/doc/schema.md describes them in
 * words. */
#ifndef REGTRACE_WRITER_FILE_SCHEMA_H
#define REGTRACE_WRITER_FILE_SCHEMA_H

#include "writer/writer.h"

#include <hdf5.h>

/* Rows of one HDF5 chunk of /events, which is compressed and appended as a whole (320 KiB). */
#define SCHEMA_EVENT_CHUNK 8192u
/* Rows of a chunk of /tail, which holds at most SCHEMA_EVENT_CHUNK rows. */
#define SCHEMA_TAIL_CHUNK 1024u

/* /tail: rows that do not fill a chunk of /events yet. `row` is the number that the row will have
 * in /events; a row below the length of /events is stale. The tail is overwritten in place. A
 * writer that is killed while it writes may leave a torn row: its beginning is of one row and its
 * end of another, with a page boundary between. Then `check` does not fit. No padding, as in the
 * file: HDF5 clears a buffer of 1 MiB for each write of rows that it has to convert. */
struct __attribute__((packed, aligned(4))) rt_tail_row {
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
    SCHEMA_PATHS,
    /* Only in files of runs with a profile: */
    SCHEMA_MPI_PROFILE,
    SCHEMA_MPI_PROFILE_TIMES,
    /* Only in files of runs that profile values: */
    SCHEMA_VALUE_INSTRUCTIONS,
    SCHEMA_VALUE_HOT,
    SCHEMA_VALUE_THREADS,
    SCHEMA_TABLES
};

/* Kinds of a field. KIND_TEXT has a width. */
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
    /* Offset of the u64 "row" that ties a derived row to /events; SIZE_MAX: none. */
    size_t row_offset;
};

extern const struct schema_table_info schema_tables[SCHEMA_TABLES];

/* Returns the checksum of `count` words, as `check` columns hold it: share/doc/schema.md. */
uint32_t schema_sum(const uint64_t *words, size_t count);

/* Returns the value that `check` of a row of /tail must have. share/doc/schema.md has the rule, for
 * other readers. */
uint32_t schema_tail_check(const struct rt_tail_row *row);

/* Returns the compound type in memory layout, to be closed by H5Tclose(); negative on failure. */
hid_t schema_memory_type(enum schema_table table);

/* Returns a compound type of these fields, for a C struct of `bytes` bytes; negative on failure. */
hid_t schema_compound(size_t bytes, const struct schema_field *fields, size_t count);

/* Creates an empty, unlimited dataset; returns a negative value on failure. `deflate`, 0 to 9,
 * applies to /events and /value_hot only: only these are appended in whole chunks, and a compressed
 * chunk that is written again leaks its old place under SWMR. */
hid_t schema_create_dataset(hid_t file, enum schema_table table, unsigned deflate);

/* Root attributes that change while the file is open have a fixed width. */
#define SCHEMA_STATE_WIDTH 16
#define SCHEMA_REASON_WIDTH 128

/* Creates or overwrites an attribute of `object`; returns a negative value on failure. Under SWMR
 * no attribute can be created. */
int schema_put_text(hid_t object, const char *name, const char *text, size_t width);
int schema_put_number(hid_t object, const char *name, hid_t type, const void *value);

/* Reads an attribute. Text is cut to the room and always terminated. Returns a negative value if
 * the attribute does not exist or has another class. */
int schema_get_text(hid_t object, const char *name, char *text, size_t room);
int schema_get_number(hid_t object, const char *name, hid_t type, void *value);

/* Starts the HDF5 library, without its messages on stderr, its exit handler, and its locking errors
 * on file systems without locks. Call it before anything else of HDF5. Returns 0, or -ENOMEM for
 * ever after: a library that lacked memory at its start runs on, and reads and writes less. */
RT_MUST_CHECK int schema_start_hdf5(struct rt_error *e);

/* Returns file access properties for a SWMR writer: the newest file format. */
hid_t schema_file_access(void);

#endif
