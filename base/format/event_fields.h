/* SPDX-License-Identifier: BSD-3-Clause
 * Packs and unpacks the fields of events. Every field has its place in event_fields.def alone.
 *
 *     uint64_t a = EVENT_PUT(EV_MPI_COMM, comm, id) | EVENT_PUT(EV_MPI_COMM, rank, rank);
 *     uint32_t id = (uint32_t)EVENT_GET(event, EV_MPI_COMM, comm);
 *
 * EVENT_GET(event, NAME, field) reads a field from anything that has the words a and b;
 * EVENT_GET_MORE(slot, NAME, field) reads it from the event's second slot. Both return an unsigned
 * 64-bit number: a caller that wants a signed one converts it. EVENT_PUT(NAME, field, value)
 * returns the value at its place in the word, and EVENT_PUT_MORE() does the same for the second
 * slot; bits that the field does not have are dropped. */
#ifndef REGTRACE_BASE_FORMAT_EVENT_FIELDS_H
#define REGTRACE_BASE_FORMAT_EVENT_FIELDS_H

#include <stdint.h>

#define EVENT_MASK(bits) (UINT64_MAX >> (64 - (bits)))

/* For each field: the function that reads it, which takes all words, and the one that packs it. */
#define FIELD(event, word, field, first, bits, kind)                                               \
    static inline uint64_t event##_##field(uint64_t a, uint64_t b)                                 \
    {                                                                                              \
        (void)a, (void)b;                                                                          \
        return (word) >> (first)&EVENT_MASK(bits);                                                 \
    }                                                                                              \
    static inline uint64_t event##_##field##_put(uint64_t value)                                   \
    {                                                                                              \
        return (value & EVENT_MASK(bits)) << (first);                                              \
    }
#define MORE(event, word, field, first, bits)                                                      \
    static inline uint64_t event##_more_##field(uint64_t clock, uint64_t a, uint64_t b)            \
    {                                                                                              \
        (void)clock, (void)a, (void)b;                                                             \
        return (word) >> (first)&EVENT_MASK(bits);                                                 \
    }                                                                                              \
    static inline uint64_t event##_more_##field##_put(uint64_t value)                              \
    {                                                                                              \
        return (value & EVENT_MASK(bits)) << (first);                                              \
    }
#include "base/format/event_fields.def"
#undef FIELD
#undef MORE

#define EVENT_GET(event, name, field) name##_##field((event)->a, (event)->b)
#define EVENT_GET_MORE(slot, name, field) name##_more_##field((slot)->clock, (slot)->a, (slot)->b)
#define EVENT_PUT(name, field, value) name##_##field##_put((uint64_t)(value))
#define EVENT_PUT_MORE(name, field, value) name##_more_##field##_put((uint64_t)(value))

#endif
