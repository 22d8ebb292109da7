/* SPDX-License-Identifier: BSD-3-Clause
 * The words for the numbers of enums.def. */
#include "base/format/enums.h"

#include <stddef.h>

#define WORDS(name, value, text)                                                                   \
    case value: return text;

const char *window_reason_text(uint64_t reason)
{
    switch (reason) {
#define WINDOW_REASON WORDS
#include "base/format/enums.def"
    default: return NULL;
    }
}

const char *window_kind_text(uint64_t kind)
{
    switch (kind) {
#define WINDOW_KIND WORDS
#include "base/format/enums.def"
    default: return NULL;
    }
}

const char *control_event_text(uint64_t event)
{
    switch (event) {
#define CONTROL_EVENT WORDS
#include "base/format/enums.def"
    default: return NULL;
    }
}

const char *fired_flag_text(uint64_t bit)
{
    switch (bit) {
#define FIRED_FLAG WORDS
#include "base/format/enums.def"
    default: return NULL;
    }
}

const char *loss_kind_text(uint64_t kind)
{
    switch (kind) {
#define LOSS_KIND WORDS
#include "base/format/enums.def"
    default: return NULL;
    }
}

const char *memory_end_text(uint64_t end)
{
    switch (end) {
#define MEMORY_END WORDS
#include "base/format/enums.def"
    default: return NULL;
    }
}
