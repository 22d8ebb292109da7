/* SPDX-License-Identifier: BSD-3-Clause
 * tape SEED: puts states and events of three rows on a tape, at times that often repeat, and
 * compares the states that come back with those of a simple model. Prints how many. */
#include "tools/channels/tape.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 3, TIMES = 400000, VALUES = 3 };

struct state {
    int64_t from, to, value;
};
struct row {
    struct state *wanted, *got;
    size_t wanted_count, got_count;
    size_t unfinished; /* index plus 1 of the state in `got` whose end comes later; 0: none */
};
static struct row rows[ROWS];
static int wrong;

/* What a row shows from now on. */
static void model(struct row *r, int64_t time, int64_t value)
{
    struct state *last = r->wanted + r->wanted_count - 1;
    if (r->wanted_count > 0 && last->from == time)
        r->wanted_count--; /* it had no length */
    else if (r->wanted_count > 0)
        last->to = time;
    last = r->wanted + r->wanted_count - 1;
    if (r->wanted_count == 0 || last->value != value)
        r->wanted[r->wanted_count++] = (struct state){.from = time, .value = value};
}

static void take(void *context, const struct taped *t, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        struct row *r = &rows[t[i].row];
        if (t[i].end == TAPE_EVENT || t[i].end == TAPE_LEFT_OUT)
            continue;
        if (t[i].carried) {
            if (t[i].end != TAPE_OPEN && r->unfinished != 0) {
                r->got[r->unfinished - 1].to = t[i].end;
                r->unfinished = 0;
            }
            continue;
        }
        wrong += r->unfinished != 0;
        r->got[r->got_count++] = (struct state){t[i].time, t[i].end, t[i].value};
        r->unfinished = t[i].end == TAPE_OPEN ? r->got_count : 0;
    }
}

int main(int argc, char **argv)
{
    struct tape *t = tape_open(ROWS, 0, take, NULL);
    size_t same = 0;
    srand(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
    for (int i = 0; i < ROWS; i++) {
        rows[i].wanted = calloc(TIMES + 1, sizeof(struct state));
        rows[i].got = calloc(TIMES + 1, sizeof(struct state));
        if (t == NULL || rows[i].wanted == NULL || rows[i].got == NULL)
            return 1;
    }
    int64_t time = 1, values[ROWS] = {0};
    for (int i = 0; i < TIMES; i++) {
        int row = rand() % ROWS;
        time += rand() % 3 == 0 ? 10 : 0;
        values[row] = (values[row] + 1 + rand() % (VALUES - 1)) % VALUES; /* another one */
        tape_put(t, false, (uint32_t)row, 0, time, values[row], true);
        tape_put(t, false, (uint32_t)row, 1, time, i, false);
        model(&rows[row], time, values[row]);
    }
    tape_end(t, time + 1);
    for (int i = 0; i < ROWS; i++) {
        struct row *r = &rows[i];
        r->wanted[r->wanted_count - 1].to = time + 1;
        wrong += r->got_count != r->wanted_count;
        for (size_t n = 0; n < r->got_count && n < r->wanted_count; n++) {
            const struct state *g = &r->got[n], *w = &r->wanted[n];
            bool is = g->from == w->from && g->to == w->to && g->value == w->value;
            same += is;
            wrong += !is;
        }
    }
    tape_close(t);
    printf("%s\n", wrong == 0 && same > TIMES / 4 ? "same" : "other states");
    return wrong != 0;
}
