/* SPDX-License-Identifier: BSD-3-Clause
 * The tracepoint that lttng_event.c fires. It records an int and a long, as regtrace_mark_set does.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "t/bench/programs/lttng_event.h"
#if !defined(REGTRACE_T_BENCH_LTTNG_EVENT_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define REGTRACE_T_BENCH_LTTNG_EVENT_H
#include <lttng/tracepoint.h>
LTTNG_UST_TRACEPOINT_EVENT(bench, mark, LTTNG_UST_TP_ARGS(long, type, long, value),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(long, type, type)
                                                   lttng_ust_field_integer(long, value, value)))
#endif
#include <lttng/tracepoint-event.h>
