/* SPDX-License-Identifier: BSD-3-Clause
 * Decides whether a program that has called exec gets a file. A shell script or a wrapper that
 * only starts the program of interest is no process of the run. What the user asked for is never
 * lost. */
#include "writer/session.h"

#include "base/format/event_fields.h"

#include <string.h>

enum { ONLY_THE_END = 1 }; /* bytes of a window without accesses: TOKEN_END */

/* Has the user asked for this event? Not for those that every program has: the window that is open
 * from its start, images that are loaded, exec itself, and calls and functions of its parent that
 * were active when it forked. */
static bool is_result(const struct rt_event *ev)
{
    if ((ev->flags & EVENT_FLAG_CUT) != 0)
        return false;
    switch (ev->code) {
    case EV_FIRED: return (EVENT_GET(ev, EV_FIRED, flags) & FIRED_DEFAULT_START) == 0;
    case EV_MEMORY: return EVENT_GET(ev, EV_MEMORY, bytes) > ONLY_THE_END;
    default: return EVENT_MODEL(ev->code) != 'R';
    }
}

bool replaced_program_is_counted(const struct writer_session *s)
{
    const struct stream_thread *t = stream_threads(&s->stream);
    uint32_t n = atomic_load(&s->stream.header->thread_count);
    char value[16];
    if (!stream_meta_get(&s->stream, "option.count", value, sizeof value) ||
        strcmp(value, "1") != 0)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (atomic_load(&t[i].instructions) != 0)
            return true;
    return false;
}

bool replaced_program_has_results(const struct writer_session *s)
{
    const struct rankfile *f = &s->file;
    if (f->written > 0 || (s->drain.values != NULL && s->drain.values->thread_count > 0) ||
        atomic_load(&s->stream.header->mpi_state) != STREAM_MPI_NONE ||
        replaced_program_is_counted(s))
        return true;
    for (size_t i = 0; i < f->row_count; i++)
        if (is_result(&f->rows[i]))
            return true;
    return false;
}
