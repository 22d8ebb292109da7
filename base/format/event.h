/* SPDX-License-Identifier: BSD-3-Clause
 * Event codes: model, category, value (three bytes, as ovni has them) and the record they travel in. */
#ifndef REGTRACE_BASE_FORMAT_EVENT_H
#define REGTRACE_BASE_FORMAT_EVENT_H

#include <stdint.h>

/* A code is model | category << 8 | value << 16: the three bytes in memory order on a little-endian
 * machine. Models: 'R' regtrace itself (control, windows, threads), 'M' MPI, 'F' functions,
 * 'G' regions, 'K' marks, 'S' signals, 'P' samples. The tables are in event_table.def and, for MPI, are made from
 * mpi/functions.list; everything that names a code (dump, report, docs) reads those tables. */
#define EVENT_CODE(m, c, v)                                                                        \
    ((uint32_t)(uint8_t)(m) | (uint32_t)(uint8_t)(c) << 8 | (uint32_t)(uint8_t)(v) << 16)
#define EVENT_MODEL(code) ((char)((code)&0xff))
#define EVENT_CATEGORY(code) ((char)(((code) >> 8) & 0xff))
#define EVENT_VALUE(code) ((uint8_t)(((code) >> 16) & 0xff))

/* MPI: category 'E' enter, 'L' leave, value = function number; numbers from 256 on take the categories
 * 'e' and 'l', from 512 on (large-count twins) 'B' and 'D'. */
#define EVENT_MPI_ENTER(f) EVENT_CODE('M', (f) < 256 ? 'E' : (f) < 512 ? 'e' : 'B', (f)&0xff)
#define EVENT_MPI_LEAVE(f) EVENT_CODE('M', (f) < 256 ? 'L' : (f) < 512 ? 'l' : 'D', (f)&0xff)
#define EVENT_IS_MPI_ENTER(code)                                                                   \
    (EVENT_MODEL(code) == 'M' &&                                                                   \
     (EVENT_CATEGORY(code) == 'E' || EVENT_CATEGORY(code) == 'e' || EVENT_CATEGORY(code) == 'B'))
#define EVENT_IS_MPI_LEAVE(code)                                                                   \
    (EVENT_MODEL(code) == 'M' &&                                                                   \
     (EVENT_CATEGORY(code) == 'L' || EVENT_CATEGORY(code) == 'l' || EVENT_CATEGORY(code) == 'D'))
#define EVENT_MPI_FUNCTION(code)                                                                   \
    ((uint32_t)EVENT_VALUE(code) +                                                                 \
     (EVENT_CATEGORY(code) == 'e' || EVENT_CATEGORY(code) == 'l'   ? 256u                          \
      : EVENT_CATEGORY(code) == 'B' || EVENT_CATEGORY(code) == 'D' ? 512u                          \
                                                                   : 0u))

/* One slot of a stream and the unit of recording: 32 bytes, payload 16. `head` is stored last and
 * makes the slot complete: code (24 bits) | flags (8) | cpu (16) | mark (16); mark is the low 16 bits
 * of the chunk's generation and never 0. In continuation slots (EVENT_FLAG_CONTINUED) clock, a and b
 * are all payload of the record that began in the slot before. */
struct event_slot {
    uint64_t head;
    uint64_t clock; /* raw ticks of clock_ticks() */
    uint64_t a;
    uint64_t b;
};
_Static_assert(sizeof(struct event_slot) == 32, "a slot is 32 bytes");

#define EVENT_FLAG_CONTINUED 0x01u /* a continuation of the slot before */
#define EVENT_FLAG_MORE 0x02u      /* continuation slots follow */
#define EVENT_FLAG_CUT 0x04u       /* synthetic: the real edge lies outside the window */
#define EVENT_FLAG_LATE 0x08u      /* the edge came later than asked */
#define EVENT_FLAG_NESTED                                                                          \
    0x10u /* made inside another recorded MPI call (a callback, a thread level) */
#define EVENT_FLAG_FORTRAN 0x20u /* reached through a Fortran entry point */

#define EVENT_HEAD(code, flags, cpu, mark)                                                         \
    ((uint64_t)(code) | (uint64_t)(flags) << 24 | (uint64_t)(uint16_t)(cpu) << 32 |                \
     (uint64_t)(uint16_t)(mark) << 48)
#define EVENT_HEAD_CODE(h) ((uint32_t)((h)&0xffffffu))
#define EVENT_HEAD_FLAGS(h) ((uint8_t)((h) >> 24))
#define EVENT_HEAD_CPU(h) ((uint16_t)((h) >> 32))
#define EVENT_HEAD_MARK(h) ((uint16_t)((h) >> 48))
#define EVENT_CPU_UNKNOWN 0xffffu

/* Codes of everything but MPI: X(NAME, model, category, value, "label", "what a means", "what b means").
 * Multi-slot records say in their comment what the continuation slots hold. */
enum event_code {
#define X(name, m, c, v, label, a, b) name = EVENT_CODE(m, c, v),
#include "base/format/event_table.def"
#undef X
};

struct event_text {
    uint32_t code;
    const char *name;  /* the identifier, e.g. "EV_WINDOW_OPEN" */
    const char *label; /* for people, e.g. "window opens" */
    const char *a, *b; /* what the payload words mean; "" = unused */
};

/* The table without MPI; ends with code 0. */
extern const struct event_text event_table[];

/* NULL if the code is not in event_table. */
const struct event_text *event_find(uint32_t code);

/* Names of MPI functions by number, "MPI_Send"; NULL beyond the last. Made from mpi/functions.list, in
 * the archive libmpinames: what links it may call this. */
extern const uint32_t event_mpi_functions;
const char *event_mpi_name(uint32_t function);

#endif
