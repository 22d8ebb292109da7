/* SPDX-License-Identifier: BSD-3-Clause
 * Tables of a rank file as data, and the HDF5 types, datasets and attributes made from them. */
#include "writer/file/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COUNT(a) (sizeof(a) / sizeof(a)[0])
#define FIELD(type, member, kind)                                                                  \
    {                                                                                              \
#member, offsetof(struct type, member), kind, 0                                            \
    }
#define TEXT_FIELD(type, member)                                                                   \
    {                                                                                              \
#member, offsetof(struct type, member), KIND_TEXT, sizeof(((struct type *)0)->member)      \
    }

static const struct schema_field event_fields[] = {
    FIELD(rt_event, clock, KIND_U64),  FIELD(rt_event, code, KIND_U32),
    FIELD(rt_event, thread, KIND_I32), FIELD(rt_event, window, KIND_I32),
    FIELD(rt_event, cpu, KIND_U16),    FIELD(rt_event, flags, KIND_U16),
    FIELD(rt_event, a, KIND_U64),      FIELD(rt_event, b, KIND_U64),
};

#define TAIL_FIELD(member, kind)                                                                   \
    {                                                                                              \
#member, offsetof(struct rt_tail_row, event.member), kind, 0                               \
    }
static const struct schema_field tail_fields[] = {
    FIELD(rt_tail_row, row, KIND_U64),   TAIL_FIELD(clock, KIND_U64),  TAIL_FIELD(code, KIND_U32),
    TAIL_FIELD(thread, KIND_I32),        TAIL_FIELD(window, KIND_I32), TAIL_FIELD(cpu, KIND_U16),
    TAIL_FIELD(flags, KIND_U16),         TAIL_FIELD(a, KIND_U64),      TAIL_FIELD(b, KIND_U64),
    FIELD(rt_tail_row, check, KIND_U32),
};

static const struct schema_field fired_fields[] = {
    FIELD(rt_fired, row, KIND_U64),    FIELD(rt_fired, clock, KIND_U64),
    FIELD(rt_fired, thread, KIND_I32), FIELD(rt_fired, alarm, KIND_I32),
    FIELD(rt_fired, chain, KIND_I32),  FIELD(rt_fired, event, KIND_U32),
    FIELD(rt_fired, flags, KIND_U32),  FIELD(rt_fired, window, KIND_I32),
    FIELD(rt_fired, ip, KIND_U64),     FIELD(rt_fired, requested, KIND_I64),
    FIELD(rt_fired, actual, KIND_I64), FIELD(rt_fired, pass, KIND_U64),
};

static const struct schema_field window_fields[] = {
    FIELD(rt_window, open_row, KIND_U64),
    FIELD(rt_window, close_row, KIND_U64),
    FIELD(rt_window, start_clock, KIND_U64),
    FIELD(rt_window, stop_clock, KIND_U64),
    FIELD(rt_window, start_icount, KIND_I64),
    FIELD(rt_window, stop_icount, KIND_I64),
    FIELD(rt_window, start_requested, KIND_I64),
    FIELD(rt_window, stop_requested, KIND_I64),
    FIELD(rt_window, start_late, KIND_U64),
    FIELD(rt_window, stop_late, KIND_U64),
    FIELD(rt_window, ordinal, KIND_I32),
    FIELD(rt_window, thread, KIND_I32),
    FIELD(rt_window, chain, KIND_I32),
    FIELD(rt_window, start_alarm, KIND_I32),
    FIELD(rt_window, stop_alarm, KIND_I32),
    FIELD(rt_window, kind, KIND_U16),
    FIELD(rt_window, bcast, KIND_U8),
    FIELD(rt_window, firing, KIND_U8),
    FIELD(rt_window, reason, KIND_U8),
    FIELD(rt_window, truncated, KIND_U8),
    FIELD(rt_window, region, KIND_U32),
    FIELD(rt_window, weight, KIND_F64),
    FIELD(rt_window, multiplier, KIND_F64),
};

