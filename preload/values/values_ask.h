/* SPDX-License-Identifier: BSD-3-Clause
 * Talks to regtrace-vprofiler --answer, the process beside this one that decodes instructions and
 * holds the plug-in. One caller at a time. */
#ifndef REGTRACE_PRELOAD_VALUES_VALUES_ASK_H
#define REGTRACE_PRELOAD_VALUES_VALUES_ASK_H

#include "base/error.h"
#include "base/format/value_protocol.h"

/* Finds the program, starts it with this plug-in, and checks that it answers. Called in the
 * constructor. Returns 0, or -errno with the text: -EINVAL if the plug-in is unusable or the
 * program is not installed, which `regtrace run` refuses too; another error if this process cannot
 * start it now. */
RT_MUST_CHECK int values_ask_begin(const char *plugin, struct rt_error *e);
/* Asks one question, within a time limit. Returns false if there is no answer now. In a forked
 * child, starts the program again first. Async-signal-safe. */
RT_MUST_CHECK bool values_ask(const struct values_question *q, struct values_answer *a);
/* In the child of fork: forgets regtrace-vprofiler, which is the parent's. */
void values_ask_forked(void);

#endif
