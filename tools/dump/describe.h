/* SPDX-License-Identifier: BSD-3-Clause
 * One event as named fields, for `regtrace dump`: the words of its payload decoded by its code. */
#ifndef REGTRACE_TOOLS_DUMP_DESCRIBE_H
#define REGTRACE_TOOLS_DUMP_DESCRIBE_H

#include "writer/writer.h"

#define DESCRIBE_FIELDS 20

/* CODE: an address of the program's; RETURN: one behind a call. They are HEX with a name. */
enum field_kind { FIELD_INT, FIELD_UINT, FIELD_HEX, FIELD_CODE, FIELD_RETURN, FIELD_TEXT };

struct field {
    const char *key;
    enum field_kind kind;
    int64_t number;   /* but for INT: as uint64_t */
    const char *text; /* owned by the rank */
};

struct described {
    const char *name;  /* "MPI_Send", "EV_WINDOW_OPEN" */
    const char *label; /* "enter", "window opens" */
    struct field fields[DESCRIBE_FIELDS];
    unsigned count;
};

/* fired: of an EV_FIRED its row of /fired; NULL if there is none. */
void event_describe(struct described *d, const struct rt_rank *rank, const struct rt_event *ev,
                    const struct rt_fired *fired);

/* Names of the flags that are set, separated by `separator`; "" if none. */
void event_flags_text(char out[96], uint16_t flags, char separator);

#endif
