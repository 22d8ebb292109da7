/* SPDX-License-Identifier: BSD-3-Clause
 * Compares the heap of a thread's deadlines with a list that is searched linearly, over random
 * insertions and removals. */
#include "preload/count/deadlines.h"
#include "t/tap.h"

#include <stdlib.h>
#include <string.h>

enum { CHAINS = 300, ROUNDS = 200000 };

static uint64_t seed = 1;
static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static struct deadline list[CHAINS];
static bool waits[CHAINS];

static bool is_before(const struct deadline *a, const struct deadline *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->closes != b->closes)
        return a->closes;
    return a->alarm < b->alarm;
}

static const struct deadline *first_of_list(bool *exact)
{
    const struct deadline *first = NULL;
    for (int i = 0; i < CHAINS; i++)
        if (waits[i] && (first == NULL || is_before(&list[i], first)))
            first = &list[i];
    *exact = false;
    for (int i = 0; i < CHAINS && first != NULL; i++)
        *exact = *exact || (waits[i] && list[i].at == first->at && list[i].exact);
    return first;
}

static bool same(const struct deadlines *d)
{
    bool exact;
    const struct deadline *want = first_of_list(&exact), *got = deadlines_first(d);
    uint32_t globals = 0, count = 0;
    for (int i = 0; i < CHAINS; i++) {
        count += waits[i];
        globals += waits[i] && list[i].global;
        if ((deadlines_of(d, (uint16_t)i) != NULL) != waits[i])
            return false;
    }
    return (want == NULL) == (got == NULL) && (want == NULL || want->alarm == got->alarm) &&
           d->count == count && d->globals == globals && exact == deadlines_first_is_exact(d);
}

static void change(struct deadlines *d, unsigned *wrong)
{
    uint16_t chain = (uint16_t)random_below(CHAINS);
    struct deadline taken;
    if (random_below(5) < 3) {
        /* Few different counts, so that many are equal. */
        list[chain] = (struct deadline){.at = random_below(40),
                                        .alarm = (uint16_t)(2 * chain + random_below(2)),
                                        .chain = chain,
                                        .global = random_below(4) == 0,
                                        .exact = random_below(9) == 0,
                                        .closes = random_below(2) == 0};
        waits[chain] = true;
        deadlines_put(d, &list[chain]);
    } else {
        bool was = deadlines_take(d, chain, &taken);
        *wrong += was != waits[chain] ||
                  (was && (taken.alarm != list[chain].alarm || taken.at != list[chain].at));
        waits[chain] = false;
    }
}

int main(void)
{
    struct deadlines d;
    unsigned wrong = 0;
    void *memory = calloc(1, deadlines_size(CHAINS));
    deadlines_init(&d, memory, CHAINS);
    ok(deadlines_first(&d) == NULL && !deadlines_take(&d, CHAINS, NULL), "empty at first");
    for (int i = 0; i < ROUNDS; i++) {
        change(&d, &wrong);
        wrong += !same(&d);
    }
    is_int(wrong, 0, "after each change the first is that of a list, and so is what waits");
    for (uint64_t before = 0; d.count != 0;) {
        const struct deadline one = *deadlines_first(&d);
        wrong += one.at < before || !deadlines_take(&d, one.chain, NULL);
        before = one.at;
    }
    is_int(wrong, 0, "taken one by one they come in order");
    (void)memset(waits, 0, sizeof waits);
    change(&d, &wrong);
    deadlines_clear(&d);
    (void)memset(waits, 0, sizeof waits);
    ok(same(&d), "cleared it is empty");
    free(memory);
    return done_testing();
}
