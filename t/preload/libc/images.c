/* SPDX-License-Identifier: BSD-3-Clause
 * Prints what a program sees of dlopen. The output must be the same with and without the
 * preload. */
#include "share/include/regtrace.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

void *middle_open(const char *name, int mode);

static void *volatile last;

static void try_open(const char *what, const char *name, int mode)
{
    (void)dlerror();
    last = dlopen(name, mode);
    const char *error = dlerror();
    printf("%s: %s%s\n", what, last != NULL ? "opened" : "not: ",
           last != NULL    ? ""
           : error != NULL ? error
                           : "no error text");
    if (last != NULL && error != NULL)
        printf("  and an error: %s\n", error);
}

static int answer_of(void *handle)
{
    int (*answer)(void);
    *(void **)&answer = handle != NULL ? dlsym(handle, "plugin_answer") : NULL;
    return answer != NULL ? answer() : -1;
}

static void *opens(void *argument)
{
    for (int i = 0; i < 100; i++) {
        void *handle = middle_open("libplugin.so", RTLD_NOW);
        if (answer_of(handle) != 42)
            printf("no answer\n");
        if (handle != NULL)
            dlclose(handle);
    }
    return argument;
}

int main(int n, char **arguments)
{
    (void)arguments;
    if (n > 1 && strcmp(arguments[1], "record") == 0) {
        void *handle = middle_open("libplugin.so", RTLD_NOW);
        regtrace_region_begin("after");
        regtrace_region_end("after");
        return answer_of(handle) != 42;
    }
    try_open("a plug-in that only the other's RUNPATH finds", "libplugin.so", RTLD_NOW);
    try_open("nowhere", "/nowhere/libnone.so", RTLD_LAZY);
    try_open("the program", NULL, RTLD_LAZY);
    try_open("not loaded", "libmvec.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *handle = middle_open("libplugin.so", RTLD_NOW);
    printf("by its RUNPATH %d\n", answer_of(handle));
    try_open("loaded", "libplugin.so", RTLD_LAZY | RTLD_NOLOAD);
    if (handle != NULL)
        printf("closed %d %d\n", dlclose(handle), last != NULL ? dlclose(last) : 0);
    try_open("gone", "libplugin.so", RTLD_LAZY | RTLD_NOLOAD);
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, opens, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    try_open("libm", "libm.so.6", RTLD_NOW | RTLD_LOCAL);
    printf("cosine %d\n", last != NULL && dlsym(last, "cos") != NULL);
    return 0;
}
