/* SPDX-License-Identifier: BSD-3-Clause
 * The enums of streams and rank files (enums.def), and their words. */
#ifndef REGTRACE_BASE_FORMAT_ENUMS_H
#define REGTRACE_BASE_FORMAT_ENUMS_H

#include <stdint.h>

#define ENUMERATOR(name, value, text) name = (value),
enum rt_window_reason {
#define WINDOW_REASON ENUMERATOR
#include "base/format/enums.def"
};
enum window_kind {
#define WINDOW_KIND ENUMERATOR
#include "base/format/enums.def"
};
enum ctl_event {
#define CONTROL_EVENT ENUMERATOR
#include "base/format/enums.def"
    CTL_EVENT_COUNT
};
enum fired_flag {
#define FIRED_FLAG ENUMERATOR
#include "base/format/enums.def"
};
enum rt_loss_kind {
#define LOSS_KIND ENUMERATOR
#include "base/format/enums.def"
    RT_LOSS_KINDS
};
enum memory_end {
#define MEMORY_END ENUMERATOR
#include "base/format/enums.def"
};
#undef ENUMERATOR

/* Each returns the words for a number, or NULL if the set has none. fired_flag_text() takes one
 * bit. */
const char *window_reason_text(uint64_t reason);
const char *window_kind_text(uint64_t kind);
const char *control_event_text(uint64_t event);
const char *fired_flag_text(uint64_t bit);
const char *loss_kind_text(uint64_t kind);
const char *memory_end_text(uint64_t end);

#endif