static const struct schema_field thread_fields[] = {
    FIELD(rt_thread, thread, KIND_I32),        FIELD(rt_thread, kernel_tid, KIND_U32),
    FIELD(rt_thread, name, KIND_U32),          FIELD(rt_thread, start_image, KIND_U32),
    FIELD(rt_thread, start_routine, KIND_U64), FIELD(rt_thread, started, KIND_U64),
    FIELD(rt_thread, ended, KIND_U64),         FIELD(rt_thread, rows, KIND_U64),
    FIELD(rt_thread, recorded, KIND_U64),      FIELD(rt_thread, dropped, KIND_U64),
    FIELD(rt_thread, waits, KIND_U64),         FIELD(rt_thread, wait_ticks, KIND_U64),
    FIELD(rt_thread, incomplete, KIND_U64),    FIELD(rt_thread, own_ticks, KIND_U64),
    FIELD(rt_thread, interrupted, KIND_U32),   FIELD(rt_thread, state, KIND_U32),
    FIELD(rt_thread, instructions, KIND_U64),
};

static const struct schema_field string_fields[] = {
    FIELD(rt_string_row, id, KIND_U32),
    FIELD(rt_string_row, length, KIND_U32),
    FIELD(rt_string_row, offset, KIND_U64),
};

static const struct schema_field comm_fields[] = {
    FIELD(rt_comm, row, KIND_U64),    FIELD(rt_comm, id, KIND_U32),
    FIELD(rt_comm, rank, KIND_U32),   FIELD(rt_comm, size, KIND_U32),
    FIELD(rt_comm, parent, KIND_U32), FIELD(rt_comm, identity, KIND_U64),
    FIELD(rt_comm, sides, KIND_U32),
};

static const struct schema_field calibration_fields[] = {
    FIELD(rt_calibration, ticks, KIND_U64),
    FIELD(rt_calibration, monotonic_ns, KIND_U64),
    FIELD(rt_calibration, realtime_ns, KIND_U64),
    FIELD(rt_calibration, uncertainty, KIND_U64),
};

static const struct schema_field alarm_fields[] = {
    FIELD(rt_alarm, alarm, KIND_I32),    FIELD(rt_alarm, chain, KIND_I32),
    FIELD(rt_alarm, position, KIND_I32), TEXT_FIELD(rt_alarm, event),
    TEXT_FIELD(rt_alarm, type),          TEXT_FIELD(rt_alarm, text),
};

static const struct schema_field loss_fields[] = {
    FIELD(rt_loss, kind, KIND_U32),
    FIELD(rt_loss, thread, KIND_I32),
    FIELD(rt_loss, count, KIND_U64),
    FIELD(rt_loss, clock, KIND_U64),
};

static const struct schema_field map_fields[] = {
    FIELD(rt_map, row, KIND_U64),  FIELD(rt_map, clock, KIND_U64),    FIELD(rt_map, base, KIND_U64),
    FIELD(rt_map, path, KIND_U32), FIELD(rt_map, build_id, KIND_U32),
};

static const struct schema_field function_fields[] = {
    FIELD(rt_function, code, KIND_U32), TEXT_FIELD(rt_function, name),
    TEXT_FIELD(rt_function, label),     TEXT_FIELD(rt_function, a),
    TEXT_FIELD(rt_function, b),
};

static const struct schema_field piece_fields[] = {
    FIELD(rt_piece, thread, KIND_I32),     FIELD(rt_piece, row, KIND_U64),
    FIELD(rt_piece, rows, KIND_U64),       FIELD(rt_piece, first_clock, KIND_U64),
    FIELD(rt_piece, last_clock, KIND_U64), FIELD(rt_piece, check, KIND_U32),
};

static const struct schema_field path_fields[] = {
    FIELD(rt_path, path, KIND_U32),   FIELD(rt_path, parent, KIND_U32),
    FIELD(rt_path, image, KIND_U32),  FIELD(rt_path, build_id, KIND_U32),
    FIELD(rt_path, offset, KIND_U64),
};

static const struct schema_field mpi_profile_fields[] = {
    FIELD(rt_mpi_profile, thread, KIND_I32),    FIELD(rt_mpi_profile, path, KIND_U32),
    FIELD(rt_mpi_profile, code, KIND_U32),      FIELD(rt_mpi_profile, comm, KIND_U32),
    FIELD(rt_mpi_profile, nested, KIND_U32),    FIELD(rt_mpi_profile, calls, KIND_U64),
    FIELD(rt_mpi_profile, ticks, KIND_U64),     FIELD(rt_mpi_profile, min_ticks, KIND_U64),
    FIELD(rt_mpi_profile, max_ticks, KIND_U64), FIELD(rt_mpi_profile, bytes, KIND_U64),
};

static const struct schema_field mpi_profile_time_fields[] = {
    FIELD(rt_mpi_profile_time, row, KIND_U32),
    FIELD(rt_mpi_profile_time, power, KIND_U32),
    FIELD(rt_mpi_profile_time, calls, KIND_U64),
};

