/* SPDX-License-Identifier: BSD-3-Clause
 * Calls functions as the argument says: f(C(D))b calls foo, which calls C, which calls D, and then
 * calls bar. Letters: f foo, b bar, o boo, A, C, D, s the SSC mark 11223344; T in front: runs the
 * rest in three threads, one after the other, and then in main. Each function sets a mark when it
 * begins (its letter) and when it ends (its letter plus 1000). */
#include <pthread.h>
#include <regtrace.h>
#include <stdio.h>

#define FUNCTION __attribute__((noinline, noclone))

static const char *run(const char *text);

static const char *body(const char *text, int letter)
{
    regtrace_mark_set(7, letter);
    if (*text == '(')
        text = run(text + 1) + 1;
    regtrace_mark_set(7, letter + 1000);
    return text;
}

/* Each function needs its own code, because a compiler may merge functions that are the same. */
#define MAKE(name, letter)                                                                         \
    FUNCTION const char *name(const char *text);                                                   \
    FUNCTION const char *name(const char *text)                                                    \
    {                                                                                              \
        const char *rest = body(text, letter);                                                     \
        __asm__ volatile("");                                                                      \
        return rest;                                                                               \
    }
MAKE(foo, 'f')
MAKE(bar, 'b')
MAKE(boo, 'o')
MAKE(A, 'A')
MAKE(C, 'C')
MAKE(D, 'D')

FUNCTION static const char *ssc(const char *text)
{
    __asm__ volatile("mov $0x11223344, %%ebx\n\t.byte 0x64, 0x67, 0x90" : : : "ebx");
    return text;
}

static const char *step(char letter, const char *text)
{
    switch (letter) {
    case 'f': return foo(text);
    case 'b': return bar(text);
    case 'o': return boo(text);
    case 'A': return A(text);
    case 'C': return C(text);
    case 'D': return D(text);
    case 's': return ssc(text);
    default: return text;
    }
}

/* Runs the text up to its end or to a closing parenthesis; returns where that is. */
static const char *run(const char *text)
{
    while (*text != '\0' && *text != ')')
        text = step(*text, text + 1);
    return text;
}

static void *thread(void *text)
{
    (void)run(text);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (argv[1][0] != 'T')
        return *run(argv[1]) != '\0';
    for (int i = 0; i < 3; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, thread, argv[1] + 1) == 0)
            (void)pthread_join(t, NULL);
    }
    (void)run(argv[1] + 1);
    return 0;
}
