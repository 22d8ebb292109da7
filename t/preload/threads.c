/* SPDX-License-Identifier: BSD-3-Clause
 * Prints what a program sees of its threads. The output must be the same with and without the
 * preload. */
#include "share/include/regtrace.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

static _Atomic int ran, cleaned, destroyed;
static pthread_key_t key;
static sem_t ready;

static void *worker(void *argument)
{
    regtrace_region_begin("worker");
    ran++;
    regtrace_region_end("worker");
    return argument;
}

/* Makes 500 threads, in waves that live at the same time. */
static void many(void)
{
    int right = 0;
    regtrace_region_begin("many");
    for (int wave = 0; wave < 10; wave++) {
        pthread_t t[50];
        for (intptr_t i = 0; i < 50; i++)
            if (pthread_create(&t[i], NULL, worker, (void *)(i * 3)) != 0)
                exit(8);
        for (intptr_t i = 0; i < 50; i++) {
            void *result;
            pthread_join(t[i], &result);
            right += result == (void *)(i * 3);
        }
    }
    regtrace_region_end("many");
    printf("500 threads: ran %d, results %d\n", (int)ran, right);
}

static void clean(void *argument)
{
    (void)argument;
    regtrace_region_begin("cleanup");
    cleaned++;
    regtrace_region_end("cleanup");
}

/* Sets its value again until the last round of destructors. */
static void destroy(void *value)
{
    destroyed++;
    regtrace_region_begin("destructor");
    regtrace_region_end("destructor");
    if ((intptr_t)value < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(key, (void *)((intptr_t)value + 1));
}

static void *cancelled(void *argument)
{
    pthread_setspecific(key, (void *)1);
    pthread_cleanup_push(clean, NULL);
    regtrace_region_begin("waiting to be cancelled");
    sem_post(&ready);
    if (argument != NULL)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (volatile int i = 0;; i++)
        if (argument == NULL)
            pause();
    pthread_cleanup_pop(0);
    return NULL;
}

/* Its cancellation is pending when it first records: what the tracer does then must not be a
 * cancellation point. */
static void *pending(void *argument)
{
    pthread_cancel(pthread_self());
    regtrace_region_begin("pending");
    ran = 1;
    pthread_testcancel();
    ran = 2;
    return argument;
}

static void *leaves(void *argument)
{
    pthread_setspecific(key, (void *)1);
    pthread_cleanup_push(clean, NULL);
    pthread_exit(argument);
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancels(void)
{
    int were_cancelled = 0;
    pthread_key_create(&key, destroy);
    sem_init(&ready, 0, 0);
    pthread_t first;
    pthread_create(&first, NULL, pending, NULL);
    void *nothing;
    pthread_join(first, &nothing);
    printf("pending cancel waited for a point %d\n", (int)ran);
    for (int i = 0; i < 40; i++) {
        pthread_t t;
        void *result;
        pthread_create(&t, NULL, cancelled, i % 2 ? (void *)1 : NULL);
        sem_wait(&ready);
        pthread_cancel(t);
        pthread_join(t, &result);
        were_cancelled += result == PTHREAD_CANCELED;
    }
    printf("cancelled %d cleaned %d\n", were_cancelled, (int)cleaned);
    pthread_t t;
    void *result;
    destroyed = 0;
    pthread_create(&t, NULL, leaves, (void *)5);
    pthread_join(t, &result);
    printf("left with %d cleaned %d destructor ran %d\n", (int)(intptr_t)result, (int)cleaned,
           (int)destroyed);
}

static int c11_worker(void *argument)
{
    worker(NULL);
    if (argument == NULL)
        thrd_exit(7);
    return (int)(intptr_t)argument;
}

static void c11(void)
{
    int sum = 0;
    for (intptr_t i = 0; i < 20; i++) {
        thrd_t t;
        int result = 0;
        if (thrd_create(&t, c11_worker, (void *)i) != thrd_success)
            exit(8);
        thrd_join(t, &result);
        sum += result;
    }
    tss_t k;
    printf("c11: ran %d sum %d tss %d\n", (int)ran, sum, tss_create(&k, NULL) == thrd_success);
}

static void *stuck(void *argument)
{
    regtrace_region_begin("stuck");
    sem_post(argument);
    for (;;)
        pause();
    return NULL;
}

/* Lets main end while detached threads go on. */
static void detached(void)
{
    static sem_t up;
    pthread_attr_t attributes;
    pthread_t t;
    sem_init(&up, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (int i = 0; i < 20; i++)
        pthread_create(&t, &attributes, stuck, &up);
    for (int i = 0; i < 20; i++)
        sem_wait(&up);
    printf("20 threads are up\n");
}

static void *late(void *argument)
{
    usleep(20000);
    worker(NULL);
    printf("the last thread ends\n");
    return argument;
}

static void main_leaves(void)
{
    pthread_t t;
    pthread_create(&t, NULL, late, NULL);
    pthread_exit(NULL);
}

/* Counts the signals that are blocked in a thread. Its creator blocks every signal, or its
 * attributes do. */
static void *shows_mask(void *argument)
{
    sigset_t mask;
    int *members = argument;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int n = 1; n <= 64; n++)
        *members += sigismember(&mask, n) == 1;
    regtrace_region_begin("blocked");
    regtrace_region_end("blocked");
    return NULL;
}

static void blocked(void)
{
    sigset_t all, old;
    pthread_t t;
    int members = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_create(&t, NULL, shows_mask, &members);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_join(t, NULL);
    printf("inherited %d", members);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setsigmask_np(&attributes, &all);
    members = 0;
    pthread_create(&t, &attributes, shows_mask, &members);
    pthread_join(t, NULL);
    printf(" given %d", members);
    members = 0;
    pthread_create(&t, NULL, shows_mask, &members);
    pthread_join(t, NULL);
    printf(" none %d\n", members);
}

/* Makes all the keys that there are. */
static void keys(void)
{
    pthread_key_t k[PTHREAD_KEYS_MAX + 1];
    int made = 0, rc = 0;
    while (made <= PTHREAD_KEYS_MAX && (rc = pthread_key_create(&k[made], NULL)) == 0)
        made++;
    printf("keys %d, then %d\n", made, rc == EAGAIN);
    pthread_t t;
    pthread_create(&t, NULL, worker, NULL);
    pthread_join(t, NULL);
    printf("ran %d\n", (int)ran);
}

static void *named(void *argument)
{
    char name[32] = "";
    int rc = pthread_setname_np(pthread_self(), argument);
    regtrace_region_begin("named");
    regtrace_region_end("named");
    pthread_getname_np(pthread_self(), name, sizeof name);
    printf("name %d \"%s\"\n", rc, name);
    return NULL;
}

static void names(void)
{
    static char good[] = "solver", bad[] = "much too long for a name";
    pthread_t t;
    regtrace_region_begin("names");
    pthread_create(&t, NULL, named, good);
    pthread_join(t, NULL);
    pthread_create(&t, NULL, named, bad);
    pthread_join(t, NULL);
    regtrace_region_end("names");
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
    printf("small stack %d\n", pthread_create(&t, &attributes, worker, NULL));
    pthread_join(t, NULL);
    printf("ran %d\n", (int)ran);
}

int main(int n, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"many", many},         {"cancels", cancels},    {"c11", c11},
               {"detached", detached}, {"leaves", main_leaves}, {"blocked", blocked},
               {"keys", keys},         {"names", names}};
    for (size_t i = 0; n > 1 && i < sizeof all / sizeof *all; i++)
        if (strcmp(arguments[1], all[i].name) == 0) {
            all[i].run();
            return 0;
        }
    return 7;
}
