/* SPDX-License-Identifier: BSD-3-Clause
 * A program for sanitizers: threads, a handler, memory. Prints 104. With "over" it writes past the
 * end of an array. With SANITIZED_MPI it is an MPI program. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef SANITIZED_MPI
#include <mpi.h>
#endif

static int sum;

static void handle(int signo)
{
    (void)signo;
    (void)__atomic_fetch_add(&sum, 100, __ATOMIC_SEQ_CST);
}

static void *work(void *nothing)
{
    (void)nothing;
    int *numbers = calloc(10, sizeof *numbers);
    if (numbers != NULL)
        (void)__atomic_fetch_add(&sum, 1 + numbers[3], __ATOMIC_SEQ_CST);
    free(numbers);
    return NULL;
}

__attribute__((noinline)) static void called(void)
{
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
#ifdef SANITIZED_MPI
    (void)MPI_Init(&argc, &argv);
    (void)MPI_Barrier(MPI_COMM_WORLD);
#endif
    (void)signal(SIGUSR1, handle);
    for (int i = 0; i < 4; i++)
        (void)pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(threads[i], NULL);
    called();
    (void)raise(SIGUSR1);
    (void)printf("%d\n", sum);
    if (argc > 1 && strcmp(argv[1], "over") == 0) {
        volatile char *bytes = malloc(8);
        bytes[7 + argc] = 1;
    }
#ifdef SANITIZED_MPI
    (void)MPI_Finalize();
#endif
    return 0;
}