static const struct schema_field value_instruction_fields[] = {
    FIELD(rt_value_instruction, number, KIND_U32),
    FIELD(rt_value_instruction, image, KIND_U32),
    FIELD(rt_value_instruction, build_id, KIND_U32),
    FIELD(rt_value_instruction, length, KIND_U32),
    FIELD(rt_value_instruction, address, KIND_U64),
    FIELD(rt_value_instruction, offset, KIND_U64),
    FIELD(rt_value_instruction, samples, KIND_U64),
    FIELD(rt_value_instruction, periods, KIND_U64),
    FIELD(rt_value_instruction, values, KIND_U64),
    FIELD(rt_value_instruction, threshold, KIND_F64),
    TEXT_FIELD(rt_value_instruction, code),
};

static const struct schema_field value_hot_fields[] = {
    FIELD(rt_value_hot, number, KIND_U32),   FIELD(rt_value_hot, context0, KIND_U64),
    FIELD(rt_value_hot, context1, KIND_U64), FIELD(rt_value_hot, value, KIND_U64),
    FIELD(rt_value_hot, count, KIND_U64),
};

static const struct schema_field value_thread_fields[] = {
    FIELD(rt_value_thread, thread, KIND_I32),    FIELD(rt_value_thread, samples, KIND_U64),
    FIELD(rt_value_thread, captured, KIND_U64),  FIELD(rt_value_thread, unknown, KIND_U64),
    FIELD(rt_value_thread, unlearned, KIND_U64), FIELD(rt_value_thread, not_run, KIND_U64),
    FIELD(rt_value_thread, busy, KIND_U64),      FIELD(rt_value_thread, skipped, KIND_U64),
    FIELD(rt_value_thread, damaged, KIND_U64),   FIELD(rt_value_thread, unprocessed, KIND_U64),
    FIELD(rt_value_thread, strange, KIND_U64),   FIELD(rt_value_thread, records, KIND_U64),
};

#define TABLE(text, type, chunk, fields) text, sizeof(struct type), chunk, fields, COUNT(fields)

const struct schema_table_info schema_tables[SCHEMA_TABLES] = {
    [SCHEMA_EVENTS] = {TABLE("events", rt_event, SCHEMA_EVENT_CHUNK, event_fields), SIZE_MAX},
    [SCHEMA_TAIL] = {TABLE("tail", rt_tail_row, SCHEMA_TAIL_CHUNK, tail_fields), SIZE_MAX},
    [SCHEMA_FIRED] = {TABLE("fired", rt_fired, 256, fired_fields), offsetof(struct rt_fired, row)},
    [SCHEMA_WINDOWS] = {TABLE("windows", rt_window, 256, window_fields),
                        offsetof(struct rt_window, open_row)},
    [SCHEMA_THREADS] = {TABLE("threads", rt_thread, 16, thread_fields), SIZE_MAX},
    [SCHEMA_STRINGS] = {"strings", 1, 4096, NULL, 0, SIZE_MAX},
    [SCHEMA_STRING_INDEX] = {TABLE("string_index", rt_string_row, 128, string_fields), SIZE_MAX},
    [SCHEMA_COMMS] = {TABLE("comms", rt_comm, 64, comm_fields), offsetof(struct rt_comm, row)},
    [SCHEMA_CALIBRATION] = {TABLE("calibration", rt_calibration, 64, calibration_fields), SIZE_MAX},
    [SCHEMA_ALARMS] = {TABLE("alarms", rt_alarm, 16, alarm_fields), SIZE_MAX},
    [SCHEMA_LOSSES] = {TABLE("losses", rt_loss, 64, loss_fields), SIZE_MAX},
    [SCHEMA_MAPS] = {TABLE("maps", rt_map, 64, map_fields), offsetof(struct rt_map, row)},
    [SCHEMA_FUNCTIONS] = {TABLE("functions", rt_function, 64, function_fields), SIZE_MAX},
    [SCHEMA_METADATA] = {"metadata", 1, 4096, NULL, 0, SIZE_MAX},
    [SCHEMA_PIECES] = {TABLE("pieces", rt_piece, 64, piece_fields), SIZE_MAX},
    [SCHEMA_PATHS] = {TABLE("paths", rt_path, 64, path_fields), SIZE_MAX},
    [SCHEMA_MPI_PROFILE] = {TABLE("mpi_profile", rt_mpi_profile, 256, mpi_profile_fields),
                            SIZE_MAX},
    [SCHEMA_MPI_PROFILE_TIMES] = {TABLE("mpi_profile_times", rt_mpi_profile_time, 1024,
                                        mpi_profile_time_fields),
                                  SIZE_MAX},
    [SCHEMA_VALUE_INSTRUCTIONS] = {TABLE("value_instructions", rt_value_instruction, 256,
                                         value_instruction_fields),
                                   SIZE_MAX},
    [SCHEMA_VALUE_HOT] = {TABLE("value_hot", rt_value_hot, 4096, value_hot_fields), SIZE_MAX},
    [SCHEMA_VALUE_THREADS] = {TABLE("value_threads", rt_value_thread, 16, value_thread_fields),
                              SIZE_MAX},
};

