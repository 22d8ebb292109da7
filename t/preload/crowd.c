/* SPDX-License-Identifier: BSD-3-Clause
 * crowd THREADS: each thread records, then waits at a barrier until all have recorded. So no thread
 * can go on before the last one has recorded. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

void regtrace_region_begin(const char *name) __attribute__((weak));
void regtrace_region_end(const char *name) __attribute__((weak));

static pthread_barrier_t all_have_recorded;

static void *run(void *unused)
{
    if (regtrace_region_begin != NULL)
        regtrace_region_begin("together");
    (void)pthread_barrier_wait(&all_have_recorded);
    if (regtrace_region_end != NULL)
        regtrace_region_end("together");
    return unused;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1, made = 0;
    pthread_t *threads = calloc((size_t)n, sizeof *threads);
    pthread_attr_t a;
    if (threads == NULL || pthread_barrier_init(&all_have_recorded, NULL, (unsigned)n) != 0 ||
        pthread_attr_init(&a) != 0 || pthread_attr_setstacksize(&a, 65536) != 0)
        return 1;
    while (made < n && pthread_create(&threads[made], &a, run, NULL) == 0)
        made++;
    if (made < n)
        return 2; /* the threads that run wait for ever */
    for (int i = 0; i < made; i++)
        (void)pthread_join(threads[i], NULL);
    printf("%d threads\n", made);
    free(threads);
    return 0;
}
