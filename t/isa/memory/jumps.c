/* SPDX-License-Identifier: BSD-3-Clause
 * Loops around jumps through tables, each table with another kind of index. What a loop accesses
 * depends on where its jumps go. */
#include <stdio.h>
#include <string.h>

#define APART __attribute__((noinline))
#define EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

enum { MANY = 60 };

/* The compiler may load the index once or twice. */
APART long dense(const int *p, int n, long *m)
{
    long s = 0;
    for (int i = 0; i < n; i++)
        switch (p[i]) {
#define X(k)                                                                                       \
    case k:                                                                                        \
        m[k] += s + (k);                                                                           \
        s ^= m[((k)*5 + 1) & 31];                                                                  \
        break;
            EIGHT(X)
#undef X
        default: s += m[p[i] & 31];
        }
    return s;
}

APART long negative(const signed char *p, int n, long *m)
{
    long s = 0;
    for (int i = 0; i < n; i++)
        switch (p[i]) {
#define X(k)                                                                                       \
    case (k)-4:                                                                                    \
        m[k] -= s * (k);                                                                           \
        s += m[(k) + 3];                                                                           \
        break;
            EIGHT(X)
#undef X
        }
    return s;
}

APART long high(const unsigned char *p, int n, long *m)
{
    long s = 0;
    for (int i = 0; i < n; i++)
        switch (p[i]) {
#define X(k)                                                                                       \
    case 200 + (k):                                                                                \
        m[(k) + 8] ^= s + (k);                                                                     \
        s -= m[k];                                                                                 \
        break;
            EIGHT(X)
#undef X
        default: m[20] = s;
        }
    return s;
}

/* The indexes have gaps and are far from 0; some cases are not in the table. */
APART long distant(const long *p, int n, long *m)
{
    long s = 0;
    for (int i = 0; i < n; i++)
        switch (p[i]) {
#define X(k)                                                                                       \
    case 1000000 + 3 * (k):                                                                        \
        m[(k) + 16] += k;                                                                          \
        s += m[(k) + 17];                                                                          \
        break;
            EIGHT(X)
#undef X
        case 7: m[3] = 9; break;
        case -9: s = m[9];
        }
    return s;
}

/* No comparison precedes the jump. */
APART long unbounded(const unsigned *p, int n, long *m)
{
    long s = 0;
    for (int i = 0; i < n; i++)
        switch (p[i] & 7) {
#define X(k)                                                                                       \
    case k:                                                                                        \
        m[k] = s;                                                                                  \
        s += m[(k) + 2] ^ (k);                                                                     \
        break;
            EIGHT(X)
#undef X
        default: __builtin_unreachable();
        }
    return s;
}

/* A table of whole addresses. The dynamic linker sets them if the program may be loaded
 * anywhere. */
APART long labels(const unsigned char *p, long *m)
{
    static const void *const to[] = {&&stop, &&add, &&load, &&store, &&mix};
    long s = 1;
    goto *to[*p];
add:
    m[1] += s;
    s += *++p;
    goto *to[*++p];
load:
    s += m[2];
    goto *to[*++p];
store:
    m[3] = s;
    goto *to[*++p];
mix:
    s ^= m[(unsigned long)s & 15];
    goto *to[*++p];
stop:
    return s;
}

/* Indexes below 0: compilers add them to the address of the table's middle. */
APART long between(const long *p, int n, long *m)
{
    static const void *const to[] = {&&a, &&b, &&c, &&d, &&e};
    long s = 0;
    for (int i = 0; i < n; i++) {
        goto *to[p[i] + 2];
    a:
        m[1] += s;
        s++;
        continue;
    b:
        s += m[2];
        m[3] = i;
        continue;
    c:
        m[4] ^= s;
        continue;
    d:
        s += m[5] + m[6];
        continue;
    e:
        m[7]--;
    }
    return s;
}

/* A table of whole addresses that the program changes: its entries must be recorded. */
APART long changing(const unsigned char *p, int n, long *m)
{
    static const void *to[] = {&&even, &&odd};
    long s = 0;
    for (int i = 0; i < n; i++) {
        goto *to[p[i] & 1];
    even:
        s += m[4];
        to[0] = i % 3 == 0 ? &&even : &&odd;
        continue;
    odd:
        m[5] = s;
        to[1] = i % 5 == 0 ? &&odd : &&even;
    }
    return s;
}

int main(void)
{
    static long m[64];
    int number[MANY];
    signed char below[MANY];
    unsigned char above[MANY], program[2 * MANY + 1] = {0};
    long far[MANY], around[MANY];
    unsigned any[MANY], state = 7, k = 0;
    for (int i = 0; i < MANY; i++) {
        state = state * 1103515245 + 12345;
        unsigned r = state >> 16;
        number[i] = r % 13 == 0 ? (int)r : (int)(r % 8);
        below[i] = (signed char)((int)(r % 11) - 5);
        above[i] = (unsigned char)(198 + r % 12);
        far[i] = r % 9 == 0 ? 7 : r % 7 == 0 ? -9 : 1000000 + (long)(r % 25);
        around[i] = (long)(r % 5) - 2;
        any[i] = r;
        program[k++] = (unsigned char)(r % 4 + 1);
        if (r % 4 == 0)
            program[k++] = (unsigned char)r;
    }
    long s = dense(number, MANY, m) + negative(below, MANY, m) + high(above, MANY, m);
    s += distant(far, MANY, m) + unbounded(any, MANY, m) + labels(program, m);
    s += changing(above, MANY, m) + between(around, MANY, m);
    printf("%ld\n", s);
    return 0;
}