uint32_t schema_sum(const uint64_t *words, size_t count)
{
    uint64_t sum = 1; /* the check of an all-zero row, which nobody wrote, must not fit */
    for (size_t i = 0; i < count; i++) {
        sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return (uint32_t)sum;
}

uint32_t schema_tail_check(const struct rt_tail_row *row)
{
    const struct rt_event e = row->event;
    const uint64_t words[] = {
        row->row,
        e.clock,
        e.code | (uint64_t)(uint32_t)e.thread << 32,
        (uint32_t)e.window | (uint64_t)e.cpu << 32 | (uint64_t)e.flags << 48,
        e.a,
        e.b,
    };
    return schema_sum(words, COUNT(words));
}

static hid_t text_type(size_t width)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, width) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 ||
                      H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        (void)H5Tclose(type);
        return -1;
    }
    return type;
}

static hid_t field_type(const struct schema_field *field)
{
    switch (field->kind) {
    case KIND_U8: return H5Tcopy(H5T_NATIVE_UINT8);
    case KIND_U16: return H5Tcopy(H5T_NATIVE_UINT16);
    case KIND_U32: return H5Tcopy(H5T_NATIVE_UINT32);
    case KIND_U64: return H5Tcopy(H5T_NATIVE_UINT64);
    case KIND_I32: return H5Tcopy(H5T_NATIVE_INT32);
    case KIND_I64: return H5Tcopy(H5T_NATIVE_INT64);
    case KIND_F64: return H5Tcopy(H5T_NATIVE_DOUBLE);
    case KIND_TEXT: return text_type(field->width);
    }
    return -1;
}

hid_t schema_compound(size_t bytes, const struct schema_field *fields, size_t count)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, bytes);
    for (size_t i = 0; type >= 0 && i < count; i++) {
        hid_t member = field_type(&fields[i]);
        herr_t bad = member < 0 ? -1 : H5Tinsert(type, fields[i].name, fields[i].offset, member);
        if (member >= 0)
            (void)H5Tclose(member);
        if (bad < 0) {
            (void)H5Tclose(type);
            return -1;
        }
    }
    return type;
}

hid_t schema_memory_type(enum schema_table table)
{
    const struct schema_table_info *t = &schema_tables[table];
    if (t->fields == NULL)
        return H5Tcopy(H5T_NATIVE_UINT8);
    return schema_compound(t->row_bytes, t->fields, t->field_count);
}

static hid_t creation_list(enum schema_table table, unsigned deflate)
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (list < 0)
        return -1;
    herr_t bad = H5Pset_chunk(list, 1, &schema_tables[table].chunk);
    if (bad >= 0 && (table == SCHEMA_EVENTS || table == SCHEMA_VALUE_HOT) && deflate > 0)
        bad = H5Pset_shuffle(list) < 0 ? -1 : H5Pset_deflate(list, deflate > 9 ? 9 : deflate);
    if (bad < 0) {
        (void)H5Pclose(list);
        return -1;
    }
    return list;
}

