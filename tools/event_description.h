/* SPDX-License-Identifier: BSD-3-Clause
 * Decodes the payload of an event into named fields, by its code, for `regtrace dump`. */
#ifndef REGTRACE_TOOLS_EVENT_DESCRIPTION_H
#define REGTRACE_TOOLS_EVENT_DESCRIPTION_H

#include "writer/writer.h"

#define EVENT_DESCRIPTION_FIELDS 20

/* FIELD_CODE (an address in the program) and FIELD_RETURN (a return address) are FIELD_HEX with a
 * function's name. */
enum field_kind { FIELD_INT, FIELD_UINT, FIELD_HEX, FIELD_CODE, FIELD_RETURN, FIELD_TEXT };

struct field {
    const char *key;
    enum field_kind kind;
    int64_t number;   /* except FIELD_INT: as uint64_t */
    const char *text; /* the rank owns it */
};

struct event_description {
    const char *name;  /* "MPI_Send", "EV_WINDOW_OPEN" */
    const char *label; /* "enter", "window opens" */
    struct field fields[EVENT_DESCRIPTION_FIELDS];
    unsigned count;
};

/* fired: for EV_FIRED its row of /fired; NULL if there is none. */
void event_describe(struct event_description *d, const struct rt_rank *rank,
                    const struct rt_event *ev, const struct rt_fired *fired);

/* Writes the names of the flags that are set, separated by `separator`; "" if none. */
void event_flags_text(char out[96], uint16_t flags, char separator);

#endif
