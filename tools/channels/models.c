/* SPDX-License-Identifier: BSD-3-Clause
 * Turns the models' tables into rules and descriptions of channels. */
#include "tools/channels/models.h"

#include <stdio.h>

#define NOTHING ACTION_NOTHING
#define PUSH ACTION_PUSH
#define POP ACTION_POP
#define END ACTION_END
#define SET ACTION_SET
#define TELL ACTION_TELL
#define CALL ACTION_CALL
#define ONE false
#define ANY true

const struct model_rule model_rules[] = {
#define CHANNEL(...)
#define CHANNELS(...)
#define EVENT(code, values, action, channel, hook)                                                 \
    {(uint32_t)(code), values, action, CHANNEL_##channel, hook},
#include "tools/channels/models.def"
#undef CHANNEL
#undef CHANNELS
#undef EVENT
};
const uint32_t model_rule_count = sizeof model_rules / sizeof model_rules[0];

struct model_group {
    uint32_t first, many;
    const char *name, *title;
    struct emu_channel channel; /* without its texts */
    uint32_t paraver;
    const struct labels *labels;
};

static const struct model_group groups[] = {
#define EVENT(...)
#define CHANNEL(number, name, title, ...) CHANNELS(number, 1, name, title, __VA_ARGS__)
#define CHANNELS(number, many, text, caption, its_kind, of_thread, on, of_processor, again, quiet, \
                 type, meanings)                                                                   \
    {CHANNEL_##number,                                                                             \
     many,                                                                                         \
     text,                                                                                         \
     caption,                                                                                      \
     {.kind = its_kind,                                                                            \
      .thread = of_thread,                                                                         \
      .on_processor = on,                                                                          \
      .processor = of_processor,                                                                   \
      .repeats = again,                                                                            \
      .lazy = quiet},                                                                              \
     type,                                                                                         \
     meanings},
#include "tools/channels/models.def"
#undef CHANNEL
#undef CHANNELS
#undef EVENT
};

bool model_is_unrecorded(const struct model_channel *c)
{
    return c->channel.kind == EMU_STACK && c->labels != NULL && c->labels->unrecorded != NULL;
}

void models_channels(struct model_channel *out)
{
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        const struct model_group *g = &groups[i];
        for (uint32_t k = 0; k < g->many; k++) {
            struct model_channel *c = &out[g->first + k];
            *c = (struct model_channel){.channel = g->channel,
                                        .paraver = g->paraver != 0 ? g->paraver + k : 0,
                                        .index = k,
                                        .labels = g->labels};
            if (g->many > 1) {
                (void)snprintf(c->name, sizeof c->name, "%s.%u", g->name, k);
                (void)snprintf(c->title, sizeof c->title, "%s %u", g->title, k);
            } else {
                (void)snprintf(c->name, sizeof c->name, "%s", g->name);
                (void)snprintf(c->title, sizeof c->title, "%s", g->title);
            }
            c->channel.name = c->name;
            c->channel.title = c->title;
            if (model_is_unrecorded(c))
                c->channel.bad = EMU_NOT_RECORDED;
        }
    }
}
