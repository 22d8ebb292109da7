/* SPDX-License-Identifier: BSD-3-Clause
 * What a new program needs of this process: before exec the recording ends, after a failed exec it
 * goes on, and a child program gets the folder of the run by its environment. */
#include "preload/count/totals.h"
#include "preload/life.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/parts.h"
#include "preload/window/windows.h"

#include <stdio.h>

void process_before_exec(const char *path)
{
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = t->preload_thread;
    if (!process.traced || !recorder_is_on() || pt == NULL || pt->automaton == NULL)
        return;
    (void)recorder_active(t);
    pt->was_recording = t->recording != 0;
    (void)recorder_emit(t, EV_EXEC, stream_string_id(&recorder_stream, path), 0);
    windows_close_thread(t, RT_WINDOW_EXEC, totals_note(t, pt));
    atomic_store(&recorder_stream.header->ended, clock_ticks());
    totals_finish();
    recorder_flush(t);
    atomic_store(&recorder_stream.header->state, STREAM_EXECED);
    recorder_wake_writer();
}

void process_exec_failed(void)
{
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = t->preload_thread;
    if (!process.traced || !recorder_is_on() || pt == NULL || pt->automaton == NULL)
        return;
    atomic_store(&recorder_stream.header->state, STREAM_LIVE);
    if (pt->was_recording)
        windows_reopen(t, pt);
}

const char *const *process_child_environment(void)
{
    static char parent[PATH_MAX + 64];
    static const char *list[2];
    if (process.dir[0] == '\0')
        /* Nothing was started here, so this process has no folder. The child chooses one by the
         * same rules and needs no REGTRACE_PARENT. */
        return list;
    (void)snprintf(parent, sizeof parent, "REGTRACE_PARENT=%s", process.dir);
    list[0] = parent;
    return list;
}
