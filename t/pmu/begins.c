/* SPDX-License-Identifier: BSD-3-Clause
 * begins KIND N: the first event comes after 2 N instructions of a loop, and others. Nothing before
 * it makes regtrace record, since the program does not name the calls of regtrace.h: it looks them
 * up.
 *   main    by the main thread alone
 *   thread  by a thread that existed before anything was recorded; its own loop comes after the
 *           main thread's first call
 *   unseen  by a thread that libc makes by itself: nobody saw it begin
 *   ends    like main; then a thread ends its window by its end, and the program by exit
 *   forks   like main; the child goes on in the window, and ends it by its own end */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef void region_function(const char *name);
static region_function *region_begins, *region_ends; /* NULL: not traced */

static region_function *find(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    region_function *found;
    memcpy(&found, &symbol, sizeof found);
    return found;
}

static void region_begin(const char *name)
{
    if (region_begins != NULL)
        region_begins(name);
}

static void region_end(const char *name)
{
    if (region_ends != NULL)
        region_ends(name);
}

static pthread_barrier_t barrier;
static long loops;

static void work(long n)
{
    __asm__ volatile("1: decq %0\n\tjnz 1b" : "+r"(n)::"cc");
}

static void *thread(void *argument)
{
    pthread_barrier_wait(&barrier); /* the thread exists; the main thread records */
    work(loops);
    region_begin("thread");
    region_end("thread");
    return argument;
}

static void *ending(void *argument)
{
    work(loops);
    region_begin("thread");
    work(loops);
    return argument;
}

static sem_t done;

static void expired(union sigval value)
{
    work(value.sival_int);
    region_begin("thread");
    work(value.sival_int);
    region_end("thread");
    (void)sem_post(&done);
}

static int unseen(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD,
                             .sigev_notify_function = expired,
                             .sigev_value.sival_int = (int)loops};
    struct itimerspec soon = {.it_value.tv_nsec = 1000000};
    timer_t timer;
    if (sem_init(&done, 0, 0) != 0 || timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &soon, NULL) != 0)
        return 1;
    while (sem_wait(&done) != 0)
        continue;
    return 0;
}

int main(int argc, char **argv)
{
    const char *kind = argc == 3 ? argv[1] : "";
    pthread_t t;
    loops = argc == 3 ? atol(argv[2]) : 1;
    region_begins = find("regtrace_region_begin");
    region_ends = find("regtrace_region_end");
    if (strcmp(kind, "thread") == 0) {
        pthread_barrier_init(&barrier, NULL, 2);
        if (pthread_create(&t, NULL, thread, NULL) != 0)
            return 1;
        region_begin("main");
        pthread_barrier_wait(&barrier);
        return pthread_join(t, NULL);
    }
    if (strcmp(kind, "unseen") == 0)
        return unseen();
    work(loops);
    region_begin("main");
    work(loops);
    if (strcmp(kind, "ends") == 0) {
        if (pthread_create(&t, NULL, ending, NULL) != 0 || pthread_join(t, NULL) != 0)
            return 1;
    } else if (strcmp(kind, "forks") == 0) {
        int status = 1;
        pid_t child = fork();
        if (child == 0) {
            work(loops);
            region_begin("child"); /* here the tracer sees the child */
            work(loops);
            return 0;
        }
        return child < 0 || waitpid(child, &status, 0) != child || status != 0;
    } else {
        region_end("main");
    }
    return 0;
}
