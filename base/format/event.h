/* SPDX-License-Identifier: BSD-3-Clause
 * Event codes (model, category and value: three bytes, as in ovni) and the slots that carry
 * events. */
#ifndef REGTRACE_BASE_FORMAT_EVENT_H
#define REGTRACE_BASE_FORMAT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* A code is model | category << 8 | value << 16: the three bytes in memory order on a little-endian
 * machine. Models: 'R' regtrace itself (control, windows, threads), 'M' MPI, 'F' functions, 'G'
 * regions, 'K' marks, 'S' signals, 'P' samples. The tables come from event_table.def and, for MPI,
 * from mpi/functions.list; all code that names an event (dump, report, docs) reads these tables. */
#define EVENT_CODE(m, c, v)                                                                        \
    ((uint32_t)(uint8_t)(m) | (uint32_t)(uint8_t)(c) << 8 | (uint32_t)(uint8_t)(v) << 16)
#define EVENT_MODEL(code) ((char)((code)&0xff))
#define EVENT_CATEGORY(code) ((char)(((code) >> 8) & 0xff))
#define EVENT_VALUE(code) ((uint8_t)(((code) >> 16) & 0xff))

/* MPI: category 'E' for enter, 'L' for leave; the value is the function's number. Numbers from 256
 * on have the categories 'e' and 'l', numbers from 512 on 'B' and 'D'. */
#define EVENT_MPI_FUNCTIONS_MOST 768
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

/* One slot of a stream and the unit of recording: 32 bytes, of which 16 are payload. The
 * recorder stores `head` last, which makes the slot complete: code (24 bits) | flags (8) | cpu
 * (16) | mark (16). The mark is the low 16 bits of the chunk's generation and never 0. In
 * continuation slots (EVENT_FLAG_CONTINUED), clock, a and b are payload of the record that began
 * in an earlier slot. */
struct event_slot {
    uint64_t head;
    uint64_t clock; /* raw ticks of clock_ticks() */
    uint64_t a;
    uint64_t b;
};
_Static_assert(sizeof(struct event_slot) == 32, "a slot is 32 bytes");

#define EVENT_FLAG_CONTINUED 0x01u /* continues the record of the slot before */
#define EVENT_FLAG_MORE 0x02u      /* continuation slots follow */
#define EVENT_FLAG_CUT 0x04u       /* synthetic: the real edge lies outside the window */
#define EVENT_FLAG_LATE 0x08u      /* the edge came later than requested */
#define EVENT_FLAG_NESTED                                                                          \
    0x10u /* made inside another recorded MPI call (a callback, a thread level) */
#define EVENT_FLAG_FORTRAN 0x20u /* reached through a Fortran entry point */
#define EVENT_FLAG_PATH 0x40u    /* leave of an MPI call, or sample: b has its call path */

/* In EV_MPI_SEND_NUMBER and EV_MPI_RECEIVE_NUMBER: the message has no number. */
#define EVENT_NO_NUMBER ((UINT64_C(1) << 47) - 1)
/* In the same events: set in the number of a partitioned message, which no other message has
 * (mpi/partitioned.c). */
#define EVENT_PARTITIONED (UINT64_C(1) << 46)

static inline bool event_is_partitioned(uint64_t number)
{
    return number != EVENT_NO_NUMBER && (number & EVENT_PARTITIONED) != 0;
}

#define EVENT_HEAD(code, flags, cpu, mark)                                                         \
    ((uint64_t)(code) | (uint64_t)(flags) << 24 | (uint64_t)(uint16_t)(cpu) << 32 |                \
     (uint64_t)(uint16_t)(mark) << 48)
#define EVENT_HEAD_CODE(h) ((uint32_t)((h)&0xffffffu))
#define EVENT_HEAD_FLAGS(h) ((uint8_t)((h) >> 24))
#define EVENT_HEAD_CPU(h) ((uint16_t)((h) >> 32))
#define EVENT_HEAD_MARK(h) ((uint16_t)((h) >> 48))
#define EVENT_CPU_UNKNOWN 0xffffu

/* Codes of all events but MPI's: X(NAME, model, category, value, "label", "meaning of a", "meaning
 * of b"). A comment on a record of several slots says what the continuation slots hold. */
enum event_code {
#define X(name, m, c, v, label, a, b) name = EVENT_CODE(m, c, v),
#include "base/format/event_table.def"
#undef X
};

struct event_text {
    uint32_t code;
    const char *name;  /* the identifier, e.g. "EV_WINDOW_OPEN" */
    const char *label; /* for people, e.g. "window opens" */
    const char *a, *b; /* meaning of the payload words; "" = unused */
};

/* All events but MPI's; the last row has code 0. */
extern const struct event_text event_table[];

/* Finds the row of a code in event_table, or returns NULL. */
const struct event_text *event_find(uint32_t code);

/* Names of MPI functions by number ("MPI_Send"); NULL after the last one. Made from
 * mpi/functions.list, in the archive libmpinames: only code that links it may call this. */
extern const uint32_t event_mpi_functions;
const char *event_mpi_name(uint32_t function);

/* Whom a call of an MPI function may wait for. */
enum event_mpi_waits {
    EVENT_MPI_WAITS_NOT = 0,       /* for nobody that is known */
    EVENT_MPI_WAITS_MESSAGES,      /* the senders of all messages that it completes */
    EVENT_MPI_WAITS_FIRST_MESSAGE, /* the sender of the first of them */
    EVENT_MPI_WAITS_FOUND_MESSAGE, /* the sender of the message that it finds */
    EVENT_MPI_WAITS_RECEIVER,      /* the receiver of the message that it sends */
    EVENT_MPI_WAITS_RANKS,         /* ranks of its communicator that have not entered yet */
    EVENT_MPI_WAITS_ALL_RANKS,     /* the same; no rank leaves before all have entered */
    EVENT_MPI_WAITS_RANKS_LATER,   /* the same, in the call that completes its request */
    EVENT_MPI_WAITS_MEMBERS        /* ranks of the communicator that it makes */
};
enum event_mpi_waits event_mpi_waits(uint32_t function);

/* Returns true for MPI_Init and MPI_Init_thread. */
bool event_mpi_initializes(uint32_t function);

#endif
