/* SPDX-License-Identifier: BSD-3-Clause
 * Calls the functions of into.S and exits with 0 if each result is right, also while these
 * functions are patched. It calls them by pointers, so that they are decoded in the order of their
 * addresses. */
#include <stdio.h>

#define ALL(X) X(early) X(late) X(table) X(segment) X(end)
#ifdef FIXED
#define OTHERS(X) X(immediate) X(long) X(displacement) X(word)
#else
#define OTHERS(X)
#endif
#define DECLARE(name)                                                                              \
    long name##_one(long);                                                                         \
    long name##_from(long);
ALL(DECLARE)
OTHERS(DECLARE)

struct function {
    const char *name;
    long (*run)(long);
};

#define BOTH(name) {#name "_one", name##_one}, {#name "_from", name##_from},
static const struct function functions[] = {ALL(BOTH) OTHERS(BOTH)};

int main(void)
{
    int wrong = 0;
    for (unsigned i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].run(4) != 5) {
            puts(functions[i].name);
            wrong = 1;
        }
    return wrong;
}
