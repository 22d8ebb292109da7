/* SPDX-License-Identifier: BSD-3-Clause
 * Writes a file of channels whose changes come in the order of punctual channels: times go back by
 * 1 ns, also at the borders of chunks, and many times are equal. Channel 0 has all changes, channel
 * 1 has a few, and channel 2 has more than a chunk but is declared unused. */
#include "writer/writer.h"

#include <stdio.h>

enum { MANY = 100000, SAME = 20000, THREADS = 1300 };

static int put_all(struct rt_channels *c, struct rt_error *e)
{
    int rc = 0;
    for (int64_t i = 0; rc == 0 && i < MANY; i++) {
        int64_t time = i < SAME ? 0 : i;
        rc = rt_channels_put(c, false, 0, &(struct rt_channel_change){time, 0, 2 * i}, e);
        if (rc == 0 && time > 0)
            rc = rt_channels_put(c, false, 0, &(struct rt_channel_change){time - 1, 1, 2 * i + 1},
                                 e);
        if (rc == 0)
            rc = rt_channels_put(c, true, 2, &(struct rt_channel_change){time, 0, i}, e);
    }
    return rc == 0 ? rt_channels_put(c, true, 1, &(struct rt_channel_change){7, 3, -5}, e) : rc;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"all", "few", "none"};
    static const struct rt_channel_about channels[] = {{"All", "punctual", 7, {true, false}},
                                                       {"Few", "single", 0, {false, true}},
                                                       {"None", "stack", 0, {false, false}}};
    static struct rt_channels_thread threads[THREADS];
    static const struct rt_channels_label labels[] = {
        {"all", -1, ""}, {"few", INT64_MAX, "the longest of these texts, with an \xc3\xa9"}};
    struct rt_channels *c;
    struct rt_error e = {{0}};
    for (uint32_t i = 0; i < THREADS; i++)
        threads[i] = (struct rt_channels_thread){
            i, (int32_t)i, -1, i, 0, i == THREADS - 1 ? "lasthost" : "host", NULL};
    const struct rt_channels_about about = {.policy = "strict",
                                            .cpu = "bound",
                                            .messages = "none",
                                            .reasons = "",
                                            .kinds = "",
                                            .channels = channels,
                                            .threads = threads,
                                            .thread_count = THREADS,
                                            .labels = labels,
                                            .label_count = 2};
    if (argc != 2 || rt_channels_open(&c, argv[1], names, 3, &e) != 0 || put_all(c, &e) != 0 ||
        rt_channels_finish(c, &about, &e) != 0) {
        (void)fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    return 0;
}
