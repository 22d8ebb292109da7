/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the lists of frequent values: estimates of concise sampling, and the memory that the lists
 * may take. */
#include "t/tap.h"
#include "writer/values/value_lists.h"

#include <errno.h>
#include <math.h>

/* Seeds are fixed, so the figures are the same in each run. A single estimate has a standard
 * deviation of about sqrt(count * threshold). */
static void test_estimates(void)
{
    enum { ROUNDS = 100, VALUES = 40000, HOT = 12000 };
    const uint64_t none[2] = {0, 0};
    double hot = 0, all = 0, variance = 0;
    bool bounded = true, good = true;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct value_lists l;
        good &= value_lists_begin(&l, seed) == 0;
        for (uint64_t i = 0; i < VALUES; i++)
            good &= value_lists_add(&l, 1, none, i % 10 < 3 ? 42 : 1000000 + i, 1) == 0;
        good &= value_lists_flush(&l) == 0;
        const struct value_list *list = value_lists_of(&l, 1);
        bounded &= list->used <= VALUE_LIST_MOST && list->values == VALUES;
        for (uint32_t i = 0; i < list->used; i++) {
            double estimate = (double)list->entries[i].count * list->threshold;
            all += estimate;
            hot += list->entries[i].value == 42 ? estimate : 0;
        }
        variance += HOT * list->threshold;
        value_lists_free(&l);
    }
    double error = fabs(hot - (double)ROUNDS * HOT) / sqrt(variance);
    double error_all = fabs(all - (double)ROUNDS * VALUES) / sqrt(variance * VALUES / HOT);
    ok(good && bounded, "lists stay short in all rounds");
    ok(error < 5, "a frequent value is estimated without bias: off by %.1f standard errors", error);
    ok(error_all < 5, "so are all values: %.1f", error_all);
    struct value_lists a, b;
    good = value_lists_begin(&a, 9) == 0 && value_lists_begin(&b, 9) == 0;
    for (uint64_t i = 0; i < 4096; i++) {
        good &= value_lists_add(&a, 1 + (uint32_t)(i % 3), none, i, 1 + i % 100000) == 0;
        good &= value_lists_add(&b, 1 + (uint32_t)(i % 3), none, i, 1 + i % 100000) == 0;
    }
    good &= value_lists_flush(&a) == 0 && value_lists_flush(&b) == 0;
    const struct value_list *x = value_lists_of(&a, 2), *y = value_lists_of(&b, 2);
    ok(good && x->used == y->used && x->used > 0 &&
           memcmp(x->entries, y->entries, x->used * sizeof *x->entries) == 0,
       "the same values give the same lists");
    ok(value_lists_add(&a, 0, none, 1, 1) == -EINVAL &&
           value_lists_add(&a, VALUE_INSTRUCTIONS + 1, none, 1, 1) == -EINVAL,
       "numbers out of range are refused");
    value_lists_free(&a);
    value_lists_free(&b);
}

/* 30,000 instructions with 40 values each would need 1.2 million entries: the lists get shorter
 * instead. */
static void test_memory(void)
{
    const uint64_t none[2] = {0, 0};
    struct value_lists l;
    bool good = value_lists_begin(&l, 1) == 0;
    uint64_t entries = 0;
    for (uint32_t i = 1; i <= 30000; i++)
        for (uint64_t v = 0; v < 40; v++)
            good &= value_lists_add(&l, i, none, v, 1) == 0;
    good &= value_lists_flush(&l) == 0;
    for (uint32_t i = 1; i <= 30000; i++)
        entries += value_lists_of(&l, i) != NULL ? value_lists_of(&l, i)->used : 0;
    ok(good && entries == l.entry_count && entries <= VALUE_LISTS_MOST && entries > 100000,
       "many instructions share the memory (%" PRIu64 " entries)", entries);
    value_lists_free(&l);
}

static void test_exact(void)
{
    const uint64_t contexts[2][2] = {{0, 0}, {0, 1}};
    struct value_lists l, copy;
    bool good = value_lists_begin(&l, 5) == 0 && value_lists_begin(&copy, 5) == 0;
    for (uint64_t i = 0; i < 10000; i++)
        good &= value_lists_add(&l, 7, contexts[i % 2], i % 32, 1 + i % 2) == 0;
    good &= value_lists_flush(&l) == 0;
    const struct value_list *list = value_lists_of(&l, 7);
    bool exact = list->used == 32 && list->values == 15000;
    for (uint32_t i = 0; i < list->used; i++)
        exact &= list->threshold <= 1 &&
                 list->entries[i].count == (uint64_t)(list->entries[i].value < 16 ? 313 : 312) *
                                               (1 + list->entries[i].value % 2);
    ok(good && exact, "what has room is counted exactly, contexts apart");
    ok(value_lists_of(&l, 6) == NULL && value_lists_of(&l, 1000000) == NULL,
       "nothing came, no list");
    ok(value_lists_restore(&copy, 7, list) == 0 && value_lists_of(&copy, 7)->used == 32 &&
           value_lists_restore(&copy, 7, list) == -EINVAL,
       "a list is restored, once");
    value_lists_free(&l);
    value_lists_free(&copy);
}

int main(void)
{
    test_exact();
    test_estimates();
    test_memory();
    done_testing();
}