hid_t schema_create_dataset(hid_t file, enum schema_table table, unsigned deflate)
{
    const struct schema_table_info *t = &schema_tables[table];
    hsize_t none = 0, unlimited = H5S_UNLIMITED;
    hid_t dataset = -1;
    hid_t type = schema_memory_type(table);
    hid_t space = H5Screate_simple(1, &none, &unlimited);
    hid_t list = creation_list(table, deflate);
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    /* A cache for two chunks is enough: whole chunks are written once, small tables are written in
     * order. */
    size_t chunk_bytes = (size_t)t->chunk * t->row_bytes;
    if (type >= 0 && t->fields != NULL)
        (void)H5Tpack(type); /* the file has no padding of the C struct */
    if (type >= 0 && space >= 0 && list >= 0 && access >= 0 &&
        H5Pset_chunk_cache(access, 31, 2 * chunk_bytes, 1.0) >= 0)
        dataset = H5Dcreate2(file, t->name, type, space, H5P_DEFAULT, list, access);
    if (access >= 0)
        (void)H5Pclose(access);
    if (list >= 0)
        (void)H5Pclose(list);
    if (space >= 0)
        (void)H5Sclose(space);
    if (type >= 0)
        (void)H5Tclose(type);
    return dataset;
}

static int put(hid_t object, const char *name, hid_t type, const void *value)
{
    hid_t attribute = -1;
    if (H5Aexists(object, name) > 0) {
        attribute = H5Aopen(object, name, H5P_DEFAULT);
    } else {
        hid_t space = H5Screate(H5S_SCALAR);
        if (space >= 0) {
            attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
            (void)H5Sclose(space);
        }
    }
    if (attribute < 0)
        return -1;
    herr_t bad = H5Awrite(attribute, type, value);
    return H5Aclose(attribute) < 0 || bad < 0 ? -1 : 0;
}

int schema_put_text(hid_t object, const char *name, const char *text, size_t width)
{
    size_t n = strlen(text);
    if (width == 0)
        width = n > 0 ? n : 1;
    char *padded = calloc(1, width);
    hid_t type = text_type(width);
    int rc = -1;
    if (padded != NULL && type >= 0) {
        memcpy(padded, text, n < width ? n : width);
        rc = put(object, name, type, padded);
    }
    free(padded);
    if (type >= 0)
        (void)H5Tclose(type);
    return rc;
}

int schema_put_number(hid_t object, const char *name, hid_t type, const void *value)
{
    return put(object, name, type, value);
}

int schema_get_text(hid_t object, const char *name, char *text, size_t room)
{
    text[0] = '\0';
    if (H5Aexists(object, name) <= 0)
        return -1;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
    size_t n = type < 0 || H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0
                   ? 0
                   : H5Tget_size(type);
    int rc = -1;
    char *raw = n > 0 && n <= (1u << 20) ? calloc(1, n + 1) : NULL;
    if (raw != NULL && H5Aread(attribute, type, raw) >= 0) {
        size_t keep = strnlen(raw, n);
        keep = keep < room - 1 ? keep : room - 1;
        memcpy(text, raw, keep);
        text[keep] = '\0';
        rc = 0;
    }
    free(raw);
    if (type >= 0)
        (void)H5Tclose(type);
    if (attribute >= 0)
        (void)H5Aclose(attribute);
    return rc;
}

int schema_get_number(hid_t object, const char *name, hid_t type, void *value)
{
    if (H5Aexists(object, name) <= 0)
        return -1;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute < 0)
        return -1;
    hid_t space = H5Aget_space(attribute);
    herr_t bad = -1;
    if (space >= 0 && H5Sget_simple_extent_npoints(space) == 1)
        bad = H5Aread(attribute, type, value);
    if (space >= 0)
        (void)H5Sclose(space);
    (void)H5Aclose(attribute);
    return bad < 0 ? -1 : 0;
}

/* Without memory at its start, the library calls itself without end. */
static bool has_room(void)
{
    enum { ENOUGH = 4 << 20 };
    void *room = mmap(NULL, ENOUGH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && munmap(room, ENOUGH) == 0;
}

static bool start_quietly(void)
{
    (void)setenv("HDF5_USE_FILE_LOCKING", "BEST_EFFORT", 0);
    /* regtrace closes every file. HDF5 must not try again at exit to write what could not be
     * written. */
    (void)H5dont_atexit();
    errno = 0;
    return has_room() && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0 && errno != ENOMEM;
}

int schema_start_hdf5(struct rt_error *e)
{
    static enum { NOT_STARTED, STARTED, FAILED } state;
    if (state == NOT_STARTED)
        state = start_quietly() ? STARTED : FAILED;
    if (state == FAILED)
        rt_error_set(e, "no memory to start the HDF5 library");
    return state == FAILED ? -ENOMEM : 0;
}

hid_t schema_file_access(void)
{
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    if (list >= 0 && H5Pset_libver_bounds(list, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST) < 0) {
        (void)H5Pclose(list);
        return -1;
    }
    return list;
}
