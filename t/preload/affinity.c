/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: binds itself and its threads to processors in all ways, and opens windows. Before
 * each window it prints the kernel's thread ID and the processors on which sched_getaffinity() lets
 * the thread run. */
#include "share/include/regtrace.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int processor[2]; /* the first two that this process may use */
static cpu_set_t all;
static pthread_barrier_t line;

static cpu_set_t one(int which)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)processor[which], &set);
    return set;
}

static void window(void)
{
    char text[4096];
    int n = snprintf(text, sizeof text, "window %d", (int)gettid());
    cpu_set_t set;
    (void)sched_getaffinity(0, sizeof set, &set);
    for (unsigned i = 0; i < CPU_SETSIZE && n < (int)sizeof text - 8; i++)
        if (CPU_ISSET(i, &set))
            n += snprintf(text + n, sizeof text - (size_t)n, " %u", i);
    (void)puts(text);
    regtrace_start(0);
    regtrace_region_begin("part");
    regtrace_region_end("part");
    regtrace_stop(0);
}

/* Binds itself to the first processor if `argument` is not NULL. */
static void *work(void *argument)
{
    window();
    window();
    cpu_set_t set = one(0);
    if (argument != NULL)
        (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    window();
    window();
    (void)pthread_barrier_wait(&line);
    (void)pthread_barrier_wait(&line); /* main binds a thread between the two */
    window();
    return NULL;
}

static void threads(void)
{
    pthread_t t[3];
    pthread_attr_t attributes;
    cpu_set_t set = one(1);
    (void)pthread_barrier_init(&line, NULL, 4);
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    (void)pthread_create(&t[0], &attributes, work, NULL);
    (void)pthread_create(&t[1], NULL, work, &line);
    (void)pthread_create(&t[2], NULL, work, NULL);
    (void)pthread_barrier_wait(&line);
    (void)pthread_setaffinity_np(t[1], sizeof set, &set);
    (void)pthread_barrier_wait(&line);
    for (int i = 0; i < 3; i++)
        (void)pthread_join(t[i], NULL);
}

static void bind(int which)
{
    cpu_set_t set = which < 0 ? all : one(which);
    (void)sched_setaffinity(0, sizeof set, &set);
}

static int child(void)
{
    /* The child begins with this mask. The last mask that this thread has recorded is that of the
     * second processor. */
    bind(0);
    pid_t pid = fork();
    if (pid == 0) {
        bind(1);
        window();
        bind(-1);
        window();
        window();
        exit(0);
    }
    return pid < 0 || waitpid(pid, NULL, 0) != pid;
}

int main(int argc, char **argv)
{
    int n = 0;
    (void)argv;
    (void)sched_getaffinity(0, sizeof all, &all);
    for (unsigned i = 0; i < CPU_SETSIZE && n < 2; i++)
        if (CPU_ISSET(i, &all))
            processor[n++] = (int)i;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1) { /* with an argument: bind before the first event */
        bind(1);
        window();
        return 0;
    }
    if (n < 2)
        return 77;
    window();
    window();
    threads();
    bind(0);
    window();
    window();
    bind(1);
    window();
    regtrace_start(0);
    bind(0); /* undone inside the window: never recorded */
    bind(1);
    regtrace_stop(0);
    window();
    int bad = child();
    bind(-1);
    window();
    return bad;
}
